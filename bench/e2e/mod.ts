// What `scripts/bench_end_to_end.mjs` and `scripts/bench_canned.mjs` use.
export { createTopic } from "../peers/raw_wire.ts";
export { ALI_ONS_VERSION } from "../peers/ali_ons_codec.ts";
export { replaceSection, sectionOf } from "../report/results.ts";
export { parseEndToEndArguments, USAGE } from "./arguments.ts";
export { cannedCases } from "./canned_cases.ts";
export { cases, chosenCases, RATE } from "./cases.ts";
export { profileText, topOfProfile } from "./profile.ts";
export { settingArguments } from "./settings.ts";
export {
  barLines,
  endToEndMarkdown,
  endToEndSummary,
  endToEndTable,
  readLines,
  runLine,
  runtimesIn,
  settingLine,
} from "./table.ts";
export { lackingOf, missedOf, rowsOf } from "./verdict.ts";
