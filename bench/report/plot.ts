import type { Pair, Result } from "../result.ts";
import { isPair } from "../result.ts";
import { bytesText, title } from "./table.ts";

interface Row {
  readonly label: string;
  readonly ours: number;
  readonly bestJs: number;
  /** The ordinary way, where there is one. */
  readonly typical: number | undefined;
}

const WIDTH = 960;
const ROW_HEIGHT = 44;
const MARGIN = 130;

/** One runtime's figures as an SVG: ours, the best JavaScript and the ordinary way, nanoseconds on a logarithmic scale. */
export async function plotOf(results: readonly Result[], runtime: string): Promise<string> {
  const echarts = await import("echarts");
  const rows = rowsOf(results.filter((result) => result.runtime === runtime).filter(isPair));
  const height = MARGIN + rows.length * ROW_HEIGHT;
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height });
  const bar = (name: string, color: string, value: (row: Row) => number | undefined) => ({
    name,
    type: "bar" as const,
    itemStyle: { color },
    label: { show: true, position: "right" as const, fontSize: 10, color: "#57606a" },
    data: rows.map((row) => rounded(value(row))),
  });
  try {
    chart.setOption({
      animation: false,
      backgroundColor: "#ffffff",
      title: {
        text: `Nanoseconds on ${runtime}`,
        subtext: "best of many short batches; shorter is faster; logarithmic",
        left: 12,
        top: 8,
      },
      legend: { top: 12, right: 24, itemGap: 36 },
      grid: { left: 280, right: 60, top: 70, bottom: 40 },
      xAxis: { type: "log", name: "ns", min: 1 },
      yAxis: { type: "category", inverse: true, data: rows.map(({ label }) => label), axisTick: { show: false } },
      series: [
        bar("rocketmq-wasm", "#1f6feb", ({ ours }) => ours),
        bar("best JavaScript", "#8250df", ({ bestJs }) => bestJs),
        bar("typical JavaScript", "#b1bac4", ({ typical }) => typical),
      ],
    });
    return chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
}

const TYPICAL = new Set(["typical JS", "JSON.parse", "Map", "slicing by 16"]);

function rowsOf(pairs: readonly Pair[]): Row[] {
  return pairs.filter(({ isBestJs }) => isBestJs).map((best) => ({
    label: [title(best), bytesText(best.bodyBytes)].filter((part) => part !== "").join(", "),
    ours: best.ns,
    bestJs: best.baselineNs,
    typical: pairs.find((pair) =>
      TYPICAL.has(pair.baseline) && pair.name === best.name && pair.bodyBytes === best.bodyBytes &&
      pair.ours === best.ours
    )?.baselineNs,
  }));
}

const rounded = (ns: number | undefined): number | null => ns === undefined ? null : Number(ns.toPrecision(3));
