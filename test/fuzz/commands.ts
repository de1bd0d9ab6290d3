// Commands that `Core` would never submit: any number anywhere, mixed with right ones. None may trap, and what was opened
// can be closed afterwards, to the last byte.

import * as abi from "../../core-as/abi.ts";
import type { Random } from "../core/random.ts";
import { type Answer, type Command, TinyDriver } from "../support/core.ts";

const PAGES = 64;
const MOST = 24;
const NUMBERS = [0, 1, 2, 7, 63, 64, 100, 1000, 4096, 65_535, 65_536, 2 ** 20, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
const VALUES = [0, 1, -1, 0.5, 1e15, 2 ** 53 - 1, 2 ** 53, -(2 ** 63), 2 ** 64, NaN, Infinity, -Infinity, -0];
const OFFSETS = [0n, -1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n - 64n, -(2n ** 63n)];

const OPCODES = Object.entries(abi).flatMap(([name, value]) => name.startsWith("OP_") ? [value] : []);
const ERRORS = new Set(Object.entries(abi).flatMap(([name, value]) => name.startsWith("E_") ? [value] : []));

/** Which command closes what another one opened. */
const CLOSES: ReadonlyMap<number, number> = new Map([
  [abi.OP_ALLOCATE_BLOCK, abi.OP_FREE_BLOCK],
  [abi.OP_CONNECTION_OPEN, abi.OP_CONNECTION_CLOSE],
  [abi.OP_PROGRAM_COMPILE, abi.OP_PROGRAM_FREE],
  [abi.OP_SEGMENT_OPEN, abi.OP_SEGMENT_FREE],
  [abi.OP_QUEUE_OPEN, abi.OP_QUEUE_CLOSE],
]);
const OPENS: ReadonlyMap<number, number> = new Map([...CLOSES].map(([open, close]) => [close, open]));

/** A core that is driven without its class, for many cases one after the other. */
export class CommandFuzzer {
  readonly #core = new TinyDriver({ pages: PAGES });
  readonly #start: number;
  /** What is open, by the command that opened it: handles, or addresses of blocks. */
  readonly #open: ReadonlyMap<number, number[]> = new Map([...CLOSES.keys()].map((opcode) => [opcode, []]));

  constructor() {
    this.#start = this.#core.bytesInUse;
  }

  /** Some commands, then all that is open is closed. */
  run(random: Random): void {
    for (let count = 1 + random.below(MOST); count > 0; count--) this.#one(random);
    for (const [opcode, open] of this.#open) {
      while (open.length > 0) this.#close(opcode, open[0]!);
    }
    if (this.#core.bytesInUse !== this.#start) throw new Error(`${this.#core.bytesInUse} bytes are in use at the end`);
  }

  /** Walks a body that ends where the memory ends, but for the slack: a read too far traps there. Nothing is open now. */
  walkAtEnd(body: Uint8Array): void {
    const { bytes } = this.#core, ptr = bytes.length - abi.SLACK - body.length;
    if (ptr < bytes.length / 2) return;
    bytes.set(body, ptr);
    for (let value = 0; value < body.length;) {
      const flags = abi.WALK_CRC | abi.WALK_ASCII;
      const answer = this.#run({ opcode: abi.OP_WALK, flags, ptr, len: body.length, value });
      if (answer.result < 0 || answer.value <= value) throw new Error(`a walk from ${value} gives ${answer.result}`);
      value = answer.value;
    }
  }

  #close(opened: number, name: number): void {
    const opcode = CLOSES.get(opened)!;
    const command = opened === abi.OP_ALLOCATE_BLOCK ? { opcode, ptr: name } : { opcode, handle: name };
    const answer = this.#run(command);
    if (answer.result !== 0) throw new Error(`${JSON.stringify(command)} gives ${answer.result}`);
  }

  #one(random: Random): void {
    const opcode = random.once(50) ? random.below(65_536) : random.pick(OPCODES);
    if (random.once(2)) this.#fillArguments(random);
    if (opcode === abi.OP_FEED && !random.once(4)) return this.#feed(random);
    this.#run({
      opcode,
      flags: random.once(3) ? random.bits() & 0xffff : random.below(3),
      token: this.#number(random),
      handle: random.once(4) ? this.#number(random) : this.#handle(random),
      ptr: random.once(3) ? this.#number(random) : this.#address(random),
      value: random.once(2) ? random.pick(VALUES) : random.below(5000),
      len: this.#number(random),
    });
  }

  /** Bytes that are none of a frame, or half of one, into the room of a connection. */
  #feed(random: Random): void {
    const handle = random.pick(this.#open.get(abi.OP_CONNECTION_OPEN)!) ?? 0;
    const room = this.#run({ opcode: abi.OP_ROOM, handle });
    if (room.result < 0) return;
    const length = Math.min(room.len, random.below(300));
    const bytes = random.bytes(length);
    if (length >= 8 && random.once(2)) {
      bytes.set([0, 0, random.below(2), random.bits(), random.below(2), 0, 0, random.below(40)]);
    }
    this.#core.bytes.set(bytes, room.ptr);
    this.#run({ opcode: abi.OP_FEED, handle, len: length });
  }

  #run(command: Command): Answer {
    const core = this.#core;
    const answer = core.run(command);
    if (answer.result < 0 && !ERRORS.has(answer.result)) {
      throw new Error(`${JSON.stringify(command)} gives ${answer.result}`);
    }
    this.#note(command, answer);
    // Completions are read and dropped: their places must lie in the memory.
    for (let tail = core.index(abi.CQ_TAIL); tail !== core.index(abi.CQ_HEAD); tail = (tail + 1) >>> 0) {
      const at = core.completion(tail);
      const header = core.view.getUint32(at + abi.COMPLETION_HEADER_PTR, true);
      const body = core.view.getUint32(at + abi.COMPLETION_BODY_PTR, true);
      const end = body + core.view.getUint32(at + abi.COMPLETION_BODY_LEN, true);
      if (header > body || end > core.bytes.length) throw new Error(`a completion from ${header} to ${end}`);
    }
    core.setIndex(abi.CQ_TAIL, core.index(abi.CQ_HEAD));
    return answer;
  }

  /** Keeps the books on what is open. */
  #note({ opcode, ptr = 0, handle = 0 }: Command, answer: Answer): void {
    if (answer.result < 0) return;
    const opened = this.#open.get(opcode === abi.OP_LEASE ? abi.OP_ALLOCATE_BLOCK : opcode);
    if (opened) {
      const isHandle = opcode === abi.OP_CONNECTION_OPEN || opcode === abi.OP_QUEUE_OPEN;
      opened.push(isHandle ? answer.handle : answer.result);
    }
    const closed = this.#open.get(OPENS.get(opcode) ?? 0);
    if (closed) closed.splice(closed.indexOf(opcode === abi.OP_FREE_BLOCK ? ptr : handle), 1);
  }

  #number(random: Random): number {
    return random.once(3) ? random.pick(NUMBERS) : random.below(random.pick([4, 200, 5000]));
  }

  #handle(random: Random): number {
    return random.pick(random.pick([...this.#open.values()])) ?? 0;
  }

  #address(random: Random): number {
    const address = random.once(2)
      ? random.pick(this.#open.get(abi.OP_SEGMENT_OPEN)!)
      : random.pick(this.#open.get(abi.OP_ALLOCATE_BLOCK)!);
    return address ?? random.below(this.#core.bytes.length + 1000);
  }

  /** Lengths, then steps, pairs or text: right ones, wrong ones, whatever was there before. */
  #fillArguments(random: Random): void {
    const { view, control } = this.#core;
    let at = control + abi.ARGUMENT_TEXT;
    switch (random.below(3)) {
      case 0:
        for (let steps = random.below(8); steps > 0; steps--) {
          const literal = random.below(random.once(20) ? 70_000 : 30);
          view.setUint16(at, random.below(14) | (random.once(4) ? abi.PROGRAM_BINARY : 0), true);
          view.setUint16(at + 2, literal, true);
          at += Math.min(4 + literal, 1000);
        }
        view.setUint32(at, 0);
        return;
      case 1:
        for (let pairs = random.below(40); pairs > 0; pairs--, at += abi.PAIR_SIZE) {
          view.setBigInt64(at, random.once(9) ? random.pick(OFFSETS)! : BigInt(random.below(2000)), true);
          view.setUint32(at + abi.PAIR_BYTES, random.bits(), true);
        }
        return;
      default:
        for (let index = 0; index < 6; index++) {
          view.setUint32(control + abi.ARGUMENT_LENGTHS + index * 4, this.#number(random), true);
          view.setUint32(at + index * 4, random.bits(), true);
        }
    }
  }
}
