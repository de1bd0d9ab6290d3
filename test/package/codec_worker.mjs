// Runs codec_program.mjs on workerd: `workerd test` calls test(). There the core comes as a module, and nothing else works.
import core from "rocketmq-wasm/core.wasm";
import { checkCodec, codeWithoutCore } from "./codec_program.mjs";

export default {
  test() {
    const code = codeWithoutCore();
    if (code !== "ROCKETMQ_UNSUPPORTED") throw new Error(`without a module: ${code}`);
    console.log(checkCodec(core));
  },
};
