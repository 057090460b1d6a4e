import type { ServiceClient } from "./api.js";
import { asError, RialtoError } from "./errors.js";
import type { ChatService } from "./gen/rialto/chat/v1/chat_pb.js";
import type { BrokenOff, WhoMayStop } from "./gen/rialto/chat/v1/message_pb.js";
import { WritingState, type StreamedText, type WriteResult } from "./gen/rialto/chat/v1/streamed_pb.js";

/** The text so far of a message that its sender is still writing. Views are replaced, never changed. */
export interface StreamedView {
  readonly text: string;
  readonly state: WritingState;
  /** Beside the state, such as the name of a tool. */
  readonly note: string;
}

export interface StreamedDeps {
  api: () => ServiceClient<typeof ChatService>;
  onChange: () => void;
  /** A message that is watched has ended: it has to be read again. */
  onEnded: (conversation: string, seq: number) => Promise<void>;
}

const askEveryMs = 1000;
const writeEveryMs = 250;
const stillEveryMs = 15_000;
const mostParts = 100;
const maxPart = 32_000;
const nothing: StreamedView = { text: "", state: WritingState.UNSPECIFIED, note: "" };

interface Watched {
  conversation: string;
  seq: number;
  watchers: number;
  view: StreamedView;
  /** Of the text, in characters. */
  length: number;
  asking: boolean;
  /** Something is missing: the whole text is needed. */
  gap: boolean;
  timer?: ReturnType<typeof setTimeout>;
}

/** StreamedMessages are messages that somebody writes in parts, while others read them. */
export class StreamedMessages {
  private readonly watched = new Map<string, Watched>();
  private readonly writing = new Set<StreamedWriter>();
  private writer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly deps: StreamedDeps) {}

  /** Keeps the text of a message up to date, which is still being written, until the function that is returned is called. */
  watch(conversation: string, seq: number): () => void {
    const key = keyOf(conversation, seq);
    let w = this.watched.get(key);
    if (!w) {
      w = { conversation, seq, watchers: 0, view: nothing, length: 0, asking: false, gap: true };
      this.watched.set(key, w);
      void this.ask(w);
    }
    w.watchers++;
    let watching = true;
    return () => {
      if (!watching) return;
      watching = false;
      if (--w.watchers > 0) return;
      clearTimeout(w.timer);
      if (this.watched.get(key) === w) this.watched.delete(key);
    };
  }

  /** The text so far of a message that is watched. */
  view(conversation: string, seq: number): StreamedView {
    return this.watched.get(keyOf(conversation, seq))?.view ?? nothing;
  }

  /** Stops a message that somebody else writes, or one's own. It may have ended before: then this changes nothing. */
  async stop(conversation: string, seq: number): Promise<void> {
    await this.deps.api().stopStreamedMessage({ conversation, seq: BigInt(seq) });
  }

  /** Starts a message whose text follows in parts. */
  async start(conversation: string, options: { replyTo?: number; whoMayStop?: WhoMayStop } = {}): Promise<StreamedWriter> {
    const { replyTo, whoMayStop } = options;
    const request = { conversation, clientMsgId: crypto.randomUUID(), ...(replyTo ? { replyTo: { seq: BigInt(replyTo), clientSeq: 0n } } : {}), ...(whoMayStop ? { whoMayStop } : {}) };
    const { seq } = await repeated(() => this.deps.api().startStreamedMessage(request));
    const writer = new StreamedWriter(conversation, Number(seq), (content) => repeated(() => this.deps.api().endStreamedMessage({ conversation, seq, ...content })), () => this.writing.delete(writer));
    this.writing.add(writer);
    this.plan();
    return writer;
  }

  /** Takes what a frame says. */
  take(list: readonly StreamedText[]): void {
    for (const u of list) {
      const seq = Number(u.seq);
      if (u.ended) for (const w of this.writing) if (w.conversation === u.conversation && w.seq === seq) w.stopped();
      const w = this.watched.get(keyOf(u.conversation, seq));
      if (!w) continue;
      if (u.ended) void this.ask(w);
      else this.add(w, u);
    }
  }

  /** The socket is open: what was pushed before is lost. */
  opened(): void {
    for (const w of this.watched.values()) {
      w.gap = true;
      void this.ask(w);
    }
  }

  forget(): void {
    for (const w of this.watched.values()) clearTimeout(w.timer);
    this.watched.clear();
    for (const w of this.writing) w.stopped();
    clearTimeout(this.writer);
    this.writer = undefined;
  }

  private add(w: Watched, u: StreamedText): void {
    if (u.offset > w.length) {
      w.gap = true;
      void this.ask(w);
      return;
    }
    const text = firstCharacters(w.view.text, u.offset, w.length) + u.text;
    w.length = u.offset + characters(u.text);
    w.view = { text, state: u.state, note: u.note };
    this.deps.onChange();
  }

  /** Reads the whole text, at most once a second. */
  private async ask(w: Watched): Promise<void> {
    if (w.asking) return;
    w.asking = true;
    w.gap = false;
    try {
      const u = await this.deps.api().getStreamedMessage({ conversation: w.conversation, seq: BigInt(w.seq) });
      if (u.ended) await this.deps.onEnded(w.conversation, w.seq);
      else if (w.gap || characters(u.text) >= w.length) this.add(w, { ...u, offset: 0 });
    } catch (err) {
      if (asError(err).reason === "recalled") return; // its event says so, too
      w.gap = true;
    } finally {
      w.timer = setTimeout(() => {
        w.asking = false;
        if (w.gap && w.watchers > 0) void this.ask(w);
      }, askEveryMs);
    }
  }

  /** Sends parts while messages are written. */
  private plan(): void {
    this.writer ??= setTimeout(() => {
      void this.write().finally(() => {
        this.writer = undefined;
        if (this.writing.size > 0) this.plan();
      });
    }, writeEveryMs);
  }

  private async write(): Promise<void> {
    const due = [...this.writing].filter((w) => w.due(Date.now())).slice(0, mostParts);
    if (due.length === 0) return;
    try {
      const { results } = await this.deps.api().writeStreamedMessages({ parts: due.map((w) => w.part(Date.now())) });
      results.forEach((r, i) => due[i]?.took(r));
    } catch {
      due.forEach((w) => w.again());
    }
  }
}

