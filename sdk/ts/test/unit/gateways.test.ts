import { expect, test } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { Gateways } from "../../src/gateways.js";

const gateway = (node: string, ws = `wss://${node}/v1/socket`, http = "") => ({ $typeName: "rialto.gateway.v1.Gateway" as const, node, region: "", ws, tcp: "", tcpTls: false, http });

/** A deployment that answers with these gateways; undefined: it fails. */
function deployment(url = "https://own", discover = true) {
  const d = {
    list: [] as ReturnType<typeof gateway>[] | undefined, ttlMs: 60_000, nowMs: 0, asked: [] as { region: string; previous: string }[],
    gateways: undefined as unknown as Gateways,
    next: async () => (await d.gateways.next()).ws,
  };
  d.gateways = new Gateways({
    url, discover, region: "eu", now: () => d.nowMs,
    find: (r) => {
      d.asked.push(r);
      return d.list ? Promise.resolve({ gateways: d.list, ttlMs: d.ttlMs }) : Promise.reject(new RialtoError("unavailable", "down", "offline"));
    },
  });
  return d;
}

test("a client returns to its gateway without asking, until the answer is too old; then it says which one it was", async () => {
  const d = deployment();
  d.list = [gateway("a"), gateway("b")];
  expect(await d.next()).toBe("wss://a/v1/socket");
  d.gateways.fail();
  expect(await d.next()).toBe("wss://b/v1/socket");
  d.gateways.opened("b");
  expect(await d.next()).toBe("wss://b/v1/socket");
  expect(d.asked).toEqual([{ region: "eu", previous: "" }]);
  d.nowMs = 60_000;
  await d.next();
  expect(d.asked[1]).toEqual({ region: "eu", previous: "b" });
});

test("gateways that fail are tried last, after the deployment's own address, in turn", async () => {
  const d = deployment();
  d.list = [gateway("a"), gateway("b")];
  const tried: string[] = [];
  for (let i = 0; i < 5; i++) {
    d.nowMs++;
    tried.push(await d.next());
    d.gateways.fail();
  }
  expect(tried).toEqual(["wss://a/v1/socket", "wss://b/v1/socket", "wss://own/v1/socket", "wss://a/v1/socket", "wss://b/v1/socket"]);
});

test("the list outlives a discovery that fails, and without any list the deployment's own address serves", async () => {
  const d = deployment();
  d.list = undefined;
  expect(await d.next()).toBe("wss://own/v1/socket");
  d.list = [gateway("a")];
  d.nowMs = 5_000;
  expect(await d.next()).toBe("wss://a/v1/socket");
  d.list = undefined;
  d.nowMs = 100_000;
  expect(await d.next()).toBe("wss://a/v1/socket");
  expect(d.asked.length).toBe(3);
});

test("where the deployment has TLS, tickets and tokens go to no gateway without", async () => {
  const d = deployment();
  d.list = [gateway("a", "ws://a/v1/socket"), gateway("x", "file:///etc"), gateway("b", "wss://b/v1/socket", "http://b")];
  expect(await d.gateways.next()).toEqual({ ws: "wss://b/v1/socket", http: "" });
  const plain = deployment("http://127.0.0.1:7070");
  plain.list = [gateway("a", "ws://a/v1/socket", "http://a")];
  expect(await plain.gateways.next()).toEqual({ ws: "ws://a/v1/socket", http: "http://a" });
});

test("a client that is not told to discover does not ask", async () => {
  const d = deployment("http://own", false);
  d.list = [gateway("a")];
  expect(await d.next()).toBe("ws://own/v1/socket");
  expect(d.asked).toEqual([]);
});
