// What one asks of a message: its versions, who reacted, how many have read it; and what was said on a day. A caption is edited, on a phone as well, in Chinese.
import assert from "node:assert/strict";
import { choose, confirm, dialog, inView, log, message, openPanel, panel, phone, picture, row, say, sendFile, showTab } from "../harness.mjs";

export default async function details(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob", { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true });
  const carol = await w.user("carol", "Carol");
  for (const friend of [bob, carol]) await w.befriend(alice, friend);
  const { id } = await w.call("chat.v1.ChatService/CreateGroup", { title: "Hikers", members: [bob.id, carol.id] }, alice.token);
  const [a, b] = [alice.page, bob.page];
  await row(a, "Hikers").click();
  await say(a, "Meet at sevn");
  await row(b, "Hikers").tap();
  await message(b, "Meet at sevn").waitFor();

  w.step("how many have read it stands at one's newest message, and opens the list");
  await message(a, "Meet at sevn").getByRole("button", { name: "Read by 1. Who has read this" }).click();
  await dialog(a).getByRole("tab", { name: "Read · 1" }).waitFor();
  await w.shot(a, "110-read-by");
  await a.keyboard.press("Escape");
  await dialog(a).waitFor({ state: "detached" });

  await edited(w, a, b);
  await reacted(w, a, b, { ...carol, conversation: id });
  await captioned(w, a, b);
  await onADay(w, a, b, alice, id);
  await invited(w, alice, id);
  await deletedFromTheList(w, a);
}

async function edited(w, a, b) {
  w.step("an edited message shows all its versions");
  for (const text of ["Meet at seven", "Meet at **eight**"]) {
    await log(a).getByTestId("message").filter({ hasText: "Meet at" }).click({ button: "right" });
    await a.getByRole("menuitem", { name: "Edit", exact: true }).click();
    await a.getByTestId("editor").fill(text);
    await a.getByTestId("editor").press("Enter");
    await message(b, text.replaceAll("*", "")).waitFor();
  }
  await message(a, "Meet at eight").getByRole("button", { name: "edited. Edit history" }).click();
  const versions = dialog(a).getByTestId("edit-history").getByRole("listitem");
  await versions.nth(2).waitFor();
  assert.deepEqual(await versions.locator(".text").allInnerTexts(), ["Meet at sevn", "Meet at seven", "Meet at eight"]);
  assert.match(await versions.first().innerText(), /^Original · /);
  await w.shot(a, "111-edit-history");
  await a.keyboard.press("Escape");
  await dialog(a).waitFor({ state: "detached" });
  await message(b, "Meet at eight").click({ button: "right" });
  await b.getByRole("menuitem", { name: "编辑记录" }).tap();
  await dialog(b).getByText("Meet at sevn").waitFor();
  await w.shot(b, "111-edit-history-phone");
  await b.keyboard.press("Escape");
  await dialog(b).waitFor({ state: "detached" });
}

async function reacted(w, a, b, carol) {
  w.step("who reacted, by emoji");
  const seq = await message(a, "Meet at eight").getAttribute("data-seq");
  const react = (emoji, n) => w.call("chat.v1.ChatService/Send", { conversation: carol.conversation, clientMsgId: `react-${n}`, content: { reaction: { target: { seq }, emoji } } }, carol.token);
  await react("👍", 1);
  await react("🎉", 2);
  await message(b, "Meet at eight").getByRole("button", { name: "👍，1" }).tap();
  await message(a, "Meet at eight").getByRole("button", { name: "👍, 2" }).waitFor();
  await message(a, "Meet at eight").click({ button: "right" });
  await a.getByRole("menuitem", { name: "Who reacted" }).click();
  await dialog(a).getByRole("tab", { name: "👍 2" }).waitFor();
  for (const name of ["Bob", "Carol"]) await dialog(a).getByRole("tabpanel").getByRole("link", { name }).waitFor();
  await w.shot(a, "112-who-reacted");
  await dialog(a).getByRole("tab", { name: "👍 2" }).press("ArrowRight");
  await dialog(a).getByRole("tabpanel").getByRole("link", { name: "Bob" }).waitFor({ state: "detached" });
  await dialog(a).getByRole("tabpanel").getByRole("link", { name: "Carol" }).waitFor();
  await a.keyboard.press("Escape");
  await dialog(a).waitFor({ state: "detached" });
}

async function captioned(w, a, b) {
  w.step("the caption of a picture is edited, and taken away");
  await sendFile(a, { name: "path.png", mimeType: "image/png", buffer: await picture(a) }, "the norht path");
  await message(b, "the norht path").waitFor();
  await choose(a, message(a, "the norht path"), "Edit caption");
  await a.getByTestId("editor").fill("the north path");
  await a.getByTestId("editor").press("Enter");
  await message(b, "the north path").locator("img").first().waitFor(); // the picture stays
  await choose(a, message(a, "the north path"), "Edit caption");
  await a.getByTestId("editor").fill("");
  await a.getByRole("button", { name: "Save", exact: true }).click();
  await message(b, "the north path").waitFor({ state: "detached" });
}

async function onADay(w, a, b, alice, conversation) {
  w.step("one goes to a day");
  await w.send(alice, conversation, Array.from({ length: 150 }, (_, i) => `line ${i + 1}`));
  await inView(b, "line 150");
  await openPanel(a);
  await panel(a).getByRole("button", { name: "Go to date" }).click();
  const date = dialog(a).getByLabel("Date");
  const today = await date.inputValue();
  await date.fill("2999-12-31");
  await dialog(a).getByRole("button", { name: "Go", exact: true }).click();
  assert.equal(await date.evaluate((e) => e.validity.rangeOverflow), true);
  await date.fill(today);
  await w.shot(a, "113-go-to-date");
  await dialog(a).getByRole("button", { name: "Go", exact: true }).click();
  await inView(a, "Meet at eight");
  await b.getByRole("button", { name: "聊天信息" }).tap();
  await b.getByRole("button", { name: "跳转到日期" }).tap();
  await w.shot(b, "113-go-to-date-phone");
  await dialog(b).getByRole("button", { name: "跳转", exact: true }).tap();
  await message(b, "Meet at eight").waitFor();
}

async function invited(w, alice, conversation) {
  w.step("who is invited and has not answered is listed, and the invitation cancelled");
  const a = alice.page;
  const dan = await w.user("dan", "Dan");
  await w.call("chat.v1.ChatService/Invite", { conversation, users: [dan.id] }, alice.token);
  await openPanel(a);
  await showTab(a, "3 members");
  const pending = panel(a).getByTestId("invited").getByRole("listitem").filter({ hasText: "Dan" });
  await pending.getByText("invited by you").waitFor();
  await w.shot(a, "114-invited");
  await pending.getByRole("button", { name: "Cancel invitation" }).click();
  await pending.waitFor({ state: "detached" });
  assert.deepEqual((await w.call("chat.v1.ChatService/ListInvitations", {}, dan.token)).invitations ?? [], []);
}

async function deletedFromTheList(w, a) {
  w.step("a chat is deleted from its menu in the list");
  await row(a, "Hikers").click({ button: "right" });
  await a.getByRole("menuitem", { name: "Delete chat" }).click();
  await confirm(a, "Delete chat");
  await row(a, "Hikers").waitFor({ state: "detached" });
  await a.getByText("Choose a chat").waitFor();
}
