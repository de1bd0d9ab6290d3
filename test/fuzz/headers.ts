// Headers as servers write them, of a few families, and as they should not.

import type { Random } from "../core/random.ts";
import { binaryHeader, utf8 } from "../support/frames.ts";

/** A header of the JSON kind: right, but in any order, with or without spaces, and with odd values in it. */
export function randomJsonHeader(random: Random): Uint8Array {
  const header: Record<string, unknown> = {
    code: random.pick([0, 0, 0, 0, 19, 21, -1, 2 ** 31, 1.5]),
    flag: random.pick([0, 1, 1, 2, 3]),
    language: "JAVA",
    opaque: random.once(9) ? random.pick([-1, 2 ** 31 - 1, -(2 ** 31), 2 ** 32]) : random.below(2 ** 31),
    serializeTypeCurrentRPC: "JSON",
    version: random.pick([401, 479, 513]),
  };
  if (!random.once(4)) header["extFields"] = randomExtFields(random);
  if (random.once(3)) {
    header["remark"] = random.pick(["", "FOUND", 'a "remark"', "é中文", null, 7, "[TIMEOUT_CLEAN_QUEUE]"]);
  }
  if (random.once(20)) header["nested"] = random.pick([{ a: [1, { b: '}"' }] }, [], [[{}]], true, false, null]);
  let text = JSON.stringify(
    random.once(4) ? shuffled(random, header) : header,
    null,
    random.once(12) ? " " : undefined,
  );
  if (random.once(15)) text = text.replaceAll(",", " ,\t").replaceAll(":", " :\n");
  if (random.once(15)) text = text.replaceAll('"opaque":', '"opaque":0');
  if (random.once(15)) text = text.replaceAll("e", "\\u0065");
  if (random.once(15)) text = text.replaceAll("}", ',"code":5}');
  if (random.once(30)) text += random.pick([" ", "\n", "x", "}", "\0", "\ufeff"]);
  return utf8(text);
}

/** A header of the ROCKETMQ kind. */
export function randomBinaryHeader(random: Random): Uint8Array {
  const fields = random.once(4) ? {} : randomExtFields(random);
  return binaryHeader({
    code: random.pick([0, 0, 0, 19, -1, 32767]),
    opaque: random.bits() | 0,
    flag: random.pick([0, 1, 2, 3]),
    remark: random.pick(["", "", "FOUND", "é中文"]),
    extFields: Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)])),
  });
}

function randomExtFields(random: Random): Record<string, unknown> {
  // Without a prototype, or a field called __proto__ would be none.
  const fields: Record<string, unknown> = Object.create(null);
  if (random.once(2)) {
    fields["queueOffset"] = digits(random);
    fields["queueId"] = digits(random);
    fields["msgId"] = random.pick(["0A00000100002A9F0000000000002710", "", 'a"b', "é", "x\\y", "\ufeffA"]);
    fields["MSG_REGION"] = "DefaultRegion";
    fields["TRACE_ON"] = "true";
  } else {
    fields["nextBeginOffset"] = digits(random);
    fields["minOffset"] = digits(random);
    fields["maxOffset"] = digits(random);
    fields["suggestWhichBrokerId"] = random.pick(["0", "1", "65535", "65536", "-1"]);
  }
  if (random.once(8)) fields[random.pick(["offset", "extra", "__proto__", "", "msgid", "queueIdX"])] = digits(random);
  if (random.once(20)) fields["msgId"] = random.pick([null, 5, true, {}, ["a"]]);
  if (random.once(20)) delete fields["queueOffset"];
  return random.once(6) ? shuffled(random, fields) : fields;
}

function digits(random: Random): string {
  if (random.once(12)) {
    return random.pick([
      "",
      "-",
      "-0",
      "007",
      "1e3",
      "12x",
      " 1",
      "9007199254740993",
      "9223372036854775807",
      "-1",
      "1.0",
    ]);
  }
  const large = random.once(3) ? String(random.below(1e6)) : "";
  return String(random.below(random.pick([10, 1000, 2 ** 31]))) + large;
}

function shuffled(random: Random, record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(random.shuffled(Object.entries(record)));
}
