import { Availability, type ChatMessage, type Client, type ClientEvents, type Content } from "@rialto-im/client";
import { beforeEach, expect, test } from "vitest";
import { translate } from "../src/i18n.js";
import { Notifier } from "../src/notifications/notifier.js";

const chat = "7";
const text = (value: string) => ({ kind: { case: "text", value } }) as Content;

class Note {
  closed = false;
  onclick: (() => void) | null = null;
  constructor(readonly title: string, readonly options: NotificationOptions) {}
  close() {
    this.closed = true;
  }
}

let notes: Note[];
let played: number;
let now: number;
let gone: number[];
let opened: [string, number][];
let seen: Promise<boolean> | boolean;
let choices: { on: boolean; preview: boolean; sound: boolean; push: boolean };
let view: Record<string, unknown>;
let client: Record<string, unknown>;
let notifier: Notifier;
let listeners: Map<string, (arg: unknown) => void>;

beforeEach(() => {
  notes = [];
  played = 0;
  now = 0;
  gone = [];
  opened = [];
  seen = false;
  choices = { on: true, preview: true, sound: true, push: false };
  listeners = new Map();
  view = { id: chat, title: "Bob", peer: "2", readSeq: 0, leaveSeq: 0, muted: false, archived: false };
  client = {
    me: "1",
    leading: true,
    on: (event: string, f: (arg: unknown) => void) => (listeners.set(event, f), () => listeners.delete(event)),
    subscribe: (f: () => void) => (listeners.set("change", f), () => listeners.delete("change")),
    settings: () => ({ availability: Availability.UNSPECIFIED }),
    conversation: () => view,
    mentioned: () => false,
    isGone: (m: ChatMessage) => gone.includes(m.seq),
  };
  notifier = new Notifier({
    client: client as unknown as Client,
    choices: () => choices,
    sees: async () => seen,
    show: (title, options) => {
      const note = new Note(title, options);
      notes.push(note);
      return note as unknown as Notification;
    },
    play: () => played++,
    now: () => now,
    text: (key, values) => translate("en", key, values),
    titleOf: (c) => c.title,
    nameOf: (u) => `user ${u}`,
    onOpen: (c, seq) => opened.push([c, seq]),
  });
});

/** Tells the notifier of something, and waits until it has acted on it. */
async function tell<E extends keyof ClientEvents>(event: E, arg: ClientEvents[E]): Promise<void> {
  listeners.get(event)!(arg);
  await new Promise((resolve) => setTimeout(resolve));
}
const message = (seq: number, body: string) => tell("message", { conversation: chat, seq, sender: "2", content: text(body) } as ChatMessage);
const recalled = (seq: number) => tell("updated", { conversation: chat, seq, content: undefined });
const bodies = () => notes.map((n) => n.options.body);

test("the newest message of a chat is shown, and a click opens the chat at it", async () => {
  await message(1, "one");
  now = 1_000;
  await message(2, "two");
  expect(bodies()).toEqual(["one", "two"]);
  expect(new Set(notes.map((n) => n.options.tag)).size).toBe(1);
  expect(notes[1]).toMatchObject({ title: "Bob", closed: false });
  expect(played).toBe(2);
  notes[1]!.onclick!();
  expect(opened).toEqual([[chat, 2]]);
  expect(notes[1]!.closed).toBe(true);
});

test("without a preview it says neither who nor what", async () => {
  choices.preview = false;
  choices.sound = false;
  await message(1, "a secret");
  expect(notes.map((n) => [n.title, n.options.body])).toEqual([["Rialto", "New message"]]);
  expect(played).toBe(0);
});

test.each<[string, () => void]>([
  ["they are off", () => (choices.on = false)],
  ["another window leads", () => (client["leading"] = false)],
  ["the chat is muted", () => (view["muted"] = true)],
  ["the chat is archived", () => (view["archived"] = true)],
  ["the user does not want to be disturbed", () => (client["settings"] = () => ({ availability: Availability.DO_NOT_DISTURB }))],
  ["the message is one's own", () => (client["me"] = "2")],
  ["the message was read already", () => (view["readSeq"] = 1)],
  ["the user sees the chat", () => (seen = true)],
])("there is none where %s", async (_, change) => {
  change();
  await message(1, "one");
  expect(notes).toEqual([]);
  expect(played).toBe(0);
});

test("a mention is shown although the chat is muted", async () => {
  view["muted"] = true;
  client["mentioned"] = () => true;
  await message(1, "@you");
  expect(bodies()).toEqual(["@you"]);
});

test("a recalled message goes, and the one before it is shown again; without one, the notification closes", async () => {
  await message(1, "one");
  await message(2, "two");
  await recalled(2);
  expect(bodies()).toEqual(["one", "two", "one"]);
  await recalled(1);
  expect(notes.at(-1)!.closed).toBe(true);
  expect(played).toBe(1);
});

test("an edited message is shown as it is now, without a sound", async () => {
  await message(1, "one");
  await message(2, "two");
  await tell("updated", { conversation: chat, seq: 1, content: text("first") });
  await tell("updated", { conversation: chat, seq: 2, content: text("second") });
  expect(bodies()).toEqual(["one", "two", "second"]);
  await recalled(2);
  expect(bodies().at(-1)).toBe("first");
  expect(played).toBe(1);
});

test("a message that is recalled while the windows are asked is never shown", async () => {
  let answer = (_: boolean) => {};
  seen = new Promise((resolve) => (answer = resolve));
  await message(1, "one");
  await recalled(1);
  answer(false);
  await seen;
  expect(notes).toEqual([]);
});

test("what is read on another device is no longer shown, and nothing is after the end", async () => {
  await message(1, "one");
  view["readSeq"] = 1;
  await tell("change", undefined);
  expect(notes[0]!.closed).toBe(true);
  await message(2, "two");
  notifier.stop();
  expect(notes[1]!.closed).toBe(true);
  expect(listeners.size).toBe(0);
});

test("what the user deleted or what has expired is not shown, neither then nor after a recall", async () => {
  for (const [i, body] of ["one", "two", "three"].entries()) await message(i + 1, body);
  gone = [1, 3];
  await tell("change", undefined);
  expect(bodies()).toEqual(["one", "two", "three", "two"]);
  await recalled(2);
  expect(bodies().length).toBe(4);
  expect(notes.at(-1)!.closed).toBe(true);
});

test("what comes at once is one notification and one tone", async () => {
  for (let seq = 1; seq < 100; seq++) void message(seq, `${seq}`);
  await message(100, "100");
  expect([bodies(), played]).toEqual([["100"], 1]);
  for (let seq = 100; seq > 50; seq--) await recalled(seq);
  expect(notes.at(-1)).toMatchObject({ closed: true, options: { body: "51" } });
});
