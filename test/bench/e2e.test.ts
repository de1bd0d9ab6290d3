import { describe, expect, test } from "vitest";
import { parseEndToEndArguments } from "../../bench/e2e/arguments.ts";
import { cannedCases } from "../../bench/e2e/canned_cases.ts";
import { type BenchCase, cases, chosenCases } from "../../bench/e2e/cases.ts";
import { Counter, type Measurement, measurementOf } from "../../bench/e2e/meter.ts";
import { Arrivals, sendAtRate, sendInWindow, stampedBody } from "../../bench/e2e/paced.ts";
import { topOfProfile } from "../../bench/e2e/profile.ts";
import { parseSettings, settingArguments } from "../../bench/e2e/settings.ts";
import {
  barLines,
  endToEndMarkdown,
  endToEndSummary,
  endToEndTable,
  readLines,
  runLine,
  runtimesIn,
  settingLine,
} from "../../bench/e2e/table.ts";
import { lackingOf, medianOf, missedOf, rowsOf, type Run } from "../../bench/e2e/verdict.ts";

const NODE = "node 20.20.2";

const measured = (client: string, cpuPerMillion: number, more: Partial<Measurement> = {}): Measurement => ({
  client,
  messages: 1_000,
  seconds: 1,
  msgsPerSec: 1_000,
  cpuSeconds: cpuPerMillion / 1e3,
  cpuPerMillion,
  p50Ms: 1,
  p99Ms: 2,
  rssMiB: 80,
  errors: 0,
  ...more,
});

const run = (
  client: string,
  cpuPerMillion: number,
  runtime: string | null = null,
  more?: Partial<Measurement>,
): Run => ({
  name: "push-128",
  runtime,
  client,
  measurement: measured(client, cpuPerMillion, more),
});

/** A case with two bars: 2.5 × raw socket, 0.35 × Java. */
const push = chosenCases(["push-128"], cases);

describe("arguments", () => {
  test("without any, everything runs three times on Node", () => {
    expect(parseEndToEndArguments([])).toMatchObject({ runtimes: ["node"], only: [], runs: 3, json: false, from: [] });
    expect(parseEndToEndArguments([]).clients).toContain("raw socket");
  });

  test("runtimes and clients are taken by name, in an order of their own", () => {
    const options = parseEndToEndArguments([
      "--runtime",
      "bun",
      "--runtime",
      "node",
      "--client",
      "Java",
      "--runs",
      "5",
    ]);
    expect(options).toMatchObject({ runtimes: ["node", "bun"], clients: ["Java"], runs: 5 });
  });

  test.each([
    [["--runtime", "perl"], "--runtime takes node, deno, bun"],
    [["--client", "C++"], "--client takes ours, raw socket"],
    [["--runs", "0"], "--runs takes a whole number"],
    [["--runs", "two"], "--runs takes a whole number"],
    [["--profile", "x", "--runtime", "deno"], "--profile is for Node alone"],
    [["--nonsense"], "nonsense"],
    [["--results", "--only", "w64"], "without --only"],
    [["--results", "--client", "ours"], "without --only and --client"],
  ])("%j is refused, with what is wrong", (args, message) => {
    expect(() => parseEndToEndArguments(args)).toThrow(message);
  });

  test("cases are chosen by part of their name, and a part that fits none is refused", () => {
    expect(chosenCases(["w512"], cases).map(({ name }) => name)).toEqual([
      "send-128-w512",
      "send-1024-w512",
      "send-16384-w512",
    ]);
    expect(chosenCases([], cases)).toBe(cases);
    expect(() => chosenCases(["w7"], cases)).toThrow('--only "w7" fits no case');
  });
});

