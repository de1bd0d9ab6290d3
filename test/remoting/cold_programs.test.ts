import { expect, test } from "vitest";
import { ArgumentError, type RocketMQError } from "../../client/errors.ts";
import { decodeCommand, encodeCommand, type Request } from "../../client/protocol/command.ts";
import { ColdPrograms } from "../../client/remoting/cold_programs.ts";
import { openCore } from "../support/core.ts";
import { echo } from "../support/peer.ts";
import { inWorld, outcome } from "./world.ts";

const REQUESTS: readonly Request[] = [
  { code: 105, extFields: { topic: 'Orders "ü"' } },
  { code: 34, body: Uint8Array.of(1, 2, 3) },
  { code: 0, remark: 'ill: "ключ"\n', extFields: {} },
  { code: 200_071, extFields: { a: "\u0001" } },
  { code: -5 },
];

test.each(["JSON", "ROCKETMQ"] as const)("cold requests in %s are what encodeCommand writes", (serializeType) => {
  const core = openCore(), segment = core.openSegment(), before = core.bytesInUse;
  const cold = new ColdPrograms(core, serializeType);
  for (const flag of [0, 1, 2]) {
    for (const request of REQUESTS) {
      core.resetSegment(segment);
      const { program, value, args, body } = cold.request({ ...request, flag })!;
      expect(core.encode(program, segment, 0x7fff_0001, value, args, body)).toBe(true);
      const expected = encodeCommand({ ...request, opaque: 0x7fff_0001, flag, serializeType });
      expect(core.segmentBytes(segment).slice()).toEqual(expected);
    }
  }
  cold.close();
  expect(core.bytesInUse).toBe(before);
  expect(() => cold.request({ code: 1, extFields: { a: 5 as unknown as string } })).toThrow(ArgumentError);
});

test(
  "cold requests of any header length are answered, oneway ones arrive, and what cannot be sent is refused alone",
  inWorld(405, async ({ sim, remoting, peer }) => {
    const { addr, requests } = await peer(echo);
    const lengths = [10, 60_000, 65_000, 65_536, 70_000, 200_000];
    const answers = lengths.map((length) =>
      remoting.invoke(addr, { code: 105, extFields: { a: '"'.repeat(length / 2) } }, { timeout: 3_000 })
    );
    const wrong = outcome(
      remoting.invoke(addr, { code: 105, extFields: { a: 5 as unknown as string } }, { timeout: 3_000 }),
    );
    const oneway = remoting.invokeOneway(addr, { code: 15, extFields: { last: "yes" } }, { timeout: 3_000 });
    for (const { code } of await sim.run(Promise.all(answers))) expect(code).toBe(0);
    expect(await sim.run(wrong)).toBeInstanceOf(ArgumentError);
    await sim.run(oneway);
    await sim.run(() => requests.length === lengths.length + 1);
    expect(requests.slice(0, -1).map(({ extFields }) => extFields["a"]!.length)).toEqual(
      lengths.map((each) => each / 2),
    );
    expect(requests.at(-1)).toMatchObject({ code: 15, flag: 2, extFields: { last: "yes" } });
  }, { split: 0.5 }),
);

test(
  "a peer's request is answered through a program, with its own opaque",
  inWorld(406, async ({ sim, remoting, peer }) => {
    const { addr, connections } = await peer(echo);
    remoting.handle(40, ({ extFields }) => ({ code: 0, remark: "ok", extFields: { back: extFields["there"]! } }));
    await sim.run(remoting.connect(addr, { timeout: 1_000 }));
    connections[0]!.request(40, 0x1234_5678, { there: "ü" });
    await sim.run(() => connections[0]!.answers.length === 1);
    const answer = connections[0]!.answers[0]!;
    expect(answer).toMatchObject({ code: 0, opaque: 0x1234_5678, flag: 1, remark: "ok", extFields: { back: "ü" } });
    expect(decodeCommand(encodeCommand({ ...answer, serializeType: "JSON" }))).toMatchObject({ code: 0 });
  }),
);

test(
  "without room for its program a cold request fails, and the connection goes on",
  inWorld(407, async ({ sim, remoting, core, peer }) => {
    const { addr } = await peer(echo);
    await sim.run(remoting.connect(addr, { timeout: 1_000 }));
    const program = core.program([["", 7], ["", 1], ["", 7], ["", 0]], "JSON");
    const first: unknown[] = [];
    const hot = { program, value: 0, args: ['{"code":1,"opaque":', "}"] };
    remoting.call(addr, hot, 3_000, ({ code }) => first.push(code), (error) => first.push(error));
    await sim.run(() => first.length === 1);
    const taken: number[] = [];
    for (let size = 1 << 22; size >= 1; size >>= 1) {
      for (let block = core.allocateBlock(size); block; block = core.allocateBlock(size)) taken.push(block);
    }
    const error = await sim.run(outcome(remoting.invoke(addr, { code: 105 }, { timeout: 1_000 })));
    expect((error as RocketMQError).code).toBe("ROCKETMQ_OVERLOAD");
    for (const block of taken) core.freeBlock(block);
    expect(await sim.run(remoting.invoke(addr, { code: 105 }, { timeout: 1_000 }))).toMatchObject({ code: 0 });
    expect(first).toEqual([0]);
    core.freeProgram(program);
  }),
);
