// What the core is: its size, what it imports, what it carries.
import { coreBytes } from "../../build/core_bytes.js";
import type { Operation } from "../operation.ts";

const BYTES_MAX = 49_152;
const DATA_SECTION = 11;

export const moduleSize: Operation = {
  name: "module",
  cases: [],
  facts() {
    const module = new WebAssembly.Module(coreBytes);
    return Promise.resolve([
      { name: "the module", value: coreBytes.length, unit: "bytes", limit: BYTES_MAX },
      { name: "the module", value: WebAssembly.Module.imports(module).length, unit: "imports", limit: 1 },
      { name: "the module", value: dataSegments(coreBytes), unit: "data segments", limit: 0 },
    ]);
  },
};

/** Number of segments in a module's data section. */
export function dataSegments(wasm: Uint8Array): number {
  let at = 8;
  const number = (): number => {
    for (let value = 0, shift = 0;; shift += 7) {
      const byte = wasm[at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < wasm.length) {
    const section = wasm[at++]!, length = number(), end = at + length;
    if (section === DATA_SECTION) return number();
    at = end;
  }
  return 0;
}
