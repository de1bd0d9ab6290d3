import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

const own = (folder: string): RegExp => new RegExp(`^${folder}/`);
const doors = /^host-\w+\/(mod|codec|broker)\.ts$/;
const node = /^node:/;

/** Who imports whom: the table of `docs/architecture.md`. A target is a path from the top folder, or a bare specifier. */
const rules: Readonly<Record<string, readonly RegExp[]>> = {
  "core-as": [own("core-as")],
  client: [own("client"), /^core-as\/abi\.ts$/],
  "host-node": [own("host-node"), own("client"), /^broker\/mod\.ts$/, /^build\/core_bytes\.js$/, node, /^bun$/],
  "host-deno": [own("host-deno"), own("client"), /^broker\/mod\.ts$/, /^build\/core_bytes\.js$/, node],
  "host-edge": [own("host-edge"), own("client"), /^build\/core_bytes\.js$/],
  broker: [
    own("broker"),
    /^client\/(host|errors|core|option_names)\.ts$/,
    own("client/protocol"),
    own("client/remoting"),
  ],
  cli: [own("cli"), doors, node, /^(citty|cli-progress|cli-table3)$/],
  examples: [own("examples"), /^rocketmq-wasm(\/(broker|codec))?$/, node],
  bench: [own("bench"), doors, /^client\/core\.ts$/, own("build"), node, /^echarts$/],
};

/** `bench/ours/` calls, each thing in one place, what users reach only through a socket; the rest of `bench/` does not. */
const measured: readonly RegExp[] = [...rules["bench"]!, own("client"), /^host-node\/(text|memory)\.ts$/];

const rulesOf = (folder: string, path: string): readonly RegExp[] =>
  path.startsWith("bench/ours/") ? measured : rules[folder]!;

/** Layers of `client/`, lowest first. A file uses its own folder and the layers below. */
const layers: readonly RegExp[] = [
  /^client\/(host|errors|core|option_names|message|body_codec|shared_attempt|signals|limit|show)\.ts$/,
  own("client/protocol"),
  own("client/remoting"),
  /^client\/(options|events|allocate|lease|message_batch|stored_fields|reading|pulled_message|inner_messages)\.ts$/,
  own("client/route"),
  /^client\/(instance|client|queries)\.ts$/,
  /^client\/(producer|consumer|admin)\//,
  /^client\/[^/]+\.ts$/,
];

const layerOf = (path: string): number => layers.findIndex((layer) => layer.test(path));

/** Paths from the top folder, with slashes, of the TypeScript files below `folder`. */
function sources(folder: string): string[] {
  const path = join(root, folder);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => relative(root, join(path, name)).replaceAll("\\", "/"));
}

const read = (path: string): string => readFileSync(join(root, path), "utf8");

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");

