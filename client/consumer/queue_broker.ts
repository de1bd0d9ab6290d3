import { RouteError } from "../errors.ts";
import type { Instance } from "../instance.ts";
import type { MessageQueue } from "../message.ts";
import { MASTER_ID } from "../route/topic_route.ts";

/** Where the broker of a queue is: its master, or, for what may be read anywhere, a slave while there is no master. */
export function brokerAddr(instance: Instance, { topic, brokerName }: MessageQueue, orSlave = false): string {
  const addr = instance.routes.brokerAddr(topic, brokerName, MASTER_ID, orSlave);
  if (addr === undefined) throw brokerMissing({ topic, brokerName });
  return addr;
}

export const brokerMissing = ({ topic, brokerName }: Pick<MessageQueue, "topic" | "brokerName">): RouteError =>
  new RouteError(`Broker ${brokerName} has no address`, { topic });

/** A queue, for people. */
export const nameOf = ({ topic, brokerName, queueId }: MessageQueue): string => `${topic}/${brokerName}/${queueId}`;
