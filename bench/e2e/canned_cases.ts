// Clients in JavaScript at a server that does no work: what a send costs the client, without a broker beside it.
import type { BenchCase } from "./cases.ts";

export interface CannedCase extends BenchCase {
  readonly header: "json" | "binary";
  readonly bodyBytes: number;
  readonly window: number;
  readonly messages: number;
  readonly warmUp: number;
}

const BODY_BYTES = 128;
const JSON_CLIENTS = ["ours", "best JavaScript", "tuned JS", "typical JS"];

/** A window, and how many messages take about a second. */
const WINDOWS = [[1, 20_000], [64, 300_000], [1024, 400_000]] as const;

export const cannedCases: readonly CannedCase[] = (["json", "binary"] as const).flatMap((header) =>
  WINDOWS.map(([window, messages]): CannedCase => {
    const clients = header === "json" ? JSON_CLIENTS : JSON_CLIENTS.filter((name) => name !== "typical JS");
    return {
      name: `canned-${header}-w${window}`,
      header,
      bodyBytes: BODY_BYTES,
      window,
      messages,
      warmUp: Math.max(5_000, messages / 4),
      clients,
      bars: clients.slice(1).map((baseline) => ({ baseline })),
    };
  })
);
