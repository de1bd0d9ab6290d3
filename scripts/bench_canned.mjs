// npm run bench -- canned: clients in JavaScript at a server in a process of its own that answers with prepared frames.
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import process from "node:process";
import { clientCommands, Collected, runCases, settingHere, tellProfile } from "./bench_cases.mjs";
import { Children } from "./bench_children.mjs";
import { bundle } from "./bundle.mjs";
import { at, quietly } from "./steps.mjs";

const RUN_TIMEOUT_S = 120;

/** The exit code of `npm run bench -- canned ARGS`. */
export const canned = (args) => runCases(args, (bench) => bench.cannedCases, "canned", measure);

async function measure(bench, options, cases) {
  const children = new Children(), collected = new Collected(bench, options);
  const commands = await clientCommands("bench/e2e/canned_client.ts", options);
  const { argv, name } = await serverOf();
  const setting = settingHere(`server ${name}`);
  if (options.json) console.log(bench.settingLine(setting));
  const server = children.start(argv, { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const port = await firstLine(server);
    for (const each of cases) {
      const { header, bodyBytes, window, messages, warmUp } = each;
      console.error(each.name);
      for (let round = 0; round < options.runs; round++) {
        for (const { runtime, argv } of commands) {
          for (const client of each.clients) {
            const profile = `${each.name}-${client.replaceAll(" ", "-")}-${round}.cpuprofile`;
            const settings = { port, header, bodyBytes, window, messages, warmUp, timeout: RUN_TIMEOUT_S };
            const before = cpuSecondsOf(server.pid);
            const served = () => (cpuSecondsOf(server.pid) - before) / (messages + warmUp) * 1e6;
            await collected.run(
              { name: each.name, runtime, client },
              () => children.output([...argv(profile), ...bench.settingArguments(client, settings)]),
              () => `; the server: ${served().toFixed(2)}`,
            );
            if (client === "ours") tellProfile(bench, options, profile);
          }
        }
      }
    }
  } finally {
    server.kill();
    children.close();
  }
  return { ...collected, setting };
}

/** The one in C where it can be compiled, otherwise the one in TypeScript on this Node. */
async function serverOf() {
  const source = at("bench/e2e/canned_server.c"), program = at("build/bench/canned_server");
  try {
    if (!existsSync(program) || statSync(program).mtimeMs < statSync(source).mtimeMs) {
      mkdirSync(at("build/bench"), { recursive: true });
      quietly("cc", ["-O2", "-o", program, source, "-lpthread"]);
    }
    return { argv: [program], name: "in C" };
  } catch (error) {
    console.error(`the server runs on Node, because it cannot be compiled: ${error.message.split("\n")[0]}`);
    return { argv: [process.execPath, await bundle("bench/e2e/canned_server_main.ts")], name: "on Node" };
  }
}

function firstLine(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      if (text.includes("\n")) resolve(text.trim());
    });
    child.once("error", reject).once("close", () => reject(new Error("The canned server ended too soon")));
  });
}

/** NaN where there is no /proc. */
function cpuSecondsOf(pid) {
  if (process.platform !== "linux") return NaN;
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
