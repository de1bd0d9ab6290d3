import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { RUNTIMES } from "../../bench/arguments.ts";
import { plotOf } from "../../bench/report/plot.ts";
import { replaceSection, resultsSection, sectionOf } from "../../bench/report/results.ts";
import type { Result } from "../../bench/result.ts";

const results: readonly Result[] = [
  {
    name: "consume",
    runtime: "node 20.1.0",
    bodyBytes: 1024,
    ours: "ours, owned",
    baseline: "tuned index + zlib",
    ns: 1_234.5,
    baselineNs: 1_000,
    ratio: 1.2345,
    goal: 0.75,
    spread: 0.1,
    unit: "message",
    isBestJs: true,
  },
  { name: "the module", runtime: "node 20.1.0", value: 17_591, unit: "bytes", limit: 49_152 },
  { name: "the module", runtime: "deno 2.9.6", value: 1, unit: "imports", limit: 1 },
];
const setting = { processor: "2 × a processor", system: "Linux 6", date: "2026-11-30" };

describe("sections of RESULTS.md", () => {
  const text = "before\n<!-- begin a -->\nold\n<!-- end a -->\nbetween\n<!-- begin b -->\n<!-- end b -->\n";

  test("are replaced between their markers; what stands around them stays", () => {
    const once = replaceSection(text, "a", "new\n");
    expect(once).toBe(text.replace("old", "new"));
    expect(replaceSection(once, "a", "new")).toBe(once);
    expect(sectionOf(once, "a")).toBe("\nnew\n");
    expect(replaceSection(text, "b", "x")).toBe(text.replace("begin b -->\n", "begin b -->\nx\n"));
  });

  test("must be there", () => {
    expect(() => replaceSection(text, "c", "new")).toThrow(`no section "c"`);
    expect(() => sectionOf(text, "c")).toThrow(`no section "c"`);
  });

  test("are there for every runtime and for the bars that were missed", () => {
    const file = readFileSync(new URL("../../bench/RESULTS.md", import.meta.url), "utf8");
    for (const name of [...RUNTIMES, "missed"]) expect(replaceSection(file, name, "x"), name).not.toBe(file);
  });

  test("have where and when, a row a pair with the best JavaScript beside it, and the facts of that runtime", () => {
    const section = resultsSection(results, "node 20.1.0", setting, "plots/a.svg");
    expect(section).toContain("Node 20.1.0, 2 × a processor, Linux 6, 2026-11-30.");
    expect(section).toContain(
      "| consume, owned | 1 KiB | 1,235 | tuned index + zlib | 1,000 | **1.23**, missed | ≤ 0.75 | 10 % | 1.23 |",
    );
    expect(section).toContain("- the module: 17,591 bytes, at most 49,152");
    expect(section).not.toContain("imports");
  });
});

describe("a plot", () => {
  test("is an SVG with a bar and a name for each operation", async () => {
    const svg = await plotOf(results, "node 20.1.0");
    expect(svg).toMatch(/^<svg[^]*<\/svg>$/);
    expect(svg).toContain("consume, owned, 1 KiB");
    expect(svg).toContain("best JavaScript");
  });
});
