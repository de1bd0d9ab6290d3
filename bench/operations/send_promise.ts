// What `send()` costs above its frame, against one awaited promise. The first case has a goal: a queue, a slot, a promise and a
// result, by the classes that `send()` uses, for messages that have been checked and without a connection. The second is the whole
// of `send()` against a peer in memory, less the same frames encoded, answered and read without a producer: what is left are also
// the checks of the message, and the way to the connection and back.
import { BarePromises } from "../baselines/bare_promise.ts";
import { bodyOf, sendInput } from "../inputs/send.ts";
import type { Case, Operation, Variant } from "../operation.ts";
import { AwaitedSends } from "../ours/awaited_sends.ts";
import { Sends, SendsWithoutProducer } from "../ours/sends.ts";

/** Calls of one turn. */
const CALLS = 256;
const BODY = 128;

export const sendPromise: Operation = {
  name: "send_promise",
  cases: [awaitingCase, sendingCase],
};

async function awaitingCase(): Promise<Case> {
  const sends = await AwaitedSends.open();
  return {
    name: "send() above its frame",
    bodyBytes: BODY,
    unit: "call",
    perRun: CALLS,
    variants: [awaiting(sends), promising(new BarePromises())],
    bars: [{ ours: "ours", baseline: "bare promise", goal: 1.35, isBestJs: true }],
    close: () => sends.close(),
  };
}

async function sendingCase(): Promise<Case> {
  const sends = await Sends.open();
  return {
    name: "send() above its frame, with its checks and its connection",
    bodyBytes: BODY,
    unit: "call",
    perRun: CALLS,
    variants: [sending(sends), framing(new SendsWithoutProducer()), promising(new BarePromises())],
    without: [["ours", "its frames"]],
    bars: [{ ours: "ours", baseline: "bare promise", isBestJs: true }],
    close: () => sends.close(),
  };
}

const body = bodyOf(BODY);
const keyOf = (call: number): string => sendInput.keys[call & (sendInput.keys.length - 1)]!;

function awaiting(sends: AwaitedSends): Variant {
  const turn = (): Promise<number> =>
    new Promise((resolve, reject) => {
      let stored = 0, left = CALLS;
      const user = async (call: number): Promise<void> => {
        const { sendStatus } = await sends.send([keyOf(call)], body);
        if (sendStatus === "SEND_OK") stored++;
        if (--left === 0) resolve(stored);
      };
      for (let call = 0; call < CALLS; call++) user(call).catch(reject);
      sends.settle();
    });
  return variant("ours", turn);
}

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
