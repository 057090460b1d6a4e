import { asError } from "./errors.js";
import type { FindGatewaysResponse } from "./gen/rialto/gateway/v1/discovery_pb.js";

/** The time between a discovery that failed and the next one. */
const askAgainMs = 5_000;
/** How long an answer is used at most, whatever it says. */
const longestLifetimeMs = 3_600_000;
/** A discovery that takes longer counts as failed, and an edge that takes longer to say that it is there. */
const discoverTimeoutMs = 3_000;
/** An edge that failed is not used for this time. */
const failureMs = 60_000;
const maxEdges = 16;

/** What an edge is used for: one that fails at one may be good at the other. */
export type FileUse = "read" | "send";

const none: ReadonlySet<string> = new Set();

/** What edges have. */
const served = ["/v1/media/", "/v1/video/"];

export interface EdgesDeps {
  /** Address of the deployment. */
  url: string;
  region: string;
  find: (r: { region: string; previous: string }, signal: AbortSignal) => Promise<Pick<FindGatewaysResponse, "edges" | "ttlMs">>;
  fetch: typeof fetch;
  now: () => number;
}

/** Edges says where to read files and videos, and where to send them: from the best edge that works, and without one from where the server said. */
export class Edges {
  private list: readonly string[] = [];
  private askAtMs = -Infinity;
  private asking: Promise<void> | undefined;
  /** When addresses failed, at each use. */
  private readonly failed: Record<FileUse, Map<string, number>> = { read: new Map(), send: new Map() };
  /** Where the server said that files are, of those addresses that lead to an edge now. */
  private readonly given = new Map<string, string>();
  /** Questions under way whether edges answer. */
  private readonly probes = new Map<string, Promise<boolean>>();

  constructor(private readonly deps: EdgesDeps) {}

  /** Resolves once it is known which edges there are, or that they are not to be known. It never fails. */
  async ready(): Promise<void> {
    if (this.deps.now() < this.askAtMs) return;
    this.asking ??= this.discover().finally(() => (this.asking = undefined));
    if (this.list.length === 0) await this.asking; // otherwise the last answer will do
  }

  /** The address of a file, from one that the server gave: relative to the server, or absolute. It is not of an edge whose origin is in tried. */
  place(address: string, tried: ReadonlySet<string> = none, use: FileUse = "read"): string {
    const given = new URL(address, this.deps.url);
    if (!served.some((prefix) => given.pathname.startsWith(prefix))) return given.href;
    const edge = this.best(tried, use);
    if (edge === undefined || edge === given.origin) return given.href;
    if (!this.given.has(edge)) this.given.set(edge, given.origin);
    return edge + given.pathname + given.search;
  }

  /** Where to read a file whose address was made some time ago: elsewhere while its edge counts as failed. */
  current(address: string): string {
    const { origin, href } = new URL(address, this.deps.url);
    const source = this.source(origin);
    return source !== undefined && this.hasFailed(origin) ? this.place(source + href.slice(origin.length)) : address;
  }

  /** An address did not answer. Returns what to use instead, other than the origins in tried; undefined: there is no other. */
  replace(address: string, tried: ReadonlySet<string> = none, use: FileUse = "read"): string | undefined {
    const { origin } = new URL(address, this.deps.url);
    if (this.source(origin) !== undefined) this.failed[use].set(origin, this.deps.now());
    return this.other(address, tried, use);
  }

  /** replace for an edge that has not failed, but is not to be used at the moment. */
  other(address: string, tried: ReadonlySet<string>, use: FileUse): string | undefined {
    const { origin, href } = new URL(address, this.deps.url);
    const source = this.source(origin);
    if (source === undefined) return undefined;
    const other = this.place(source + href.slice(origin.length), tried, use);
    return other === address || tried.has(new URL(other).origin) ? undefined : other;
  }

  /**
   * replace for one who does not know why a file did not come, as of a picture in a page: only where its edge does not answer at all. Several who ask at the same
   * time share one question.
   */
  async replaceIfLost(address: string): Promise<string | undefined> {
    const { origin } = new URL(address, this.deps.url);
    if (this.source(origin) === undefined) return undefined;
    if (this.hasFailed(origin)) {
      const other = this.current(address);
      return other === address ? undefined : other;
    }
    let probe = this.probes.get(origin);
    if (!probe) this.probes.set(origin, (probe = this.answers(origin).finally(() => this.probes.delete(origin))));
    return (await probe) ? undefined : this.replace(address); // it answers: what failed is the file
  }

  private answers(edge: string): Promise<boolean> {
    return this.deps.fetch(`${edge}/healthz`, { mode: "no-cors", signal: AbortSignal.timeout(discoverTimeoutMs) }).then(
      () => true,
      () => false,
    );
  }

  /** Where the server said that the files of an edge are; undefined: the address is not of an edge. */
  private source(origin: string): string | undefined {
    return this.given.get(origin) ?? (this.list.includes(origin) ? origin : undefined); // the server may give an edge's own address
  }

  private hasFailed(edge: string, use: FileUse = "read"): boolean {
    return this.deps.now() - (this.failed[use].get(edge) ?? -Infinity) < failureMs;
  }

  private best(tried: ReadonlySet<string> = none, use: FileUse = "read"): string | undefined {
    return this.list.find((e) => !tried.has(e) && !this.hasFailed(e, use));
  }

  private async discover(): Promise<void> {
    try {
      const { edges, ttlMs } = await this.deps.find({ region: this.deps.region, previous: "" }, AbortSignal.timeout(discoverTimeoutMs));
      const next = [...new Set(edges)].filter((e) => this.accepts(e)).slice(0, maxEdges);
      const current = this.best();
      // Files that a browser has are found by their address, so the edge stays the same as long as it works.
      this.list = current !== undefined && next.includes(current) ? [current, ...next.filter((e) => e !== current)] : next;
      this.askAtMs = this.deps.now() + Math.min(ttlMs, longestLifetimeMs);
    } catch (err) {
      console.info("rialto: the edges could not be asked for; the last ones are used:", asError(err).message);
      this.askAtMs = this.deps.now() + askAgainMs;
    }
  }

  /** Where the deployment's address has TLS, files do not come from elsewhere without. */
  private accepts(address: string): boolean {
    return address.startsWith("https://") || (address.startsWith("http://") && this.deps.url.startsWith("http://"));
  }
}
