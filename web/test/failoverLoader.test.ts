import type { HlsConfig, Loader, LoaderCallbacks, LoaderConfiguration, LoaderConfig, LoaderContext, LoaderStats } from "hls.js";
import { beforeEach, expect, test } from "vitest";
import { Edges } from "../../sdk/ts/src/edges.js";
import { SignedAddresses } from "../src/player/addresses.js";
import { failoverLoader } from "../src/player/failoverLoader.js";

/** What the loaders did: addresses, and how long they would have waited for the first byte, "+" where they would have tried again. */
let asked: string[] = [];
/** The loads that have not ended. */
let pending: FakeLoader[] = [];
let nowMs = 0;

/** A loader without a network, as strict as that of hls.js: it is used once. */
class FakeLoader {
  context: LoaderContext | null = null;
  stats = { loading: { start: 0 } } as LoaderStats;
  callbacks!: LoaderCallbacks<LoaderContext>;

  load(context: LoaderContext, { loadPolicy }: LoaderConfiguration, callbacks: LoaderCallbacks<LoaderContext>): void {
    if (this.stats.loading.start) throw new Error("a loader is used once");
    this.stats.loading.start = 1;
    [this.context, this.callbacks] = [context, callbacks];
    asked.push(`${context.url} ${loadPolicy.maxTimeToFirstByteMs}${loadPolicy.timeoutRetry ? "+" : ""}`);
    pending.push(this);
  }
}

/** The load under way ends so: an address sends nothing for a time, or has a status, of which 0 is none. */
const hangs = (ms: number): void => {
  nowMs += ms;
  const l = pending.shift()!;
  l.callbacks.onTimeout(l.stats, l.context!, null);
};
const answers = (code: number): void => {
  const l = pending.shift()!;
  if (code === 200) l.callbacks.onSuccess({ url: l.context!.url, data: "", code }, l.stats, l.context!, null);
  else l.callbacks.onError({ code, text: "" }, l.context!, null, l.stats);
};

const retry = { maxNumRetry: 2, retryDelayMs: 0, maxRetryDelayMs: 0 };
/** The policies of hls.js: of the first playlist, and of what it retries itself. */
const ofManifest: LoaderConfig = { maxTimeToFirstByteMs: Infinity, maxLoadTimeMs: 20_000, timeoutRetry: retry, errorRetry: retry };
const ofSegment: LoaderConfig = { maxTimeToFirstByteMs: 10_000, maxLoadTimeMs: 120_000, timeoutRetry: null, errorRetry: null };

const path = "/v1/video/5/sig";

/** A player of a deployment with some edges. */
async function player(...list: string[]) {
  const edges = new Edges({ url: "https://own", region: "", now: () => nowMs, fetch, find: async () => ({ edges: list, ttlMs: 3_600_000 }) });
  await edges.ready();
  const addresses = new SignedAddresses(edges.place(`${path}/master.m3u8`));
  const L = failoverLoader(FakeLoader as unknown as new (config: HlsConfig) => Loader<LoaderContext>, addresses, (at, tried) => edges.replace(at, tried));
  const ends: string[] = [];
  const load = (url: string, loadPolicy: LoaderConfig) =>
    new L({} as HlsConfig).load({ url, responseType: "", type: "media-fragment" as LoaderContext["type"] }, { loadPolicy, timeout: 0, maxRetry: 0, retryDelay: 0, maxRetryDelay: 0 }, {
      onSuccess: (r) => void ends.push(r.url),
      onError: (e) => void ends.push(`error ${e.code}`),
      onTimeout: () => void ends.push("timeout"),
    });
  return { edges, addresses, ends, load };
}

beforeEach(() => {
  asked = [];
  pending = [];
  nowMs = 0;
});

test("two edges that hang end at the origin, after ten seconds each; so do all later files", async () => {
  const { load, ends } = await player("https://near", "https://far");
  load(`https://near${path}/master.m3u8`, ofManifest);
  hangs(10_000);
  hangs(10_000);
  answers(200);
  load(`https://near${path}/240p/0.m4s`, ofSegment);
  answers(200);
  expect(asked).toEqual([`https://near${path}/master.m3u8 10000`, `https://far${path}/master.m3u8 10000`, `https://own${path}/master.m3u8 10000`, `https://own${path}/240p/0.m4s 10000`]);
  expect(ends).toEqual([`https://own${path}/master.m3u8`, `https://own${path}/240p/0.m4s`]);
});

test("edges that hang in the middle of a segment send it in no circle, though they are offered again by then", async () => {
  const { load, ends } = await player("https://near", "https://far");
  load(`https://near${path}/240p/0.m4s`, ofSegment);
  hangs(120_000);
  hangs(120_000);
  answers(200);
  expect(asked.map((a) => new URL(a).host)).toEqual(["near", "far", "own"]);
  expect(ends).toEqual([`https://own${path}/240p/0.m4s`]);
});

test("a file that failed everywhere leads back to no edge that has been offered meanwhile", async () => {
  const { load, addresses, edges, ends } = await player("https://near", "https://far");
  load(`https://near${path}/240p/0.m4s`, ofSegment);
  hangs(120_000);
  addresses.renew(edges.place("/v1/video/5/newer/master.m3u8")); // the address is signed again, and leads to the first edge again
  hangs(120_000);
  expect(asked.map((a) => new URL(a).host)).toEqual(["near", "far", "own"]);
  answers(503);
  expect(ends).toEqual(["error 503"]);
});

test("what does not answer, or fails with 5xx, is read elsewhere; a refusal is the origin's", async () => {
  const { load, ends } = await player("https://near", "https://far");
  load(`https://near${path}/240p/0.m4s`, ofSegment);
  answers(0);
  answers(502);
  answers(403);
  load(`https://own${path}/240p/1.m4s`, ofSegment);
  answers(404);
  expect(asked.map((a) => new URL(a).host)).toEqual(["near", "far", "own", "own"]);
  expect(ends).toEqual(["error 403", "error 404"]);
});

test("the origin alone has the patience of hls.js", async () => {
  const { load, ends } = await player();
  load(`https://own${path}/master.m3u8`, ofManifest);
  hangs(10_000);
  hangs(60_000);
  load(`https://own${path}/240p/0.m4s`, ofSegment);
  hangs(10_000);
  expect(asked).toEqual([`https://own${path}/master.m3u8 10000`, `https://own${path}/master.m3u8 Infinity+`, `https://own${path}/240p/0.m4s 10000`]);
  expect(ends).toEqual(["timeout", "timeout"]);
});
