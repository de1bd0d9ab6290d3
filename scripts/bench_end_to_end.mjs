// npm run bench -- e2e: our client and its peers at a real broker, in turns. Talk goes to stderr. At any time one broker and one
// client run; what was started is ended, also when this is interrupted.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { Children } from "./bench_children.mjs";
import { peerCommands } from "./bench_peers_end_to_end.mjs";
import { bundle } from "./bundle.mjs";
import { nodeOf } from "./node_lines.mjs";
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
export async function endToEnd(args) {
  const bench = await import(pathToFileURL(await bundle("bench/e2e/mod.ts")).href);
  let options, cases;
  try {
    options = bench.parseEndToEndArguments(args);
    cases = bench.chosenCases(options.only);
  } catch (error) {
    console.error(`${error.message}\n\n${bench.USAGE}`);
    return 2;
  }
  if (options.help) {
    console.log(bench.USAGE);
    return 0;
  }
  const { runs, setting, failures } = options.from.length > 0
    ? { ...readKept(bench, options.from), failures: [] }
    : await measure(bench, options, cases);
  const rows = bench.rowsOf(cases, runs);
  if (options.json) { for (const line of bench.barLines(rows)) console.log(line); }
  else console.log(bench.endToEndTable(rows));
  (options.json ? console.error : console.log)(bench.endToEndSummary(rows));
  if (options.results) keepResults(bench, rows, setting);
  for (const failure of failures) console.error(failure);
  return failures.length > 0 || bench.missedOf(rows).length > 0 ? 1 : 0;
}

function readKept(bench, files) {
  const kept = files.map((file) => bench.readLines(readFileSync(file, "utf8")));
  const setting = kept.findLast((each) => each.setting)?.setting;
  if (!setting) throw new Error(`${files.join(", ")} does not say where it was measured`);
  return { runs: kept.flatMap(({ runs }) => runs), setting };
}

async function measure(bench, options, cases) {
  const children = new Children();
  const commands = await commandsOf(bench, options);
  const setting = settingOf(commands);
  if (options.json) console.log(bench.settingLine(setting));
  const runs = [], failures = [];
  const failed = (text) => {
    failures.push(text);
    console.error(`  ${text}`);
  };
  const measureCase = async (cluster, each) => {
    await prepare(bench, children, commands, cluster, each);
    const wanted = commands.filter(({ client, isWanted }) => isWanted && each.clients.includes(client));
    for (let round = 0; round < options.runs; round++) {
      for (const command of wanted) {
        try {
          const run = await measureOne(bench, children, cluster, each, command, round);
          runs.push(run);
          if (options.json) console.log(bench.runLine(run));
          console.error(`  ${command.client}: ${run.measurement.cpuPerMillion} CPU s per million`);
        } catch (error) {
          failed(`${each.name}, ${command.client}: ${error.message}`);
        }
      }
    }
  };
  try {
    for (const each of cases) {
      console.error(each.name);
      try {
        await withBroker(children, (cluster) => measureCase(cluster, each));
      } catch (error) {
        failed(`${each.name}: ${error.message}`);
      }
    }
  } finally {
    children.close();
  }
  return { runs, setting, failures };
}

/** How each client is started, ours once for each runtime. */
async function commandsOf(bench, { runtimes, clients, profile }) {
  const node = nodeOf(20);
  const tool = async (entry) => [node, "--enable-source-maps", await bundle(entry)];
  const ours = {
    node: async () => [
      node,
      ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`]),
      ...(await tool("bench/e2e/ours.ts")).slice(1),
    ],
    deno: () => [at("node_modules/.bin/deno"), "run", "-A", "--no-prompt", at("bench/e2e/ours.ts")],
    bun: () => [at("node_modules/.bin/bun"), "run", at("bench/e2e/ours.ts")],
  };
  const versions = {
    node: `node ${process.versions.node}`,
    deno: `deno ${versionOf("deno")}`,
    bun: `bun ${versionOf("bun")}`,
  };
  const commands = [];
  for (const runtime of runtimes) {
    commands.push({ client: "ours", runtime: versions[runtime], argv: await ours[runtime](), version: "" });
  }
  commands.push({ client: "raw socket", argv: await tool("bench/peers/raw_socket.ts"), version: "" });
  const aliOns = await tool("bench/peers/ali_ons.ts");
  commands.push(...peerCommands(clients, { aliOns, aliOnsVersion: bench.ALI_ONS_VERSION }));
  return commands.map((command) => ({ ...command, isWanted: clients.includes(command.client) }));
}

const versionOf = (name) => JSON.parse(readFileSync(at(`node_modules/${name}/package.json`), "utf8")).version;

function settingOf(commands) {
  return {
    processor: `${os.cpus().length} × ${os.cpus()[0]?.model.trim() ?? "unknown processor"}`,
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    date: new Date().toISOString().slice(0, 10),
    versions: [
      `broker ${BROKER_VERSION}`,
      ...commands.filter(({ isWanted, version }) => isWanted && version !== "").map(({ client, version }) =>
        `${client} ${version}`
      ),
    ].join(", "),
  };
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
async function prepare(bench, children, commands, cluster, each) {
  const broker = cluster.brokers[0].addr, nameServer = cluster.namesrvAddr;
  await bench.createTopic(nameServer, broker, topicOf(each), QUEUES);
  const raw = commands.find(({ client }) => client === "raw socket").argv;
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

async function measureOne(bench, children, cluster, each, command, round) {
  const isJava = command.client === "Java";
  const settings = {
    nameServer: cluster.namesrvAddr,
    topic: topicOf(each),
    bodyBytes: each.bodyBytes,
    window: each.window,
    messages: each.messages,
    warmUp: isJava ? each.javaWarmUp : each.warmUp,
    warmUpBytes: isJava ? each.javaWarmUpBytes : each.bodyBytes,
    rate: bench.RATE,
    group: `bench_${command.client.replace(/\W/g, "_")}_${command.runtime?.replace(/\W/g, "_") ?? ""}_${round}`,
    timeout: RUN_TIMEOUT_S,
    ...command.settings,
  };
  const output = await children.output([...command.argv, ...bench.settingArguments(each.kind, settings)]);
  const line = output.split("\n").findLast((each) => each.startsWith("{"));
  if (line === undefined) throw new Error(`it printed no measurement`);
  return { name: each.name, runtime: command.runtime ?? null, client: command.client, measurement: JSON.parse(line) };
}

function keepResults(bench, rows, setting) {
  const file = at("bench/RESULTS.md");
  writeFileSync(file, bench.replaceSection(readFileSync(file, "utf8"), "e2e", bench.endToEndMarkdown(rows, setting)));
}
