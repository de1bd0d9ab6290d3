import { MessageStore } from "../../broker/message_store.ts";
import { Offsets } from "../../broker/offsets.ts";
import { RequestCode, ResponseCode } from "../../client/protocol/codes.ts";
import { decodeProperties } from "../../client/protocol/properties.ts";
import { KEYS } from "../../client/protocol/property_names.ts";
import { decodeRecord } from "../../client/protocol/record.ts";
import { Sending } from "../../client/producer/sending.ts";
import { Remoting } from "../../client/remoting/remoting.ts";
import type { Ledger } from "./ledger.ts";

/** One call of one client, and how often it has ended. */
interface Call {
  readonly remoting: Remoting;
  readonly what: string;
  ends: number;
}

/** What the probes have seen. */
export interface Seen {
  readonly calls: Call[];
  /** Tries of sends after the first. */
  retries: number;
  sendBacks: number;
}

/** Replaces a method until the returned function is called. */
export function patch<T extends object, Name extends keyof T>(
  prototype: T,
  name: Name,
  replace: (original: T[Name]) => T[Name],
): () => void {
  const original = prototype[name];
  prototype[name] = replace(original);
  return () => void (prototype[name] = original);
}

/** Watches brokers and clients from inside, so that nothing is missed and nothing is disturbed. */
export function probe(ledger: Ledger): { readonly seen: Seen; readonly remove: () => void } {
  const seen: Seen = { calls: [], retries: 0, sendBacks: 0 };
  const removers = [...probeBrokers(ledger), ...probeClients(seen)];
  return { seen, remove: () => removers.reverse().forEach((remove) => remove()) };
}

function probeBrokers(ledger: Ledger): (() => void)[] {
  return [
    patch(
      MessageStore.prototype,
      "append",
      (original) =>
        function (this: MessageStore, queue, position, size, tagHash, storeTimestamp) {
          const offset = original.call(this, queue, position, size, tagHash, storeTimestamp);
          const { topic, queueId, properties } = decodeRecord(this.log.read(position, size)!);
          ledger.stored(this.brokerName, topic, queueId, offset, decodeProperties(properties)[KEYS] ?? "");
          return offset;
        },
    ),
    patch(Offsets.prototype, "commit", (original) =>
      function (this: Offsets, group, topic, queueId, offset) {
        original.call(this, group, topic, queueId, offset);
        ledger.committed(group, this.brokerName, topic, queueId, Number(offset));
      }),
  ];
}

function probeClients(seen: Seen): (() => void)[] {
  const tried = new WeakSet<Sending>();
  return [
    patch(
      Remoting.prototype,
      "begin",
      (original) =>
        function (this: Remoting, addr, begun, timeout, signal) {
          const { outgoing } = begun, code = "code" in outgoing ? outgoing.code : undefined;
          const call: Call = { remoting: this, what: code === undefined ? "a program" : `request ${code}`, ends: 0 };
          seen.calls.push(call);
          const probed: typeof begun = {
            get outgoing() {
              return begun.outgoing;
            },
            settle(frame) {
              call.ends++;
              if (code === RequestCode.CONSUMER_SEND_MSG_BACK && frame.code === ResponseCode.SUCCESS) seen.sendBacks++;
              begun.settle(frame);
            },
            fail(error) {
              call.ends++;
              begun.fail(error);
            },
          };
          original.call(this, addr, probed, timeout, signal);
        },
    ),
    patch(Sending.prototype, "try", (original) =>
      function (this: Sending, targets, timeLeft) {
        if (tried.has(this)) seen.retries++;
        tried.add(this);
        original.call(this, targets, timeLeft);
      }),
  ];
}
