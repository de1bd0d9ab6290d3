import { ProcessQueue } from "../../client/consumer/process_queue.ts";
import { ConnectError } from "../../client/errors.ts";
import { PulledMessage } from "../../client/pulled_message.ts";
import { Calls } from "../../client/remoting/calls.ts";
import { patch } from "./probes.ts";

/** Faults that are built in on purpose, to see that the simulation finds them. */
export const PLANTS = ["commit-early", "drop-ack", "double-settle", "keep-lease"] as const;
export type Plant = typeof PLANTS[number];

/** Builds a fault in; the returned function takes it out again. */
export function plant(name: Plant): () => void {
  switch (name) {
    case "commit-early":
      return commitEarly();
    case "drop-ack":
      return dropAck();
    case "double-settle":
      return doubleSettle();
    case "keep-lease":
      return keepLease();
  }
}

/** A message counts as consumed when its handler starts. */
const commitEarly = (): () => void =>
  patch(ProcessQueue.prototype, "take", (original) =>
    function (this: ProcessQueue<unknown>) {
      const message = original.call(this);
      if (message) this.remove(message.offset);
      return message;
    });

/** One in ten messages that were consumed stays in its process queue. */
function dropAck(): () => void {
  let count = 0;
  const forgets = (): boolean => ++count % 10 === 0;
  const undoOne = patch(ProcessQueue.prototype, "remove", (original) =>
    function (this: ProcessQueue<unknown>, offset) {
      return forgets() ? -1 : original.call(this, offset);
    });
  const undoMany = patch(
    ProcessQueue.prototype,
    "finish",
    (original) =>
      function (this: ProcessQueue<unknown>, offset) {
        return !forgets() && original.call(this, offset);
      },
  );
  return () => {
    undoOne();
    undoMany();
  };
}

/** One call in fifty fails after it has been answered, as if its slot had not been cleared. */
function doubleSettle(): () => void {
  let count = 0;
  return patch(Calls.prototype, "release", (original) =>
    function (this: Calls<unknown>, slot) {
      const call = this.call[slot];
      original.call(this, slot);
      if (++count % 50 === 0 && call) queueMicrotask(() => call.fail(new ConnectError("The connection was lost")));
    });
}

/** One message in ten keeps its share of its batch for ever. */
function keepLease(): () => void {
  let count = 0;
  return patch(PulledMessage.prototype, "settle", (original) =>
    function (this: PulledMessage<unknown>) {
      if (++count % 10 !== 0) original.call(this);
    });
}
