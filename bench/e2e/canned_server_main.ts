import { runCannedServer } from "./canned_server.ts";

await runCannedServer();
