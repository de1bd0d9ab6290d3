import { Core } from "../../client/core.ts";
import type { RocketMQError } from "../../client/errors.ts";
import type { Host } from "../../client/host.ts";
import { Remoting } from "../../client/remoting/remoting.ts";
import { rethrowAssertions } from "../support/assertions.ts";
import { type Faults, Simulation } from "../support/sim.ts";
import { Peer, type Script } from "../support/peer.ts";

export interface World {
  readonly sim: Simulation;
  readonly host: Host;
  readonly core: Core;
  readonly remoting: Remoting;
  readonly errors: RocketMQError[];
  readonly events: string[];
  /** Listens at 10.9.0.1 and a port of its own. */
  peer(script: Script, port?: number): Promise<Peer>;
  /** Closes everything and checks that nothing is left. */
  end(): Promise<void>;
}

/** One client on a simulated host. */
export function world(seed: number, faults: Partial<Faults> = {}): World {
  const sim = new Simulation(seed, faults);
  const host = sim.host("client");
  const core = new Core(host.core, 16);
  const inUse = core.bytesInUse;
  const errors: RocketMQError[] = [], events: string[] = [];
  const remoting = new Remoting({
    host,
    core,
    serializeType: "JSON",
    connectTimeout: 3_000,
    onConnect: (addr) => events.push(`connect ${addr}`),
    onDisconnect: (addr) => events.push(`disconnect ${addr}`),
    onError: (error) => errors.push(error),
  });
  return {
    sim,
    host,
    core,
    remoting,
    errors,
    events,
    peer: (script, port = 0) => Peer.listen(sim.listener, script, "10.9.0.1", port),
    async end() {
      await sim.run(remoting.close());
      rethrowAssertions(errors);
      const { connections, inFlight } = remoting.stats;
      const left = { connections, inFlight, bytes: core.failure ? 0 : core.bytesInUse - inUse };
      if (left.connections || left.inFlight || left.bytes) throw new Error(`Left behind: ${JSON.stringify(left)}`);
    },
  };
}

/** Runs a test in a world of its own. */
export function inWorld(
  seed: number,
  test: (world: World) => Promise<void>,
  faults: Partial<Faults> = {},
): () => Promise<void> {
  return async () => {
    const made = world(seed, faults);
    try {
      await test(made);
      await made.end();
    } finally {
      made.sim.end();
    }
  };
}

/** What became of a promise: its value, or its error. */
export function outcome<T>(promise: Promise<T>): Promise<T | RocketMQError> {
  return promise.catch((error: RocketMQError) => error);
}
