import { expect, test } from "vitest";
import { ArgumentError } from "../../client/errors.ts";
import { formatAddress, parseAddress } from "../../client/remoting/address.ts";

test("connection-11: a scheme is stripped as a whole and never as a set of characters", () => {
  expect(parseAddress("http://tim.test.com:9876").host).toBe("tim.test.com");
  expect(parseAddress("https://stp.test.com:9876").host).toBe("stp.test.com");
  expect(parseAddress("tst.test.com:9876").host).toBe("tst.test.com");
  expect(parseAddress("http://hhttpp.test:9876/").host).toBe("hhttpp.test");
});

test("connection-12: IPv6 hosts and ports are divided at the right colon", () => {
  expect(parseAddress("[::1]:9876")).toEqual({ host: "::1", port: 9876 });
  expect(parseAddress("::1:9876")).toEqual({ host: "::1", port: 9876 });
  expect(parseAddress("[fe80::1%25lo]:9876")).toEqual({ host: "fe80::1%lo", port: 9876 });
  expect(parseAddress("::ffff:127.0.0.1:9876")).toEqual({ host: "::ffff:127.0.0.1", port: 9876 });
  expect(parseAddress("127.0.0.1:10911")).toEqual({ host: "127.0.0.1", port: 10911 });
  expect(parseAddress(" broker-a_1.example.:1 ")).toEqual({ host: "broker-a_1.example.", port: 1 });
});

test("connection-12: what cannot be split is a clear error and not another host", () => {
  const wrong = [
    "localhost",
    "::1",
    "[::1]",
    "a:0",
    "a:65536",
    "a:99999999",
    "a:b",
    ":9876",
    "",
    "[a]:1",
    "a b:1",
    "[::1:9876",
  ];
  for (const address of [...wrong, "1:2:3", "[fe80::1%]:1", "a:-1", "a:1.5", "a:1:", "-a:1", "a/b:1"]) {
    expect(() => parseAddress(address), address).toThrow(ArgumentError);
  }
});

test("an address is written so that it can be read again", () => {
  for (const endpoint of [{ host: "::1", port: 1 }, { host: "10.0.0.1", port: 65535 }]) {
    expect(parseAddress(formatAddress(endpoint.host, endpoint.port))).toEqual(endpoint);
  }
});
