// An organization: a CSV is checked and applied, the tree has a colleague, and the rule decides who writes to whom.
import assert from "node:assert/strict";
import { call, dialog } from "../harness.mjs";

export default async function organizations(w) {
  const server = await w.ownServer();
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob", { locale: "zh-CN" });
  const { page: a } = alice;
  await w.befriend(alice, bob); // otherwise only a server makes Bob a member
  await call(server.url, "chat.v1.OrganizationService/CreateOrganization", { name: "Acme", owner: alice.id }, server.apiKey(), alice.id);

  w.step("a wrong line is shown, and nothing is applied");
  await a.getByTestId("tab-people").click();
  await a.reload();
  await a.getByRole("link", { name: "Acme" }).click();
  const csv = (text) => a.getByLabel("Import members (CSV)").setInputFiles({ name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  await csv("user,departments\nnobody,Sales\n");
  await a.getByText("Line 2:").waitFor();
  assert.equal(await a.getByRole("button", { name: "Apply" }).count(), 0);

  w.step("a file is checked, and applied");
  await csv(`\uFEFFuser,title,departments\r\n${bob.id},"Sales, North",Sales/North\r\n`);
  await a.getByRole("button", { name: "Apply" }).click();
  await a.getByText("Imported").waitFor();
  await a.getByRole("button", { name: /^Sales/ }).click();
  await a.getByRole("button", { name: /^North/ }).click();
  await a.getByTestId("member").filter({ hasText: "Sales, North" }).waitFor();
  await w.shot(a, "91-organization");

  w.step("the member sees the address book, and writes to a colleague");
  const { page: b } = bob;
  await b.getByTestId("tab-people").click();
  await b.reload();
  await b.getByRole("link", { name: "Acme" }).click();
  await b.getByRole("searchbox", { name: "查找成员" }).fill("ali");
  await b.getByTestId("member").getByRole("button").click();
  await b.waitForURL(/\/c\//);

  w.step("somebody is invited, and declines; then is invited again, and accepts");
  const carol = await w.person("carol", "Carol", { locale: "zh-CN" });
  const { page: c } = carol;
  await a.reload();
  const invite = async () => {
    await a.getByRole("button", { name: "Invite members" }).click();
    await a.getByRole("searchbox", { name: "Find people by name or handle" }).nth(1).fill("carol"); // she is no friend
    await a.getByRole("checkbox", { name: "Carol" }).check();
    await a.getByRole("searchbox", { name: "Find people by name or handle" }).nth(1).fill(""); // whoever is picked stays in view
    assert.equal(await a.getByRole("checkbox", { name: "Carol" }).isChecked(), true);
    await a.getByRole("button", { name: "Invite", exact: true }).click();
    await a.getByTestId("invited").filter({ hasText: "Carol" }).waitFor();
  };
  await invite();
  const invitation = c.getByTestId("organization-invitation").filter({ hasText: "Acme" });
  await invitation.getByText("Alice邀请你加入该组织").waitFor();
  await invitation.getByRole("button", { name: "拒绝加入组织Acme的邀请" }).click();
  await invitation.waitFor({ state: "detached" });
  await a.reload();
  await a.getByText("2 members").waitFor();
  assert.equal(await a.getByTestId("invited").count(), 0);
  await invite();
  await a.getByRole("button", { name: "Take back the invitation of Carol" }).click();
  await a.getByTestId("invited").waitFor({ state: "detached" });
  await invitation.waitFor({ state: "detached" });
  await invite();
  await w.shot(a, "91-organization-invitations");
  await invitation.getByRole("button", { name: "接受加入组织Acme的邀请" }).click();
  await c.waitForURL(/\/org\//);
  await c.getByText("3 名成员").waitFor();

  w.step("the owner passes on the organization");
  await a.reload();
  await a.getByText("3 members").waitFor();
  await a.getByRole("searchbox", { name: "Find a member" }).fill("carol");
  await a.getByTestId("member").getByRole("button", { name: /^Options/ }).click();
  await a.getByRole("menuitem", { name: "Make owner" }).click();
  await dialog(a).getByRole("button", { name: "Make owner" }).click();
  await a.getByTestId("member").getByText("Owner").waitFor();
  await a.getByTestId("member").getByRole("button", { name: /^Options/ }).waitFor({ state: "detached" }); // only the owner passes it on

  w.step("a member without a department is in the list of all, and leaves");
  await c.reload();
  await c.getByRole("button", { name: "全部成员" }).click();
  await c.getByTestId("member").filter({ hasText: "Carol" }).waitFor();
  assert.equal(await c.getByTestId("member").count(), 3);
  assert.equal(await c.getByRole("button", { name: "退出组织" }).count(), 0); // she owns it now
  await b.goto(c.url());
  await b.getByRole("button", { name: "退出组织" }).click();
  await w.shot(b, "91-organization-leave");
  await dialog(b).getByRole("button", { name: "退出组织" }).click();
  await b.waitForURL(/\/people$/);
  await c.reload();
  await c.getByText("2 名成员").waitFor();
}
