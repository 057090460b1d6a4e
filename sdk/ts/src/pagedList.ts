/** PagedList is what lists have in common that are read in pages. Their calls wait for each other. */
export abstract class PagedList {
  /** Whether the first page was read, and whether there are more. */
  loaded = false;
  hasMore = false;
  private tail: Promise<void> = Promise.resolve();
  /** The next page, while it is being read. */
  private reading: Promise<void> | undefined;

  constructor(private readonly onChange: () => void) {}

  /** Reads the next page; the first one, if that could not be read. A call during a call does nothing more. */
  more(): Promise<void> {
    this.reading ??= this.inTurn(() => this.readMore()).finally(() => (this.reading = undefined));
    return this.reading;
  }

  protected abstract readMore(): Promise<void>;

  /** Calls work after earlier calls, and then onChange. */
  protected inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.tail.then(work).then(this.onChange);
    this.tail = done.catch(() => {});
    return done;
  }
}

export interface ListPage<T> {
  readonly items: readonly T[];
  /** What reads the next page; empty at the end. */
  readonly next: string;
}

/** So many empty pages in a row are read before a call ends. */
const mostPages = 10;

/** PageList is a list that is read in pages by tokens, from the start to its end. */
export class PageList<T> extends PagedList {
  items: readonly T[] = [];
  private next = "";
  /** What was taken out while pages are being read, which may have it still. */
  private readonly takenOut = new Set<string>();

  constructor(private readonly deps: { read: (page: string) => Promise<ListPage<T>>; idOf: (item: T) => string; onChange: () => void }) {
    super(deps.onChange);
  }

  /** Reads the list again, from its start. */
  refresh(): Promise<void> {
    return this.inTurn(() => this.readFrom("", false));
  }

  protected async readMore(): Promise<void> {
    if (!this.loaded || this.hasMore) await this.readFrom(this.next, true);
  }

  /** Called when all items have been read again. */
  protected replaced(): void {}

  /** Replaces items. */
  update(change: (item: T) => T): void {
    this.items = this.items.map(change);
    this.deps.onChange();
  }

  /** Takes an item out. */
  remove(id: string): void {
    this.takenOut.add(id);
    this.items = this.items.filter((item) => this.deps.idOf(item) !== id);
    this.deps.onChange();
  }

  /** Reads from a page on, until something was found that is not known, or until the end. What comes is put behind the items, or replaces them. */
  private async readFrom(page: string, append: boolean): Promise<void> {
    this.takenOut.clear();
    let found: readonly T[] = [];
    const known = new Set(append ? this.items.map(this.deps.idOf) : []);
    for (let n = 0; n < mostPages; n++) {
      const read = await this.deps.read(page);
      const news = read.items.filter((item) => !known.has(this.deps.idOf(item)));
      for (const item of news) known.add(this.deps.idOf(item));
      found = [...found, ...news];
      page = read.next;
      if (page === "" || found.length > 0) break;
    }
    found = found.filter((item) => !this.takenOut.has(this.deps.idOf(item)));
    this.items = append ? [...this.items, ...found] : found;
    if (!append) this.replaced();
    this.next = page;
    this.loaded = true;
    this.hasMore = page !== "";
  }
}
