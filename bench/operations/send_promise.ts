// What `send()` costs above its frame: checks, choice of a queue, a slot, one promise, one result. The whole of `send()` is
// measured against a peer in memory, then the same frames without a producer; what is left is held against a bare promise.
import { BarePromises } from "../baselines/bare_promise.ts";
import { bodyOf, sendInput } from "../inputs/send.ts";
import type { Case, Operation, Variant } from "../operation.ts";
import { Sends, SendsWithoutProducer } from "../ours/sends.ts";

/** Calls of one turn. */
const CALLS = 256;
const BODY = 128;

export const sendPromise: Operation = {
  name: "send_promise",
  cases: [sendingCase],
};

async function sendingCase(): Promise<Case> {
  const sends = await Sends.open();
  return {
    name: "send() above its frame",
    bodyBytes: BODY,
    unit: "call",
    perRun: CALLS,
    variants: [sending(sends), framing(new SendsWithoutProducer()), promising(new BarePromises())],
    without: [["ours", "its frames"]],
    bars: [{ ours: "ours", baseline: "bare promise", goal: 1.35, isBestJs: true }],
    close: () => sends.close(),
  };
}

const body = bodyOf(BODY);
const keyOf = (call: number): string => sendInput.keys[call & (sendInput.keys.length - 1)]!;

function sending(sends: Sends): Variant {
  const turn = (): Promise<number> =>
    new Promise((resolve, reject) => {
      let stored = 0, left = CALLS;
      const user = async (call: number): Promise<void> => {
        const { sendStatus } = await sends.send(keyOf(call), body);
        if (sendStatus === "SEND_OK") stored++;
        if (--left === 0) resolve(stored);
      };
      for (let call = 0; call < CALLS; call++) user(call).catch(reject);
    });
  return variant("ours", turn);
}

function framing(frames: SendsWithoutProducer): Variant {
  return variant("its frames", () => Promise.resolve(frames.turn(CALLS, keyOf, body)));
}

function promising(promises: BarePromises): Variant {
  const turn = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const first = promises.next;
      let settled = 0, left = CALLS;
      const user = async (): Promise<void> => {
        if (await promises.call() > 0) settled++;
        if (--left === 0) resolve(settled);
      };
      for (let call = 0; call < CALLS; call++) user().catch(reject);
      for (let call = 0; call < CALLS; call++) promises.settle((first + call) & 0xffff);
    });
  return variant("bare promise", turn);
}

const variant = (name: string, turn: () => Promise<number>): Variant => ({
  name,
  run: async () => {
    if (await turn() !== CALLS) throw new Error(`"${name}": a call of the turn has failed`);
  },
  outcome: turn,
});
