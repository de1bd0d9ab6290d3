import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const read = (path: string): string => readFileSync(at(path), "utf8");

/** The texts of a list `const NAME = [ … ]` in a file. */
function listed(path: string, pattern: RegExp): string[] {
  const lists = [...read(path).matchAll(pattern)].map(([, names = ""]) => names);
  return lists.flatMap((names) => [...names.matchAll(/"(\w+)"/g)].map(([, name = ""]) => name));
}

const sources = (folder: string): string[] =>
  readdirSync(at(folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => read(`${folder}/${name}`));

test("docs/api.md names every option there is, and every one that is refused", () => {
  const options = listed("client/options.ts", /const [A-Z_]+ = \[([^\]]*)\]/g);
  const fields = listed("client/producer/to_sending.ts", /const LATER = \[([^\]]*)\]/g);
  const cluster = listed("broker/options.ts", /const KNOWN\b[^=]*= \[([^\]]*)\]/g);
  expect([options.length > 50, fields.length > 0, cluster.length > 5]).toEqual([true, true, true]);
  const api = read("docs/api.md");
  expect([...options, ...fields, ...cluster].filter((name) => !new RegExp(`\\b${name}\\b`).test(api))).toEqual([]);
});

test("docs/api.md names every member that is refused", () => {
  const refused = sources("client").flatMap((text) =>
    [
      ...[...text.matchAll(/\brefuse\("(\w+)"\)/g)],
      ...[...text.matchAll(/UnsupportedError\("(\w+)\(\) is not supported yet"\)/g)],
    ].map(([, name = ""]) => name)
  );
  expect(refused.length).toBeGreaterThan(10);
  const api = read("docs/api.md");
  expect(refused.filter((name) => !new RegExp(`\\b${name}\\b`).test(api))).toEqual([]);
});

test("test/faults.md has an entry for every label that a test names", () => {
  const listed = [...read("test/faults.md").matchAll(/^- `([a-z]+-\d+)`: \S.*\S$/gm)].map(([, label = ""]) => label);
  const areas = [...new Set(listed.map((label) => label.split("-")[0]))];
  expect(areas.length).toBe(7);
  expect(listed.filter((label, at) => listed.indexOf(label) !== at)).toEqual([]);
  // Areas of what is not built yet are looked for too.
  const named = sources("test").flatMap((text) => [
    ...text.matchAll(new RegExp(`\\b(?:${areas.join("|")}|transaction|pop|admin)-\\d+\\b`, "g")),
  ]);
  const labels = new Set(named.map(([label]) => label));
  expect(labels.size).toBeGreaterThan(60);
  expect([...labels].filter((label) => !listed.includes(label))).toEqual([]);
});

test("docs/architecture.md and CONTRIBUTING.md name files that are there", () => {
  const folders = ["core-as", "client", "host-node", "host-deno", "broker", "bench", "cli", "scripts", "test", "docs"];
  const paths = folders.flatMap((folder) => readdirSync(at(folder), { recursive: true, encoding: "utf8" }));
  const files = new Set([...readdirSync(at("")), ...paths].map((path) => path.split(/[\\/]/).at(-1) ?? ""));
  for (const doc of ["docs/architecture.md", "CONTRIBUTING.md"]) {
    const named = [...read(doc).matchAll(/([\w.-]+\.(?:ts|mjs|md))\b/g)].map(([, name = ""]) => name);
    expect(named.length, doc).toBeGreaterThan(5);
    expect(named.filter((name) => !files.has(name)), doc).toEqual([]);
  }
});
