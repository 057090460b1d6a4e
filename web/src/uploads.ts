import { isOffline, type Content, type Upload } from "@rialto-im/client";

/** A file on its way: in the page's memory until the server has it. */
export interface PendingUpload {
  id: number;
  conversation: string;
  file: File;
  /** Part that has gone, 0 to 1. */
  part: number;
  /** The network failed: it is tried again. */
  waiting: boolean;
  /** The server refused it for good. */
  error?: unknown;
}

/** What uploads need of the client. */
export interface Port {
  upload(file: Blob, name: string, progress?: (sent: number, total: number) => void, signal?: AbortSignal): Promise<Upload>;
  send(conversation: string, content: Content["kind"]): Promise<unknown>;
}

const retryMs = 3_000;

/** Uploads sends files one after the other, in the order in which they were chosen, and goes on when the network is back. */
export class Uploads {
  private list: readonly PendingUpload[] = [];
  private readonly listeners = new Set<() => void>();
  private readonly port: Port;
  private next = 1;
  private current: { id: number; abort: AbortController } | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(port: Port) {
    this.port = port;
  }

  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  readonly all = (): readonly PendingUpload[] => this.list;

  add(conversation: string, file: File): void {
    this.put([...this.list, { id: this.next++, conversation, file, part: 0, waiting: false }]);
    void this.work();
  }

  /** Takes a file back, also while it is on its way. */
  cancel(id: number): void {
    this.put(this.list.filter((u) => u.id !== id));
    if (this.current?.id === id) this.current.abort.abort();
  }

  retry(id: number): void {
    this.change(id, { error: undefined, part: 0 });
    void this.work();
  }

  /** Tries at once what waits for the network. */
  wake(): void {
    if (this.list.some((u) => u.waiting)) void this.work();
  }

  /** Forgets everything, as at a log-out. */
  clear(): void {
    clearTimeout(this.timer);
    this.put([]);
    this.current?.abort.abort();
  }

  private async work(): Promise<void> {
    clearTimeout(this.timer);
    if (this.current) return;
    for (let u = this.due(); u; u = this.due()) {
      const { id, file, conversation } = u;
      const abort = new AbortController();
      this.current = { id, abort };
      this.change(id, { waiting: false });
      try {
        const up = await this.port.upload(file, file.name, (sent, total) => this.change(id, { part: total > 0 ? sent / total : 1 }), abort.signal);
        if (this.list.some((x) => x.id === id)) await this.port.send(conversation, contentOf(up));
        this.put(this.list.filter((x) => x.id !== id));
      } catch (err) {
        if (isOffline(err)) {
          this.change(id, { waiting: true, part: 0 });
          this.timer = setTimeout(() => void this.work(), retryMs);
          return;
        }
        this.change(id, { error: err });
      } finally {
        this.current = undefined;
      }
    }
  }

  private due(): PendingUpload | undefined {
    return this.list.find((u) => u.error === undefined);
  }

  private change(id: number, part: Partial<PendingUpload>): void {
    this.put(this.list.map((u) => (u.id === id ? { ...u, ...part } : u)));
  }

  private put(list: readonly PendingUpload[]): void {
    this.list = list;
    for (const f of this.listeners) f();
  }
}

/** A picture is what the server could measure; everything else is a file. */
function contentOf(up: Upload): Content["kind"] {
  const value = { $typeName: "rialto.chat.v1.Media" as const, upload: up.upload, name: up.name, mimeType: up.mimeType, size: up.size, width: up.width, height: up.height, durationMs: 0, caption: "" };
  return up.width > 0 ? { case: "image", value } : { case: "file", value };
}
