import type { CallOptions } from "../api.js";
import type { SearchResponse } from "../gen/rialto/search/v1/search_pb.js";
import { LiveSearch, type SearchPage } from "../search.js";
import type { Context } from "./context.js";

/** Finding users, conversations, messages, posts, videos and files. */
export function search(client: Context) {
  const read = (page: SearchPage, options?: CallOptions) => readPage(client, page, options);
  return {
    /** Searches once. Users of the answer are known afterwards. */
    search: read,

    /** A search for a box that somebody types in: a new query cancels the one before. */
    liveSearch(): LiveSearch {
      return new LiveSearch({ read, onChange: () => client.snapshots.touch() });
    },
  };
}

async function readPage(client: Context, { query, limit, page }: SearchPage, options?: CallOptions): Promise<SearchResponse> {
  const { text, typing = false, kinds = [], from = [], conversation = "0", beforeMs = 0, afterMs = 0, hasLink = false, fileTypes = [] } = query;
  const answer = await client.services.searchApi.search(
    { query: text, typing, kinds: [...kinds], from: [...from], conversation, beforeMs: BigInt(beforeMs), afterMs: BigInt(afterMs), hasLink, fileTypes: [...fileTypes], limit: limit ?? 0, page: page ?? "" },
    options,
  );
  client.people.take(answer.groups.flatMap((g) => g.hits.flatMap((h) => (h.user ? [h.user] : []))));
  return answer;
}
