import { coreBytes } from "../../build/core_bytes.js";
import { Core } from "../../client/core.ts";
import * as abi from "../../core-as/abi.ts";

/** The built core. */
export const coreModule = new WebAssembly.Module(coreBytes);

/** The built core behind its class, with a runtime's own checksum or without. */
export function openCore(coreMemory = 16, crc32?: (bytes: Uint8Array) => number): Core {
  return new Core(coreModule, coreMemory, crc32);
}

/** One command as it goes into an entry; what is left out is 0. */
export interface Command {
  readonly opcode: number;
  readonly flags?: number;
  readonly token?: number;
  readonly handle?: number;
  readonly ptr?: number;
  readonly value?: number;
  readonly len?: number;
}

/** What the core left in the entry. */
export interface Answer {
  readonly result: number;
  readonly handle: number;
  readonly ptr: number;
  readonly value: number;
  readonly len: number;
}

export interface TinyDriverOptions {
  /** Of 64 KiB; 256 by default. */
  readonly pages?: number;
  /** Where all four ring indices start; 0 by default. */
  readonly firstIndex?: number;
  /** Whether OP_INIT is sent; it is by default. */
  readonly init?: boolean;
  /** The release build unless said otherwise. */
  readonly instantiate?: (memory: WebAssembly.Memory) => WebAssembly.Exports;
}

/** The built core without its class, for commands that `Core` would never submit. */
export class TinyDriver {
  readonly memory: WebAssembly.Memory;
  readonly control: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #drive: () => void;

  constructor({ pages = 256, firstIndex = 0, init = true, instantiate = release }: TinyDriverOptions = {}) {
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const exports = instantiate(this.memory);
    this.#drive = exports["drive"] as () => void;
    this.control = (exports["control"] as WebAssembly.Global).value;
    this.bytes = new Uint8Array(this.memory.buffer);
    this.view = new DataView(this.memory.buffer);
    for (const index of [abi.SQ_HEAD, abi.SQ_TAIL, abi.CQ_HEAD, abi.CQ_TAIL]) this.setIndex(index, firstIndex);
    if (init) this.run({ opcode: abi.OP_INIT });
  }

  get bytesInUse(): number {
    return this.index(abi.BYTES_IN_USE);
  }

  /** One of SQ_HEAD, SQ_TAIL, CQ_HEAD, CQ_TAIL. */
  index(which: number): number {
    return this.view.getUint32(this.control + which, true);
  }

  setIndex(which: number, value: number): void {
    this.view.setUint32(this.control + which, value, true);
  }

  /** Writes a command; returns the address of its entry. */
  submit(command: Command): number {
    const { view, control } = this;
    const tail = this.index(abi.SQ_TAIL);
    const at = control + abi.SUBMISSIONS + tail % abi.SUBMISSION_ENTRIES * abi.SUBMISSION_SIZE;
    view.setUint16(at + abi.SUBMISSION_OPCODE, command.opcode, true);
    view.setUint16(at + abi.SUBMISSION_FLAGS, command.flags ?? 0, true);
    view.setUint32(at + abi.SUBMISSION_TOKEN, command.token ?? 0, true);
    view.setUint32(at + abi.SUBMISSION_HANDLE, command.handle ?? 0, true);
    view.setUint32(at + abi.SUBMISSION_PTR, command.ptr ?? 0, true);
    view.setFloat64(at + abi.SUBMISSION_VALUE, command.value ?? 0, true);
    view.setUint32(at + abi.SUBMISSION_LEN, command.len ?? 0, true);
    this.setIndex(abi.SQ_TAIL, tail + 1);
    return at;
  }

  drive(): void {
    this.#drive();
  }

  answer(at: number): Answer {
    const { view } = this;
    return {
      result: view.getInt32(at + abi.SUBMISSION_RESULT, true),
      handle: view.getUint32(at + abi.SUBMISSION_HANDLE, true),
      ptr: view.getUint32(at + abi.SUBMISSION_PTR, true),
      value: view.getFloat64(at + abi.SUBMISSION_VALUE, true),
      len: view.getUint32(at + abi.SUBMISSION_LEN, true),
    };
  }

  run(command: Command): Answer {
    const at = this.submit(command);
    this.drive();
    return this.answer(at);
  }

  /** Address of the completion that a free-running index names. */
  completion(index: number): number {
    return this.control + abi.COMPLETIONS + (index >>> 0) % abi.COMPLETION_ENTRIES * abi.COMPLETION_SIZE;
  }

  /** Puts arguments where OP_ENCODE finds them. */
  writeArguments(args: readonly Uint8Array[]): void {
    let at = this.control + abi.ARGUMENT_TEXT;
    args.forEach((arg, index) => {
      this.view.setUint32(this.control + abi.ARGUMENT_LENGTHS + index * 4, arg.length, true);
      this.bytes.set(arg, at);
      at += arg.length;
    });
  }
}

function release(memory: WebAssembly.Memory): WebAssembly.Exports {
  return new WebAssembly.Instance(coreModule, { env: { memory } }).exports;
}
