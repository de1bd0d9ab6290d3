// The fuzzer: decoders and core against their models. Runs in a worker, so that a case that never ends is found too.

import process from "node:process";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { optionsOf } from "../support/command_line.ts";
import { type FuzzArguments, parseArguments, USAGE } from "./arguments.ts";
import { caseOf } from "./cases.ts";
import { Finding, Fuzzer } from "./fuzzer.ts";
import { loadFrames } from "./vectors.ts";

interface WorkerData extends FuzzArguments {
  /** One 32-bit number: cases begun. */
  readonly progress: SharedArrayBuffer;
}

/** No case takes so long, on any machine. */
const STUCK_MS = 20_000;

if (isMainThread) main(process.argv.slice(2));
else work(workerData as WorkerData);

function main(args: readonly string[]): void {
  const options = optionsOf(args, parseArguments, USAGE);
  if (options) watch(options);
}

/** Starts the worker and sees to it that it goes on. */
function watch(options: FuzzArguments): void {
  console.log(`seed ${options.seed}`);
  const progress = new SharedArrayBuffer(4), begun = new Int32Array(progress);
  const worker = new Worker(new URL(import.meta.url), { workerData: { ...options, progress } });
  let last = -1;
  const watchdog = setInterval(() => {
    const now = Atomics.load(begun, 0);
    if (now === last && now > 0) {
      const index = options.from + now - 1;
      console.log(`\nCase ${index} does not end\nbytes ${hex(caseOf(options.seed, index, loadFrames()).bytes)}`);
      process.exit(1);
    }
    last = now;
  }, STUCK_MS);
  worker.on("message", ({ lines, isDone, isGood }: Report) => {
    for (const line of lines) console.log(line);
    if (isDone) clearInterval(watchdog);
    if (!isGood) process.exitCode = 1;
  });
  worker.on("error", (error) => {
    clearInterval(watchdog);
    console.error(error);
    process.exitCode = 1;
  });
}

/** What the worker has to say. */
interface Report {
  readonly lines: readonly string[];
  readonly isDone: boolean;
  readonly isGood: boolean;
}

function work({ seed, from, count, seconds, progress }: WorkerData): void {
  const begun = new Int32Array(progress), fuzzer = new Fuzzer(seed, loadFrames());
  const start = performance.now(), lines: string[] = [];
  const secondsSince = () => (performance.now() - start) / 1000;
  let told = 0;
  try {
    for (let done = 0; done < count; done++) {
      Atomics.store(begun, 0, done + 1);
      fuzzer.run(from + done);
      if (done % 256 !== 0) continue;
      const now = secondsSince();
      if (now >= seconds) break;
      if (now - told < 30) continue;
      told = now;
      report({ lines: [`${fuzzer.counts.cases} cases, ${Math.round(now)} s`], isDone: false, isGood: true });
    }
    fuzzer.checkBytesInUse();
  } catch (error) {
    lines.push(...describe(error, seed));
  }
  const isGood = lines.length === 0;
  report({ lines: [...lines, ...summary(fuzzer, secondsSince(), isGood)], isDone: true, isGood });
}

function report(message: Report): void {
  parentPort!.postMessage(message);
}

function describe(error: unknown, seed: number): string[] {
  const cause = error instanceof Finding ? error.cause : error;
  const lines = [String(error), cause instanceof Error ? cause.stack ?? "" : ""];
  if (!(error instanceof Finding)) return lines;
  return [
    ...lines,
    `bytes ${hex(error.found.bytes)}`,
    `again: npm run fuzz -- --seed ${seed} --from ${error.index} --count 1`,
  ];
}

function summary({ counts, near: { near, nearHits }, bytesInUse }: Fuzzer, seconds: number, isGood: boolean): string[] {
  const { cases, kinds, walked, records, longSums, frames, read, refused } = counts;
  const share = (count: number) => `${(count / cases * 100).toFixed(1)} %`;
  return [
    `cases                 ${cases} in ${seconds.toFixed(1)} s, ${Math.round(cases / seconds)} a second`,
    `mutations of vectors  ${share(kinds.vector)}`,
    `generated             headers ${share(kinds.header)}, records ${share(kinds.records)}, ` +
    `answers ${share(kinds.answers)}, garbage ${share(kinds.garbage)}, LZ4 ${share(kinds.lz4)}, ` +
    `commands ${share(kinds.commands)}`,
    `reached the walk      ${share(walked)}, ${records} records, ${longSums} sums left to the runtime`,
    `frames                ${frames}, ${read} headers read by the core, ${share(refused)} of the cases refused`,
    `near right answers    ${near} headers, ${(nearHits / near * 100).toFixed(1)} % read by a learned shape`,
    `core bytes in use     ${bytesInUse.join(" at the start, ")} at the end`,
    isGood ? "no fault found" : "A FAULT WAS FOUND",
  ];
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
