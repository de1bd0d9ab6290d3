#!/usr/bin/env node
// Reads what `npm run demo -- --json` prints and exits 1 unless every message arrived, once and unharmed.
import { text } from "node:stream/consumers";

const line = (await text(process.stdin)).split("\n").findLast((each) => each.startsWith("{"));
const report = line === undefined ? {} : JSON.parse(line);
const wrong = Object.entries({
  sent: 100_000,
  consumed: 100_000,
  checksumsVerified: 100_000,
  lost: 0,
  duplicate: 0,
  bad: 0,
})
  .filter(([name, expected]) => report[name] !== expected)
  .map(([name, expected]) => `${name} is ${report[name]}, not ${expected}`);
if (line !== undefined) console.log(line);
if (wrong.length > 0) {
  console.error(line === undefined ? "The demo printed no result" : wrong.join("\n"));
  process.exitCode = 1;
}