/** StreamedWriter writes a message in parts. It must end, by end or fail; otherwise the server breaks it off after a minute. */
export class StreamedWriter {
  /** Aborted when the message takes no more parts: as a reader has stopped it. */
  readonly signal: AbortSignal;
  private readonly controller = new AbortController();
  private text = "";
  private sent = 0;
  /** The characters of text up to sent. */
  private sentCharacters = 0;
  private state = WritingState.UNSPECIFIED;
  private note = "";
  private changed = false;
  private sentAt = Date.now();
  private finishing = false;

  constructor(
    readonly conversation: string,
    readonly seq: number,
    private readonly finish: (content: { content?: { kind: { case: "text"; value: string } }; failed?: boolean }) => Promise<{ brokenOff?: BrokenOff }>,
    private readonly onOver: () => void,
  ) {
    this.signal = this.controller.signal;
  }

  /** Adds to the text, at most 100,000 characters in all. False: the message has ended. */
  write(text: string): boolean {
    if (this.signal.aborted || this.finishing) return false;
    this.text += text;
    if (this.state !== WritingState.UNSPECIFIED || this.note) this.setState(WritingState.UNSPECIFIED);
    return true;
  }

  /** Says what is done until the next write. */
  setState(state: WritingState, note = ""): void {
    this.state = state;
    this.note = note;
    this.changed = true;
  }

  /** Stores the whole text; false where the message had been broken off before. */
  async end(): Promise<boolean> {
    return !(await this.over({ content: { kind: { case: "text", value: this.text } } })).brokenOff;
  }

  /** Marks the message as broken off. */
  async fail(): Promise<void> {
    await this.over({ failed: true });
  }

  stopped(): void {
    this.onOver();
    this.controller.abort();
  }

  due(now: number): boolean {
    return !this.finishing && (this.changed || this.sent < this.whole() || now - this.sentAt >= stillEveryMs);
  }

  part(now: number) {
    const text = this.text.slice(this.sent, cut(this.text, Math.min(this.whole(), this.sent + maxPart)));
    this.changed = false;
    this.sentAt = now;
    return { conversation: this.conversation, seq: BigInt(this.seq), offset: this.sentCharacters, text, state: this.state, note: this.note };
  }

  took(r: WriteResult): void {
    if (r.ended || r.reason === "no_conversation" || r.reason === "no_message") return this.stopped();
    if (r.reason && r.reason !== "bad_offset") return this.again();
    const length = r.reason ? Math.min(r.length, this.sentCharacters) : r.length;
    this.sent = firstCharacters(this.text, length, Number.POSITIVE_INFINITY).length;
    this.sentCharacters = length;
  }

  again(): void {
    this.changed = true;
  }

  /** Up to where the text has whole characters. */
  private whole(): number {
    return cut(this.text, this.text.length);
  }

  private async over(content: Parameters<StreamedWriter["finish"]>[0]) {
    this.finishing = true;
    try {
      return await this.finish(content);
    } finally {
      this.stopped();
    }
  }
}

const keyOf = (conversation: string, seq: number) => `${conversation}/${seq}`;

/** An end that is not between the halves of a character. */
function cut(text: string, end: number): number {
  const c = text.charCodeAt(end - 1);
  return c >= 0xd800 && c < 0xdc00 ? end - 1 : end;
}

/** How many characters (code points) a text has. */
function characters(text: string): number {
  let n = 0;
  for (const _ of text) n++;
  return n;
}

/** The first characters of a text that has a number of them. */
function firstCharacters(text: string, count: number, of: number): string {
  if (text.length === of) return text.slice(0, count);
  let end = 0;
  for (const c of text) {
    if (count-- === 0) break;
    end += c.length;
  }
  return text.slice(0, end);
}

/** Makes a call again while the server cannot be reached. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  for (let wait = 500; ; wait = Math.min(2 * wait, 30_000)) {
    try {
      return await call();
    } catch (err) {
      const e = asError(err);
      if (!(err instanceof RialtoError) || (e.code !== "unavailable" && e.code !== "resource_exhausted")) throw err;
      await new Promise((resolve) => setTimeout(resolve, Math.max(wait, e.retryMs)));
    }
  }
}
