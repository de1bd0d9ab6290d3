import process from "node:process";
import { startCluster } from "../host-deno/broker.ts";
import { isRocketMQError } from "../host-deno/mod.ts";
import { main } from "./main.ts";
import { untilAsked } from "./until_asked.ts";

process.exitCode = await main({ startCluster, isRocketMQError, untilAsked }, process.argv.slice(2));
