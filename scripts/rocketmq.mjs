#!/usr/bin/env node
// Runs real Apache RocketMQ clusters on loopback, from their Maven artifacts. Needs Node >= 20, Java >= 17 and Maven.
// Name servers and brokers are bound to 127.0.0.1 where the version can (4.x, and the HA port always, listen everywhere).
//
//   rocketmq.mjs start --dir DIR [--version 5.5.0] [--masters 1] [--slaves] [--namesrvs 1] [--set key=value]... [--heap 512m]
//                      [--measured]   the JVM's own choice of compilers and collector, for brokers that run long under load
//   rocketmq.mjs stop  --dir DIR
//   rocketmq.mjs kill|term|restart --dir DIR --name NAME     one process: SIGKILL, orderly end, start again on its port
//   rocketmq.mjs run   [options of start] -- COMMAND...      start, run COMMAND with NAMESRV_ADDR set, stop
//   rocketmq.mjs admin --version 5.5.0 -- ARGS...            the official mqadmin
//   rocketmq.mjs jars  --version 5.5.0                       fetch the jars and print their folder
//
// `start` prints, and keeps in DIR/cluster.json, { version, namesrvAddr, brokers, pids, processes }. The names of the
// processes are namesrv-0, namesrv-1 …, broker-a-0 (master), broker-a-1 (its slave), broker-b-0 …
// Versions known to start: 4.4.0, 4.9.7, 5.1.4, 5.3.3, 5.5.0. Jars are kept in $ROCKETMQ_JARS, or the user's cache folder.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";

const BOOT_TIMEOUT_MS = 90_000;
const START_ATTEMPTS = 3;
/** Java 17 closes what Netty and the memory-mapped files of 4.x reach into. */
const OPENS = [
  "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
  ...["java.nio", "sun.nio.ch", "java.util", "java.lang"].map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`),
];
/** Short-lived processes on a busy machine: the second compiler costs more than it brings. */
const SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"];

/** The folder with the jars of `version`, fetched once; two processes may ask at the same time. */
function jars(version) {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  const root = process.env.ROCKETMQ_JARS ?? join(cache, "rocketmq-jars");
  const lib = join(root, version);
  if (existsSync(join(lib, "complete"))) return lib;
  mkdirSync(root, { recursive: true });
  const fresh = mkdtempSync(join(root, `.${version}-`));
  try {
    const dependency = (name) =>
      `<dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-${name}</artifactId>` +
      `<version>${version}</version></dependency>`;
    writeFileSync(
      join(fresh, "pom.xml"),
      `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
        `<groupId>local</groupId><artifactId>rocketmq-jars</artifactId><version>1</version>` +
        `<dependencies>${["namesrv", "broker", "client", "tools"].map(dependency).join("")}</dependencies></project>`,
    );
    const goal = ["dependency:copy-dependencies", `-DoutputDirectory=${fresh}`];
    execFileSync("mvn", ["-B", "-q", "-f", join(fresh, "pom.xml"), ...goal], { stdio: ["ignore", 2, 2] });
    writeFileSync(join(fresh, "complete"), "");
    if (existsSync(join(lib, "complete"))) return lib; // another process was faster
    rmSync(lib, { recursive: true, force: true }); // what an interrupted fetch left
    renameSync(fresh, lib);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return lib;
}

/**
 * `count` free ports with room around each: a broker also takes port - 2 and port + 1. A lock file keeps clusters that
 * run at the same time apart, also while one of their processes is down to be started again on its port.
 */
async function freePorts(count, dir) {
  const locks = join(tmpdir(), "rocketmq-ports");
  mkdirSync(locks, { recursive: true });
  const ports = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries > 2_000) throw new Error("no free ports between 20000 and 32000");
    const port = 20_000 + Math.floor(Math.random() * 1_200) * 10; // below the range the system hands out
    if (!claim(join(locks, String(port)), dir)) continue;
    const free = await Promise.all([port - 2, port, port + 1].map(unused));
    if (free.every(Boolean)) ports.push(port);
  }
  return ports;
}

