import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Reporter, runChild } from "./child.ts";
import { jarsOf } from "./real_cluster.ts";
import type { SerializeType, Trial } from "./trial.ts";

/** What Java 17 must open for Netty as 4.4.0 has it. */
const OPENS = [
  "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
  ...["java.nio", "sun.nio.ch", "java.util", "java.lang"].map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`),
];
const SOURCES = join("test", "real", "java");
const SILENCE = `<configuration><root level="OFF"/></configuration>`;

/** The official Java client of one version, through the programs in `test/real/java/`. */
export class JavaClient {
  readonly version: string;
  readonly #classPath: string;
  readonly #home: string;

  constructor(version: string, classes: string, jars: string) {
    this.version = version;
    this.#classPath = [classes, join(jars, "*")].join(delimiter);
    this.#home = classes;
  }

  /** Compiles the programs against the jars of that version. */
  static async compile(version: string): Promise<JavaClient> {
    const jars = await jarsOf(version);
    const classes = join("build", "java", version);
    mkdirSync(classes, { recursive: true });
    const sources = readdirSync(SOURCES).filter((name) => name.endsWith(".java")).map((name) => join(SOURCES, name));
    await runChild("javac", ["-encoding", "UTF-8", "-nowarn", "-cp", join(jars, "*"), "-d", classes, ...sources]);
    for (const name of ["logback.xml", "rmq.logback.xml"]) writeFileSync(join(classes, name), SILENCE); // 4.x, 5.x
    return new JavaClient(version, classes, jars);
  }

  /** Sends messages and returns the results in the order of their keys. Fails if one was not sent. */
  async produce(trial: Trial, options: ProduceOptions): Promise<readonly JavaSent[]> {
    const program = this.#start(trial, "Produce", { ...options });
    const done = program.lines.first(({ event }) => event === "closed", "the end of the Java producer");
    await program.whileAlive(done);
    noneFailed(program, "producer");
    const sent = program.lines.items.filter((line): line is JavaSent => line.event === "sent");
    return sent.sort((one, other) => indexOf(one.key) - indexOf(other.key));
  }

  /** A push consumer that has started, but need not have its queues yet. */
  async consume(trial: Trial, options: ConsumeOptions): Promise<JavaConsumer> {
    const program = this.#start(trial, "Consume", { ...options });
    await program.whileAlive(program.lines.first(({ event }) => event === "ready", "the Java consumer to start"));
    return new JavaConsumer(program);
  }

  #start(
    trial: Trial,
    main: string,
    options: Readonly<Record<string, string | number | undefined>>,
  ): Reporter<JavaLine> {
    const settings = { namesrvAddr: trial.namesrvAddr, ...options };
    const pairs = Object.entries(settings).filter(([, value]) => value !== undefined);
    const program = new Reporter<JavaLine>(
      "java",
      [
        ...["-Xmx192m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", ...OPENS],
        ...["-Djava.net.preferIPv4Stack=true", "-Drocketmq.client.logUseSlf4j=true", `-Duser.home=${this.#home}`],
        ...[`-Drocketmq.serialize.type=${trial.serializeType satisfies SerializeType}`],
        "-Drocketmq.client.rebalance.waitInterval=1000",
        ...["-cp", this.#classPath, main, ...pairs.map(([name, value]) => `${name}=${value}`)],
      ],
      trial.signal,
    );
    trial.atEnd(() => program.kill());
    return program;
  }
}

export interface ProduceOptions {
  readonly topic: string;
  readonly count: number;
  readonly bodyLength?: number;
  /** In turn, separated by commas. */
  readonly tags?: string;
  readonly prefix?: string;
  readonly mode?: "sync" | "async";
}

export interface ConsumeOptions {
  readonly topic: string;
  readonly group: string;
  readonly selector?: string;
  /** Messages with this tag fail when they are delivered for the first time. */
  readonly failTag?: string;
  /** Different for two members of one group on this machine. */
  readonly instanceName?: string;
}

export class JavaConsumer {
  readonly #program: Reporter<JavaLine>;

  constructor(program: Reporter<JavaLine>) {
    this.#program = program;
  }

  get messages(): readonly JavaMessage[] {
    return this.#program.lines.items.filter(isMessage);
  }

  /** Waits until the deliveries fulfil the condition. */
  async until(holds: (messages: readonly JavaMessage[]) => boolean, what: string): Promise<readonly JavaMessage[]> {
    await this.#program.whileAlive(this.#program.lines.until((lines) => holds(lines.filter(isMessage)), what));
    return this.messages;
  }

  /** Ends it when what it was given is consumed and committed. Fails if that was not so in time. */
  async close(): Promise<void> {
    await this.#program.close();
    noneFailed(this.#program, "consumer");
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }
}

/** The property `note` of every message of the Java producer. */
export const JAVA_NOTE = "Größe € 日本 🚀";

/** What the Java producer sends for a key: the key and a blank, again and again, cut to the length. */
export function javaBody(key: string, length: number): Uint8Array {
  const unit = new TextEncoder().encode(`${key} `);
  return Uint8Array.from({ length }, (_, index) => unit[index % unit.length] as number);
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function noneFailed({ lines }: Reporter<JavaLine>, what: string): void {
  const failed = lines.items.find(({ event }) => event === "failed");
  if (failed !== undefined) throw new Error(`the Java ${what} failed: ${JSON.stringify(failed)}`);
}

const indexOf = (key: string): number => Number(key.slice(key.lastIndexOf("-") + 1));
const isMessage = (line: JavaLine): line is JavaMessage => line.event === "message";

export interface JavaSent {
  readonly event: "sent";
  readonly key: string;
  readonly status: string;
  readonly msgId: string;
  readonly offsetMsgId: string;
  readonly brokerName: string;
  readonly queueId: number;
  readonly queueOffset: number;
}

export interface JavaMessage {
  readonly event: "message";
  readonly topic: string;
  readonly tags: string | null;
  readonly key: string | null;
  readonly msgId: string;
  readonly offsetMsgId: string;
  readonly queueId: number;
  readonly queueOffset: number;
  readonly reconsumeTimes: number;
  readonly sysFlag: number;
  readonly bornHost: string;
  readonly bornTimestamp: number;
  readonly bodyLength: number;
  readonly bodySha256: string;
  readonly properties: Readonly<Record<string, string>>;
}

type JavaLine = JavaSent | JavaMessage | { readonly event: "ready" | "closed" } | {
  readonly event: "failed";
  readonly key: string;
  readonly error: string;
};
