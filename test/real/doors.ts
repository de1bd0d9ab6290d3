// The library as users get it: the door of the runtime that runs this. The bundle leaves both doors outside.
import type * as client from "../../host-node/mod.ts";
import type * as broker from "../../host-node/broker.ts";

const isDeno = "Deno" in globalThis;

const clientDoor: typeof client = isDeno
  ? await import("../../host-deno/mod.ts")
  : await import("../../host-node/mod.ts");

export const { createProducer, createPushConsumer } = clientDoor;

/** Loaded when it is needed: a member of a group needs none. */
export const startCluster: typeof broker.startCluster = async (options) => {
  const door: typeof broker = isDeno
    ? await import("../../host-deno/broker.ts")
    : await import("../../host-node/broker.ts");
  return await door.startCluster(options);
};
