// npm run bench -- e2e: our client and its peers at a real broker, in turns. Talk goes to stderr. At any time one broker and one
// client run; what was started is ended, also when this is interrupted.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import process from "node:process";
import { clientCommands, Collected, nodeTool, runCases, settingHere, tellProfile } from "./bench_cases.mjs";
import { Children } from "./bench_children.mjs";
import { peerCommands } from "./bench_peers_end_to_end.mjs";
import { at } from "./steps.mjs";

const BROKER_VERSION = "5.5.0";
const QUEUES = 8;
/** A whole run of one client; the slowest takes about a minute. */
const RUN_TIMEOUT_S = 180;
/** How long the broker is warmed up before a case, in messages of the raw socket. */
const BROKER_WARM_UP = 100_000;
const ROCKETMQ = at("scripts/rocketmq.mjs");

/** A broker for measuring: no scheduling pause of a small machine becomes "broker busy", and pulls of any size are answered. */
const BROKER_SETTINGS = [
  "mappedFileSizeCommitLog=1073741824",
  "transientStorePoolEnable=false",
  "sendMessageThreadPoolNums=2",
  "pullMessageThreadPoolNums=2",
  "waitTimeMillsInSendQueue=20000",
  "waitTimeMillsInPullQueue=20000",
  "osPageCacheBusyTimeOutMills=20000",
  "sendThreadPoolQueueCapacity=100000",
  ...["Memory", "Disk"].flatMap((where) => [
    `maxTransferCountOnMessageIn${where}=1024`,
    `maxTransferBytesOnMessageIn${where}=4194304`,
  ]),
];

/** The exit code of `npm run bench -- e2e ARGS`. */
export const endToEnd = (args) => runCases(args, (bench) => bench.cases, "e2e", measure);

async function measure(bench, options, cases) {
  const children = new Children(), collected = new Collected(bench, options);
  const raw = await nodeTool("bench/peers/raw_socket.ts");
  const commands = await commandsOf(bench, options, raw);
  const versions = commands.filter(({ version }) => version !== undefined).map(({ client, version }) =>
    `${client} ${version}`
  );
  const setting = settingHere([`broker ${BROKER_VERSION}`, ...versions].join(", "));
  if (options.json) console.log(bench.settingLine(setting));
  const measureCase = async (cluster, each) => {
    await prepare(bench, children, raw, cluster, each);
    for (let round = 0; round < options.runs; round++) {
      for (const command of commands.filter(({ client }) => each.clients.includes(client))) {
        const { client, runtime } = command, profile = `${each.name}-${round}.cpuprofile`;
        const settings = settingsOf(bench, cluster, each, command, round);
        const argv = [...command.argv(profile), ...bench.settingArguments(each.kind, settings)];
        await collected.run({ name: each.name, runtime, client }, () => children.output(argv));
        if (client === "ours") tellProfile(bench, options, profile);
      }
    }
  };
  try {
    for (const each of cases) {
      console.error(each.name);
      try {
        await withBroker(children, (cluster) => measureCase(cluster, each));
      } catch (error) {
        collected.failed(`${each.name}: ${error.message}`);
      }
    }
  } finally {
    children.close();
  }
  return { ...collected, setting };
}

/** How each client that is wanted is started, ours once for each runtime. */
async function commandsOf(bench, options, raw) {
  const ours = (await clientCommands("bench/e2e/ours.ts", options)).map((command) => ({ client: "ours", ...command }));
  const aliOns = await nodeTool("bench/peers/ali_ons.ts");
  const peers = peerCommands(options.clients, { aliOns, aliOnsVersion: bench.ALI_ONS_VERSION });
  const others = [{ client: "raw socket", argv: raw }, ...peers].map((peer) => ({
    ...peer,
    runtime: null,
    argv: () => peer.argv,
  }));
  return [...ours, ...others].filter(({ client }) => options.clients.includes(client));
}

/** A broker of its own for each case: none has the store of another. */
async function withBroker(children, task) {
  const dir = mkdtempSync(join(os.tmpdir(), "rocketmq-bench-"));
  const stop = children.onInterrupt(() => {
    spawnSync(process.execPath, [ROCKETMQ, "stop", "--dir", dir], { stdio: "inherit" });
    rmSync(dir, { recursive: true, force: true });
  });
  try {
    const set = BROKER_SETTINGS.flatMap((setting) => ["--set", setting]);
    const start = ["start", "--dir", dir, "--version", BROKER_VERSION, "--measured", "--heap", "2g", ...set];
    await task(JSON.parse(await children.output([process.execPath, ROCKETMQ, ...start])));
  } finally {
    stop();
  }
}

/** Creates the topic, fills it where a backlog is consumed, and warms the broker up. */
async function prepare(bench, children, raw, cluster, each) {
  const broker = cluster.brokers[0].addr, nameServer = cluster.namesrvAddr;
  await bench.createTopic(nameServer, broker, topicOf(each), QUEUES);
  const base = { nameServer, topic: topicOf(each), bodyBytes: each.bodyBytes, warmUp: 0, timeout: RUN_TIMEOUT_S };
  const run = (kind, settings) => children.output([...raw, ...bench.settingArguments(kind, { ...base, ...settings })]);
  if (each.backlog > 0) {
    await run("send", { messages: each.backlog, batch: each.bodyBytes > 4096 ? 16 : 32, window: 2 });
    // The backlog lies in the page cache, and the broker's code for pulls is compiled, before anyone is measured.
    await run("push", { messages: each.messages, group: "bench_warm_up", pullBatchSize: 32 });
  } else {
    await bench.createTopic(nameServer, broker, "WarmUp", QUEUES);
    await run("send", { topic: "WarmUp", bodyBytes: 128, messages: BROKER_WARM_UP, window: 512 });
  }
}

const topicOf = ({ name }) => `Bench-${name}`;

function settingsOf(bench, cluster, each, { client, runtime, settings }, round) {
  const isJava = client === "Java";
  return {
    nameServer: cluster.namesrvAddr,
    topic: topicOf(each),
    bodyBytes: each.bodyBytes,
    window: each.window,
    messages: each.messages,
    warmUp: isJava ? each.javaWarmUp : each.warmUp,
    warmUpBytes: isJava ? each.javaWarmUpBytes : each.bodyBytes,
    rate: bench.RATE,
    group: `bench_${`${client} ${runtime ?? ""}`.replace(/\W+/g, "_")}_${round}`,
    timeout: RUN_TIMEOUT_S,
    ...settings,
  };
}
