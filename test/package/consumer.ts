// Compiled against the package's declarations alone, with `lib: ES2022`, no types of any runtime, and `skipLibCheck: false`.
import {
  createClient,
  createProducer,
  createPushConsumer,
  isRocketMQError,
  type MessageExt,
  type Producer,
  type PushConsumer,
  type SendResult,
} from "rocketmq-wasm";
import { type EmbeddedCluster, startCluster } from "rocketmq-wasm/broker";
import { createCodec, type RemotingCodec } from "rocketmq-wasm/codec";

export const producer: Producer = createProducer({ namesrvAddr: ["127.0.0.1:9876"] });
export const consumer: PushConsumer<string> = createPushConsumer({
  namesrvAddr: "127.0.0.1:9876",
  consumerGroup: "readers",
  codec: { encode: () => new Uint8Array(), decode: (body) => String(body.length) },
});
export const shared: Producer<string> = createClient({ namesrvAddr: "127.0.0.1:9876" }).createProducer<string>();
export const codec: RemotingCodec = createCodec();
export const cluster: Promise<EmbeddedCluster> = startCluster();

export async function sendOnce(body: Uint8Array): Promise<SendResult | undefined> {
  try {
    return await producer.send({ topic: "greetings", body });
  } catch (error) {
    if (isRocketMQError(error) && error.code === "ROCKETMQ_TIMEOUT" && error.retryable) return undefined;
    throw error;
  }
}

export const offsets = (messages: readonly MessageExt<string>[]): bigint[] =>
  messages.map((message) => message.queueOffset);
