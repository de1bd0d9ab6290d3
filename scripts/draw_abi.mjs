// Draws docs/abi.md from core-as/abi.ts. `--check` fails when the page is not what would be drawn.
import { readFileSync, writeFileSync } from "node:fs";

const source = readFileSync(new URL("../core-as/abi.ts", import.meta.url), "utf8");
const page = new URL("../docs/abi.md", import.meta.url);
const drawn = draw(source);

if (process.argv.includes("--check")) {
  if (readFileSync(page, "utf8") !== drawn) {
    console.error("docs/abi.md is not what core-as/abi.ts says: run node scripts/draw_abi.mjs");
    process.exit(1);
  }
} else {
  writeFileSync(page, drawn);
}

/** One section for each ruled comment, one row for each constant; comments above and behind a constant become its text. */
function draw(text) {
  const lines = [
    "# The command interface in numbers",
    "",
    "Drawn from `core-as/abi.ts` by `scripts/draw_abi.mjs`; edit that file, not this one. How the interface works is in",
    "[architecture.md](architecture.md#the-command-interface). Offsets are bytes, integers are little endian in the arena.",
    "",
  ];
  let comment = [];
  let open = false;
  for (const line of text.split("\n")) {
    const rule = /^\/\/ ── (.+?) ─+$/.exec(line);
    const constant = /^export const (\w+) = (-?\d+);(?:\s*\/\/ (.*))?$/.exec(line);
    if (rule) {
      lines.push(`${open ? "\n" : ""}## ${rule[1]}`, "", "| Name | Value | |", "|---|---|---|");
      open = true;
    } else if (constant) {
      if (!open) {
        lines.push("## version", "", "| Name | Value | |", "|---|---|---|");
        open = true;
      }
      const words = [...comment, constant[3] ?? ""].join(" ").trim().replaceAll("|", "\\|");
      lines.push(`| \`${constant[1]}\` | ${constant[2]} | ${words} |`);
    } else if (/^export/.test(line)) {
      throw new Error(`abi.ts holds more than integer constants: ${line}`);
    }
    if (/^\s*(\/\*\*|\*)/.test(line)) {
      const words = line.replace(/^\s*(\/\*\*|\*\/|\*)\s?/, "").replace(/\*\/\s*$/, "").trim();
      if (line.trimStart().startsWith("/**")) comment = [];
      if (words) comment.push(words);
    } else {
      comment = [];
    }
  }
  return lines.join("\n") + "\n";
}
