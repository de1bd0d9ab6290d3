// What the default door of "rocketmq-wasm/codec" must do on any runtime: the suite bundles this for a browser and runs it in a
// bare context, in a worker and without permissions; scripts/test_package.mjs runs it on workerd.
import { createCodec, isRocketMQError } from "rocketmq-wasm/codec";

// Three messages of test/vectors/oracle-record.jsonl: ZLIB, LZ4, ZSTD.
const ZLIB = "AAABitqjIKcAAAAAAAAADLTtaEoAAAAAK/lguwAAAIyfxPCAAAADAQAAAYv9+nmC/////wAA//8AAAGL3UG3nwAAAAAAAAAA" +
  "AAAACgAAAQAAAAAAAAAAW3hejcxLCsAgEATRvbccG2lk1BC/jKePZB9I1f6JR2BMVx0GpnsKc9ssA9q8duTFimK64jwvtYLK" +
  "ldHVN8UobrdMmXcibNQrRQZ42Xba8oN23zT/0O6lHx3UUsR/dG9waWNfMTI3X19fX19fX19fX19fX19fX19fX19fX19fX19f" +
  "X19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19f" +
  "X19fX19fX19fX19fX19fX19fXwBVZW1wdHktaXNoASACS0VZUwFvcmRlci0xIG9yZGVyLTICVU5JUV9LRVkBN0YwMDAwMDEw" +
  "MDAwMkE5RjAwMDAwMDAwMDAwMDAwMDECVEFHUwFUYWdBAg==";
const LZ4 = "AAABjtqjIKcAAAAAAAAAAgh4UnAAAAAAC39KCAAAADpP5ouJAAABAQAAAYvbNStqwKgBTQAAKp0AAAGL6TzHtH8AAAEAACqf" +
  "AAAACgAAAAAAAAAAAAAAeQQiTRhgcHNqAAAA/0xhYmNlZ2lsb3J1eWNnbHF2YWdtc3pnbnVja3Nia3RjbXdncmNueWt3aXZp" +
  "dml3a3luY3Jnd21jdGtic2tjdW4KenNtZ2F2cWxnY3l1cm9saWdlY2Jhenl5eXl6WwARFwpbAFBuY3JndwAAAAB/dG9waWNf" +
  "MTI3X19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19f" +
  "X19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fX19fXwA7anNvbgF7ImEiOlsxLDJdfQJVTklR" +
  "X0tFWQE3RjAwMDAwMTAwMDAyQTlGMDAwMDAwMDAwMDAwMDAwMQI=";
const ZSTD = "AAAA2dqjIKcAAAAAAAAACpPKwXgAAAAALof1HAAAAE2Oom22AAACAQAAAYvl+TvR/////wAA//8AAAGL7XHB+sCoAU0AACqd" +
  "AAAACwAAAAAAAAAAAAAATii1L/0AWBQCAOKEDxOgpW0EJMV2qxbZO33MUFVVxWtiBfX4JFhxywFw6spRgs0cfacMLS2ZOme8" +
  "MQs1sqz3Ie1iA3IfxULoAQ8RAAEAAAZUb3BpY0EAKlVOSVFfS0VZATdGMDAwMDAxMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDUz" +
  "Ag==";

/** Throws when something is wrong; `core` is the module of "rocketmq-wasm/core.wasm", or undefined where bytes compile. */
export function checkCodec(core) {
  const codec = createCodec(core === undefined ? {} : { core });
  same("crc32", codec.crc32(bytesOf("123456789")), 0xcbf43926);
  checkCommands(codec);
  checkMessages(codec);
  const queues = [0, 1, 2].map((queueId) => ({ topic: "T", brokerName: "b", queueId }));
  same("allocate", codec.allocate("AVG", "G", "c2", queues, ["c1", "c2"]), queues.slice(2));
  same("no messages", codeOf(() => codec.encodeBatch([])), "ROCKETMQ_ARGUMENT");
  same("broken", codeOf(() => codec.decode(new Uint8Array(3))), "ROCKETMQ_FRAME");
  same("another module", codeOf(() => createCodec({ core: {} })), "ROCKETMQ_CORE");
  return "codec is well";
}

/** The code of the error that `createCodec` throws without a module, or "none". */
export function codeWithoutCore() {
  return codeOf(() => createCodec());
}

function checkCommands(codec) {
  for (const serializeType of ["JSON", "ROCKETMQ"]) {
    const command = {
      code: 10,
      language: "JAVA",
      version: 513,
      opaque: 7,
      flag: 0,
      remark: "grüße",
      extFields: { topic: "T" },
      body: bytesOf("body"),
      serializeType,
    };
    const frame = codec.encode(command);
    same(serializeType, plain(codec.decode(frame)), plain(command));
    const stream = codec.stream();
    const found = [];
    for (const byte of frame) found.push(...stream.feed(Uint8Array.of(byte)));
    same("stream", found.map(plain), [plain(command)]);
  }
}

function checkMessages(codec) {
  const read = (text) => codec.decodeMessages(fromBase64(text), { checkCrc: false })[0];
  const lz4 = read(LZ4);
  same("LZ4 body", lz4.rawBody().length, 144);
  same("queue offset", String(lz4.queueOffset), "192891400");
  same("id", lz4.msgId, "7F00000100002A9F0000000000000001");
  for (const text of [ZLIB, ZSTD]) {
    const message = read(text);
    same("a property", message.msgId, message.properties["UNIQ_KEY"]);
    same("compressed body", codeOf(() => message.body), "ROCKETMQ_UNSUPPORTED");
  }
  const batch = codec.encodeBatch([{ topic: "T", body: bytesOf("x"), tags: "a" }]);
  same("batch", new DataView(batch.buffer, batch.byteOffset).getUint32(0), batch.length);
}

const bytesOf = (text) => new TextEncoder().encode(text);
const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const plain = (command) => ({ ...command, extFields: { ...command.extFields }, body: [...command.body] });

function codeOf(action) {
  try {
    action();
    return "none";
  } catch (error) {
    return isRocketMQError(error) ? error.code : String(error);
  }
}

function same(what, actual, expected) {
  const [found, wanted] = [sorted(actual), sorted(expected)];
  if (found !== wanted) throw new Error(`${what}: ${found} instead of ${wanted}`);
}

const sorted = (value) =>
  JSON.stringify(
    value,
    (_, each) =>
      each !== null && typeof each === "object" && !Array.isArray(each)
        ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => a < b ? -1 : 1))
        : each,
  );
