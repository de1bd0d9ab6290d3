import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * test/package/codec_program.mjs for a browser, as one script without imports: it leaves `codecProgram` in the global scope.
 * The name of the package stands for the default door, as its export conditions say.
 */
export async function bundleForBrowser(): Promise<string> {
  const result = await build({
    root,
    configFile: false,
    logLevel: "silent",
    resolve: { alias: { "rocketmq-wasm/codec": `${root}host-edge/codec.ts` } },
    build: {
      write: false,
      minify: true,
      target: "es2022",
      lib: { entry: `${root}test/package/codec_program.mjs`, formats: ["iife"], name: "codecProgram" },
    },
  });
  const [output] = Array.isArray(result) ? result : [result];
  if (!output || !("output" in output)) throw new Error("vite gave no bundle");
  const [chunk, ...more] = output.output;
  if (more.length > 0) throw new Error(`The bundle has ${more.length + 1} files`);
  return chunk.code;
}
