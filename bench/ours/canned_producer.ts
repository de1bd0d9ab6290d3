import { DefaultProducer } from "../../client/producer/producer.ts";
import { createProducerOn } from "../../client/shared_client.ts";
import { sendInput } from "../inputs/send.ts";
import { cannedHost } from "./canned_host.ts";

/** A producer whose broker is in memory, by its class: parts of it are measured alone. */
export function cannedProducer(): DefaultProducer<Uint8Array> {
  const producer = createProducerOn<Uint8Array>(cannedHost, {
    namesrvAddr: "127.0.0.1:9876",
    producerGroup: sendInput.producerGroup,
    serializeType: "ROCKETMQ",
    compression: false,
  });
  if (!(producer instanceof DefaultProducer)) throw new Error("A producer of another class cannot be measured");
  return producer;
}
