import type { Comment } from "./gen/rialto/comment/v1/comment_pb.js";
import type { Post } from "./gen/rialto/feed/v1/feed_pb.js";

/** What the user did with a post or a comment. */
export interface EngagementChange {
  readonly kind: "post" | "comment";
  readonly id: string;
  readonly liked?: boolean;
  readonly favourited?: boolean;
}

/** A post or comment with what the user did, if it is the one of a change, or shows it as a repost. Its counts follow. */
export function withEngagement<T extends Post | Comment>(of: T, change: EngagementChange): T {
  let changed = of;
  if (of.id === change.id && kindOf(of) === change.kind) {
    if (change.liked !== undefined && change.liked !== of.liked) changed = { ...changed, liked: change.liked, likes: counted(of.likes, change.liked) };
    if (change.favourited !== undefined && "favourited" in of && change.favourited !== of.favourited) {
      changed = { ...changed, favourited: change.favourited, favourites: counted(of.favourites, change.favourited) };
    }
  }
  return withReposted(changed, (reposted) => withEngagement(reposted, change));
}

function kindOf(of: Post | Comment): EngagementChange["kind"] {
  return of.$typeName === "rialto.feed.v1.Post" ? "post" : "comment";
}

/** Changes the post that a repost shows. */
function withReposted<T extends Post | Comment>(of: T, change: (reposted: Post) => Post): T {
  if (!("reposted" in of) || !of.reposted) return of;
  const reposted = change(of.reposted);
  return reposted === of.reposted ? of : { ...of, reposted };
}

function counted(n: number, present: boolean): number {
  return Math.max(0, n + (present ? 1 : -1));
}

type Field = "liked" | "favourited";

/** One thing that the user does with one subject, while the server does not have what is wanted. */
interface Pending {
  confirmed: boolean;
  wanted: boolean;
  done: Promise<void>;
}

/** So many answered changes are kept for pages that were asked for before. */
const mostAnswered = 200;

/**
 * Engagements has what the user did with posts and comments: it shows at once, and is taken back if the server refuses it or cannot be reached. Calls
 * for one subject follow each other, and only the last of several is made.
 */
export class Engagements {
  private readonly pending = new Map<string, Pending>();
  /** What was answered, with the number of reads that had begun by then. */
  private readonly answered = new Map<string, { change: EngagementChange; reads: number }>();
  private reads = 0;

  constructor(private readonly tell: (change: EngagementChange) => void) {}

  /** Sets a like or a favourite. It fails, after the change was taken back, if the server does not have it. */
  set(kind: EngagementChange["kind"], id: string, field: Field, before: boolean, wanted: boolean, call: (wanted: boolean) => Promise<unknown>): Promise<void> {
    const key = `${kind} ${id} ${field}`;
    let pending = this.pending.get(key);
    if (pending) {
      pending.wanted = wanted;
    } else {
      pending = { confirmed: before, wanted, done: Promise.resolve() };
      this.pending.set(key, pending);
      pending.done = this.run(key, pending, { kind, id }, field, call);
    }
    this.tell({ kind, id, [field]: wanted });
    return pending.done;
  }

  private async run(key: string, pending: Pending, of: { kind: EngagementChange["kind"]; id: string }, field: Field, call: (wanted: boolean) => Promise<unknown>): Promise<void> {
    try {
      do {
        const wanted = pending.wanted;
        await call(wanted); // also where nothing would change: what was shown may be old
        pending.confirmed = wanted;
      } while (pending.wanted !== pending.confirmed);
    } catch (err) {
      if (pending.wanted !== pending.confirmed) this.tell({ ...of, [field]: pending.confirmed });
      throw err;
    } finally {
      this.pending.delete(key);
      this.answered.delete(key);
      this.answered.set(key, { change: { ...of, [field]: pending.confirmed }, reads: this.reads });
      if (this.answered.size > mostAnswered) this.answered.delete(this.answered.keys().next().value!);
    }
  }

  /** Reads posts or comments, and shows on them what was done since the read began. */
  async read<R>(call: () => Promise<R>, place: (answer: R, shown: <T extends Post | Comment>(of: T) => T) => R): Promise<R> {
    const began = ++this.reads;
    const answer = await call();
    return place(answer, (of) => this.shown(of, began));
  }

  /** A post or comment as it is shown, and the post that it reposts: with what the server does not have yet, and what was answered after it was asked for. */
  shown<T extends Post | Comment>(of: T, began = Infinity): T {
    const kind = kindOf(of);
    let shown = of;
    for (const field of ["liked", "favourited"] as const) {
      const key = `${kind} ${of.id} ${field}`;
      const pending = this.pending.get(key);
      const answered = this.answered.get(key);
      if (pending) shown = withEngagement(shown, { kind, id: of.id, [field]: pending.wanted });
      else if (answered && answered.reads >= began) shown = withEngagement(shown, answered.change);
    }
    return withReposted(shown, (reposted) => this.shown(reposted, began));
  }
}
