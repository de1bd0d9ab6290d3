import { type RocketMQError, TimeoutError } from "../errors.ts";
import type { Clock } from "../host.ts";
import { ONEWAY_FLAG } from "../protocol/codes.ts";
import type { Request } from "../protocol/command.ts";
import type { Connection } from "./connection.ts";

/** No call has slot 65,535, so a peer that answers such a request all the same reaches nobody. */
const ONEWAY_OPAQUE = 0xffff;

/** Sends a request that is not answered. Resolves when the socket has taken its bytes. */
export function sendOneway(
  connection: Connection,
  request: Request,
  clock: Clock,
  { timeout, signal }: { readonly timeout: number; readonly signal?: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (error?: RocketMQError) => {
      timer.cancel();
      signal?.removeEventListener("abort", aborted);
      if (error) reject(error);
      else resolve();
    };
    const giveUp = (error: RocketMQError) => {
      if (waiting) connection.withdraw(waiting);
      end(error);
    };
    const aborted = () => giveUp(signal!.reason);
    const { addr } = connection;
    const timer = clock.setTimer(
      Math.max(0, timeout),
      () => giveUp(new TimeoutError(`Cannot send to ${addr} within ${timeout} ms`, { addr })),
    );
    signal?.addEventListener("abort", aborted);
    const waiting = connection.send(ONEWAY_OPAQUE, { ...request, flag: ONEWAY_FLAG }, end);
  });
}
