// The peers that the benchmark measures: it installs them for itself, under build/bench/, and does without what it cannot get.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { at, npm, quietly } from "./steps.mjs";

const JAVA_VERSION = "5.5.0";
/** What a client does not load. */
const SERVER_JARS = /^rocketmq-(broker|namesrv|proxy|tools|example|store|tiered|controller|auth)/;

/** Installs ali-ons into a folder of its own. */
export function installAliOns(folder, version) {
  if (existsSync(join(folder, "node_modules/ali-ons/package.json"))) return;
  console.error(`installing ali-ons@${version} for the benchmark`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `{ "private": true }\n`);
  const packages = [`ali-ons@${version}`, "urllib@2"];
  try {
    npm(["install", "--no-audit", "--no-fund", "--no-save", "--no-package-lock", ...packages], { cwd: folder });
  } catch (error) {
    console.error(`ali-ons is not measured, because it cannot be installed: ${firstLine(error)}`);
  }
}

/** The Java client's codec: a line for each case, none where Java, its compiler or Maven is missing. */
export function measureJava(folder, { rounds, batchMs }) {
  try {
    const home = join(folder, "home");
    mkdirSync(home, { recursive: true });
    const jars = quietly(process.execPath, [at("scripts/rocketmq.mjs"), "jars", "--version", JAVA_VERSION]).trim();
    const path = readdirSync(jars).filter((name) => name.endsWith(".jar") && !SERVER_JARS.test(name))
      .map((name) => join(jars, name)).join(delimiter);
    quietly("javac", ["-nowarn", "-cp", path, "-d", folder, at("bench/peers/java/Codec.java")]);
    const settings = ["-Xms256m", "-Xmx512m", `-Duser.home=${home}`, "-cp", `${folder}${delimiter}${path}`];
    const output = quietly("java", [...settings, "Codec", String(rounds), String(batchMs)]);
    return output.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  } catch (error) {
    console.error(`Java is not measured: ${firstLine(error)}`);
    return [];
  }
}

const firstLine = (error) => error.message.split("\n").slice(0, 2).join(": ");
