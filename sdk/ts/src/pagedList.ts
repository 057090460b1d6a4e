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

  constructor(private readonly deps: { read: (page: string) => Promise<ListPage<T>>; idOf: (item: T) => string; onChange: () => void }) {
    super(deps.onChange);
  }

  /** Reads the list again, from its start. */
  refresh(): Promise<void> {
    return this.inTurn(() => this.readFrom("", []));
  }

  protected async readMore(): Promise<void> {
    if (!this.loaded || this.hasMore) await this.readFrom(this.next, this.items);
  }

  /** Replaces items. */
  update(change: (item: T) => T): void {
    this.items = this.items.map(change);
    this.deps.onChange();
  }

  /** Takes an item out. */
  remove(id: string): void {
    this.items = this.items.filter((item) => this.deps.idOf(item) !== id);
    this.deps.onChange();
  }

  private async readFrom(page: string, before: readonly T[]): Promise<void> {
    let items = before;
    for (let n = 0; n < mostPages; n++) {
      const read = await this.deps.read(page);
      const known = new Set(items.map(this.deps.idOf));
      items = [...items, ...read.items.filter((item) => !known.has(this.deps.idOf(item)))];
      page = read.next;
      if (page === "" || items.length > before.length) break;
    }
    this.items = items;
    this.next = page;
    this.loaded = true;
    this.hasMore = page !== "";
  }
}