/** A lock file names the process that asked and the folder of its cluster; it is void when both are gone. */
function claim(file, dir) {
  try {
    const handle = openSync(file, "wx");
    writeFileSync(handle, `${process.pid} ${dir}`);
    closeSync(handle);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  try {
    const [pid, ...owner] = readFileSync(file, "utf8").split(" ");
    if (isAlive(Number(pid)) || existsSync(join(owner.join(" "), "cluster.json"))) return false;
    unlinkSync(file);
  } catch (error) {
    if (error.code !== "ENOENT") throw error; // somebody else took it over meanwhile
  }
  return false;
}

/** True if nobody listens on the port, on loopback or on every interface. */
const unused = (port) =>
  new Promise((done) => {
    const probe = createServer();
    probe.once("error", () => done(false)).listen(port, "0.0.0.0", () => probe.close(() => done(true)));
  });

const isAlive = (pid) => {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
};

/** Whether `pid` still is the process that was started for the cluster in `dir`: numbers are used again. */
function isOurs(pid, dir) {
  if (!isAlive(pid)) return false;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(dir);
  } catch {
    return process.platform !== "linux"; // no /proc: trust the number
  }
}

async function listening(port, pid) {
  for (const end = Date.now() + BOOT_TIMEOUT_MS; Date.now() < end; await sleep(50)) {
    if (!isAlive(pid)) return false;
    const open = await new Promise((done) => {
      const probe = connect(port, "127.0.0.1");
      probe.once("connect", () => done(true)).once("error", () => done(false)).once("connect", () => probe.destroy());
    });
    if (open) return isAlive(pid);
  }
  return false;
}

/** Starts one Java process of the cluster; its properties file is written if given, else the one from before is used. */
function launch({ lib, dir, name, main, properties, heap, measured }) {
  const home = join(dir, "home");
  const file = join(dir, `${name}.properties`);
  if (properties) {
    writeFileSync(file, Object.entries(properties).map(([key, value]) => `${key}=${value}\n`).join(""));
  }
  const log = openSync(join(dir, `${name}.log`), "a");
  const jvm = ["-Djava.net.preferIPv4Stack=true", ...(measured ? [] : SHORT_LIVED)];
  const own = [`-Duser.home=${home}`, `-Drocketmq.home.dir=${home}`, `-Djava.io.tmpdir=${home}`];
  const child = spawn(
    "java",
    [`-Xms${heap}`, `-Xmx${heap}`, ...jvm, ...own, ...OPENS, "-cp", join(lib, "*"), main, "-c", file],
    { detached: true, stdio: ["ignore", log, log], env: { ...process.env, ROCKETMQ_HOME: home } },
  );
  closeSync(log);
  child.unref();
  return child.pid;
}

/** Starts a cluster; other ports are tried if somebody took one of ours in between. */
async function start(options) {
  for (let attempt = 1;; attempt++) {
    try {
      return await startOnce(options);
    } catch (error) {
      stop(options.dir);
      if (attempt === START_ATTEMPTS || !(error instanceof StartError)) throw error;
      process.stderr.write(`${error.message}; trying again\n`);
    }
  }
}

class StartError extends Error {}

async function startOnce({ version, dir, masters, slaves, namesrvs, heap, measured, set }) {
  const lib = jars(version);
  prepareHome(dir);
  const roles = [];
  for (let index = 0; index < masters; index++) {
    const name = `broker-${String.fromCharCode(97 + index)}`;
    roles.push({ name, id: 0 });
    if (slaves) roles.push({ name, id: 1 });
  }
  const ports = await freePorts(namesrvs + roles.length, dir);
  const namesrvPorts = ports.splice(0, namesrvs);
  const namesrvAddr = namesrvPorts.map((port) => `127.0.0.1:${port}`).join(";");
  const cluster = { version, namesrvAddr, brokers: [], pids: [], processes: {} };
  const add = (port, name, main, properties) => {
    const pid = launch({ lib, dir, heap, measured, name, main, properties });
    cluster.pids.push(pid);
    cluster.processes[name] = { pid, port, main, heap, measured };
    keep(dir, cluster);
  };
  for (const [index, listenPort] of namesrvPorts.entries()) {
    const properties = { listenPort, bindAddress: "127.0.0.1" };
    add(listenPort, `namesrv-${index}`, "org.apache.rocketmq.namesrv.NamesrvStartup", properties);
  }
  await allListening(cluster, dir); // a broker that finds no name server asks again only after ten seconds
  for (const { name, id } of roles) {
    const listenPort = ports.shift();
    const properties = {
      ...brokerProperties({ name, id, listenPort, namesrvAddr, slaves, store: join(dir, `store-${name}-${id}`) }),
      ...Object.fromEntries(set.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)])),
    };
    cluster.brokers.push({ name, id, addr: `127.0.0.1:${listenPort}` });
    add(listenPort, `${name}-${id}`, "org.apache.rocketmq.broker.BrokerStartup", properties);
  }
  await allListening(cluster, dir);
  for (const port of namesrvPorts) await registered(cluster, port);
  return cluster;
}

