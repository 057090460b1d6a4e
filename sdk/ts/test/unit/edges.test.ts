import { afterEach, expect, test, vi } from "vitest";
import { Edges } from "../../src/edges.js";
import { RialtoError } from "../../src/errors.js";
import { putThroughEdges } from "../../src/putFile.js";
import { readFile } from "../../src/readFile.js";

/** A deployment with these edges; undefined: it does not answer. */
function deployment(url = "https://own") {
  const d = { list: [] as string[] | undefined, dead: new Set<string>(), nowMs: 0, asked: 0, probed: [] as string[], edges: undefined as unknown as Edges };
  d.edges = new Edges({
    url, region: "eu", now: () => d.nowMs,
    fetch: (to) => (d.probed.push(new URL(String(to)).origin), d.dead.has(d.probed.at(-1)!) ? Promise.reject(new TypeError("no connection")) : Promise.resolve(new Response())),
    find: (r) => {
      d.asked++;
      expect(r.region).toBe("eu");
      return d.list ? Promise.resolve({ edges: d.list, ttlMs: 60_000 }) : Promise.reject(new RialtoError("unavailable", "down", "offline"));
    },
  });
  return d;
}

const file = "/v1/media/7?exp=1&sig=a";

test("files come from the best edge, from the next one if that does not answer, and in the end from where the server said", async () => {
  const d = deployment();
  d.list = ["https://a", "https://b", "http://plain"];
  expect(d.edges.place(file)).toBe(`https://own${file}`);
  await d.edges.ready();
  expect(d.edges.place(file)).toBe(`https://a${file}`);
  expect(d.edges.place("https://files/v1/video/7/s/master.m3u8")).toBe("https://a/v1/video/7/s/master.m3u8");
  expect(d.edges.place("/other")).toBe("https://own/other");
  expect(d.edges.replace(`https://a${file}`)).toBe(`https://b${file}`);
  expect(d.edges.replace(`https://b${file}`)).toBe(`https://own${file}`);
  expect(d.edges.replace(`https://own${file}`)).toBe(undefined);
  expect(d.edges.place(file)).toBe(`https://own${file}`);
  d.nowMs = 60_000;
  expect(d.edges.place(file)).toBe(`https://a${file}`);
});

test("a request that goes from edge to edge ends at the server, however long each of them hangs", async () => {
  const d = deployment();
  d.list = ["https://a", "https://b"];
  await d.edges.ready();
  const tried = new Set<string>();
  const asked: string[] = [];
  for (let at: string | undefined = d.edges.place(file); at !== undefined && asked.length < 9; at = d.edges.replace(at, tried)) {
    asked.push(at);
    tried.add(new URL(at).origin);
    d.nowMs += 120_000; // an edge that failed is offered again by then
  }
  expect(asked).toEqual([`https://a${file}`, `https://b${file}`, `https://own${file}`]);
  expect(d.edges.place(file)).toBe(`https://a${file}`); // the next file is asked of the best edge again
});

test("where the server gives the address of an edge, another edge stands in for it", async () => {
  const d = deployment();
  d.list = ["https://a", "https://b"];
  await d.edges.ready();
  const given = `https://a${file}`;
  expect(d.edges.place(given)).toBe(given);
  expect(d.edges.replace(given)).toBe(`https://b${file}`);
  expect(d.edges.replace(`https://b${file}`, new Set(["https://a", "https://b"]))).toBe(undefined);
  d.list = [];
  expect(d.edges.replace("https://elsewhere/v1/media/7")).toBe(undefined);
});

test("an edge that works stays the first one, so that the addresses of files stay the same; the list outlives failures", async () => {
  const d = deployment();
  d.list = ["https://a", "https://b"];
  await d.edges.ready();
  await d.edges.ready();
  expect(d.asked).toBe(1);
  d.list = ["https://b", "https://a"];
  d.nowMs = 60_000;
  await d.edges.ready();
  expect(d.asked).toBe(2);
  expect(d.edges.place(file)).toBe(`https://a${file}`);
  d.list = undefined;
  d.nowMs = 120_000;
  await d.edges.ready();
  expect(d.edges.place(file)).toBe(`https://a${file}`);
  d.list = ["https://b"];
  d.nowMs = 130_000;
  await d.edges.ready();
  await Promise.resolve();
  await new Promise((done) => setTimeout(done));
  expect(d.edges.place(file)).toBe(`https://b${file}`);
});

test("a picture that does not come leaves its edge only if that does not answer", async () => {
  const d = deployment();
  d.list = ["https://a"];
  await d.edges.ready();
  const url = d.edges.place(file);
  expect(await d.edges.replaceIfLost(url)).toBe(undefined);
  d.dead.add("https://a");
  expect(await d.edges.replaceIfLost(url)).toBe(`https://own${file}`);
});

