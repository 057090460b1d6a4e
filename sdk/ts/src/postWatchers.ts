import { Engagements } from "./engagements.js";
import type { Context } from "./operations/context.js";
import type { PostWatcher } from "./posts.js";

/** Who is told of what is done with posts on this device, and what the user did with them. */
export class PostWatchers {
  readonly engagements: Engagements;
  private readonly watchers = new Set<PostWatcher>();

  constructor(onChange: () => void) {
    this.engagements = new Engagements((change) => {
      this.tell((w) => w.engaged?.(change));
      onChange();
    });
  }

  tell(what: (w: PostWatcher) => void): void {
    [...this.watchers].forEach(what);
  }

  add(watcher: PostWatcher): () => void {
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  }
}

const all = new WeakMap<Context, PostWatchers>();

/** The watchers of a client, which its areas share. */
export function watchersOf(client: Context): PostWatchers {
  let watchers = all.get(client);
  if (!watchers) all.set(client, (watchers = new PostWatchers(() => client.snapshots.touch())));
  return watchers;
}
