// A live room: made, opened by its link, written in by both, liked, muted, and left by who is kicked.
import assert from "node:assert/strict";
import { dialog } from "../harness.mjs";

export default async function rooms(w) {
  const { page: a } = await w.person("alice", "Alice");
  const { page: b } = await w.person("bob", "Bob", { locale: "zh-CN" });
  const said = (page, text) => page.getByTestId("room-message").filter({ hasText: text });

  w.step("made, and entered by its link");
  await a.getByRole("button", { name: "New group" }).click();
  await dialog(a).getByRole("radio", { name: "Live room" }).check();
  await dialog(a).getByLabel("Room name").fill("Launch party");
  await dialog(a).getByRole("button", { name: "Create" }).click();
  await a.getByRole("main", { name: "Launch party" }).waitFor();
  await a.getByLabel("Say something").fill("before you came");
  await a.getByRole("button", { name: "Send" }).click();
  await said(a, "before you came").waitFor();
  await b.goto(a.url());
  await b.getByRole("main", { name: "Launch party" }).waitFor();
  await said(b, "before you came").waitFor();

  w.step("both write, and like");
  await b.getByLabel("说点什么").fill("hello all");
  await b.getByRole("button", { name: "发送" }).click();
  await said(a, "hello all").waitFor();
  for (let i = 0; i < 3; i++) await b.getByRole("button", { name: "点赞" }).click();
  await a.getByTestId("likes").filter({ hasText: "3" }).waitFor();
  await w.shot(a, "90-room");
  assert.equal(await said(b, "hello all").count(), 1);

  w.step("announced");
  await a.getByRole("button", { name: "Launch party" }).click();
  await a.getByRole("menuitem", { name: "Announcement" }).click();
  await dialog(a).getByLabel("Announcement").fill("starts at nine");
  await dialog(a).getByRole("button", { name: "Save" }).click();
  await b.getByText("starts at nine").waitFor();

  w.step("kicked, and kept out");
  await said(a, "hello all").getByRole("button").click();
  await a.getByRole("menuitem", { name: "Remove for 10 minutes" }).click();
  await b.getByRole("alert").filter({ hasText: "管理员" }).waitFor();
  await b.reload();
  await b.getByRole("alert").filter({ hasText: "管理员" }).waitFor();
  assert.equal(await b.getByTestId("room-message").count(), 0);
}
