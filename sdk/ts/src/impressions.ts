/** What the server records at once: posts that were opened, and how long posts were on the screen, in milliseconds. */
export interface Impressions {
  readonly posts: string[];
  readonly dwells: { post: string; dwellMs: number }[];
}

/** So many posts of "for you" are known at most: the oldest are left out. */
const mostKnown = 1_000;
/** So many posts, and so many dwells, are recorded by one call. */
const mostOfCall = 100;
/** A shorter dwell says nothing. */
const leastDwellMs = 1_000;
const mostDwellMs = 600_000;
const sendAfterMs = 5_000;

interface Impression {
  opened: boolean;
  openedRecorded: boolean;
  dwellMs: number;
  dwellRecordedMs: number;
  /** Since when it is on the screen. */
  since?: number | undefined;
}

/** Options of an ImpressionRecorder. */
export interface ImpressionOptions {
  record(made: Impressions): Promise<unknown>;
  /** Whether nothing is to be recorded. */
  isOff(): boolean;
  /** The time in milliseconds, which never goes back. */
  now?(): number;
}

/**
 * ImpressionRecorder gathers what the user does with posts that "for you" showed, and records it together: each post that is opened once for each page that had it, and the longest dwell. What could
 * not be recorded is kept until the next time. Other posts are passed over.
 */
export class ImpressionRecorder {
  private readonly known = new Map<string, Impression>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private sending: Promise<void> | undefined;

  constructor(private readonly options: ImpressionOptions) {}

  private now(): number {
    return this.options.now?.() ?? performance.now();
  }

  /** A page has these posts: what the user does with them from now on is recorded. */
  shown(posts: readonly string[]): void {
    if (this.options.isOff()) return this.forget();
    for (const post of posts) {
      const before = this.known.get(post);
      this.known.delete(post); // the latest come last
      // It may be opened again on this page. What was not recorded yet of the page before still is.
      const dwell = before && hasDwell(before) ? { dwellMs: before.dwellMs, dwellRecordedMs: before.dwellRecordedMs } : { dwellMs: 0, dwellRecordedMs: 0 };
      this.known.set(post, { opened: before !== undefined && before.opened && !before.openedRecorded, openedRecorded: false, ...dwell, since: before?.since === undefined ? undefined : this.now() });
    }
    while (this.known.size > mostKnown) this.known.delete(this.known.keys().next().value!);
  }

  /** The user opened a post, its link, its video or its goods. */
  opened(post: string): void {
    const i = this.known.get(post);
    if (!i || i.opened) return;
    i.opened = true;
    this.soon();
  }

  /** A post came onto the screen, or left it. */
  onScreen(post: string, isOn: boolean): void {
    const i = this.known.get(post);
    if (!i || isOn === (i.since !== undefined)) return;
    this.count(i);
    i.since = isOn ? this.now() : undefined;
    if (isPending(i)) this.soon();
  }

  private count(i: Impression): void {
    if (i.since === undefined) return;
    const now = this.now();
    i.dwellMs = Math.min(mostDwellMs, i.dwellMs + Math.max(0, now - i.since));
    i.since = now;
  }

  private soon(): void {
    this.timer ??= setTimeout(() => void this.flush(), sendAfterMs);
  }

  /** Records what there is. It does not fail. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    return (this.sending ??= this.send().finally(() => (this.sending = undefined)));
  }

  private async send(): Promise<void> {
    if (this.options.isOff()) return this.forget();
    for (;;) {
      for (const i of this.known.values()) this.count(i);
      const all = [...this.known];
      const opened = all.filter(([, i]) => i.opened && !i.openedRecorded).slice(0, mostOfCall);
      const dwelt = all.filter(([, i]) => hasDwell(i)).slice(0, mostOfCall).map(([post, i]) => ({ post, i, dwellMs: Math.round(i.dwellMs) }));
      if (opened.length + dwelt.length === 0) return;
      try {
        await this.options.record({ posts: opened.map(([post]) => post), dwells: dwelt.map(({ post, dwellMs }) => ({ post, dwellMs })) });
      } catch {
        return;
      }
      for (const [, i] of opened) i.openedRecorded = true;
      for (const { i, dwellMs } of dwelt) i.dwellRecordedMs = dwellMs;
      if (opened.length < mostOfCall && dwelt.length < mostOfCall) return;
    }
  }

  /** Forgets all posts: another user, or one who wants nothing recorded. */
  forget(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.known.clear();
  }
}

function hasDwell(i: Impression): boolean {
  return i.dwellMs >= leastDwellMs && i.dwellMs - i.dwellRecordedMs >= leastDwellMs;
}

function isPending(i: Impression): boolean {
  return (i.opened && !i.openedRecorded) || hasDwell(i);
}
