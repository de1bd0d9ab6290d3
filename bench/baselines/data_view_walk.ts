import type { ResponseReader } from "./response_sum.ts";

/** `DataView` walk: a ROCKETMQ header read field by field; a name is told by its length and a letter. */
export function dataViewWalk(bytes: Uint8Array): ResponseReader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const number = (at: number, length: number): number => {
    let value = 0;
    for (let i = at; i < at + length; i++) value = value * 10 + bytes[i]! - 48;
    return value;
  };
  return {
    readAll() {
      let sum = 0;
      for (let start = 0; start + 8 <= bytes.length;) {
        const total = view.getInt32(start), header = start + 8;
        const end = header + (view.getInt32(start + 4) & 0xffffff);
        const code = view.getInt16(header), opaque = view.getInt32(header + 5);
        let a = 0, b = 0, c = 0, d = 0, textLength = 0;
        let at = header + 17 + view.getInt32(header + 13) + 4;
        while (at < end) {
          const nameLength = view.getInt16(at), name = at + 2;
          const length = view.getInt32(name + nameLength), value = name + nameLength + 4;
          if (nameLength === 11) a = number(value, length); // queueOffset
          else if (nameLength === 7) b = number(value, length); // queueId
          else if (nameLength === 5) textLength = length; // msgId
          else if (nameLength === 15) a = number(value, length); // nextBeginOffset
          else if (nameLength === 9) { // minOffset, maxOffset
            if (bytes[name + 1] === 105) b = number(value, length);
            else c = number(value, length);
          } else if (nameLength === 20) d = number(value, length); // suggestWhichBrokerId
          at = value + length;
        }
        sum += opaque + code + a + b + c + d + textLength;
        start += 4 + total;
      }
      return sum;
    },
  };
}
