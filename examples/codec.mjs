// Frames without a client: what a proxy or a recorder does with bytes that pass through it. Needs no permission and no broker,
// and works in browsers and on workerd too.
//   node examples/codec.mjs
import { createCodec, FrameError } from "rocketmq-wasm/codec";

const codec = createCodec({ coreMemory: 2 });

const request = codec.encode({
  code: 310,
  opaque: 1,
  flag: 0,
  extFields: { b: "orders", e: "3" },
  body: new TextEncoder().encode("Hello"),
});
const answer = codec.encode({ code: 0, opaque: 1, flag: 1, extFields: { queueId: "3", queueOffset: "42" } });

// Bytes arrive in pieces of any size; each frame comes with its last byte.
const wire = Uint8Array.from([...request, ...answer]);
const stream = codec.stream();
for (let at = 0; at < wire.length; at += 50) {
  for (const { code, opaque, flag, extFields } of stream.feed(wire.subarray(at, at + 50))) {
    console.log(`${flag & 1 ? "answer" : "request"} ${opaque}, code ${code}: ${JSON.stringify(extFields)}`);
  }
}

// What breaks the protocol is a FrameError.
try {
  codec.decode(wire.subarray(3));
} catch (error) {
  if (!(error instanceof FrameError)) throw error;
  console.log(`refused: ${error.code}`);
}
