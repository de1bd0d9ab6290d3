// The public names of a client, whatever the host.
export type { AllocateStrategy } from "./allocate.ts";
export { bytes, type Codec, json, type Schema, text } from "./body_codec.ts";
export type { CallOptions, Client, ClientState, ClientStats } from "./client.ts";
export type { ConsumeConcurrentlyStatus, ConsumeContext, Later, MessageListener } from "./consumer/listener.ts";
export type { PushConsumer } from "./consumer/push_consumer.ts";
export {
  ArgumentError,
  BrokerError,
  ClosedError,
  CodecError,
  ConnectError,
  CoreError,
  type ErrorCode,
  FrameError,
  HandlerError,
  InternalError,
  isRocketMQError,
  OverloadError,
  PermissionError,
  RocketMQError,
  RouteError,
  TimeoutError,
  UnsupportedError,
} from "./errors.ts";
export type { ClientEvents, ConsumerEvents } from "./events.ts";
export type { TlsOptions } from "./host.ts";
export type { Message, MessageExt, MessageQueue, SendResult, SendStatus } from "./message.ts";
export type {
  ClientOptions,
  ConsumeFromWhere,
  Credentials,
  Logger,
  LogMethod,
  MessageSelector,
  ProducerOptions,
  PushConsumerOptions,
} from "./options.ts";
export type { Producer, SendOptions } from "./producer/producer.ts";
export type { SharedClient } from "./shared_client.ts";
