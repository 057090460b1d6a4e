import type { CallOptions } from "./api.js";
import { asError, type RialtoError } from "./errors.js";
import type { FileType, Hit, HitGroup, HitKind, SearchResponse } from "./gen/rialto/search/v1/search_pb.js";

/** What is searched for. The text may have filters, too, as "from:@bob"; those given here are added. */
export interface SearchQuery {
  readonly text: string;
  /** The text is being typed: its last word stands for all words that begin with it. */
  readonly typing?: boolean;
  /** Kinds of hits; all, if there are none. */
  readonly kinds?: readonly HitKind[];
  /** Ids of the users who wrote it, or of whose it is. */
  readonly from?: readonly string[];
  /** The conversation that the messages are in. */
  readonly conversation?: string;
  /** Bounds of the time; beforeMs itself is not in them. */
  readonly beforeMs?: number;
  readonly afterMs?: number;
  readonly hasLink?: boolean;
  /** Only files of these types; of any, if there are none. */
  readonly fileTypes?: readonly FileType[];
}

export interface SearchPage {
  readonly query: SearchQuery;
  readonly limit?: number;
  readonly page?: string;
}

/** What a search shows. It is replaced, never changed. */
export interface SearchState {
  /** What is searched for; undefined where nothing is. */
  readonly query: SearchQuery | undefined;
  /** The query is not answered yet. What an earlier one found is shown until then. */
  readonly searching: boolean;
  /** What groups are the answer to; undefined where there is no answer yet. */
  readonly answered: SearchQuery | undefined;
  readonly groups: readonly HitGroup[];
  /** The server has not indexed everything yet: hits may be missing. */
  readonly incomplete: boolean;
  /** The kind whose next hits are being read. */
  readonly loadingMore: HitKind | undefined;
  /** Why the query, or the next hits, could not be read. */
  readonly error: RialtoError | undefined;
}

const nothing: SearchState = { query: undefined, searching: false, answered: undefined, groups: [], incomplete: false, loadingMore: undefined, error: undefined };

const moreHits = 20;
/** So many empty pages in a row are read before a call ends. */
const mostPages = 10;

export interface LiveSearchDeps {
  read: (page: SearchPage, options: CallOptions) => Promise<SearchResponse>;
  onChange: () => void;
}

/** LiveSearch searches while somebody types: a new query cancels the one before, so that the last one's answer is shown. */
export class LiveSearch {
  state: SearchState = nothing;
  private current = new AbortController();

  constructor(private readonly deps: LiveSearchDeps) {}

  /** Searches. Resolves with the answer, also where it is an error (`state.error`), or when a later query has replaced it. */
  async search(query: SearchQuery): Promise<void> {
    const { signal } = this.replaceCurrent();
    this.show({ query, searching: true, loadingMore: undefined, error: undefined });
    try {
      const { groups, incomplete } = await this.deps.read({ query }, { signal });
      if (signal.aborted) return;
      this.show({ answered: query, groups, incomplete });
      // The first hits that the server looked at were not for this user; there may be others.
      for (const { kind, hits, next } of groups) if (hits.length === 0) await this.readPages(kind, query, next, signal);
      if (!signal.aborted) this.show({ searching: false });
    } catch (err) {
      if (!signal.aborted) this.show({ searching: false, answered: undefined, groups: [], incomplete: false, error: asError(err) });
    }
  }

  /** Reads the next hits of a kind. Does nothing where there are none, and while a query is not answered. */
  async more(kind: HitKind): Promise<void> {
    const { answered, searching, loadingMore, groups } = this.state;
    const next = groups.find((g) => g.kind === kind)?.next ?? "";
    if (!answered || searching || loadingMore !== undefined || next === "") return;
    const { signal } = this.current;
    this.show({ loadingMore: kind, error: undefined });
    try {
      await this.readPages(kind, answered, next, signal);
    } catch (err) {
      if (!signal.aborted) this.show({ error: asError(err) });
    } finally {
      if (!signal.aborted) this.show({ loadingMore: undefined });
    }
  }

  /** Ends the search, and forgets what it found. */
  clear(): void {
    this.replaceCurrent();
    this.show(nothing);
  }

  private async readPages(kind: HitKind, query: SearchQuery, page: string, signal: AbortSignal): Promise<void> {
    let isNew = false;
    for (let n = 0; n < mostPages && page !== "" && !isNew && !signal.aborted; n++) {
      const answer = await this.deps.read({ query: { ...query, kinds: [kind] }, limit: moreHits, page }, { signal });
      if (signal.aborted) return;
      const read = answer.groups.find((g) => g.kind === kind);
      page = read?.next ?? "";
      const groups = this.state.groups.map((g) => (g.kind === kind ? joined(g, read?.hits ?? [], page) : g));
      isNew = groups.some((g, i) => g.hits.length > this.state.groups[i]!.hits.length);
      this.show({ groups, incomplete: this.state.incomplete || answer.incomplete });
    }
  }

  private replaceCurrent(): AbortController {
    this.current.abort();
    this.current = new AbortController();
    return this.current;
  }

  private show(change: Partial<SearchState>): void {
    this.state = { ...this.state, ...change };
    this.deps.onChange();
  }
}

/** A group with further hits. None comes twice, although the order may have changed between the pages. */
function joined(group: HitGroup, hits: readonly Hit[], next: string): HitGroup {
  const known = new Set(group.hits.map(hitKey));
  return { ...group, hits: [...group.hits, ...hits.filter((h) => !known.has(hitKey(h)))], next };
}

/** What tells hits from each other. A message that is found as a file is another hit than the message, and a video than its post. */
export function hitKey({ user, conversation, message, post, file, video }: Hit): string {
  if (user) return `user/${user.id}`;
  if (conversation) return `conversation/${conversation.id}`;
  if (message) return `${file ? "file" : "message"}/${message.conversation}/${message.seq}`;
  return `${video ? "video" : "post"}/${post?.id}`;
}
