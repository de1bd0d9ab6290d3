import { createHash } from "node:crypto";

/** Java's hash: the first four bytes of the MD5. */
export const hashOf = (text: string): number => createHash("md5").update(text, "utf8").digest().readUInt32BE();

/** The queues of `clientId`, with a ring as Java keeps one: a later node takes over an earlier one's place. */
export function modelShare(
  clientId: string,
  queues: readonly string[],
  clientIds: readonly string[],
  nodes: number,
): number[] {
  const ring = new Map<number, string>(), listed = new Map<string, number>();
  for (const id of clientIds) {
    const from = listed.get(id) ?? 0;
    for (let number = from; number < from + nodes; number++) ring.set(hashOf(`${id}-${number}`), id);
    listed.set(id, from + nodes);
  }
  const places = [...ring.keys()].sort((one, other) => one - other);
  return queues.flatMap((queue, index) => {
    const hash = hashOf(queue);
    const place = places.find((each) => each >= hash) ?? places[0];
    return place !== undefined && ring.get(place) === clientId ? [index] : [];
  });
}
