// A listener that swallows packets: it has room for a few connections and does not come to accept one. So many milliseconds
// after a byte on its standard input it wakes, and accepts all that come.
import { readSync, writeSync } from "node:fs";
import { createServer } from "node:net";

const [host, wakesAfter, port] = process.argv.slice(2);

const server = createServer((socket) => socket.on("error", () => {}).resume());
server.listen({ host, port: Number(port), backlog: 1 }, () => {
  writeSync(1, `${server.address().port}\n`);
  readSync(0, new Uint8Array(1));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(wakesAfter));
});