async function allListening(cluster, dir) {
  const up = await Promise.all(
    Object.entries(cluster.processes).map(async ([name, { port, pid }]) => [name, await listening(port, pid)]),
  );
  const failed = up.filter(([, started]) => !started).map(([name]) => name);
  if (failed.length > 0) throw new StartError(`did not start: ${failed.join(", ")}; see the logs in ${dir}`);
}

const brokerProperties = ({ name, id, listenPort, namesrvAddr, slaves, store }) => ({
  brokerClusterName: "DefaultCluster",
  brokerName: name,
  brokerId: id,
  brokerIP1: "127.0.0.1",
  brokerIP2: "127.0.0.1",
  bindAddress: "127.0.0.1",
  listenPort,
  haListenPort: listenPort + 1,
  namesrvAddr,
  brokerRole: id === 0 ? (slaves ? "SYNC_MASTER" : "ASYNC_MASTER") : "SLAVE",
  flushDiskType: "ASYNC_FLUSH",
  registerNameServerPeriod: 10_000,
  storePathRootDir: store,
  storePathCommitLog: join(store, "commitlog"),
  mapedFileSizeCommitLog: 67_108_864, // the name of 4.x
  mappedFileSizeCommitLog: 67_108_864,
  diskMaxUsedSpaceRatio: 99,
  autoCreateTopicEnable: true,
  autoCreateSubscriptionGroup: true,
  enablePropertyFilter: true,
});

/** 4.x reads its logging configuration from the home folder; 5.x carries its own. */
function prepareHome(dir) {
  const conf = join(dir, "home", "conf");
  mkdirSync(conf, { recursive: true });
  const logback = `<configuration><appender name="F" class="ch.qos.logback.core.FileAppender">` +
    `<file>${join(dir, "rocketmq.log")}</file><encoder><pattern>%d %p %t - %m%n</pattern></encoder></appender>` +
    `<root level="WARN"><appender-ref ref="F"/></root></configuration>`;
  for (const name of ["broker", "namesrv", "tools"]) writeFileSync(join(conf, `logback_${name}.xml`), logback);
}

/**
 * Waits until the name server at `port` knows every broker (cluster info, 106). A 5.x broker that starts tries before it
 * is connected and then waits ten seconds, and so does one whose name server was away: setting its permission (broker
 * configuration, 25) makes it register at once.
 */
async function registered(cluster, port) {
  const body = Buffer.from("brokerPermission=6\n");
  for (const end = Date.now() + BOOT_TIMEOUT_MS; Date.now() < end; await sleep(200)) {
    const text = await ask(port, 106);
    const missing = cluster.brokers.filter(({ addr }) => !text.includes(addr));
    if (missing.length === 0) return;
    for (const { addr } of missing) await ask(Number(addr.split(":")[1]), 25, body);
  }
  throw new StartError(`the brokers did not register with the name server at port ${port}`);
}

/** One request without header fields, by hand; the answer's frame as text, empty if there was none. */
function ask(port, code, body = Buffer.alloc(0)) {
  const command = { code, flag: 0, language: "JAVA", opaque: 1, serializeTypeCurrentRPC: "JSON", version: 0 };
  const header = Buffer.from(JSON.stringify(command));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(4 + header.length + body.length, 0);
  lengths.writeUInt32BE(header.length, 4);
  return new Promise((done) => {
    let received = Buffer.alloc(0);
    const socket = connect(port, "127.0.0.1", () => socket.write(Buffer.concat([lengths, header, body])));
    socket.setTimeout(1_000, () => socket.destroy()).on("error", () => socket.destroy());
    socket.on("close", () => done(received.toString("latin1"))).on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 4 && received.length >= 4 + received.readUInt32BE(0)) socket.destroy();
    });
  });
}