/** What a file imports or exports from elsewhere, as paths from the top folder or bare specifiers. */
function importsOf(path: string): string[] {
  const specifiers = withoutComments(read(path)).matchAll(
    /^\s*(?:import|export)\b[^"';]*?\bfrom\s*"([^"]+)"|^\s*import\s*"([^"]+)"|\bimport\(\s*"([^"]+)"/gm,
  );
  return [...specifiers].map((match) => resolved(path, match[1] ?? match[2] ?? match[3] ?? ""));
}

function resolved(from: string, specifier: string): string {
  if (!specifier.startsWith(".")) return specifier;
  const path = posix.join(dirname(from).replaceAll("\\", "/"), specifier);
  return path.startsWith("core-as/") && !path.endsWith(".ts") ? `${path}.ts` : path;
}

describe("imports", () => {
  test("the search for imports finds them", () => {
    expect(importsOf("test/structure.test.ts")).toEqual(["node:fs", "node:path", "node:url", "vitest"]);
    expect(resolved("client/a/b.ts", "../c.ts")).toBe("client/c.ts");
  });

  for (const folder of Object.keys(rules)) {
    test(`${folder}/ imports only what it may`, () => {
      const forbidden = sources(folder).flatMap((path) =>
        importsOf(path).filter((target) => !rulesOf(folder, path).some((rule) => rule.test(target))).map((target) =>
          `${path} → ${target}`
        )
      );
      expect(forbidden).toEqual([]);
    });
  }

  test("client/ imports only its own layer's folder and the layers below", () => {
    const upwards = sources("client").flatMap((path) =>
      importsOf(path).filter((target) => target.startsWith("client/") && !isBelow(path, target)).map((target) =>
        `${path} → ${target}`
      )
    );
    expect(upwards).toEqual([]);
  });

  test("baselines in bench/ import nothing of ours", () => {
    const ours = sources("bench/baselines").flatMap((path) =>
      importsOf(path).filter((target) => !node.test(target) && !own("bench/baselines").test(target))
    );
    expect(ours).toEqual([]);
  });

  test("every file of client/ has a layer", () => {
    expect(sources("client").filter((path) => layerOf(path) < 0)).toEqual([]);
  });
});

function isBelow(path: string, target: string): boolean {
  if (layerOf(target) !== layerOf(path)) return layerOf(target) < layerOf(path);
  const folder = (name: string): string => name.split("/").slice(0, 2).join("/");
  return folder(path) === folder(target) || (!/\/.*\//.test(path) && !/\/.*\//.test(target));
}

describe("core-as/", () => {
  test("has decorators on classes only, because the formatter deletes those of functions", () => {
    const decorated = sources("core-as").flatMap((path) =>
      decoratorsOffClasses(read(path)).map((found) => `${path}: ${found}`)
    );
    expect(decorated).toEqual([]);
  });

  test("the search for decorators finds one on a function, and lets one on a class be", () => {
    expect(decoratorsOffClasses("// @inline here\n@inline\nexport function f(): void {}")).toEqual(["@inline"]);
    expect(decoratorsOffClasses("@inline function f(): void {}")).toEqual(["@inline"]);
    expect(decoratorsOffClasses("class A {\n  @inline get b(): i32 { return 1; }\n}")).toEqual(["@inline"]);
    expect(decoratorsOffClasses("@lazy\nlet a: i32 = 1;")).toEqual(["@lazy"]);
    expect(decoratorsOffClasses("/** @unmanaged */\n@unmanaged\nexport class A {}\n@final @unmanaged class B {}"))
      .toEqual([]);
  });

  test("abi.ts consists of integers both compilers read alike", () => {
    const lines = withoutComments(read("core-as/abi.ts")).split("\n").map((line) => line.trim()).filter((line) =>
      line !== ""
    );
    const value = (line: string): number =>
      Number(/^export const [A-Z][A-Z0-9_]* = (-?\d+);(?:\s*\/\/.*)?$/.exec(line)?.[1] ?? NaN);
    expect(lines.filter((line) => !(value(line) >= -65_536 && value(line) < 2 ** 31))).toEqual([]);
  });
});

/** Decorators that do not stand before a class. */
function decoratorsOffClasses(text: string): string[] {
  const decorators = withoutComments(text).matchAll(/(?<![\w"'`.])(@\w+)/g);
  return [...decorators].filter((match) => !startsClass(withoutComments(text).slice(match.index))).map((match) =>
    match[1] ?? ""
  );
}

const startsClass = (text: string): boolean =>
  /^(?:@\w+(?:\([^)]*\))?\s+)+(?:export\s+)?(?:default\s+)?(?:abstract\s+)?class\b/.test(text);

describe("the published package", () => {
  const manifest = JSON.parse(read("package.json")) as Record<string, unknown>;

  test("depends on nothing", () => {
    for (const kind of ["dependencies", "peerDependencies", "optionalDependencies", "bundledDependencies"]) {
      expect(manifest[kind], kind).toBeUndefined();
    }
  });

  test("has the same doors as deno.json, and the same version", () => {
    const deno = JSON.parse(read("deno.json")) as { version: string; exports: Record<string, string> };
    const names = Object.keys(manifest["exports"] as object).filter((name) => name !== "./package.json");
    expect(Object.keys(deno.exports)).toEqual(names);
    expect(deno.version).toBe(manifest["version"]);
  });
});
