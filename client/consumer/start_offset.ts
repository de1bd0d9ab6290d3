import { brokerError, type Instance } from "../instance.ts";
import type { MessageQueue } from "../message.ts";
import type { ConsumeFromWhere } from "../options.ts";
import { ResponseCode } from "../protocol/codes.ts";
import type { Request } from "../protocol/command.ts";
import { isRetryTopic } from "../protocol/names.ts";
import { maxOffsetRequest, readSafeOffset, searchOffsetRequest } from "../protocol/offsets.ts";
import type { BrokerOffsetStore } from "./offset_store.ts";
import { brokerAddr, nameOf } from "./queue_broker.ts";

/** Where a queue that has just become ours is read from (`RebalancePushImpl#computePullFromWhereWithException`). */
export async function startOffset(
  instance: Instance,
  store: BrokerOffsetStore,
  queue: MessageQueue,
  where: ConsumeFromWhere,
): Promise<number> {
  const committed = await store.read(queue);
  if (committed !== undefined) return committed;
  const isRetry = isRetryTopic(queue.topic);
  if (where === "CONSUME_FROM_FIRST_OFFSET") return 0;
  if (where === "CONSUME_FROM_LAST_OFFSET") return isRetry ? 0 : await ask(instance, queue, maxOffsetRequest(queue));
  return await ask(instance, queue, isRetry ? maxOffsetRequest(queue) : searchOffsetRequest(queue, where.timestamp));
}

async function ask(instance: Instance, queue: MessageQueue, request: Request): Promise<number> {
  const addr = brokerAddr(instance, queue);
  const response = await instance.remoting.invoke(addr, request, { timeout: instance.options.requestTimeout });
  if (response.code !== ResponseCode.SUCCESS) {
    throw brokerError(`Cannot find where queue ${nameOf(queue)} begins`, response, addr, queue);
  }
  return Math.max(0, readSafeOffset(response));
}
