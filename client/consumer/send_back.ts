import { brokerError, type Instance } from "../instance.ts";
import { ConnectError } from "../errors.ts";
import { reasonOf } from "../show.ts";
import type { MessageQueue } from "../message.ts";
import { ResponseCode } from "../protocol/codes.ts";
import { AUTO_CREATE_TOPIC, retryTopic } from "../protocol/names.ts";
import { encodeProperties } from "../protocol/properties.ts";
import * as names from "../protocol/property_names.ts";
import { sendRequest } from "../protocol/send.ts";
import { sendBackRequest } from "../protocol/send_back.ts";
import * as sysFlags from "../protocol/sys_flag.ts";
import type { PulledMessage } from "../pulled_message.ts";

const TIMEOUT = 5_000;
/** Level 0 means: three more than the failures so far. */
const FIRST_LEVEL = 3;
/** The Java client sends under this name what the broker did not take back. */
const INNER_PRODUCER = "CLIENT_INNER_PRODUCER";

/**
 * Gives a message back, to be delivered to its group again after a while. When the broker that has it cannot take it back,
 * a copy goes to the group's retry topic (`DefaultMQPushConsumerImpl#sendMessageBack`). Throws when that fails too.
 */
export async function sendBack<T>(
  instance: Instance,
  consumerGroup: string,
  queue: MessageQueue,
  message: PulledMessage<T>,
  delayLevel: number,
  maxReconsumeTimes: number,
): Promise<void> {
  const addr = instance.routes.brokerAddr(queue.topic, queue.brokerName) ?? message.storeHost;
  const request = sendBackRequest({
    group: consumerGroup,
    offset: message.commitLogOffset,
    delayLevel,
    originMsgId: message.msgId,
    originTopic: message.storedTopic,
    unitMode: false,
    maxReconsumeTimes,
    brokerName: queue.brokerName,
  });
  try {
    const response = await instance.remoting.invoke(addr, request, { timeout: TIMEOUT });
    if (response.code === ResponseCode.SUCCESS) return;
    throw brokerError(`The broker does not take message ${message.msgId} back`, response, addr, queue);
  } catch (error) {
    if (instance.isClosed) throw error;
    instance.log("warn", "Cannot send a message back; sending a copy", {
      error: reasonOf(error),
      msgId: message.msgId,
    });
    await sendCopy(instance, consumerGroup, message, delayLevel, maxReconsumeTimes);
  }
}

async function sendCopy<T>(
  instance: Instance,
  consumerGroup: string,
  message: PulledMessage<T>,
  delayLevel: number,
  maxReconsumeTimes: number,
): Promise<void> {
  const topic = retryTopic(consumerGroup);
  const route = await instance.routes.findToSend(topic, 1);
  const queue = route.publishQueues[Math.floor(Math.random() * route.publishQueues.length)]!;
  const addr = instance.routes.brokerAddr(topic, queue.brokerName);
  if (addr === undefined) throw new ConnectError(`Broker ${queue.brokerName} has no address`, { topic });
  const properties: Record<string, string> = { ...message.properties };
  const level = delayLevel > 0 ? delayLevel : FIRST_LEVEL + message.reconsumeTimes;
  properties[names.ORIGIN_MESSAGE_ID] ??= message.offsetMsgId;
  properties[names.RETRY_TOPIC] = message.topic;
  properties[names.DELAY] = String(level);
  for (const name of [names.MIN_OFFSET, names.MAX_OFFSET, names.TRANSACTION_PREPARED]) delete properties[name];
  const request = sendRequest({
    producerGroup: INNER_PRODUCER,
    topic,
    brokerName: queue.brokerName,
    defaultTopic: AUTO_CREATE_TOPIC,
    defaultTopicQueueNums: 1,
  }, {
    queueId: queue.queueId,
    sysFlag: message.sysFlag & (sysFlags.COMPRESSED | sysFlags.COMPRESSION_MASK),
    bornTimestamp: instance.host.clock.now(),
    flag: message.flag,
    properties: encodeProperties(properties),
    reconsumeTimes: delayLevel < 0 ? maxReconsumeTimes + 1 : message.reconsumeTimes + 1,
    unitMode: false,
    maxReconsumeTimes,
    batch: false,
  }, message.storedBody().slice());
  const response = await instance.remoting.invoke(addr, request, { timeout: TIMEOUT });
  if (response.code !== ResponseCode.SUCCESS) {
    throw brokerError(`Cannot send message ${message.msgId} to topic "${topic}"`, response, addr, queue);
  }
}