/** Ends one process of a running cluster, or starts it again; returns when that is done. */
async function one(action, dir, name) {
  const cluster = JSON.parse(readFileSync(join(dir, "cluster.json"), "utf8"));
  const entry = cluster.processes[name];
  if (!entry) throw new Error(`no process ${name} in ${dir}; there are ${Object.keys(cluster.processes).join(", ")}`);
  if (action === "restart") {
    if (isOurs(entry.pid, dir)) throw new Error(`${name} runs already`);
    const { main, heap, measured } = entry;
    entry.pid = launch({ lib: jars(cluster.version), dir, name, main, heap, measured });
    cluster.pids.push(entry.pid);
    keep(dir, cluster);
    if (!(await listening(entry.port, entry.pid))) throw new Error(`${name} did not start again`);
    for (const other of Object.values(cluster.processes)) {
      const isNameServer = other.main.endsWith("NamesrvStartup");
      if (isNameServer && isOurs(other.pid, dir)) await registered(cluster, other.port);
    }
    return;
  }
  if (isOurs(entry.pid, dir)) process.kill(entry.pid, action === "kill" ? "SIGKILL" : "SIGTERM");
  for (const end = Date.now() + BOOT_TIMEOUT_MS; Date.now() < end; await sleep(20)) {
    if (!isOurs(entry.pid, dir)) return;
  }
  throw new Error(`${name} did not end`);
}

/** Written after each start, so that an interrupted run can be ended. */
function keep(dir, cluster) {
  const file = join(dir, "cluster.json");
  writeFileSync(`${file}.new`, JSON.stringify(cluster, null, 2));
  renameSync(`${file}.new`, file);
}

function stop(dir) {
  const file = join(dir, "cluster.json");
  if (!existsSync(file)) return;
  for (const pid of JSON.parse(readFileSync(file, "utf8")).pids.reverse()) {
    if (isOurs(pid, dir)) process.kill(pid, "SIGKILL");
  }
  rmSync(file);
}

async function run(options, isTemporary, command) {
  const { dir } = options;
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => {
      stop(dir);
      process.exit(130);
    });
  }
  try {
    const cluster = await start(options);
    const env = { ...process.env, NAMESRV_ADDR: cluster.namesrvAddr, ROCKETMQ_CLUSTER: join(dir, "cluster.json") };
    return await new Promise((done) => {
      const child = spawn(command[0], command.slice(1), { stdio: "inherit", env });
      child.once("exit", (status) => done(status ?? 1)).once("error", (error) => {
        console.error(String(error));
        done(127);
      });
    });
  } finally {
    stop(dir);
    if (isTemporary) rmSync(dir, { recursive: true, force: true });
  }
}

async function main() {
  const split = process.argv.indexOf("--");
  const rest = split < 0 ? [] : process.argv.slice(split + 1);
  const { values } = parseArgs({
    args: process.argv.slice(3, split < 0 ? undefined : split),
    options: {
      version: { type: "string", default: "5.5.0" },
      dir: { type: "string" },
      masters: { type: "string", default: "1" },
      namesrvs: { type: "string", default: "1" },
      slaves: { type: "boolean", default: false },
      heap: { type: "string", default: "512m" },
      measured: { type: "boolean", default: false },
      set: { type: "string", multiple: true, default: [] },
      name: { type: "string" },
    },
  });
  const needsDir = ["start", "run"].includes(process.argv[2]);
  const dir = values.dir ? resolve(values.dir) : needsDir ? mkdtempSync(join(tmpdir(), "rocketmq-")) : undefined;
  const options = { ...values, dir, masters: Number(values.masters), namesrvs: Number(values.namesrvs) };
  switch (process.argv[2]) {
    case "start":
      console.log(JSON.stringify(await start(options), null, 2));
      return 0;
    case "kill":
    case "term":
    case "restart":
      await one(process.argv[2], dir, values.name);
      return 0;
    case "stop":
      stop(dir);
      return 0;
    case "run":
      return await run(options, !values.dir, rest);
    case "jars":
      console.log(jars(values.version));
      return 0;
    case "admin": {
      const main = "org.apache.rocketmq.tools.command.MQAdminStartup";
      return spawnSync("java", ["-cp", join(jars(values.version), "*"), main, ...rest], { stdio: "inherit" }).status ??
        1;
    }
    default:
      console.error("usage: rocketmq.mjs start|stop|kill|term|restart|run|admin|jars (see the head of this file)");
      return 2;
  }
}

process.exitCode = await main();
