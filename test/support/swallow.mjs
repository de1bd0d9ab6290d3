// A listener that swallows packets: it has room for a few connections and never comes to accept one.
import { writeSync } from "node:fs";
import { createServer } from "node:net";

const server = createServer();
server.listen({ host: "127.0.0.1", port: 0, backlog: 1 }, () => {
  writeSync(1, `${server.address().port}\n`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
