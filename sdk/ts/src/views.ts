/** So many posts are recorded by one call. */
const mostOfCall = 100;
/** So many posts wait at most: the oldest are left out. */
const mostWaiting = 500;
const sendAfterMs = 2_000;

/** ViewRecorder gathers the posts that were on the screen, and records them together. */
export class ViewRecorder {
  private readonly waiting = new Set<string>();
  private readonly recorded = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly record: (posts: string[]) => Promise<unknown>) {}

  /** A post was on the screen. Until forget, it is recorded once. */
  viewed(post: string): void {
    if (this.recorded.has(post)) return;
    this.waiting.add(post);
    if (this.waiting.size > mostWaiting) this.waiting.delete(this.waiting.values().next().value!);
    this.timer ??= setTimeout(() => void this.flush(), sendAfterMs);
  }

  /** Records what waits. What could not be recorded waits for the next post. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const posts = [...this.waiting].slice(0, mostOfCall);
    if (posts.length === 0) return;
    for (const p of posts) this.waiting.delete(p);
    try {
      await this.record(posts);
    } catch {
      for (const p of posts) this.waiting.add(p);
      return;
    }
    for (const p of posts) this.recorded.add(p);
    while (this.recorded.size > mostWaiting) this.recorded.delete(this.recorded.values().next().value!);
    if (this.waiting.size > 0) await this.flush();
  }

  /** Forgets what was recorded and what waits: another user, or a cleared history. */
  forget(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.waiting.clear();
    this.recorded.clear();
  }
}
