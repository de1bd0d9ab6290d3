import Table from "cli-table3";
import type { Report } from "./traffic.ts";

/** What `--json` prints, on one line. */
export function toJSON(report: Report): Record<string, number> {
  const { sent, consumed, seconds, p50Ms, p99Ms, sendP50Ms, sendP99Ms, checksumsVerified, lost, duplicate, bad } =
    report;
  return {
    sent,
    consumed,
    seconds: rounded(seconds),
    messagesPerSecond: Math.round(sent / seconds),
    p50Ms: rounded(p50Ms),
    p99Ms: rounded(p99Ms),
    sendP50Ms: rounded(sendP50Ms),
    sendP99Ms: rounded(sendP99Ms),
    cpuSecondsPerMillion: rounded(report.cpuSeconds / sent * 1e6),
    checksumsVerified,
    lost,
    duplicate,
    bad,
  };
}

const rounded = (value: number): number => Number(value.toFixed(3));

/** The same for people. */
export function table(report: Report): string {
  const values = toJSON(report);
  const rows = new Table({ colAligns: ["left", "right"], style: { head: [], border: [] } });
  for (const [title, name] of ROWS) rows.push([title, (values[name] ?? 0).toLocaleString("en")]);
  return rows.toString();
}

const ROWS: readonly (readonly [title: string, name: string])[] = [
  ["messages sent", "sent"],
  ["messages consumed", "consumed"],
  ["seconds", "seconds"],
  ["messages/s", "messagesPerSecond"],
  ["send → handler, p50 ms", "p50Ms"],
  ["send → handler, p99 ms", "p99Ms"],
  ["send → result, p50 ms", "sendP50Ms"],
  ["send → result, p99 ms", "sendP99Ms"],
  ["CPU seconds per million", "cpuSecondsPerMillion"],
  ["checksums verified", "checksumsVerified"],
  ["lost", "lost"],
  ["duplicate", "duplicate"],
  ["bad", "bad"],
];
