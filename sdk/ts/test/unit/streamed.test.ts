import { create } from "@bufbuild/protobuf";
import { expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { StreamedTextSchema, WritingState } from "../../src/gen/rialto/chat/v1/streamed_pb.js";
import { StreamedMessages } from "../../src/streamed.js";

/** A server with one message, 7/9, whose text is server.text. */
function made() {
  const server = { text: "", ended: false, asked: 0, parts: [] as { offset: number; text: string; state: number }[], lose: false, refuse: "", end: undefined as unknown, again: [] as number[] };
  const api = {
    getStreamedMessage: () => Promise.resolve(create(StreamedTextSchema, { conversation: "7", seq: 9n, text: server.text, ended: server.ended && ++server.asked > 0 })).finally(() => server.asked++),
    startStreamedMessage: () => Promise.resolve({ seq: 9n }),
    stopStreamedMessage: () => Promise.resolve({}),
    writeStreamedMessages: ({ parts }: { parts: { offset: number; text: string; state: number }[] }) => {
      server.parts.push(...parts);
      if (server.lose) return Promise.reject(new RialtoError("unavailable", "lost", "offline", 0));
      return Promise.resolve({
        results: parts.map(({ offset, text }) => {
          if (server.refuse) return { length: 0, reason: server.refuse, ended: server.refuse === "ended", message: "" };
          const have = [...server.text];
          if (offset > have.length) return { length: have.length, reason: "bad_offset", ended: false, message: "" };
          server.text = have.slice(0, offset).join("") + text;
          return { length: [...server.text].length, reason: "", ended: false, message: "" };
        }),
      });
    },
    endStreamedMessage: (q: unknown) => Promise.resolve((server.end = q)).then(() => ({})),
  };
  const streamed = new StreamedMessages({ api: () => api as never, onChange: () => {}, onEnded: (_, seq) => Promise.resolve(void server.again.push(seq)) });
  const take = (offset: number, text: string, more: object = {}) => streamed.take([create(StreamedTextSchema, { conversation: "7", seq: 9n, offset, text, ...more })]);
  return { server, streamed, take, text: () => streamed.view("7", 9).text };
}

test("a reader who comes late has the text so far, and then what is added; a gap is filled", async () => {
  vi.useFakeTimers();
  try {
    const { server, streamed, take, text } = made();
    server.text = "so 𝄞";
    const leave = streamed.watch("7", 9);
    await vi.advanceTimersByTimeAsync(0);
    expect(text()).toBe("so 𝄞");
    take(4, " far", { state: WritingState.TOOL, note: "search" });
    expect(streamed.view("7", 9)).toEqual({ text: "so 𝄞 far", state: WritingState.TOOL, note: "search" });
    take(4, " much"); // the server replaced what it had
    expect(text()).toBe("so 𝄞 much");
    take(20, "lost before");
    expect(text()).toBe("so 𝄞 much");
    server.text = "so 𝄞 much and more";
    await vi.advanceTimersByTimeAsync(1000);
    expect(text()).toBe("so 𝄞 much and more");
    expect(server.asked).toBe(2); // not for each frame
    leave();
    take(0, "x");
    expect(text()).toBe("");
  } finally {
    vi.useRealTimers();
  }
});

test("the end of a message that is watched is read again", async () => {
  const { server, streamed, take } = made();
  server.ended = true;
  streamed.watch("7", 9);
  await vi.waitFor(() => expect(server.again).toEqual([9]));
  take(0, "late");
  streamed.forget();
});

test("a writer sends what was added, again where it was lost, and the whole text in the end", async () => {
  vi.useFakeTimers();
  try {
    const { server, streamed } = made();
    const w = await streamed.start("7");
    w.setState(WritingState.THINKING);
    await vi.advanceTimersByTimeAsync(300);
    expect(server.parts).toMatchObject([{ offset: 0, text: "", state: WritingState.THINKING }]);
    w.write("Hello \ud834"); // half a character waits for the other half
    await vi.advanceTimersByTimeAsync(300);
    expect(server.text).toBe("Hello ");
    server.lose = true;
    w.write("\udd1e");
    await vi.advanceTimersByTimeAsync(300);
    server.lose = false;
    server.text = "Hel"; // another node has less
    await vi.advanceTimersByTimeAsync(900);
    expect(server.text).toBe("Hello 𝄞");
    await vi.advanceTimersByTimeAsync(10_000);
    const sent = server.parts.length;
    await vi.advanceTimersByTimeAsync(10_000); // it is told that the writer is still there
    expect(server.parts.length).toBe(sent + 1);
    expect(await w.end()).toBe(true);
    expect(server.end).toMatchObject({ content: { kind: { case: "text", value: "Hello 𝄞" } } });
    expect(w.write("more")).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

test("a writer learns that its message was stopped", async () => {
  vi.useFakeTimers();
  try {
    const { server, streamed, take } = made();
    const pushed = await streamed.start("7");
    take(0, "", { ended: true });
    expect(pushed.signal.aborted).toBe(true);
    const answered = await streamed.start("7");
    server.refuse = "ended";
    answered.write("x");
    await vi.advanceTimersByTimeAsync(300);
    expect(answered.signal.aborted).toBe(true);
    expect(answered.write("y")).toBe(false);
    streamed.forget();
  } finally {
    vi.useRealTimers();
  }
});
