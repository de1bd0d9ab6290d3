// The control block: indices, the submission, completions, argument area, rows. Its layout is fixed in abi.ts and proved at
// the end of this file.

import * as abi from "./abi";

/** Statics begin behind it. No pointer below it is valid; the panic record lies at its start. */
export const NULL_PAGE: u32 = 1024;

export const SLACK: u32 = abi.SLACK;

/**
 * One command, in the only entry for one. The host writes it and raises `sqTail`; its function reads its arguments here and
 * writes its answer here.
 */
@unmanaged
export class Submission {
  opcode: u16;
  flags: u16;
  token: u32;
  handle: u32;
  ptr: u32;
  value: f64;
  len: u32;
  result: i32;
}

/** One whole frame; only `OP_FEED` makes it. The host reads it at `cqTail`. */
@unmanaged
export class Completion {
  token: u32;
  code: i32;
  flag: u32;
  fields: u32;
  headerPtr: u32;
  headerWord: u32;
  bodyPtr: u32;
  bodyLen: u32;
  a: f64;
  b: f64;
  c: f64;
  textPtr: u32;
  textLen: u16;
  brokerId: u16;
}

/** Start of the control block. Each index has one writer and runs through all 32 bits; it is taken modulo its ring. */
@unmanaged
export class Control {
  /** Written by the core. */
  sqHead: u32;
  /** Written by the host. */
  sqTail: u32;
  /** Written by the core. */
  cqHead: u32;
  /** Written by the host. */
  cqTail: u32;
  bytesInUse: u32;
  shapeHits: u32;
  uniqueId: f64;
}

/** Where the control block lies; the exported `control`. The slack is for loops that overshoot its last part. */
export const CONTROL: usize = memory.data(abi.CONTROL_SIZE + abi.SLACK, 64);

/** Lengths of the arguments of the command being driven, u32 each. */
export const ARGUMENT_LENGTHS: usize = CONTROL + abi.ARGUMENT_LENGTHS;
/** Their text, back to back; also steps and pairs. */
export const ARGUMENT_TEXT: usize = CONTROL + abi.ARGUMENT_TEXT;

const SUBMISSION_ENTRIES: u32 = abi.SUBMISSION_ENTRIES;
const COMPLETION_ENTRIES: u32 = abi.COMPLETION_ENTRIES;

export function control(): Control {
  return changetype<Control>(CONTROL);
}

/** The entry that a free-running submission index names. */
export function submissionAt(index: u32): Submission {
  return changetype<Submission>(
    CONTROL + abi.SUBMISSIONS + (index & (SUBMISSION_ENTRIES - 1)) * offsetof<Submission>(),
  );
}

/** Whether the host has to drain before another frame can be completed. */
export function completionsAreFull(): bool {
  return control().cqHead - control().cqTail >= COMPLETION_ENTRIES;
}

/** The next free completion; whoever fills it writes all of it. It is the host's after `publishCompletion`. */
export function nextCompletion(): Completion {
  const index = control().cqHead & (COMPLETION_ENTRIES - 1);
  return changetype<Completion>(CONTROL + abi.COMPLETIONS + index * offsetof<Completion>());
}

export function publishCompletion(): void {
  control().cqHead++;
}

/** Copies in steps of 16 bytes; reads and writes up to 15 bytes too far. */
export function copy16(to: usize, from: usize, length: u32): void {
  for (let i: u32 = 0; i < length; i += 16) v128.store(to + i, v128.load(from + i));
}

/** A big-endian integer of the wire. */
export function be32(at: usize): u32 {
  return bswap(load<u32>(at));
}

export function be16(at: usize): u32 {
  return bswap(load<u16>(at));
}

if (offsetof<Submission>() != abi.SUBMISSION_SIZE) ERROR("Submission differs in size from abi.ts");
if (offsetof<Submission>("opcode") != abi.SUBMISSION_OPCODE) ERROR("Submission.opcode moved");
if (offsetof<Submission>("flags") != abi.SUBMISSION_FLAGS) ERROR("Submission.flags moved");
if (offsetof<Submission>("token") != abi.SUBMISSION_TOKEN) ERROR("Submission.token moved");
if (offsetof<Submission>("handle") != abi.SUBMISSION_HANDLE) ERROR("Submission.handle moved");
if (offsetof<Submission>("ptr") != abi.SUBMISSION_PTR) ERROR("Submission.ptr moved");
if (offsetof<Submission>("value") != abi.SUBMISSION_VALUE) ERROR("Submission.value moved");
if (offsetof<Submission>("len") != abi.SUBMISSION_LEN) ERROR("Submission.len moved");
if (offsetof<Submission>("result") != abi.SUBMISSION_RESULT) ERROR("Submission.result moved");

