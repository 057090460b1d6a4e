import type { History } from "./history.js";
import type { LocalData } from "./localdata.js";
import { withoutBelow } from "./merge.js";
import { oldestMs, type ChatMessage, type ConversationView } from "./model.js";
import type { Op } from "./storage.js";

/** Changes within this time are looked at together. */
const settleMs = 100;
/** A timer sleeps no longer: the clock may be set meanwhile, and setTimeout takes no more than 24 days. */
const longestSleepMs = 60_000;

/** Expiry removes messages from the device and its views when their time is over. Nobody tells of it: a device that is offline does so, too. */
export class Expiry {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private soon: ReturnType<typeof setTimeout> | undefined;
  /** When messages that a view shows without having opened their conversation are over. */
  private readonly shown = new Set<number>();

  constructor(
    private readonly data: LocalData,
    private readonly history: History,
    private readonly now: () => number,
  ) {}

  stop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.soon);
  }

  /** There may be something new that expires. */
  changed(): void {
    if (this.data.stopped) return;
    this.soon ??= setTimeout(() => {
      this.soon = undefined;
      this.sweep();
    }, settleMs);
  }

  /** Whether one may not read a message any more that was read before, or has deleted it. */
  isGone(m: ChatMessage): boolean {
    const c = this.data.conversations.get(m.conversation);
    return c !== undefined && (m.seq < c.joinSeq || this.data.isDeleted(m) || m.timeMs < oldestMs(c, this.now()));
  }

  /** Tells the views when one of these messages expires. */
  watch(messages: ChatMessage[]): ChatMessage[] {
    for (const m of messages) {
      const { keptSeconds } = this.data.view(m.conversation);
      if (keptSeconds) this.shown.add(m.timeMs + keptSeconds * 1_000);
    }
    this.changed();
    return messages;
  }

  /** Removes what has expired, and sleeps until something else does. */
  private sweep(): void {
    if (this.data.stopped) return;
    const now = this.now();
    const ops: Op[] = [];
    let next = Infinity;
    for (const c of this.data.conversations.values()) {
      const first = this.history.loaded(c.id)[0];
      if (first && first.seq < c.joinSeq) this.history.dropBelow(c.id, c.joinSeq, ops); // cleared on another device, or expired
      if (c.keptSeconds) next = Math.min(next, this.sweepOne(c, now, ops));
    }
    let told = ops.length > 0;
    for (const at of this.shown) {
      if (at >= now) next = Math.min(next, at);
      else told = this.shown.delete(at);
    }
    if (told) this.data.keep(ops);
    clearTimeout(this.timer);
    if (next !== Infinity) this.timer = setTimeout(() => this.sweep(), Math.min(next - now + 1, longestSleepMs));
  }

  /** Removes what has expired of a conversation. Returns when more does. */
  private sweepOne(c: ConversationView, now: number, ops: Op[]): number {
    const cut = oldestMs(c, now);
    const loaded = this.history.loaded(c.id);
    const kept = loaded.findIndex((m) => m.timeMs >= cut);
    const old = kept < 0 ? loaded.at(-1) : loaded[kept - 1];
    const lastIsOld = c.lastMessage !== undefined && c.lastMessage.timeMs < cut;
    const newest = lastIsOld && (!old || c.lastMessage!.seq > old.seq) ? c.lastMessage! : old;
    if (newest && newest.seq >= c.joinSeq) {
      this.data.put(withoutBelow(c, newest.seq + 1, newest.counted), ops);
      this.history.dropBelow(c.id, newest.seq + 1, ops);
    }
    const first = kept < 0 ? (lastIsOld ? undefined : c.lastMessage) : loaded[kept];
    return first ? first.timeMs + c.keptSeconds * 1_000 : Infinity;
  }
}
