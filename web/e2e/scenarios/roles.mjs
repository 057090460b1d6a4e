// Who may do what in a group: a member is muted, the group handed over, and left.
import { choose, confirm, dialog, log, member, message, openPanel, panel, row, say } from "../harness.mjs";

export default async function roles(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob", { colorScheme: "dark" });
  await w.befriend(alice, bob);
  const { id } = await w.call("chat.v1.ChatService/CreateGroup", { title: "Hikers", members: [bob.id] }, alice.token);
  const [a, b] = [alice.page, bob.page];
  for (const page of [a, b]) await row(page, "Hikers").click();
  await readBy(w, alice, b, id);
  await readWhileOpen(w, a, b);
  await muted(w, a, b);
  await transferred(w, a, b);
  await left(w, a);
}

async function readBy(w, alice, b, conversation) {
  w.step("who has read a message, and who has not yet");
  const a = alice.page;
  await say(a, "Meet at seven");
  await message(b, "Meet at seven").waitFor();
  const seq = await message(b, "Meet at seven").getAttribute("data-seq");
  const listed = () => w.call("chat.v1.ChatService/ListReaders", { conversation, seq }, alice.token);
  while (!(await listed()).users?.length) await b.evaluate(() => new Promise(requestAnimationFrame)); // that it was read is told a moment later
  const readers = dialog(a).getByRole("tabpanel");
  const ask = () => message(a, "Meet at seven").getByRole("button", { name: "Who has read this" }).click();
  await ask();
  await dialog(a).getByRole("tab", { name: "Read · 1" }).waitFor();
  await readers.getByRole("link", { name: "Bob" }).waitFor();
  await dialog(a).getByRole("tab", { name: "Read · 1" }).press("ArrowRight");
  await readers.getByText("No one yet.").waitFor();
  await w.shot(a, "37-readers");
  await a.keyboard.press("Escape");
  await dialog(a).waitFor({ state: "detached" });
  await message(a, "Meet at seven").locator(":focus").and(a.getByRole("button", { name: "Who has read this" })).waitFor(); // it has the focus again
}

async function readWhileOpen(w, a, b) {
  w.step("who reads a message appears in the list that is open");
  await b.goto(new URL("/", b.url()).href);
  await row(b, "Hikers").waitFor();
  await say(a, "Bring water");
  await message(a, "Bring water").getByRole("button", { name: "Who has read this" }).click();
  await dialog(a).getByRole("tab", { name: "Read · 0" }).waitFor();
  await dialog(a).getByRole("tab", { name: "Not yet · 1" }).waitFor();
  await row(b, "Hikers").click();
  await dialog(a).getByRole("tab", { name: "Read · 1" }).waitFor();
  await dialog(a).getByRole("tab", { name: "Not yet · 0" }).waitFor();
  await dialog(a).getByRole("tabpanel").getByRole("link", { name: "Bob" }).waitFor();
  await w.shot(a, "37-readers-open");
  await a.keyboard.press("Escape");
  await dialog(a).waitFor({ state: "detached" });
}

async function muted(w, a, b) {
  w.step("a muted member is told until when, in place of the composer");
  await b.getByTestId("composer").waitFor();
  await openPanel(a);
  await choose(a, member(a, "Bob"), "Mute for an hour");
  await member(a, "Bob").getByText("muted until").waitFor();
  await b.locator(".closed-note").getByText("An admin muted you until").waitFor();
  await b.getByTestId("composer").waitFor({ state: "detached" });
  await w.shot(b, "34-muted");
  await b.reload();
  await b.locator(".closed-note").getByText("An admin muted you until").waitFor();
  await choose(a, member(a, "Bob"), "Unmute");
  await say(b, "I may speak again");
  await message(a, "I may speak again").waitFor();
}

async function transferred(w, a, b) {
  w.step("the group is handed over; its former owner becomes an admin, as the question says");
  await choose(a, member(a, "Bob"), "Make owner");
  await dialog(a).getByText("You become an admin.").waitFor();
  await w.shot(a, "35-transfer");
  await confirm(a, "Make owner");
  await log(b).getByText("The owner is now You").waitFor();
  await member(a, "Bob").getByText("owner", { exact: true }).waitFor();
  await member(a, "You").getByText("admin", { exact: true }).waitFor();
  await openPanel(b);
  await panel(b).getByRole("button", { name: "Dissolve group" }).waitFor();
}

async function left(w, a) {
  w.step("who leaves sees the panel close");
  await panel(a).getByRole("button", { name: "Leave group" }).click();
  await confirm(a, "Leave group");
  await a.locator(".closed-note").getByText("You're no longer a member").waitFor();
  await panel(a).waitFor({ state: "detached" });
  await w.shot(a, "36-left");
}
