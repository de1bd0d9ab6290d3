import * as abi from "../../core-as/abi.ts";

/** What a completion says of a header, but for the positions. */
export interface HotFields {
  opaque: number;
  code: number;
  flag: number;
  fields: number;
  a: number;
  b: number;
  c: number;
  brokerId: number;
  text: string;
}

export const nothingRead = (): HotFields => ({
  opaque: 0,
  code: 0,
  flag: 0,
  fields: 0,
  a: 0,
  b: 0,
  c: 0,
  brokerId: 0,
  text: "",
});

const NUMBERS: Readonly<Record<string, readonly [field: number, place: "a" | "b" | "c" | "brokerId"]>> = {
  queueOffset: [abi.FIELD_A, "a"],
  nextBeginOffset: [abi.FIELD_A, "a"],
  offset: [abi.FIELD_A, "a"],
  queueId: [abi.FIELD_B, "b"],
  minOffset: [abi.FIELD_B, "b"],
  maxOffset: [abi.FIELD_C, "c"],
  suggestWhichBrokerId: [abi.FIELD_BROKER_ID, "brokerId"],
};

/** Ext fields into their places; false when one is not what it must be, or two of them want one place. */
function enterAll(hot: HotFields, extFields: Iterable<readonly [name: string, value: string]>): boolean {
  for (const [name, value] of extFields) {
    const number = Object.hasOwn(NUMBERS, name) ? NUMBERS[name] : undefined;
    const field = number ? number[0] : name === "msgId" ? abi.FIELD_TEXT : abi.FIELD_OTHER;
    if (field !== abi.FIELD_OTHER && hot.fields & field) return false;
    hot.fields |= field;
    if (name === "msgId") hot.text = value;
    if (!number) continue;
    if (!/^-?[0-9]{1,15}$/.test(value)) return false;
    if (number[1] === "brokerId" && (Number(value) < 0 || Number(value) > 65535)) return false;
    // A whole number of 64 bits: there is no -0 among them.
    hot[number[1]] = Number(BigInt(value));
  }
  return true;
}

/** A JSON header as JSON.parse reads it; undefined when it is not JSON, or no header. */
export function readJsonModel(text: string): HotFields | undefined {
  let header;
  try {
    header = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  if (typeof header !== "object" || header === null || Array.isArray(header)) return undefined;
  const hot = { ...nothingRead(), fields: abi.FIELD_READ };
  const small = (name: string): number | undefined => {
    const value = Object.hasOwn(header, name) ? header[name] : 0;
    return typeof value === "number" && value === (value | 0) ? value | 0 : undefined;
  };
  const code = small("code"), opaque = small("opaque"), flag = small("flag");
  const ext = header["extFields"] ?? {}, remark = header["remark"] ?? "";
  if (code === undefined || opaque === undefined || flag === undefined) return undefined;
  if (typeof ext !== "object" || typeof remark !== "string" || Array.isArray(ext)) return undefined;
  const entries = Object.entries(ext);
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === "string")) return undefined;
  if (remark !== "") hot.fields |= abi.FIELD_REMARK;
  return enterAll(hot, entries) ? Object.assign(hot, { code, opaque, flag }) : undefined;
}

/** A ROCKETMQ header read field by field; undefined when its lengths contradict each other. */
export function readBinaryModel(bytes: Uint8Array): HotFields | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const decoder = new TextDecoder();
  const hot = { ...nothingRead(), fields: abi.FIELD_READ };
  try {
    hot.code = view.getInt16(0);
    hot.opaque = view.getInt32(5);
    hot.flag = view.getInt32(9);
    const remark = view.getInt32(13);
    if (remark > 0) hot.fields |= abi.FIELD_REMARK;
    let at = 17 + remark;
    if (remark < 0 || view.getInt32(at) !== bytes.length - at - 4) return undefined;
    const entries: [string, string][] = [];
    for (at += 4; at < bytes.length;) {
      const keyLength = view.getInt16(at), key = bytes.subarray(at + 2, at + 2 + keyLength);
      const valueLength = view.getInt32(at + 2 + keyLength);
      at += 6 + keyLength;
      if (keyLength < 1 || valueLength < 0 || at + valueLength > bytes.length) return undefined;
      const name = decoder.decode(key), value = decoder.decode(bytes.subarray(at, at + valueLength));
      entries.push([valueLength === 0 ? `${name} without a value` : name, value]);
      at += valueLength;
    }
    return enterAll(hot, entries) ? hot : undefined;
  } catch {
    return undefined;
  }
}
