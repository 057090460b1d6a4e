import type { ServiceClient } from "./api.js";
import { asError, isOffline } from "./errors.js";
import type { ChatService } from "./gen/rialto/chat/v1/chat_pb.js";
import type { Marks } from "./marks.js";
import type { ConnectionState } from "./options.js";
import type { Outbox } from "./outbox.js";
import type { People } from "./people.js";
import type { Replica } from "./replica.js";
import type { ServerCopy } from "./serverCopy.js";

/** How long a poll waits for an event at the server, or else the time between two polls. What is not in the stream is read as often. */
const everyMs = 5_000;

export interface PollingDeps {
  chat: ServiceClient<typeof ChatService>;
  replica: Replica;
  outbox: Outbox;
  marks: Marks;
  copies: readonly ServerCopy<unknown>[];
  people: People;
  random: () => number;
  now: () => number;
  /** Whether there is no socket, and the user has not left. */
  needed: () => boolean;
  state: () => ConnectionState;
  setState: (s: ConnectionState) => void;
  /** Whether the socket cannot say that the client is offline: there is none. */
  withoutSockets: boolean;
}

/**
 * Polling takes the place of the socket: calls may get through where no socket does. They wait for events at the server (long polling), unless the
 * network breaks calls that wait.
 */
export class Polling {
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Cancels the call that waits. */
  private waiting: AbortController | undefined;
  /** The next poll comes at once. */
  private again = false;
  /** Calls that wait get through. */
  private waits = true;
  /** The last poll waited, and has the stream up to its end. */
  private synced = false;
  /** When what is not in the stream was read last. */
  private refreshedMs = -Infinity;

  constructor(private readonly deps: PollingDeps) {}

  /** Polls from now on, for as long as that is needed. */
  start(): void {
    if (this.waiting) return;
    this.timer ??= setTimeout(() => void this.poll(), 0);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.waiting?.abort();
    this.waits = true;
    this.synced = false;
    this.refreshedMs = -Infinity;
  }

  /** Something is to be sent: the next poll does not wait. */
  soon(): void {
    if (this.deps.state() !== "polling") return;
    this.again = true;
    this.waiting?.abort();
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.poll(), 0);
  }

  private async poll(): Promise<void> {
    this.timer = undefined;
    const { replica, copies, people, needed, now, state, setState } = this.deps;
    if (!needed()) return;
    try {
      if (!this.synced) await replica.stream.sync(true);
      this.synced = false;
      if (!needed()) return;
      setState("polling");
      this.again = false;
      await this.sendOutbox();
      await replica.conversations.flush();
      await this.sendMarks();
      if (now() - this.refreshedMs >= everyMs * 0.8) {
        this.refreshedMs = now();
        for (const copy of copies) await copy.refresh();
        await people.pollPresence();
      }
      if (await this.wait()) this.again = true;
    } catch {
      this.again = false;
      if (needed() && (state() === "polling" || this.deps.withoutSockets)) setState("offline");
    }
    if (needed()) this.timer ??= setTimeout(() => void this.poll(), this.again ? 0 : everyMs * (0.8 + 0.4 * this.deps.random()));
  }

  /** Waits for events, or until something is to be sent. Tells whether the next poll comes at once. */
  private async wait(): Promise<boolean> {
    const { replica, needed, now } = this.deps;
    if (this.again || !needed() || !this.waits) return this.again;
    const stop = new AbortController();
    const begunMs = now();
    this.waiting = stop;
    try {
      const news = await replica.stream.wait(everyMs, stop.signal);
      this.synced = true;
      return news || now() - begunMs >= everyMs * 0.8; // a server that does not know of waiting answers at once, with nothing
    } catch {
      if (!stop.signal.aborted) this.waits = false; // whether calls fail at all, the next poll finds out
      return true;
    } finally {
      this.waiting = undefined;
    }
  }

  private async sendOutbox(): Promise<void> {
    const { chat, outbox, needed } = this.deps;
    // Asked anew for each: one that has to wait holds back those behind it.
    for (let item = outbox.due()[0]; item && needed(); item = outbox.due()[0]) {
      outbox.sending(item);
      try {
        const r = await chat.send({ conversation: item.conversation, clientSeq: BigInt(item.clientSeq), content: item.content });
        await outbox.stored(item, { id: r.id, seq: Number(r.seq), timeMs: Number(r.timeMs), counted: Number(r.counted) });
      } catch (err) {
        const e = asError(err);
        if (isOffline(e) && e.reason !== "missing_previous") throw e;
        await outbox.refused(item, e);
      }
    }
  }

  private async sendMarks(): Promise<void> {
    const { chat, marks } = this.deps;
    const list = marks.takeAll();
    for (let m = list.shift(); m; m = list.shift()) {
      try {
        await chat.mark(m);
      } catch (err) {
        if (!isOffline(err)) continue; // as of a conversation that is no more
        for (const left of [m, ...list]) marks.putBack(left);
        throw err;
      }
    }
  }
}
