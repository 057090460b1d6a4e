// Mentions: names are completed, the list has the unread ones, one jumps to them, hears of them in a muted chat, and edits change them.
import assert from "node:assert/strict";
import { log, message, phone, row } from "../harness.mjs";

const composer = (page) => page.getByTestId("composer");
const names = (page) => page.getByTestId("mentions").getByRole("option");

export default async function mentions(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob 鲍勃", { viewport: phone, hasTouch: true });
  const bobby = await w.user("bobby", "Bobby");
  await w.befriend(alice, bob);
  await w.befriend(alice, bobby);
  const { id } = await w.call("chat.v1.ChatService/CreateGroup", { title: "Team", members: [bob.id, bobby.id] }, alice.token);
  const { page: a } = alice;
  const { page: b } = bob;
  await w.call("chat.v1.ChatService/Configure", { conversation: id, muted: true }, bob.token);
  await row(a, "Team").click();
  await w.send(bobby, id, Array.from({ length: 60 }, (_, i) => `talk ${i}`));
  await message(a, "talk 59").waitFor();

  w.step("a name is completed by the keyboard, and not while an input method composes");
  await composer(a).pressSequentially("下午见@bo");
  await names(a).nth(1).waitFor();
  await w.shot(a, "95-mention-names");
  assert.equal(await names(a).count(), 2);
  await composer(a).evaluate((el) => el.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true })));
  assert.equal(await names(a).count(), 2);
  await composer(a).press("Escape");
  await names(a).first().waitFor({ state: "hidden" });
  await composer(a).pressSequentially("bb");
  await names(a).filter({ hasText: "Bobby" }).waitFor();
  assert.equal(await names(a).count(), 1);
  await composer(a).press("Backspace");
  await names(a).filter({ hasText: "鲍勃" }).waitFor();
  while (!(await names(a).filter({ hasText: "鲍勃" }).and(a.getByRole("option", { selected: true })).count())) await composer(a).press("ArrowDown");
  await composer(a).press("Enter");
  assert.equal(await composer(a).inputValue(), "下午见@Bob 鲍勃 ");

  w.step("the other hears of it although the chat is muted, and sees it in the list");
  await composer(a).pressSequentially("?");
  await composer(a).press("Enter");
  await message(a, "下午见").getByRole("link", { name: "@Bob 鲍勃" }).waitFor();
  await b.getByTestId("announcer").filter({ hasText: "下午见@Bob" }).waitFor();
  await row(b, "Team").getByTestId("mention").waitFor();
  await w.shot(b, "96-mention-list-phone");

  w.step("one jumps to the next mention");
  await row(b, "Team").getByTestId("unread").filter({ hasText: "61" }).waitFor();
  await b.evaluate(() => { // as soon as the way there is offered, before any message is
    const clicks = new MutationObserver(() => {
      const button = document.querySelector("[data-testid=to-mention]");
      if (!button) return;
      clicks.disconnect();
      button.click();
    });
    clicks.observe(document.body, { childList: true, subtree: true });
  });
  await row(b, "Team").click();
  await message(b, "下午见").getByRole("img", { name: "Mentions you" }).waitFor();
  await b.getByTestId("to-mention").waitFor({ state: "hidden" });
  await w.shot(b, "97-mention-phone");

  w.step("everybody is mentioned by the owner; an edit takes it back");
  await b.getByRole("button", { name: "Back" }).click();
  await composer(a).pressSequentially("@every");
  await composer(a).evaluate((el) => {
    el.dispatchEvent(new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true }));
    document.execCommand("insertText", false, "read"); // before the next frame
  });
  await composer(a).pressSequentially(" this");
  assert.equal(await composer(a).inputValue(), "@everybody read this");
  await composer(a).press("Enter");
  await row(b, "Team").getByTestId("mention").waitFor();
  await message(a, "read this").click({ button: "right" });
  await a.getByRole("menuitem", { name: "Edit" }).click();
  await a.getByTestId("editor").fill("read this, if you like");
  await a.getByTestId("editor").press("Enter");
  await row(b, "Team").getByTestId("mention").waitFor({ state: "hidden" });
  await row(b, "Team").getByText("if you like").waitFor();
  await log(a).waitFor();
}
