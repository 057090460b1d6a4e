import type { ServiceClient } from "./api.js";
import { serviceClient } from "./api.js";
import { RialtoError } from "./errors.js";
import { IDService, type NextResponse, type Reading } from "./gen/rialto/id/v1/id_pb.js";
import { post } from "./http.js";

export interface IdsOptions {
  /** Address of the deployment, as https://chat.example.com. */
  url: string;
  /** An API key; it belongs on servers, never in a browser. */
  key: string;
  /** How many numbers next asks for at once, 1 to 10,000; by default 1. What is in the buffer when the process ends is never given. */
  buffer?: number;
  fetch?: typeof fetch;
}

/** Ids gives ids of a deployment's id service. Numbers are bigints: they have up to 63 bits. */
export class Ids {
  readonly service: ServiceClient<typeof IDService>;
  private readonly buffer: number;
  private readonly left = new Map<string, bigint[]>();
  private readonly filling = new Map<string, Promise<void>>();

  constructor(options: IdsOptions) {
    this.buffer = options.buffer ?? 1;
    if (!Number.isInteger(this.buffer) || this.buffer < 1 || this.buffer > 10_000) throw new RangeError("buffer is 1 to 10,000");
    const base = options.url.replace(/\/+$/, "");
    const fetchFn = options.fetch ?? fetch;
    this.service = serviceClient(IDService, (method, input) => post(base, method, input, options.key, fetchFn));
  }

  /**
   * The next number of a tag: a scheme's name, as "snowflake" or "segment", or the name of a tag that was put. Numbers of one Ids
   * rise; those of others come in between.
   */
  async next(tag: string): Promise<bigint> {
    for (;;) {
      const n = this.left.get(tag)?.shift();
      if (n !== undefined) return n;
      await this.fill(tag);
    }
  }

  /** Many may wait for the one call. */
  private fill(tag: string): Promise<void> {
    let filling = this.filling.get(tag);
    if (!filling) {
      filling = this.numbers(tag, this.buffer)
        .then((list) => void this.left.set(tag, list))
        .finally(() => this.filling.delete(tag));
      this.filling.set(tag, filling);
    }
    return filling;
  }

  /** Count numbers of a tag, 1 to 10,000, rising; of sequences those of a key. */
  async numbers(tag: string, count: number, key: bigint | number | string = 0): Promise<bigint[]> {
    const r = await this.ask(tag, count, key);
    if (r.numbers.length !== count) throw new RialtoError("invalid_argument", `the ids of ${tag} are texts`, "bad_tag");
    return r.numbers.map(BigInt);
  }

  /** Count ids, 1 to 10,000, of a tag whose ids are texts, as "uuidv7" or one with a rule. */
  async texts(tag: string, count: number): Promise<string[]> {
    const r = await this.ask(tag, count, 0);
    if (r.texts.length !== count) throw new RialtoError("invalid_argument", `the ids of ${tag} are numbers`, "bad_tag");
    return r.texts;
  }

  private ask(tag: string, count: number, key: bigint | number | string): Promise<NextResponse> {
    return this.service.next({ tag, count: BigInt(count), key: String(key) });
  }

  /** An id's parts, in each way in which it can be read, the likeliest first. */
  async explain(id: bigint | string, scheme = ""): Promise<Reading[]> {
    return (await this.service.explain({ id: String(id), scheme })).readings;
  }
}
