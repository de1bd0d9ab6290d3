import { describe, expect, test } from "vitest";
import { FrameError } from "../../client/errors.ts";
import { decodeCluster, encodeCluster } from "../../client/protocol/cluster.ts";
import { decodeConsumerList, encodeConsumerList } from "../../client/protocol/consumer_list.ts";
import { decodeHeartbeat, encodeHeartbeat } from "../../client/protocol/heartbeat.ts";
import { type JsonObject, parseJson, writeJson } from "../../client/protocol/json.ts";
import { decodeRoute, encodeRoute, routeRequest } from "../../client/protocol/route.ts";
import { decodeText, encodeText } from "../../client/protocol/text.ts";
import { everyOne } from "./oracle.ts";
import { bodyVersions, readFrames, readLines } from "./vectors.ts";

const UNSAFE_ID = "9007199254740993";
const lines = bodyVersions.flatMap((version) => readLines(`body-${version}.jsonl`));
const ofType = (type: string) => lines.filter((row) => row.type === type);
/** Java writes 0.0 where JavaScript writes 0. */
const withoutFloats = (text: string) => text.replaceAll(/\b(\d+)\.0\b/g, "$1");

test("every body of every release is read, and written again as Java wrote it", () => {
  everyOne("bodies", lines, ({ text }) => {
    expect(writeJson(parseJson(text))).toBe(/\d\.0[,}]/.test(text) ? withoutFloats(text) : text);
  });
});

describe("routes", () => {
  test("of all releases are read, whatever they call the flag", () => {
    for (const { version, text } of ofType("TopicRouteData")) {
      const route = decodeRoute(encodeText(text));
      const data = parseJson(text) as JsonObject;
      expect(route.queueDatas.length, version).toBe((data.get("queueDatas") as unknown[]).length);
      expect(route.brokerDatas.length, version).toBe((data.get("brokerDatas") as unknown[]).length);
      expect(route.brokerDatas[0]).toEqual({
        brokerName: "broker-0",
        cluster: expect.any(String),
        brokerAddrs: new Map([[0, "10.0.0.1:10911"]]),
      });
      expect(route.queueDatas[0]).toEqual({
        brokerName: "broker-0",
        perm: 6,
        readQueueNums: 4,
        writeQueueNums: 4,
        topicSysFlag: 0,
      });
    }
  });

  test("are written as 5.5.0 writes them, with bare and with quoted broker ids", () => {
    let compared = 0;
    for (
      const { text } of readLines("body-5.5.0.jsonl").filter((row) =>
        row.type === "TopicRouteData" && !row.text.includes(UNSAFE_ID)
      )
    ) {
      const route = decodeRoute(encodeText(text));
      expect(decodeText(encodeRoute(route, false))).toBe(text);
      const quoted = decodeText(encodeRoute(route, true));
      expect(quoted).toBe(text.replaceAll(/([{,])(\d+):"/g, '$1"$2":"'));
      expect(decodeRoute(encodeText(quoted))).toEqual(route);
      compared++;
    }
    expect(compared).toBe(3);
  });

  test("a broker id that no number holds is left out, the others stay", () => {
    const { text } = ofType("TopicRouteData").find((row) => row.text.includes(UNSAFE_ID))!;
    expect([...decodeRoute(encodeText(text)).brokerDatas[3]!.brokerAddrs.keys()]).toEqual([0, 1]);
  });

  test("recorded answers of name servers are read, and those of 5.5.0 are written byte for byte", () => {
    let compared = 0;
    for (const { id, requestCode, type, code, broker, expect: { bodyText } } of readFrames()) {
      if (requestCode !== 105 || type !== "response" || code !== 0) continue;
      const route = decodeRoute(encodeText(bodyText!));
      expect(route.queueDatas.length, id).toBeGreaterThan(0);
      if (broker !== "5.5.0") continue;
      expect(decodeText(encodeRoute(route, bodyText!.includes(`{"0":`))), id).toBe(bodyText);
      compared++;
    }
    expect(compared).toBeGreaterThan(20);
  });

  test("what must be there is named when it is missing or wrong", () => {
    const broken = (text: string) => () => decodeRoute(encodeText(text));
    expect(broken(`[]`)).toThrow(FrameError);
    expect(broken(`{"brokerDatas":[{}]}`)).toThrow(/"brokerName" is missing/);
    expect(broken(`{"queueDatas":[{"brokerName":"b","perm":"x"}]}`)).toThrow(/"perm" is wrong/);
    expect(broken(`{"queueDatas":[{"brokerName":"b","readQueueNums":1e99}]}`)).toThrow(/"readQueueNums" is wrong/);
    expect(broken(`{"queueDatas":{}}`)).toThrow(/"queueDatas" is wrong/);
    expect(decodeRoute(encodeText("{}"))).toEqual({ brokerDatas: [], queueDatas: [] });
    expect(routeRequest("T")).toEqual({ code: 105, extFields: { topic: "T" } });
  });
});

test("cluster info of all releases is read, and written as 5.x writes it", () => {
  for (const { version, text } of ofType("ClusterInfo").filter((row) => !row.text.includes(UNSAFE_ID))) {
    const info = decodeCluster(encodeText(text));
    expect(info.clusterAddrTable.get("DefaultCluster")).toContain("broker-0");
    if (version.startsWith("5")) expect(decodeText(encodeCluster(info))).toBe(text);
    expect(decodeCluster(encodeCluster(info))).toEqual(info);
  }
});

test("heartbeats of all releases are read, and written byte for byte as 5.x writes them", () => {
  for (const { version, text } of ofType("HeartbeatData")) {
    const data = decodeHeartbeat(encodeText(text));
    expect(decodeHeartbeat(encodeHeartbeat(data))).toEqual(data);
    if (version.startsWith("5")) expect(decodeText(encodeHeartbeat(data))).toBe(text);
  }
  for (const { id, code, type, expect: { bodyText } } of readFrames()) {
    if (code !== 34 || type !== "request" || bodyText === undefined) continue;
    const data = decodeHeartbeat(encodeText(bodyText));
    expect(data.clientID, id).not.toBe("");
    if (bodyText.includes("withoutSub")) expect(decodeText(encodeHeartbeat(data)), id).toBe(bodyText);
  }
});

test("consumer lists that brokers sent are read and written byte for byte", () => {
  let compared = 0;
  for (const { id, requestCode, type, code, expect: { bodyText } } of readFrames()) {
    if (requestCode !== 38 || type !== "response" || code !== 0) continue;
    const ids = decodeConsumerList(encodeText(bodyText!));
    expect(ids.length, id).toBeGreaterThan(0);
    expect(decodeText(encodeConsumerList(ids)), id).toBe(bodyText);
    compared++;
  }
  expect(compared).toBeGreaterThan(10);
});