if (offsetof<Completion>() != abi.COMPLETION_SIZE) ERROR("Completion differs in size from abi.ts");
if (offsetof<Completion>("token") != abi.COMPLETION_TOKEN) ERROR("Completion.token moved");
if (offsetof<Completion>("code") != abi.COMPLETION_CODE) ERROR("Completion.code moved");
if (offsetof<Completion>("flag") != abi.COMPLETION_FLAG) ERROR("Completion.flag moved");
if (offsetof<Completion>("fields") != abi.COMPLETION_FIELDS) ERROR("Completion.fields moved");
if (offsetof<Completion>("headerPtr") != abi.COMPLETION_HEADER_PTR) ERROR("Completion.headerPtr moved");
if (offsetof<Completion>("headerWord") != abi.COMPLETION_HEADER_WORD) ERROR("Completion.headerWord moved");
if (offsetof<Completion>("bodyPtr") != abi.COMPLETION_BODY_PTR) ERROR("Completion.bodyPtr moved");
if (offsetof<Completion>("bodyLen") != abi.COMPLETION_BODY_LEN) ERROR("Completion.bodyLen moved");
if (offsetof<Completion>("a") != abi.COMPLETION_A) ERROR("Completion.a moved");
if (offsetof<Completion>("b") != abi.COMPLETION_B) ERROR("Completion.b moved");
if (offsetof<Completion>("c") != abi.COMPLETION_C) ERROR("Completion.c moved");
if (offsetof<Completion>("textPtr") != abi.COMPLETION_TEXT_PTR) ERROR("Completion.textPtr moved");
if (offsetof<Completion>("textLen") != abi.COMPLETION_TEXT_LEN) ERROR("Completion.textLen moved");
if (offsetof<Completion>("brokerId") != abi.COMPLETION_BROKER_ID) ERROR("Completion.brokerId moved");

if (offsetof<Control>("sqHead") != abi.SQ_HEAD) ERROR("Control.sqHead moved");
if (offsetof<Control>("sqTail") != abi.SQ_TAIL) ERROR("Control.sqTail moved");
if (offsetof<Control>("cqHead") != abi.CQ_HEAD) ERROR("Control.cqHead moved");
if (offsetof<Control>("cqTail") != abi.CQ_TAIL) ERROR("Control.cqTail moved");
if (offsetof<Control>("bytesInUse") != abi.BYTES_IN_USE) ERROR("Control.bytesInUse moved");
if (offsetof<Control>("shapeHits") != abi.SHAPE_HITS) ERROR("Control.shapeHits moved");
if (offsetof<Control>("uniqueId") != abi.UNIQUE_ID) ERROR("Control.uniqueId moved");
if (<i32> offsetof<Control>() > abi.QUEUE_STATE) ERROR("Control reaches into QUEUE_STATE");
if (abi.QUEUE_STATE + abi.QUEUE_STATE_SIZE > abi.SUBMISSIONS) ERROR("QUEUE_STATE reaches into the submissions");

if (abi.SUBMISSIONS + abi.SUBMISSION_ENTRIES * abi.SUBMISSION_SIZE > abi.COMPLETIONS) ERROR("COMPLETIONS moved");
if (abi.COMPLETIONS % abi.COMPLETION_SIZE) ERROR("Completions are not aligned");
if (abi.COMPLETIONS + abi.COMPLETION_ENTRIES * abi.COMPLETION_SIZE != abi.ARGUMENT_LENGTHS) {
  ERROR("ARGUMENT_LENGTHS moved");
}
if (abi.ARGUMENT_LENGTHS + abi.ARGUMENTS_MAX * 4 != abi.ARGUMENT_TEXT) ERROR("ARGUMENT_TEXT moved");
if (abi.ARGUMENT_TEXT + abi.ARGUMENT_BYTES + abi.SLACK != abi.ROWS) ERROR("ROWS moved");
if (abi.ROWS + abi.ROW_ENTRIES * abi.ROW_SIZE != abi.CONTROL_SIZE) ERROR("CONTROL_SIZE is not where the rows end");
if (abi.ARGUMENT_TEXT & 15) ERROR("ARGUMENT_TEXT is not aligned");
if (abi.PAIRS_MAX * abi.PAIR_SIZE != abi.ARGUMENT_BYTES) ERROR("PAIRS_MAX is not what fits the argument area");
