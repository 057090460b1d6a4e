import { inBackground } from "./background.js";
import { messageKey, type LocalData, type ReplicaDeps } from "./localdata.js";
import { oldestMs, type ChatMessage } from "./model.js";

/** Messages that are read and deleted together. */
const batch = 200;
const everyMs = 3_600_000;

/**
 * StoredExpiry deletes expired messages of all conversations from the device, every hour. Each sweep follows a sync: somebody may have set
 * a longer retention while this device was away. Expiry handles open conversations and the last messages of the list; it also does so offline.
 */
export class StoredExpiry {
  private timer: ReturnType<typeof setInterval> | undefined;
  private running = false;
  /** Whether the retentions on this device are the server's. */
  private current = false;
  /** Whether the next sync is followed by a sweep. */
  private due = true;

  constructor(
    private readonly data: LocalData,
    private readonly deps: Pick<ReplicaDeps, "store" | "now" | "isLeader"> & { sync: () => Promise<void> },
  ) {}

  start(): void {
    this.timer ??= setInterval(() => {
      this.due = true;
      inBackground(this.deps.sync());
    }, everyMs);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** A sync has ended. */
  synced(): void {
    this.current = true;
    if (this.due) this.sweep();
  }

  /** Looks through all conversations, one after the other. Only the window that stores does, and not before the first sync. */
  sweep(): void {
    if (this.running || !this.current || !this.deps.isLeader()) return;
    this.due = false;
    this.running = true;
    inBackground(this.sweepAll().finally(() => (this.running = false)));
  }

  private async sweepAll(): Promise<void> {
    for (const id of [...this.data.conversations.keys()]) await this.sweepOne(id);
  }

  private async sweepOne(conversation: string): Promise<void> {
    let limit = 1; // of most conversations, the oldest message tells that there is nothing to do
    for (let before = -1; ; limit = batch) {
      const c = this.data.view(conversation);
      if (this.data.stopped || !this.deps.isLeader() || (!c.keptSeconds && c.joinSeq <= 1)) return;
      const oldest = await this.deps.store.list<ChatMessage>("messages", { lower: `${conversation}/`, upper: `${conversation}0`, limit });
      const cut = oldestMs(c, this.deps.now());
      const kept = oldest.findIndex((m) => m.timeMs >= cut && m.seq >= c.joinSeq);
      const last = kept < 0 ? oldest.at(-1) : oldest[kept - 1];
      if (!last || last.seq <= before) return; // nothing has expired, or the device could not delete it
      this.data.keep([{ table: "messages", key: `${conversation}/`, upper: messageKey({ conversation, seq: last.seq + 1 }) }]);
      if (kept >= 0) return;
      before = last.seq;
      await this.data.written();
    }
  }
}
