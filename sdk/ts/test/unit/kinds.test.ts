import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ContentSchema, CustomSchema } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { fallbackText, encoded, registerKind, rendererOf } from "../../src/kinds.js";
import { applyMessage } from "../../src/merge.js";
import { isShown, unknownConversation, type ChatMessage } from "../../src/model.js";

const message = (data: unknown, type = "app.example/poll") => create(CustomSchema, { type, data: encoded(data), fallback: "Poll" });

test("a registered kind decodes its own messages, and says what lists show", () => {
  const poll = registerKind<{ question: string }>("app.example/poll", {
    decode(data) {
      const { question } = data as { question?: unknown };
      if (typeof question !== "string") throw new Error("no question");
      return { question };
    },
    text: (p) => `Poll: ${p.question.toUpperCase()}`,
  });
  expect(poll(message({ question: "lunch?" }))).toEqual({ question: "lunch?" });
  expect(fallbackText(message({ question: "lunch?" }))).toBe("Poll: LUNCH?");
  // Of another type, not valid, or no JSON.
  expect(poll(message({ question: "lunch?" }, "app.example/other"))).toBeUndefined();
  expect(fallbackText(message({ question: "lunch?" }, "app.example/other"))).toBe("Poll");
  expect(poll(message({ question: 1 }))).toBeUndefined();
  expect(fallbackText(message({ question: 1 }))).toBe("Poll");
  expect(fallbackText(message(new Uint8Array([0xff, 0xfe])))).toBe("Poll");
});

test("a kind may read bytes, and its errors keep no list from being shown", () => {
  const bytes = registerKind("app.example/bytes", { decode: (_data, raw) => [...raw], text: () => { throw new Error("broken"); } });
  const m = message(new Uint8Array([1, 2]), "app.example/bytes");
  expect(bytes(m)).toEqual([1, 2]);
  expect(fallbackText(m)).toBe("Poll");
});

test("a kind renders its valid messages; others show their fallback", () => {
  const element = {} as HTMLElement;
  const m = {} as ChatMessage;
  const shown: unknown[] = [];
  const end = (): void => void shown.push("end");
  registerKind<{ question: string }>("app.example/rendered", {
    decode(data) {
      if (!(data as { question?: string }).question) throw new Error("no question");
      return data as { question: string };
    },
    render: (...all) => (shown.push(all), end),
  });
  rendererOf(message({ question: "lunch?" }, "app.example/rendered"))!(element, m)!();
  expect(shown).toEqual([[element, { question: "lunch?" }, m], "end"]);
  // Not valid, registered without render, and not registered.
  expect(rendererOf(message({}, "app.example/rendered"))).toBeUndefined();
  registerKind("app.example/named", { decode: (data) => data });
  expect(rendererOf(message({ question: "lunch?" }, "app.example/named"))).toBeUndefined();
  expect(rendererOf(message({ question: "lunch?" }, "app.example/unknown"))).toBeUndefined();
});

test("a signal is not shown, is no last message, and does not move one's own cursor", () => {
  const content = create(ContentSchema, { kind: { case: "signal", value: { type: "app.example/call" } } });
  const m: ChatMessage = { conversation: "7", seq: 5, id: "", sender: "me", device: "1", clientSeq: 1, timeMs: 1, counted: 3, text: "", content };
  expect(isShown(m)).toBe(false);
  const c = applyMessage({ ...unknownConversation("7"), lastSeq: 4, lastCounted: 3, readSeq: 2, readCounted: 1 }, m, "me");
  expect(c).toMatchObject({ lastSeq: 5, lastCounted: 3, readSeq: 2, readCounted: 1 });
  expect(c.lastMessage).toBeUndefined();
});