test("many pictures of an edge that is lost ask once, and those that are shown later do not ask", async () => {
  const d = deployment();
  d.list = ["https://a", "https://b"];
  await d.edges.ready();
  const urls = [1, 2, 3].map((n) => d.edges.place(`/v1/media/${n}?sig=a`));
  d.dead.add("https://a");
  expect(await Promise.all(urls.map((u) => d.edges.replaceIfLost(u)))).toEqual([1, 2, 3].map((n) => `https://b/v1/media/${n}?sig=a`));
  expect(d.probed).toEqual(["https://a"]);
  expect(await d.edges.replaceIfLost(`https://a${file}`)).toBe(`https://b${file}`);
  expect(d.edges.current(`https://a${file}`)).toBe(`https://b${file}`);
  expect(d.edges.current(`https://b${file}`)).toBe(`https://b${file}`);
  expect(d.edges.current("/relative")).toBe("/relative");
  expect(d.probed).toEqual(["https://a"]);
  d.nowMs = 60_000;
  expect(d.edges.current(`https://a${file}`)).toBe(`https://a${file}`);
});

/** Servers by their hosts: a text is the file, a number a status; "hangs" sends nothing, and "stalls" nothing after the first bytes. */
function network(servers: Record<string, string | number>) {
  const asked: string[] = [];
  const fetchFn = ((to: string, { signal }: { signal: AbortSignal }) => {
    const { host } = new URL(to);
    asked.push(host);
    const does = servers[host];
    if (typeof does === "number") return Promise.resolve(new Response("", { status: does }));
    const aborted = (fail: (err: unknown) => void) => signal.addEventListener("abort", () => fail(signal.reason));
    if (does === "hangs") return new Promise((_, reject) => aborted(reject));
    if (does === "stalls") return Promise.resolve(new Response(new ReadableStream({ start: (c) => (c.enqueue(new TextEncoder().encode("WEB")), aborted((err) => c.error(err))) })));
    return does === undefined ? Promise.reject(new TypeError("no connection")) : Promise.resolve(new Response(does, { headers: { "Content-Type": "text/vtt" } }));
  }) as typeof fetch;
  return { asked, fetchFn };
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a file is read from edges that work, and in the end from the server: those that hang have ten seconds", async () => {
  vi.useFakeTimers();
  const d = deployment();
  d.list = ["https://hangs", "https://stalls", "https://fails", "https://dead"];
  await d.edges.ready();
  const { asked, fetchFn } = network({ hangs: "hangs", stalls: "stalls", fails: 502, own: "WEBVTT" });
  let end: Blob | undefined;
  const reading = readFile(d.edges, fetchFn, d.edges.place(file)).then((b) => (end = b));
  await vi.advanceTimersByTimeAsync(9_999);
  expect(asked).toEqual(["hangs"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toEqual(["hangs", "stalls"]);
  await vi.advanceTimersByTimeAsync(10_000);
  await reading;
  expect(asked).toEqual(["hangs", "stalls", "fails", "dead", "own"]);
  expect([await end!.text(), end!.type]).toEqual(["WEBVTT", "text/vtt"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a refusal is the origin's, so no other edge is asked; a reading can be ended", async () => {
  const d = deployment();
  d.list = ["https://a", "https://b"];
  await d.edges.ready();
  const refusing = network({ a: 403 });
  await expect(readFile(d.edges, refusing.fetchFn, d.edges.place(file))).rejects.toMatchObject({ code: "permission_denied" });
  expect(refusing.asked).toEqual(["a"]);
  const hanging = network({ a: "hangs" });
  const stop = new AbortController();
  const reading = readFile(d.edges, hanging.fetchFn, d.edges.place(file), stop.signal);
  stop.abort();
  await expect(reading).rejects.toMatchObject({ code: "canceled" });
  expect(hanging.asked).toEqual(["a"]);
  await expect(readFile(d.edges, network({}).fetchFn, "https://own/v1/media/7")).rejects.toMatchObject({ code: "unavailable" });
});

/** Puts three bytes, and returns where they were put, and what came of that. */
async function put(d: ReturnType<typeof deployment>, url: string, does: (origin: string) => Response | undefined): Promise<{ at: string[]; outcome: string }> {
  const at: string[] = [];
  const fetchFn = (async (to: string) => {
    at.push(to);
    const answer = does(new URL(to).origin);
    if (!answer) throw new TypeError("no connection");
    return answer;
  }) as typeof fetch;
  const outcome = await putThroughEdges({ url: "https://own", fetch: fetchFn, edges: d.edges }, url, new Blob(["abc"])).then(() => "stored", (err: RialtoError) => err.reason || err.code);
  return { at, outcome };
}

test("parts go through the best edge, through the next one where that does not connect or fails, and in the end to where the server said; a refusal ends it", async () => {
  const d = deployment();
  d.list = ["https://a", "https://b"];
  const part = "/v1/media/7/parts/2?size=3&exp=1&sig=a";
  const ok = () => new Response();
  expect(await put(d, part, ok)).toEqual({ at: [`https://a${part}`], outcome: "stored" });
  expect(await put(d, part, (origin) => (origin === "https://a" ? undefined : ok()))).toEqual({ at: [`https://a${part}`, `https://b${part}`], outcome: "stored" });
  expect(await put(d, part, (origin) => (origin === "https://b" ? new Response(`{"code":"unavailable","reason":"busy"}`, { status: 503 }) : ok()))).toEqual({ at: [`https://b${part}`, `https://own${part}`], outcome: "stored" });
  d.nowMs = 60_000;
  expect(await put(d, part, () => new Response(`{"code":"already_exists","reason":"part_differs"}`, { status: 409 }))).toEqual({ at: [`https://a${part}`], outcome: "part_differs" });
  expect(await put(d, part, () => undefined)).toEqual({ at: [`https://a${part}`, `https://b${part}`, `https://own${part}`], outcome: "offline" });
});

test("an edge that fails to take parts is still read from, and one that is busy is asked again for the next part", async () => {
  const d = deployment();
  d.list = ["https://a", "https://b"];
  const part = "/v1/media/7/parts/2?size=3&exp=1&sig=a";
  const answers = (reason: string) => (origin: string) => (origin === "https://a" ? new Response(`{"code":"unavailable","reason":"${reason}"}`, { status: 503 }) : new Response());
  const both = { at: [`https://a${part}`, `https://b${part}`], outcome: "stored" };
  expect(await put(d, part, answers("busy"))).toEqual(both);
  expect(await put(d, part, answers("busy"))).toEqual(both);
  expect(await put(d, part, answers("storage"))).toEqual(both);
  expect(await put(d, part, answers("storage"))).toEqual({ at: [`https://b${part}`], outcome: "stored" });
  expect(d.edges.place(file)).toBe(`https://a${file}`);
  expect(d.edges.replace(`https://b${file}`)).toBe(`https://a${file}`);
  expect(await put(d, part, () => new Response())).toEqual({ at: [`https://b${part}`], outcome: "stored" });
});

/** An XMLHttpRequest to an edge that takes some bytes, and then nothing; elsewhere it succeeds. */
class SilentRequest {
  static sent: string[] = [];
  static taken = 2;
  upload: { onprogress?: (e: { loaded: number }) => void } = {};
  status = 200;
  responseText = "";
  onload?: () => void;
  onabort?: () => void;
  private url = "";
  open(_method: string, url: string): void {
    this.url = url;
  }
  setRequestHeader(): void {}
  abort(): void {
    this.onabort?.();
  }
  send(): void {
    SilentRequest.sent.push(new URL(this.url).origin);
    this.upload.onprogress?.({ loaded: SilentRequest.taken });
    if (!this.url.startsWith("https://a/")) this.onload?.();
  }
}

test("an edge that takes no more bytes is left, and who gives up leaves none", async () => {
  vi.useFakeTimers();
  vi.stubGlobal("XMLHttpRequest", SilentRequest);
  SilentRequest.sent = [];
  SilentRequest.taken = 2;
  const d = deployment();
  d.list = ["https://a"];
  const to = { url: "https://own", fetch, edges: d.edges };
  const stop = new AbortController();
  const given = putThroughEdges(to, file, new Blob(["abc"]), undefined, stop.signal);
  await vi.advanceTimersByTimeAsync(1_000);
  stop.abort();
  await expect(given).rejects.toMatchObject({ reason: "cancelled" });
  const sent = putThroughEdges(to, file, new Blob(["abc"]));
  await vi.advanceTimersByTimeAsync(29_000);
  expect(SilentRequest.sent).toEqual(["https://a", "https://a"]);
  await vi.advanceTimersByTimeAsync(2_000);
  await sent;
  expect(SilentRequest.sent).toEqual(["https://a", "https://a", "https://own"]);
});

test("an edge that has all bytes has two minutes and a half for its answer", async () => {
  vi.useFakeTimers();
  vi.stubGlobal("XMLHttpRequest", SilentRequest);
  SilentRequest.sent = [];
  SilentRequest.taken = 3;
  const d = deployment();
  d.list = ["https://a"];
  const sent = putThroughEdges({ url: "https://own", fetch, edges: d.edges }, file, new Blob(["abc"]));
  await vi.advanceTimersByTimeAsync(149_000);
  expect(SilentRequest.sent).toEqual(["https://a"]);
  await vi.advanceTimersByTimeAsync(2_000);
  await sent;
  expect(SilentRequest.sent).toEqual(["https://a", "https://own"]);
});
