import { asError } from "./errors.js";
import type { FindGatewaysRequest, FindGatewaysResponse } from "./gen/rialto/gateway/v1/discovery_pb.js";

/** The time between a discovery that failed and the next one. */
const askAgainMs = 5_000;
/** How long an answer is used at most, whatever it says. */
const longestLifetimeMs = 3_600_000;
/** A discovery that takes longer counts as failed. */
const discoverTimeoutMs = 3_000;
/** A gateway that failed is tried last for this time. */
const failureMs = 60_000;
const maxGateways = 16;

/** Where a socket connects, and where its ticket comes from. */
export interface Place {
  ws: string;
  /** The address before the path of calls; "": the deployment's. */
  http: string;
}

export interface GatewaysDeps {
  /** Address of the deployment. */
  url: string;
  /** Whether to ask for gateways. If not, sockets go to the deployment's address. */
  discover: boolean;
  region: string;
  find: (r: { region: string; previous: string }, signal: AbortSignal) => Promise<Pick<FindGatewaysResponse, "gateways" | "ttlMs">>;
  now: () => number;
}

/**
 * Gateways says where to connect: to the gateways of the last discovery, best first, and to the deployment's own address if there are none, or all fail.
 * The list outlives discoveries that fail. A gateway that fails is tried last.
 */
export class Gateways {
  private readonly own: Place;
  private list: Place[] = [];
  private askAtMs = -Infinity;
  /** When addresses failed last. */
  private readonly failed = new Map<string, number>();
  private current: Place;
  private previous: FindGatewaysRequest["previous"] = "";

  constructor(private readonly deps: GatewaysDeps) {
    this.current = this.own = { ws: deps.url.replace(/^http/, "ws") + "/v1/socket", http: "" };
  }

  /** The place for the next try. */
  async next(): Promise<Place> {
    if (this.deps.discover && this.deps.now() >= this.askAtMs) await this.discover();
    const all = this.list.some((p) => p.ws === this.own.ws) ? this.list : [...this.list, this.own];
    const failedMs = (p: Place) => this.failed.get(p.ws) ?? -Infinity;
    this.current = all.reduce((best, p) => (failedMs(p) < failedMs(best) ? p : best));
    return this.current;
  }

  /** The last place led to a node, which is preferred from now on. */
  opened(node: string): void {
    this.previous = node;
    this.failed.delete(this.current.ws);
    if (this.list.includes(this.current)) this.list = [this.current, ...this.list.filter((p) => p !== this.current)];
  }

  /** The last place did not lead to a connection, or its node stops. */
  fail(): void {
    this.failed.set(this.current.ws, this.deps.now());
  }

  private async discover(): Promise<void> {
    try {
      const { gateways, ttlMs } = await this.deps.find({ region: this.deps.region, previous: this.previous }, AbortSignal.timeout(discoverTimeoutMs));
      const places = gateways.filter((g) => this.accepts(g.ws, "ws")).map((g) => ({ ws: g.ws, http: this.accepts(g.http, "http") ? g.http : "" }));
      this.list = places.filter((p, i) => places.findIndex((o) => o.ws === p.ws) === i).slice(0, maxGateways);
      this.askAtMs = this.deps.now() + Math.min(ttlMs, longestLifetimeMs);
      for (const [ws, at] of this.failed) if (this.deps.now() - at > failureMs) this.failed.delete(ws);
    } catch (err) {
      console.info("rialto: the gateways could not be asked for; the last ones are used:", asError(err).message);
      this.askAtMs = this.deps.now() + askAgainMs;
    }
  }

  /** Where the deployment's address has TLS, tickets and tokens do not go elsewhere without. */
  private accepts(address: string, scheme: "ws" | "http"): boolean {
    return address.startsWith(`${scheme}s://`) || (address.startsWith(`${scheme}://`) && this.deps.url.startsWith("http://"));
  }
}
