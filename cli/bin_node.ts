#!/usr/bin/env node
import process from "node:process";
import { startCluster } from "../host-node/broker.ts";
import { main } from "./main.ts";

process.exitCode = await main({ startCluster }, process.argv.slice(2));
