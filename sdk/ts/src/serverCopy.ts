import { asError, isOffline } from "./errors.js";
import type { Store } from "./storage.js";

export interface ServerCopyDeps<T> {
  store: Store;
  /** The copy's key in the store. */
  key: string;
  read: () => Promise<T>;
  onChange: () => void;
}

/**
 * ServerCopy is the device's copy of something small that the server keeps as a whole, such as the account's settings. It is read
 * once, and again when the stream says that it changed.
 */
export class ServerCopy<T> {
  current: T | undefined;
  private stale = false;
  private tail: Promise<unknown> = Promise.resolve();

  constructor(private readonly copyDeps: ServerCopyDeps<T>) {}

  async load(): Promise<void> {
    const stored = await this.copyDeps.store.get<{ value: T; stale: boolean }>("meta", this.copyDeps.key);
    this.current = stored?.value;
    this.stale = stored?.stale ?? false;
  }

  /** Reads it where it is not known, or has changed. Without a connection it stays as it was. */
  async refresh(): Promise<void> {
    if (this.current && !this.stale) return;
    await this.inTurn(async () => {
      if (this.current && !this.stale) return;
      try {
        this.stale = false; // a change from here on is read again
        await this.take(await this.copyDeps.read());
      } catch (err) {
        this.stale = true;
        if (!isOffline(err) && asError(err).code !== "unauthenticated") throw err;
      }
    });
  }

  /** The stream says that it changed. What is stored is stale as well, since the stream does not say so twice. */
  async changed(): Promise<void> {
    this.stale = true;
    if (this.current) await this.copyDeps.store.write([{ table: "meta", key: this.copyDeps.key, value: { value: this.current, stale: true } }]);
    await this.refresh();
  }

  /** Stores the value that the server answered with. */
  protected async take(value: T): Promise<void> {
    this.current = value;
    this.copyDeps.onChange();
    await this.copyDeps.store.write([{ table: "meta", key: this.copyDeps.key, value: { value, stale: this.stale } }]);
  }

  protected inTurn<R>(work: () => Promise<R>): Promise<R> {
    const done = this.tail.then(work);
    this.tail = done.catch(() => {});
    return done;
  }
}
