// How the peers are started that are not part of the project; what they need is installed under build/bench/. A peer that
// cannot be installed is left out, and a line says so.
import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { installAliOns } from "./bench_peers.mjs";
import { at, quietly } from "./steps.mjs";

const BUILD = at("build/bench");
const JAVA_VERSION = "5.5.0";
const GO_VERSION = "v2.1.3-0.20251226070945-2173d070fd1b";
/** What the client does not load; the broker's jars would bring the broker's logging with them. */
const SERVER_JARS =
  /^rocketmq-(broker|namesrv|tools|example|store|tiered|proxy|controller|auth|filter|srvutil|openmessaging|container)/;

/** Those of the peers among `clients` that can be run here. */
export function peerCommands(clients, { aliOns, aliOnsVersion }) {
  const peers = {
    Java: javaCommand,
    Go: goCommand,
    "ali-ons": () => aliOnsCommand(aliOns, aliOnsVersion),
  };
  return Object.entries(peers).filter(([client]) => clients.includes(client)).flatMap(([client, command]) => {
    try {
      return [{ client, ...command() }];
    } catch (error) {
      console.error(`${client} is not measured: ${error.message.split("\n").slice(0, 3).join(" ")}`);
      return [];
    }
  });
}

function javaCommand() {
  const source = at("bench/peers/java/EndToEnd.java"), classes = join(BUILD, "java-e2e"), home = join(classes, "home");
  mkdirSync(home, { recursive: true });
  const folder = quietly(process.execPath, [at("scripts/rocketmq.mjs"), "jars", "--version", JAVA_VERSION]).trim();
  const jars = readdirSync(folder).filter((name) => name.endsWith(".jar") && !SERVER_JARS.test(name));
  const path = jars.map((name) => join(folder, name)).join(delimiter);
  if (!isNewer(join(classes, "EndToEnd.class"), source)) {
    quietly("javac", ["-nowarn", "-cp", path, "-d", classes, source]);
  }
  const settings = ["-Xms512m", "-Xmx1g", `-Duser.home=${home}`, "-Drocketmq.client.logLevel=ERROR"];
  return { argv: ["java", ...settings, "-cp", `${classes}${delimiter}${path}`, "EndToEnd"], version: JAVA_VERSION };
}

function goCommand() {
  const source = at("bench/peers/go/main.go"), folder = join(BUILD, "go"), program = join(folder, "end_to_end");
  mkdirSync(folder, { recursive: true });
  if (!isNewer(program, source)) {
    copyFileSync(source, join(folder, "main.go"));
    const go = (...args) => quietly("go", args, { cwd: folder });
    if (!existsSync(join(folder, "go.mod"))) writeFileSync(join(folder, "go.mod"), "module end_to_end\n\ngo 1.21\n");
    go("get", `github.com/apache/rocketmq-client-go/v2@${GO_VERSION}`);
    go("mod", "tidy");
    go("build", "-o", program, ".");
  }
  return { argv: [program], version: GO_VERSION };
}

function aliOnsCommand(argv, version) {
  const folder = join(BUILD, "ali-ons");
  installAliOns(folder, version);
  if (!existsSync(join(folder, "node_modules/ali-ons/package.json"))) throw new Error("it is not installed");
  return { argv, version, settings: { folder } };
}

const isNewer = (product, source) => existsSync(product) && statSync(product).mtimeMs > statSync(source).mtimeMs;
