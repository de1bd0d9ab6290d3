import { coreBytes } from "../build/core_bytes.js";
import { UnsupportedError } from "../client/errors.ts";
import type { CompressionType, Host } from "../client/host.ts";

/** Memory of one core unless given, MiB: an edge runtime ends who takes 128. */
export const CORE_MEMORY_DEFAULT_EDGE = 16;

/** Any runtime with WebAssembly, `TextEncoder` and `TextDecoder`, and `atob`: browsers, their workers, workerd. */
export const host: Pick<Host, "core" | "inflate"> = {
  /** Compiled when it is asked for: whoever passes a module never comes here, and importing the door never fails. */
  get core() {
    return compile();
  },
  inflate,
};

/**
 * Edge runtimes compile no bytes, a page's security policy may forbid it, and old browsers do it on their main thread only
 * when there are few.
 */
function compile(): WebAssembly.Module {
  try {
    return new WebAssembly.Module(coreBytes);
  } catch (cause) {
    throw new UnsupportedError(
      `Cannot compile the core here: pass the module of "rocketmq-wasm/core.wasm" as option "core"`,
      { cause },
    );
  }
}

/** The stream that all these runtimes have gives its bytes later; a body is read now. */
function inflate(type: CompressionType): never {
  throw new UnsupportedError(`Cannot read a body compressed with ${type}: this runtime inflates only asynchronously`);
}
