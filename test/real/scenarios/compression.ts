import { equal, holds, onceEach } from "../check.ts";
import { consume, keyOf } from "../consuming.ts";
import { JAVA_NOTE, javaBody, sha256 } from "../java_client.ts";
import { sendAll } from "../messages.ts";
import type { Scenario } from "../trial.ts";

const COUNT = 20;
const BODY = 5 * 1024;
/** Compressed (bit 0, which Java 5.x clears when it inflates) or of type ZLIB (bits 8–10). */
const COMPRESSED_OR_ZLIB = 0x301;

export const compression: Scenario = {
  name: "compressed bodies of 5 KiB, both ways with the Java client",
  deadlineMs: 90_000,
  async run(trial) {
    const keys = Array.from({ length: COUNT }, (_, index) => `packed-${index}`);

    const ours = trial.name("packed-ours");
    const java = await trial.java.consume(trial, { topic: ours, group: trial.name("packed-java") });
    const producer = trial.producer();
    const sent = await sendAll(
      producer,
      keys.map((key) => ({
        topic: ours,
        tags: "packed",
        keys: key,
        properties: { note: JAVA_NOTE },
        body: javaBody(key, BODY),
      })),
    );
    const { bytesOut } = producer.stats();
    holds(bytesOut < BigInt(COUNT * BODY / 2), `less was sent (${bytesOut} bytes) than the bodies are long`);
    const received = await java.until(({ length }) => length >= COUNT, `${COUNT} messages at the Java consumer`);
    onceEach(received.map(({ key }) => key ?? ""), keys, "received by Java");
    for (const message of received) {
      const key = message.key ?? "";
      equal([message.bodyLength, message.bodySha256], [BODY, sha256(javaBody(key, BODY))], `body of ${key} in Java`);
      equal([message.tags, message.properties["note"]], ["packed", JAVA_NOTE], `words of ${key} in Java`);
      holds((message.sysFlag & COMPRESSED_OR_ZLIB) !== 0, `${key} was compressed (sysFlag ${message.sysFlag})`);
      const result = sent[keys.indexOf(key)];
      equal([message.msgId, message.offsetMsgId], [result?.msgId, result?.offsetMsgId], `ids of ${key} in Java`);
    }
    await java.close();

    const theirs = trial.name("packed-theirs");
    const results = await trial.java.produce(trial, {
      topic: theirs,
      count: COUNT,
      bodyLength: BODY,
      tags: "packed",
      prefix: "packed",
    });
    const { seen } = await consume(trial, {
      consumerGroup: trial.name("packed"),
      subscriptions: { [theirs]: "packed" },
    });
    await seen.until(({ length }) => length >= COUNT, `${COUNT} messages from the Java producer`);
    onceEach(seen.items.map(keyOf), keys, "received from Java");
    for (const message of seen.items) {
      const key = keyOf(message);
      equal(message.body, javaBody(key, BODY), `body of ${key}`);
      equal([message.tags, message.properties["note"]], ["packed", JAVA_NOTE], `words of ${key}`);
      holds((message.sysFlag & COMPRESSED_OR_ZLIB) !== 0, `${key} was compressed (sysFlag ${message.sysFlag})`);
      const result = results[keys.indexOf(key)];
      equal([message.msgId, message.offsetMsgId], [result?.msgId, result?.offsetMsgId], `ids of ${key}`);
    }
    equal(trial.background, [], "background errors");
  },
};
