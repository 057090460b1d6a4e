export interface Listed<T> {
  readonly items: readonly T[];
  /** What reads the next page; empty at the end. */
  readonly next: string;
}

/** Pages is a list that is read in pages, one after the other. */
export class Pages<T> {
  private listed: Listed<T> = { items: [], next: "" };
  private tail: Promise<unknown> = Promise.resolve();

  /** read gets the next of the page before, and "" for the first one. */
  constructor(private readonly read: (page: string) => Promise<Listed<T>>) {}

  /** Reads the list from its beginning, as far as it was read before. */
  reload(): Promise<Listed<T>> {
    return this.inTurn(async () => {
      let list = await this.read("");
      while (list.next && list.items.length < this.listed.items.length) list = await this.after(list);
      return list;
    });
  }

  /** Reads the next page, if there is one. */
  more(): Promise<Listed<T>> {
    return this.inTurn(async () => (this.listed.next ? this.after(this.listed) : this.listed));
  }

  private async after({ items, next }: Listed<T>): Promise<Listed<T>> {
    const page = await this.read(next);
    return { items: [...items, ...page.items], next: page.next };
  }

  private inTurn(work: () => Promise<Listed<T>>): Promise<Listed<T>> {
    const done = this.tail.then(async () => (this.listed = await work()));
    this.tail = done.catch(() => {});
    return done;
  }
}
