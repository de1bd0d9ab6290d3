import process from "node:process";
import { startCluster } from "../host-deno/broker.ts";
import { main } from "./main.ts";

process.exitCode = await main({ startCluster }, process.argv.slice(2));
