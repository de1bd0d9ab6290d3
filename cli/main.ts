import { defineCommand } from "citty";
import { brokerCommand } from "./broker_command.ts";
import { runCommandLine } from "./command_line.ts";
import type { Doors } from "./doors.ts";
import { VERSION } from "./version.ts";

/** The `rmq` command; resolves with its exit code: 0 done, 1 failed, 2 called wrongly. */
export function main(doors: Doors, args: readonly string[]): Promise<number> {
  const rmq = defineCommand({
    meta: { name: "rmq", version: VERSION, description: "RocketMQ from the command line" },
    subCommands: { broker: brokerCommand(doors) },
  });
  return runCommandLine(rmq, args);
}
