import { coreBytes } from "../../build/core_bytes.js";

export const coreModule = new WebAssembly.Module(coreBytes);
