/** Reads an LZ4 frame, slowly: magic, flags, blocks. Only for comparing with what Java stored. */
export function expandLz4(frame: Uint8Array): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  if (view.getUint32(0, true) !== 0x184d2204) throw new Error("not an LZ4 frame");
  const flags = frame[4]!;
  const blockChecksum = flags & 0x10 ? 4 : 0;
  let at = 7 + (flags & 0x08 ? 8 : 0) + (flags & 0x01 ? 4 : 0);
  const out: number[] = [];
  for (;;) {
    const word = view.getUint32(at, true);
    at += 4;
    if (word === 0) return Uint8Array.from(out);
    const size = word & 0x7fffffff, block = frame.subarray(at, at + size);
    if (word >>> 31) { for (const byte of block) out.push(byte); }
    else expandBlock(block, out);
    at += size + blockChecksum;
  }
}

function expandBlock(block: Uint8Array, out: number[]): void {
  let at = 0;
  const length = (start: number): number => {
    let total = start;
    if (start === 15) { for (let more = 255; more === 255; total += more) more = block[at++]!; }
    return total;
  };
  while (at < block.length) {
    const token = block[at++]!;
    const literals = length(token >> 4);
    for (let i = 0; i < literals; i++) out.push(block[at++]!);
    if (at >= block.length) return;
    const distance = block[at]! | block[at + 1]! << 8;
    at += 2;
    const match = length(token & 15) + 4;
    for (let i = 0; i < match; i++) out.push(out[out.length - distance]!);
  }
}
