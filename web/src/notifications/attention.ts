/**
 * What the user sees of the app, over all windows of the browser. Each window holds Web Locks whose names say it, so that a
 * window that crashed says nothing any more. Without Web Locks, a window knows of itself only.
 */
export class Attention {
  private readonly held = new Map<string, () => void>();
  private chat: string | undefined;

  constructor(private readonly user: string) {
    for (const [target, event] of this.events) target.addEventListener(event, this.update);
    this.update();
  }

  /** The chat or help desk that this window shows. */
  show(chat: string | undefined): void {
    this.chat = chat;
    this.update();
  }

  /** Whether the user sees a chat or help desk, or uses any window of the app. */
  async has(chat: string): Promise<boolean> {
    const wanted = [this.focus, this.chatName(chat)];
    if (!navigator.locks) return wanted.some((name) => this.names().includes(name));
    const { held = [] } = await navigator.locks.query();
    return held.some((lock) => wanted.includes(lock.name ?? ""));
  }

  close(): void {
    for (const [target, event] of this.events) target.removeEventListener(event, this.update);
    for (const release of this.held.values()) release();
    this.held.clear();
  }

  private readonly events: [EventTarget, string][] = [[document, "visibilitychange"], [window, "focus"], [window, "blur"]];

  private get focus(): string {
    return `rialto-focus-${this.user}`;
  }

  private chatName(chat: string): string {
    return `rialto-view-${this.user}-${chat}`;
  }

  private names(): string[] {
    if (document.visibilityState !== "visible") return [];
    return [...(document.hasFocus() ? [this.focus] : []), ...(this.chat ? [this.chatName(this.chat)] : [])];
  }

  private readonly update = (): void => {
    const names = this.names();
    for (const [name, release] of this.held) {
      if (names.includes(name)) continue;
      release();
      this.held.delete(name);
    }
    for (const name of names) if (!this.held.has(name)) this.held.set(name, hold(name));
  };
}

/** Holds a lock that others may hold as well, until the answer is called. */
function hold(name: string): () => void {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  navigator.locks?.request(name, { mode: "shared" }, () => held).catch(() => {});
  return release;
}
