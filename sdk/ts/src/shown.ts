/** A post as the app shows it. */
export interface ShownPost {
  readonly id: string;
  readonly version: number;
}

interface Source {
  shown: () => readonly ShownPost[];
  told: (posts: readonly string[]) => void;
}

/** The server's limit. */
const mostWatched = 100;

/** ShownPosts are the posts that the app shows. The server says which of them change. */
export class ShownPosts {
  private readonly sources = new Set<Source>();
  /** What the server was told last, as a text; undefined: nothing on this connection. */
  private known: string | undefined;

  constructor(private readonly send: (posts: readonly { post: string; version: number }[]) => void) {}

  /** Calls told with posts of a source that changed, until the returned function is called. Those of the newest sources are watched first. */
  watch(shown: () => readonly ShownPost[], told: (posts: readonly string[]) => void): () => void {
    const source = { shown, told };
    this.sources.add(source);
    this.update();
    return () => {
      if (this.sources.delete(source)) this.update();
    };
  }

  /** Tells the server which posts are shown, if others are than before. */
  update(): void {
    const posts = new Map<string, number>();
    for (const { shown } of [...this.sources].reverse()) {
      for (const p of shown()) if (posts.size < mostWatched && !posts.has(p.id)) posts.set(p.id, p.version);
    }
    const list = [...posts].map(([post, version]) => ({ post, version }));
    const text = list.map((p) => `${p.post}:${p.version}`).join(",");
    if (text === (this.known ?? "")) return;
    this.known = text;
    this.send(list);
  }

  /** The socket is open: the server knows of nothing yet. Its answer names what changed meanwhile. */
  opened(): void {
    this.known = undefined;
    this.update();
  }

  /** These posts have changed, or are not for the user any more. */
  take(changed: readonly string[]): void {
    if (changed.length === 0) return;
    for (const { shown, told } of [...this.sources]) {
      const here = new Set(shown().map((p) => p.id));
      const posts = changed.filter((id) => here.has(id));
      if (posts.length > 0) told(posts);
    }
  }
}
