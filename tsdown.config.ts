import { defineConfig } from "tsdown";

/** The doors users import: one set per host, in JavaScript because no runtime strips types inside node_modules. */
const doors = [
  ...["host-node", "host-deno"].flatMap((host) => ["mod", "codec", "broker"].map((door) => `${host}/${door}`)),
  "host-edge/codec",
];
const commands = ["cli/bin_node", "cli/demo"];

/** What ends up inside the command line; the licence of each travels along. */
const bundled = [
  "citty",
  "cli-progress",
  "cli-table3",
  "string-width",
  "strip-ansi",
  "ansi-regex",
  "emoji-regex",
  "is-fullwidth-code-point",
  "@colors/colors",
];

/**
 * What our declarations name and a consumer with `lib: ES2022` and no runtime's types would not know. Where there are real
 * declarations, these merge into them and add nothing.
 */
const ambient = `/// <reference lib="esnext.disposable" />
declare global {
  interface AbortSignal {}
  namespace WebAssembly {
    interface Module {}
  }
}`;

/** `dist/`: doors and commands in one build, so that they share their chunks and an error class exists only once. */
export default defineConfig({
  entry: Object.fromEntries([...doors, ...commands].map((name) => [name, `${name}.ts`])),
  format: "esm",
  platform: "node",
  target: "node20",
  outDir: "dist",
  outExtensions: () => ({ js: ".js", dts: ".d.ts" }),
  // The libraries of the command line are bundled: the package depends on nothing.
  deps: { alwaysBundle: [/^citty/, /^cli-/], onlyBundle: false, neverBundle: [/^node:/] },
  dts: { entry: doors.map((name) => `${name}.ts`), tsconfig: "tsconfig.dist.json" },
  banner: { dts: ambient },
  copy: [
    "build/core.wasm",
    "build/core.wasm.d.ts",
    ...bundled.map((name) => ({ from: `node_modules/${name}/{LICENSE,license}*`, to: `dist/licenses/${name}` })),
  ],
  outputOptions: { chunkFileNames: "shared/[name].js" },
  hash: false,
  clean: true,
  report: false,
  failOnWarn: true,
});
