import type { SendTarget } from "../../baselines/send_frame.ts";

/** A client of the kind that is written for one purpose: it sends, and hands out what was answered. */
export interface BaselineClient {
  send(keys: string, body: Uint8Array): Promise<SendResult>;
  close(): void;
}

export interface SendResult {
  readonly sendStatus: "SEND_OK";
  readonly offsetMsgId: string;
  readonly queueId: number;
  readonly queueOffset: number;
}

/** Opens one on a connection to a port of the loopback address. */
export type OpenClient = (port: number, to: SendTarget) => Promise<BaselineClient>;

/** What waits for an answer. */
export interface Waiting {
  readonly resolve: (result: SendResult) => void;
  readonly reject: (error: Error) => void;
}

export const QUEUES = 8;
