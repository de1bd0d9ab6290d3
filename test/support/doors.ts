import { isDeno } from "./runtime.ts";

type Doors = typeof import("../../host-node/mod.ts") & typeof import("../../host-node/broker.ts");

/** The public doors of the runtime that runs the tests. */
export const doors: Doors = isDeno
  ? { ...await import("../../host-deno/mod.ts"), ...await import("../../host-deno/broker.ts") }
  : { ...await import("../../host-node/mod.ts"), ...await import("../../host-node/broker.ts") };
