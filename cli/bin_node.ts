#!/usr/bin/env node
import process from "node:process";
import { startCluster } from "../host-node/broker.ts";
import { isRocketMQError } from "../host-node/mod.ts";
import { main } from "./main.ts";
import { untilAsked } from "./until_asked.ts";

process.exitCode = await main({ startCluster, isRocketMQError, untilAsked }, process.argv.slice(2));
