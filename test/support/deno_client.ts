// A client on the Deno host with no permission but the one it is started with. Prints the outcome of one request.
import { Core } from "../../client/core.ts";
import type { RocketMQError } from "../../client/errors.ts";
import { Remoting } from "../../client/remoting/remoting.ts";
import { host } from "../../host-deno/host.ts";

const [addr] = (globalThis as unknown as { Deno: { args: string[] } }).Deno.args;
const remoting = new Remoting({ host, core: new Core(host.core, 16), serializeType: "JSON", connectTimeout: 3_000 });
const outcome = await remoting.invoke(addr!, { code: 105 }, { timeout: 3_000 }).then(
  ({ code }) => `answer ${code}`,
  ({ code, message }: RocketMQError) => `${code}: ${message}`,
);
await remoting.close();
console.log(outcome);
