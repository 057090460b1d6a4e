// A message grows while people read it: its text, what the bot does, its end, and a stop.
import assert from "node:assert/strict";
import { message, phone, row, texts } from "../harness.mjs";

export default async function streamed(w) {
  const alice = await w.person("alice", "Alice");
  const bot = await w.person("bot", "Helper");
  await w.befriend(alice, bot);
  const conversation = await w.direct(alice, bot);
  await w.send(alice, conversation, ["what is two and two?"]);
  const a = alice.page;
  await a.getByTestId("tab-chats").click();
  await row(a, "Helper").click();
  const call = (method, body) => w.call(`chat.v1.ChatService/${method}`, { conversation, ...body }, bot.token);
  const write = (seq, part) => call("WriteStreamedMessages", { conversation: undefined, parts: [{ conversation, seq, ...part }] });
  const being = a.getByTestId("streamed");
  const z = await w.device(alice, { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true });
  await row(z, "Helper").tap();

  w.step("it is shown from its beginning on, with what the bot does");
  const { seq } = await call("StartStreamedMessage", { clientMsgId: "1" });
  await being.getByText("Writing…").waitFor();
  await write(seq, { state: "WRITING_STATE_TOOL", note: "a calculator" });
  await being.getByText("Using a calculator…").waitFor();
  await write(seq, { text: "Two and **two**" });
  await being.getByText("Two and two").waitFor();
  await w.shot(a, "95-streamed");
  await z.getByTestId("streamed").getByText("Two and two").waitFor();
  await w.shot(z, "95-streamed-zh");

  w.step("who comes late reads the text so far, and goes on");
  await a.reload();
  await being.getByText("Two and two").waitFor();
  await write(seq, { offset: 15, text: " is" });
  await being.getByText("Two and two is").waitFor();

  w.step("its end is a message as any other");
  await call("EndStreamedMessage", { seq, content: { text: "Two and two is four." } });
  await message(a, "Two and two is four.").waitFor();
  await being.waitFor({ state: "detached" });
  assert.equal(await a.getByText("edited").count(), 0);
  assert.equal(await a.getByTestId("broken-off").count(), 0);

  w.step("a reader stops another one, which is marked");
  const second = await call("StartStreamedMessage", { clientMsgId: "2" });
  await write(second.seq, { text: "And now at length" });
  await being.getByText("And now at length").waitFor();
  await being.getByRole("button", { name: "Stop" }).click();
  await message(a, "And now at length").getByTestId("broken-off").getByText("Stopped by you").waitFor();
  await message(z, "And now at length").getByTestId("broken-off").getByText("已被你停止").waitFor();
  await w.shot(z, "95-streamed-stopped-zh");
  const { results } = await write(second.seq, { offset: 17, text: ", for all to hear" });
  assert.equal(results[0].ended, true);
  await a.reload();
  await message(a, "And now at length").getByTestId("broken-off").waitFor();
  assert.deepEqual((await texts(a)).slice(-2), ["Two and two is four.", "And now at length"]);
  await w.shot(a, "95-streamed-stopped");
}
