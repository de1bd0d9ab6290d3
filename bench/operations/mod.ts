import type { Operation } from "../operation.ts";
import { consume } from "./consume.ts";
import { crc } from "./crc.ts";
import { decodeResponse } from "./decode_response.ts";
import { encodeSend } from "./encode_send.ts";
import { moduleSize } from "./module.ts";
import { queue } from "./queue.ts";
import { recordWalking } from "./record_walk.ts";
import { sendPromise } from "./send_promise.ts";
import { start } from "./start.ts";

/** In the order of the tables. Each is measured in a process of its own. */
export const operations: readonly Operation[] = [
  encodeSend,
  decodeResponse,
  recordWalking,
  crc,
  consume,
  queue,
  sendPromise,
  moduleSize,
  start,
];
