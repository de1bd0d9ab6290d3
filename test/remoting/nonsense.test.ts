// What a peer sends that is no frame, or more than one: only its own connection suffers.

import { expect, test } from "vitest";
import { FrameError } from "../../client/errors.ts";
import { encodeCommand } from "../../client/protocol/command.ts";
import { encodeText } from "../../client/protocol/text.ts";
import { type PeerConnection, type Script, silence } from "../support/peer.ts";
import { concat, frameBytes, int32 } from "../support/frames.ts";
import { inWorld, outcome } from "./world.ts";

/** Bytes that end a connection, by what is wrong with them. */
const NONSENSE: readonly (readonly [string, Uint8Array])[] = [
  ["codec-5: an answer of HTTP/1.1", encodeText("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ["codec-5: the first bytes of HTTP/2", Uint8Array.of(0x50, 0x52, 0x49, 0x20)],
  ["codec-5: 7F FF FF FF", Uint8Array.of(0x7f, 0xff, 0xff, 0xff)],
  ["codec-5: 80 00 00 00", Uint8Array.of(0x80, 0, 0, 0)],
  ["codec-5: 00 00 00 00", Uint8Array.of(0, 0, 0, 0)],
  ["codec-6: a header of 65,535 bytes in a frame of 8", Uint8Array.of(0, 0, 0, 8, 0, 0, 0xff, 0xff, 0, 0, 0, 0)],
  ["codec-6: no room for a header word", Uint8Array.of(0, 0, 0, 2, 0, 0)],
  ["codec-6: serializer byte 7", Uint8Array.of(0, 0, 0, 4, 7, 0, 0, 0)],
  ["codec-6: a JSON header cut short", frameBytes('{"code":')],
  ["codec-6: a JSON header cut short in a frame larger than an inbox", frameBytes('{"code":', new Uint8Array(200_000))],
];

const answer = (opaque: number, body: string): Uint8Array =>
  encodeCommand({ code: 0, opaque, flag: 1, body: encodeText(body), serializeType: "JSON", language: "JAVA" });

for (const [index, [name, nonsense]] of NONSENSE.entries()) {
  test(
    `${name}: its calls fail at once, another connection's are answered, and the next call connects again`,
    inWorld(700 + index, async ({ sim, remoting, peer, errors }) => {
      let isSane = false;
      const answered: PeerConnection[] = [];
      const wrong = await peer((request, connection) => {
        if (isSane) connection.answer(request);
        else answered.push(connection);
      });
      const right = await peer(silence);
      const ours = [1, 2, 3].map((code) => outcome(remoting.invoke(wrong.addr, { code }, { timeout: 30_000 })));
      const other = remoting.invoke(right.addr, { code: 4 }, { timeout: 30_000 });
      await sim.run(() => answered.length === 3 && right.requests.length === 1);

      // What stands behind the nonsense would be an answer to every call there is, had it come from the right peer.
      const opaques = [...wrong.requests, ...right.requests].map(({ opaque }) => opaque);
      const started = sim.now;
      answered[0]!.write(concat([nonsense, ...opaques.map((opaque) => answer(opaque, "behind nonsense"))]));
      for (const error of await sim.run(Promise.all(ours))) expect(error).toBeInstanceOf(FrameError);
      expect(sim.now - started).toBeLessThan(100);
      right.connections[0]!.answer(right.requests[0]!, { body: encodeText("its own") });
      expect((await sim.run(other)).body).toEqual(encodeText("its own"));

      await sim.run(10);
      expect([wrong.open, right.open]).toEqual([0, 1]);
      isSane = true;
      expect((await sim.run(remoting.invoke(wrong.addr, { code: 5 }, { timeout: 30_000 }))).code).toBe(0);
      expect(wrong.connections).toHaveLength(2);
      expect(right.connections).toHaveLength(1);
      expect(remoting.stats.inFlight).toBe(0);
      expect(errors).toEqual([]);
    }),
  );
}

test(
  "codec-5: a length that no peer will ever fill takes no memory",
  inWorld(720, async ({ sim, core, remoting, peer }) => {
    const script: Script = (request, connection) =>
      request.code === 1 ? connection.answer(request) : connection.write(int32(0x7fffffff));
    const { addr } = await peer(script);
    await sim.run(remoting.invoke(addr, { code: 1 }, { timeout: 1_000 }));
    const before = core.bytesInUse;
    expect(await sim.run(outcome(remoting.invoke(addr, { code: 2 }, { timeout: 1_000 })))).toBeInstanceOf(FrameError);
    expect(core.bytesInUse).toBeLessThanOrEqual(before);
  }),
);

test(
  "codec-3: two answers and half of a third in one write settle two calls at once, and the third with its rest",
  inWorld(721, async ({ sim, remoting, peer }) => {
    const { addr, requests, connections } = await peer(silence);
    const settled: number[] = [];
    const calls = [0, 1, 2].map((index) =>
      remoting.invoke(addr, { code: 10 + index }, { timeout: 30_000 }).then((response) => {
        settled.push(index);
        return response;
      })
    );
    await sim.run(() => requests.length === 3);
    const [first, second, third] = requests.map(({ opaque }, index) => answer(opaque, `answer ${index}`));
    const started = sim.now;
    connections[0]!.write(concat([first!, second!, third!.subarray(0, 40)]));
    await sim.run(Promise.all(calls.slice(0, 2)));
    expect(sim.now - started).toBeLessThan(100);
    await sim.run(1_000);
    expect(settled).toEqual([0, 1]);
    connections[0]!.write(third!.subarray(40));
    const bodies = (await sim.run(Promise.all(calls))).map(({ body }) => body);
    expect(bodies).toEqual([0, 1, 2].map((index) => encodeText(`answer ${index}`)));
  }),
);
