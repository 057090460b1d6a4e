function webLocks(): LockManager | undefined {
  return typeof navigator === "undefined" ? undefined : navigator.locks;
}

/**
 * Leader is the one of several windows on one store that stores the stream: several would overwrite each other's positions. When it
 * goes, the next takes over. Where no store is shared, each window leads.
 */
export class Leader {
  private leads = false;
  private stopped = false;
  private release: (() => void) | undefined;

  get leading(): boolean {
    return this.leads;
  }

  /** Waits for the lead. onLead is called where it comes later than at once; the promise ends with the lead. */
  async wait(name: string, shared: boolean, onLead: () => void): Promise<void> {
    const locks = webLocks();
    this.leads = !shared || !locks;
    if (this.leads || !locks) return;
    await locks.request(name, () => {
      if (this.stopped) return;
      this.leads = true;
      onLead();
      return new Promise<void>((resolve) => (this.release = resolve));
    });
  }

  stop(): void {
    this.stopped = true;
    this.leads = false;
    this.release?.();
  }
}

/** Runs work in one window of the browser at a time. */
export async function exclusive(name: string, shared: boolean, work: () => Promise<void>): Promise<void> {
  const locks = webLocks();
  if (shared && locks) await locks.request(name, work);
  else await work();
}

export interface WindowEvents {
  /** The network is back, or the window is shown again. */
  wake(): void;
  /** The connection may be gone: the network is away, or the window slept. */
  probe(): void;
  /** The window is hidden now, or shown. */
  hide(hidden: boolean): void;
  /** The network may be another one. */
  changed(): void;
}

/** Listens to what a browser says of its network and window; ends with the function that it returns. */
export function watchWindow(on: WindowEvents): () => void {
  if (typeof window === "undefined" || !window.addEventListener) return () => {};
  const shown = () => {
    on.hide(document.visibilityState === "hidden");
    if (document.visibilityState !== "visible") return;
    on.wake();
    on.probe(); // a window that slept may hold a connection that is long gone
  };
  const online = () => {
    on.changed();
    on.wake();
  };
  const offline = () => on.probe();
  window.addEventListener("online", online);
  window.addEventListener("offline", offline);
  if (typeof document !== "undefined") {
    document.addEventListener("visibilitychange", shown);
    if (document.visibilityState === "hidden") on.hide(true);
  }
  return () => {
    window.removeEventListener("online", online);
    window.removeEventListener("offline", offline);
    if (typeof document !== "undefined") document.removeEventListener("visibilitychange", shown);
  };
}
