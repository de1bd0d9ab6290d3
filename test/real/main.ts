// Runs every scenario against real RocketMQ, and the Java clients against our broker. `scripts/test_real.mjs` starts it.
import process from "node:process";
import { parseArgs } from "node:util";
import { startCluster } from "./doors.ts";
import { JavaClient } from "./java_client.ts";
import { MESSAGE_DELAY_LEVEL, RealCluster } from "./real_cluster.ts";
import { Runner } from "./runner.ts";
import { brokerRestart } from "./scenarios/broker_restart.ts";
import { compression } from "./scenarios/compression.ts";
import { idle } from "./scenarios/idle.ts";
import { javaConsumers, javaPair, javaProducer } from "./scenarios/java_embedded.ts";
import { members } from "./scenarios/members.ts";
import { nameServers } from "./scenarios/name_servers.ts";
import { restart } from "./scenarios/restart.ts";
import { retry } from "./scenarios/retry.ts";
import { sends } from "./scenarios/sends.ts";
import { tags } from "./scenarios/tags.ts";

const VERSIONS = ["4.4.0", "4.9.7", "5.3.3", "5.5.0"];
const JAVA_CLIENTS = ["4.4.0", "5.5.0"];
const SCENARIOS = [sends, compression, tags, retry, restart, members, idle, brokerRestart, nameServers];
const EMBEDDED = [javaPair, javaProducer, javaConsumers];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string" },
    repeat: { type: "string", default: "1" },
    embedded: { type: "boolean" },
    real: { type: "boolean" },
  },
});
const versions = positionals.length > 0 ? positionals : VERSIONS;
const runner = new Runner(values.only, Number(values.repeat));
const interrupt = (): void => runner.interrupt();
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);

if (!values.embedded) { for (const version of versions) await againstReal(version); }
if (!values.real) { for (const version of JAVA_CLIENTS) await againstEmbedded(version); }
console.log(`${runner.passed} passed, ${runner.failed} failed`);
process.exit(runner.interrupted ? 130 : runner.failed > 0 || runner.passed === 0 ? 1 : 0);

async function againstReal(version: string): Promise<void> {
  const scenarios = runner.chosen(SCENARIOS);
  if (scenarios.length === 0 || runner.interrupted) return;
  const failedBefore = runner.failed;
  await runner.step(`${version} cluster`, async () => {
    const java = await JavaClient.compile(version);
    const cluster = await RealCluster.start(version);
    try {
      await runner.runAll(scenarios, { version, namesrvAddr: cluster.namesrvAddr, cluster, java });
    } finally {
      const keepLogs = runner.failed > failedBefore;
      const dir = await cluster.stop({ keepLogs });
      if (keepLogs) console.log(`       the logs of ${version} are in ${dir}`);
    }
  });
}

async function againstEmbedded(version: string): Promise<void> {
  const scenarios = runner.chosen(EMBEDDED);
  if (scenarios.length === 0 || runner.interrupted) return;
  await runner.step(`Java client ${version}`, async () => {
    const java = await JavaClient.compile(version);
    const cluster = await startCluster({ messageDelayLevel: MESSAGE_DELAY_LEVEL });
    try {
      await runner.runAll(scenarios, { version, namesrvAddr: cluster.namesrvAddr, java });
    } finally {
      await cluster.close();
    }
  });
}
