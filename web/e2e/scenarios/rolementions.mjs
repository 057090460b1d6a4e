// Mentions of roles: the admins of a group, or everybody, in both languages. Who has the role sees it in the list, and others do not.
import assert from "node:assert/strict";
import { message, phone, row } from "../harness.mjs";

const composer = (page) => page.getByTestId("composer");
const names = (page) => page.getByTestId("mentions").getByRole("option");

export default async function roleMentions(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob 鲍勃", { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true, colorScheme: "dark" });
  const carol = await w.person("carol", "Carol");
  await w.befriend(alice, bob);
  await w.befriend(alice, carol);
  const { id } = await w.call("chat.v1.ChatService/CreateGroup", { title: "Rota", members: [bob.id, carol.id] }, alice.token);
  await w.call("chat.v1.ChatService/SetRole", { conversation: id, user: bob.id, role: "ROLE_ADMIN" }, alice.token);
  const [a, b, c] = [alice.page, bob.page, carol.page];

  w.step("a member mentions the admins: the name is offered beside those of people, and kept in the text");
  await row(c, "Rota").click();
  await composer(c).pressSequentially("Who opens the door, @ad");
  await names(c).filter({ hasText: "admins" }).waitFor();
  assert.equal(await names(c).count(), 1);
  await w.shot(c, "98-mention-role");
  await composer(c).press("Enter");
  assert.equal(await composer(c).inputValue(), "Who opens the door, @admins ");
  await w.shot(c, "98-mention-role-chosen");
  await composer(c).press("Enter");
  await message(c, "Who opens").locator(".mention").filter({ hasText: "@admins" }).waitFor();

  w.step("the owner and the admin see that they are mentioned, in their languages");
  await row(a, "Rota").getByTestId("mention").waitFor();
  assert.equal(await row(a, "Rota").getByTestId("mention").getAttribute("aria-label"), "Mentions you");
  await row(b, "Rota").getByTestId("mention").waitFor();
  assert.equal(await row(b, "Rota").getByTestId("mention").getAttribute("aria-label"), "提到了你");
  await w.shot(b, "98-mention-role-list-zh");
  await row(b, "Rota").click();
  await message(b, "Who opens").getByRole("img", { name: "提到了你" }).waitFor();
  await w.shot(b, "98-mention-role-zh");

  w.step("an admin mentions everybody in Chinese; a member sees it, and is not offered that");
  await composer(c).pressSequentially("@every");
  await names(c).first().waitFor({ state: "hidden" });
  await composer(c).fill("");
  await c.goto(new URL("/", c.url()).href);
  await row(c, "Rota").waitFor();
  await composer(b).pressSequentially("@所有");
  await names(b).filter({ hasText: "所有人" }).click();
  assert.equal(await composer(b).inputValue(), "@所有人 ");
  await composer(b).pressSequentially("六点开门");
  await w.shot(b, "98-mention-everybody-zh");
  await b.getByRole("button", { name: "发送" }).click();
  await row(c, "Rota").getByTestId("mention").waitFor();
  assert.equal(await row(c, "Rota").getByTestId("mention").getAttribute("aria-label"), "Mentions you");
  await row(c, "Rota").click();
  await message(c, "六点开门").getByRole("img", { name: "Mentions you" }).waitFor();
  await row(c, "Rota").getByTestId("mention").waitFor({ state: "hidden" });

  w.step("who has the role no more is not mentioned by it");
  await b.getByRole("button", { name: "返回" }).click();
  await w.call("chat.v1.ChatService/SetRole", { conversation: id, user: bob.id, role: "ROLE_MEMBER" }, alice.token);
  await composer(c).pressSequentially("@ad");
  await composer(c).press("Enter");
  await composer(c).pressSequentially("thanks");
  await composer(c).press("Enter");
  await row(b, "Rota").getByText("thanks").waitFor();
  await row(a, "Rota").getByTestId("mention").waitFor();
  assert.equal(await row(b, "Rota").getByTestId("mention").count(), 0);
}
