// A history that was imported is read as it was: with its times, its days, edits, reactions and threads, and nothing of it is new. While it is imported, nobody writes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { binary, log, message, row, say } from "../harness.mjs";

export default async function imported(w) {
  const server = await w.ownServer();
  const key = execFileSync(binary, ["admin", "key", "create", "--data", server.dir, "--name", "olga", "--role", "operator"], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  const bob = await w.user("bob", "Bob");
  const ann = await w.person("ann", "Ann");
  const calls = (name, body) => w.call(`operation.v1.InterchangeService/${name}`, body, key);
  const at = (day, minute) => String(Date.UTC(2019, 2, day, 9, minute));

  w.step("while a group is imported, a message is refused for a time");
  const { conversation } = await calls("ImportConversation", { key: "C1", title: "General", owner: bob.id, members: [ann.id], timeMs: at(4, 0) });
  const text = (key, day, minute, sender, words, target) => ({ key, timeMs: at(day, minute), sender, target, content: { text: words } });
  const { results } = await calls("ImportEntries", { conversation, entries: [
    text("1", 4, 1, bob.id, "Good morning, this is 2019"),
    { key: "2", timeMs: at(4, 2), sender: ann.id, target: "1", content: { reaction: { emoji: "👍" } } },
    text("3", 5, 0, ann.id, "An answer on the next day", "1"),
    { key: "4", timeMs: at(5, 1), sender: ann.id, target: "3", content: { edit: { content: { text: "An edited answer on the next day" } } } },
  ] });
  assert.ok(results.every((r) => r.seq), JSON.stringify(results));
  const refused = await fetch(`${server.url}/rialto.chat.v1.ChatService/Send`, { method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${ann.token}` },
    body: JSON.stringify({ conversation, clientMsgId: "1", content: { text: "Is this chat open?" } }) });
  assert.equal(refused.status, 503);
  assert.equal(JSON.parse(await refused.text()).details[0].debug.reason, "importing");

  w.step("then it appears, with its times, and nothing is new");
  await calls("EndImport", { conversation });
  await row(ann.page, "General").waitFor();
  await row(ann.page, "General").getByTestId("unread").waitFor({ state: "detached" });
  await row(ann.page, "General").click();
  await message(ann.page, "An edited answer").waitFor();
  await log(ann.page).getByText(/4 Mar(ch)? 2019/).waitFor();
  await log(ann.page).getByText(/5 Mar(ch)? 2019/).waitFor();
  await message(ann.page, "Good morning").first().getByText("👍").waitFor();
  await say(ann.page, "Is this chat open?");
  await message(ann.page, "Is this chat open?").waitFor();
  await w.shot(ann.page, "imported-history");
}