describe("cases", () => {
  test("names are unique", () => {
    const names = [...cases, ...cannedCases].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  test("every row is held against Java, and every bar's baseline runs in its row", () => {
    for (const { name, bars, clients } of [...cases, ...cannedCases] as readonly BenchCase[]) {
      expect(bars.filter(({ baseline }) => !clients.includes(baseline)), name).toEqual([]);
    }
    expect(cases.filter(({ bars }) => !bars.some(({ baseline }) => baseline === "Java"))).toEqual([]);
  });

  test("a backlog is enough for the slowest warm-up", () => {
    for (const { name, kind, backlog, messages, warmUp, javaWarmUp } of cases) {
      if (kind === "push") expect(backlog, name).toBeGreaterThan(messages + Math.max(warmUp, javaWarmUp));
    }
  });
});

test("settings go to a program and come back", () => {
  const settings = parseSettings(settingArguments("send", { topic: "a=b", window: 64 }));
  expect([settings.kind, settings.text("topic"), settings.number("window"), settings.number("batch", 1)])
    .toEqual(["send", "a=b", 64, 1]);
  expect(() => settings.number("messages")).toThrow('The setting "messages" is missing');
  expect(() => settings.number("topic")).toThrow('must be a number, got "a=b"');
  expect(() => parseSettings(["send", "topic"])).toThrow('A setting is name=value, got "topic"');
});

test("a section is whole with a run of each client, and with ours on each runtime that it has", () => {
  const clients = ["raw socket", "Java", "Go", "ali-ons"].map((client) => run(client, 1));
  const onNode = [run("ours", 1, NODE), ...clients];
  expect(lackingOf(push, onNode, ["node"])).toEqual([]);
  expect(lackingOf(push, onNode, ["node", "deno"])).toEqual(["push-128, ours, deno"]);
  expect(lackingOf(push, onNode.slice(2), ["node"])).toEqual(["push-128, ours, node", "push-128, raw socket, node"]);
  const rows = rowsOf(push, [...onNode, run("ours", 1, "deno 2.9.6")]);
  const markdown = endToEndMarkdown(rows, { processor: "p", system: "s", date: "d", versions: "v" });
  expect(runtimesIn(markdown)).toEqual(["node", "deno"]);
});

describe("medians and verdicts", () => {
  test("the median is the middle one, or between the two", () => {
    expect([medianOf([3, 1, 2]), medianOf([4, 1, 3, 2]), medianOf([7])]).toEqual([2, 2.5, 7]);
    expect(() => medianOf([])).toThrow("no median");
  });

  test("a bar holds at its goal and is missed above it", () => {
    const rows = (ours: number) => rowsOf(push, [run("ours", ours, NODE), run("raw socket", 1), run("Java", 10)]);
    const verdicts = (ours: number) => rows(ours)[0]!.judged.map(({ verdict }) => verdict);
    expect(verdicts(2.5)).toEqual(["met", "met", "met"]);
    expect(verdicts(2.6)).toEqual(["missed", "met", "met"]);
    expect(verdicts(3.6)).toEqual(["missed", "missed", "met"]);
  });

  test("medians are held against the bars, not single runs", () => {
    const ours = [2, 9, 2.4].map((cpu) => run("ours", cpu, NODE));
    const [row] = rowsOf(push, [...ours, run("raw socket", 1)]);
    expect(row!.judged.map(({ ratio }) => ratio)).toEqual([2.4, 1]);
    expect(row!.summaries[0]).toMatchObject({ runs: 3, cpuPerMillion: 2.4, spread: 7 / 2.4 });
  });

  test("memory is held against the raw socket's", () => {
    const [row] = rowsOf(push, [run("ours", 1, NODE, { rssMiB: 105 }), run("raw socket", 1, null, { rssMiB: 80 })]);
    expect(row!.judged.at(-1)).toMatchObject({ what: "memory", ratio: 1.3125, verdict: "missed" });
  });

  test("a baseline that was not run has no verdict", () => {
    const [row] = rowsOf(push, [run("ours", 99, NODE), run("Java", 10)]);
    expect(row!.judged.map(({ baseline }) => baseline)).toEqual(["Java"]);
  });

  test("the peers count beside ours on each runtime, and only Node 20 decides", () => {
    const rows = rowsOf(push, [run("ours", 1, NODE), run("ours", 5, "deno 2.9.6"), run("raw socket", 1)]);
    expect(rows.map(({ runtime, summaries }) => [runtime, summaries.length])).toEqual([[NODE, 2], ["deno 2.9.6", 2]]);
    expect(rows.map(({ judged }) => judged[0]!.verdict)).toEqual(["met", "missed"]);
    expect(missedOf(rows)).toEqual([]);
    expect(endToEndSummary(rows)).toBe("2 of 2 bars hold on Node 20");
  });

  test("without a goal a ratio is told and decides nothing", () => {
    const rows = rowsOf(
      [cannedCases[0]!],
      ["ours", "typical JS"].map((client) => ({
        ...run(client, client === "ours" ? 5 : 1, NODE),
        name: cannedCases[0]!.name,
      })),
    );
    expect(rows[0]!.judged).toMatchObject([{ baseline: "typical JS", ratio: 5, verdict: "told" }]);
    expect([missedOf(rows), endToEndSummary(rows)]).toEqual([[], "No bar decides here"]);
  });
});

describe("tables", () => {
  const runs = [run("ours", 2.6, NODE), run("raw socket", 1, null, { p50Ms: null, p99Ms: null })];
  const rows = rowsOf(push, runs);
  const setting = { processor: "2 × x", system: "Linux", date: "2026-01-02", versions: "broker 5.5.0" };

  test("what is missed is said in the table, in the summary and as JSON", () => {
    expect(endToEndTable(rows)).toContain("CPU 2.60 × raw socket, at most 2.5 MISSED");
    expect(endToEndSummary(rows)).toBe(
      "missed: push-128, CPU 2.60 × raw socket, at most 2.5 MISSED\n1 of 2 bars hold on Node 20",
    );
    expect(barLines(rows).map((line) => JSON.parse(line))).toEqual([
      {
        name: "push-128",
        runtime: NODE,
        what: "CPU",
        baseline: "raw socket",
        ratio: 2.6,
        goal: 2.5,
        verdict: "missed",
      },
      { name: "push-128", runtime: NODE, what: "memory", baseline: "raw socket", ratio: 1, goal: 1.3, verdict: "met" },
    ]);
  });

  test("lines that were printed give the same rows again", () => {
    const text = [settingLine(setting), ...runs.map(runLine), ...barLines(rows), "not JSON"].join("\n");
    expect(readLines(text)).toEqual({ runs, setting });
    expect(rowsOf(push, readLines(text).runs)).toEqual(rows);
  });

  test("every row of the Markdown has as many cells as its head", () => {
    const lines = endToEndMarkdown(rows, setting).split("\n").filter((line) => line.startsWith("|"));
    expect(lines).toHaveLength(4);
    expect(new Set(lines.map((line) => line.split("|").length)).size).toBe(1);
  });

  test("failed sends are told", () => {
    expect(endToEndTable(rowsOf(push, [run("ours", 1, NODE, { errors: 3 })]))).toContain("3 errors");
  });
});

describe("measuring", () => {
  test("as many sends are in flight as the window, and the warm-up is not measured", async () => {
    let inFlight = 0, most = 0, all = 0;
    const { latencies, errors } = await sendInWindow(async () => {
      most = Math.max(most, ++inFlight);
      all++;
      await Promise.resolve();
      inFlight--;
    }, { window: 8, warmUp: 20, messages: 50 });
    expect([most, all, latencies.length, errors]).toEqual([8, 70, 50, 0]);
  });

  test("a count is measured from the end of the warm-up to the message that makes it full", async () => {
    const counter = new Counter(10, 100);
    for (let i = 0; i < 40; i++) counter.add(4);
    await counter.done;
    expect([counter.counted, counter.count]).toEqual([100, 160]);
  });

  test("a count that is cut off stands, unless it was still warming up", async () => {
    const counter = new Counter(10, 100);
    expect(() => counter.cut()).toThrow("Only 0 messages came");
    for (let i = 0; i < 30; i++) counter.add(1);
    counter.cut();
    await counter.done;
    expect(counter.counted).toBe(20);
  });

  test("messages at a rate are counted when they arrive, those of the warm-up not", async () => {
    const arrivals = new Arrivals(7, 20);
    const plan = { bodyBytes: 16, warmUp: 5, messages: 20, perSecond: 10_000 };
    const { latencies } = await sendAtRate((body) => Promise.resolve(arrivals.take(body)), plan, arrivals, 7);
    expect(latencies.length).toBe(20);
    arrivals.take(stampedBody(16, 8));
    expect(arrivals.latencies().length).toBe(20);
  });

  test("a send that fails ends a run at a rate", async () => {
    const arrivals = new Arrivals(7, 20), plan = { bodyBytes: 16, warmUp: 0, messages: 20, perSecond: 10_000 };
    await expect(sendAtRate(() => Promise.reject(new Error("refused")), plan, arrivals, 7)).rejects.toThrow("refused");
  });

  test("a measurement's figures follow from its marks", () => {
    const marks = [{ ms: 1_000, cpuSeconds: 1 }, { ms: 3_000, cpuSeconds: 1.5 }] as const;
    const latencies = Float64Array.from({ length: 101 }, (_, index) => 100 - index);
    expect(measurementOf("ours", 100_000, marks, latencies, 2)).toMatchObject({
      seconds: 2,
      msgsPerSec: 50_000,
      cpuSeconds: 0.5,
      cpuPerMillion: 5,
      p50Ms: 50,
      p99Ms: 99,
      errors: 2,
    });
    expect(measurementOf("ours", 1, marks)).toMatchObject({ p50Ms: null, p99Ms: null });
  });
});

test("the top of a profile is by self time, without idle time", () => {
  const frame = (id: number, functionName: string, url: string) => ({
    id,
    callFrame: { functionName, url, lineNumber: 9 },
  });
  const profile = JSON.stringify({
    nodes: [frame(1, "(idle)", ""), frame(2, "send", "file:///x/ours.js"), frame(3, "", "")],
    samples: [1, 2, 3, 2],
    timeDeltas: [9_000, 1_000, 1_000, 2_000],
  });
  expect(topOfProfile(profile, 5)).toEqual([
    { name: "send", place: "ours.js:10", share: 0.75, ms: 3 },
    { name: "(anonymous)", place: "", share: 0.25, ms: 1 },
  ]);
  expect(topOfProfile(profile, 1)).toHaveLength(1);
});
