import type { Random } from "./random.ts";

const CHARACTERS = [
  '"',
  "\\",
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  " ",
  "\t",
  "\n",
  "0",
  "1",
  "-",
  ".",
  "e",
  "u",
  "n",
  "é",
  "\u0001",
];
const TEXTS = [
  "true",
  "DefaultRegion",
  "0A00000100002A9F0000000000002710",
  'a"b',
  "c\\d",
  "x\u0001y\u0002z",
  "",
  "é中",
  "/",
  "\b\f\n\r\t",
  "1",
  "-5",
  "12x",
];

/** Ext fields of the hot answers' kinds: of a send, of a pull, of an offset. */
export function randomExtFields(random: Random): Record<string, string> {
  const fields = random.pick([sendFields, pullFields, offsetFields])(random);
  if (random.once(4)) fields[`extra${random.below(9)}`] = randomText(random);
  if (random.once(30)) fields[random.pick(NEARLY)] = randomText(random);
  return shuffled(random, fields);
}

/** Names that differ from hot ones in length, or in one byte. */
const NEARLY = [
  "queueOffsex",
  "queueOffseT",
  "nextBeginOffseu",
  "minOffses",
  "xinOffset",
  "msgIe",
  "queueIe",
  "offsef",
  "suggestWhichBrokerIe",
  "offse",
  "msgID",
];

function sendFields(random: Random): Record<string, string> {
  const fields: Record<string, string> = {
    queueId: randomNumber(random),
    queueOffset: randomNumber(random),
    msgId: random.once(20) ? randomText(random) : random.bytes(16).reduce((hex, byte) => hex + byte.toString(16), ""),
  };
  if (random.once(2)) Object.assign(fields, { TRACE_ON: "true", MSG_REGION: "DefaultRegion" });
  if (random.once(3)) fields["transactionId"] = randomText(random);
  return fields;
}

function pullFields(random: Random): Record<string, string> {
  return {
    suggestWhichBrokerId: String(random.below(random.pick([2, 2, 70_000]))),
    nextBeginOffset: randomNumber(random),
    minOffset: randomNumber(random),
    maxOffset: randomNumber(random),
    ...(random.once(3) ? { topicSysFlag: "0" } : {}),
  };
}

function offsetFields(random: Random): Record<string, string> {
  return { offset: randomNumber(random) };
}

/** Mostly short; some have 15 digits, some more. */
export function randomNumber(random: Random): string {
  const digits = 1 + random.below(random.pick([3, 10, 15, 15, 17]));
  const number = String(1 + random.below(9)) + Array.from({ length: digits - 1 }, () => random.below(10)).join("");
  return random.once(10) ? `-${number}` : number;
}

export function randomText(random: Random): string {
  const text = random.pick(TEXTS);
  return random.once(3) ? text + random.below(999) + random.pick(TEXTS) : text;
}

/** A JSON header a server might write; sometimes spaced, nested, or with more in it. */
export function randomJsonHeader(random: Random): string {
  const header: Record<string, unknown> = {
    code: random.pick([0, 0, 0, 19, 200_050, -1]),
    flag: 1,
    language: random.pick(["JAVA", "NODE_JS"]),
    opaque: random.below(random.pick([10, 2 ** 31])) - (random.once(20) ? 2 ** 31 : 0),
    serializeTypeCurrentRPC: "JSON",
    version: 513,
  };
  if (!random.once(8)) header["extFields"] = randomExtFields(random);
  if (random.once(3)) header["remark"] = randomText(random);
  if (random.once(30)) header["nested"] = { a: [1, { b: '}"' }], c: null };
  if (random.once(20)) header[`more${random.below(3)}`] = random.pick([true, false, null, 0, -17, 1e21, 0.5, "x\\"]);
  if (random.once(20)) delete header[random.pick(["code", "flag", "opaque"])];
  const text = JSON.stringify(
    shuffled(random, header),
    null,
    random.once(12) ? random.pick([1, "\t", "\r\n".slice(0, 2)]) : 0,
  );
  return random.once(12) ? text.replaceAll(",", " , ").replaceAll(":", "\t:\n") : text;
}

function shuffled<T>(random: Random, record: Record<string, T>): Record<string, T> {
  return random.once(2) ? Object.fromEntries(random.shuffled(Object.entries(record))) : record;
}

/** Text that was damaged in one to three places: changed, cut, doubled, moved. */
export function mutatedText(random: Random, text: string): string {
  for (let times = 1 + random.below(3); times > 0; times--) {
    const at = random.below(text.length + 1), length = random.below(random.pick([3, 30]));
    const before = text.slice(0, at), part = text.slice(at, at + length), after = text.slice(at + length);
    const character = random.pick(CHARACTERS);
    text = random.pick([
      before + character + text.slice(at + 1),
      before + character + text.slice(at),
      before + after,
      before + part + part + after,
      before + after + part,
      before + after.replace(/\d/, character),
      text.replace(/"(\w+)"/, `"\\u${"0" + random.below(9)}6$1"`),
      text.replace(/:"(-?\d+)"/, ":$1"),
      text.replace(/("extFields":\{[^}]*)\}/, `$1,"queueId":"${random.below(99)}","offset":"7"}`),
      text.replace("{", `{"opaque":${randomNumber(random)},"code":0${random.below(9)},`),
    ]);
  }
  return text;
}

/** Bytes that were damaged in one to three places. */
export function mutatedBytes(random: Random, bytes: Uint8Array): Uint8Array {
  let damaged = [...bytes];
  for (let times = 1 + random.below(3); times > 0; times--) {
    const at = random.below(damaged.length + 1);
    const way = random.below(4);
    if (way < 2) damaged[at] = random.pick([0, 1, 127, 128, 255, random.below(256)]);
    else if (way === 2) damaged.splice(at, random.below(5));
    else damaged = damaged.slice(0, at);
  }
  return Uint8Array.from(damaged);
}
