// An embedded cluster on the Deno host with no permission but the ones it is started with. Prints how the start went.
import type { RocketMQError } from "../../client/errors.ts";
import { startCluster } from "../../host-deno/broker.ts";

const [listenHost, brokerPort] = (globalThis as unknown as { Deno: { args: string[] } }).Deno.args;
try {
  const cluster = await startCluster({
    ...(listenHost === undefined ? {} : { listenHost }),
    ...(brokerPort === undefined ? {} : { brokerPort: Number(brokerPort) }),
  });
  await cluster.close();
  console.log(`up at ${cluster.namesrvAddr}`);
} catch (error) {
  const { code, message } = error as RocketMQError;
  console.log(`${code}: ${message}`);
}
