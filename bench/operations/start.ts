// The time until a core with the default memory is ready, in a process that has started none yet.
import { Core } from "../../client/core.ts";
import type { Operation } from "../operation.ts";
import { coreModule } from "../ours/core_module.ts";

const MIB = 128;
const LIMIT_MS = 15;

export const start: Operation = {
  name: "start",
  cases: [],
  processes: 5,
  facts() {
    const started = performance.now();
    const core = new Core(coreModule, MIB);
    const ms = performance.now() - started;
    if (core.failure) throw core.failure;
    return Promise.resolve([{ name: `start with ${MIB} MiB`, value: ms, unit: "ms", limit: LIMIT_MS }]);
  },
};
