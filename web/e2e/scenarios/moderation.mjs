// Moderation: Ann reports a message and a post of Bob. A moderator reads them in the console with their context, hides the post, and bans Bob, whose window ends. Bob cannot sign in,
// and appeals; the moderator overturns the ban. A second moderator works on a phone, in Chinese.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { binary, call, message, phone, row } from "../harness.mjs";

async function report(page, reason, note) {
  await page.getByRole("menuitem", { name: "Report" }).click();
  const dialog = page.getByRole("dialog", { name: "Report to the moderators" });
  await dialog.getByLabel("What is wrong with it?").selectOption(reason);
  await dialog.getByLabel("Note").fill(note);
  return dialog;
}

export default async function moderation(w) {
  const server = await w.ownServer();
  const keyOf = (name) => execFileSync(binary, ["admin", "key", "create", "--data", server.dir, "--name", name, "--role", "moderator"], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  const moderator = async (name, options) => {
    const page = await w.page(options);
    await page.goto(`http://127.0.0.1:${server.port + 1}/console/`);
    await page.locator("input[name=key]").fill(keyOf(name));
    await page.keyboard.press("Enter");
    return page;
  };
  const ann = await w.person("ann", "Ann");
  const bob = await w.person("bob", "Bob");
  const { page: a } = ann;
  const { page: b } = bob;
  const conversation = await w.direct(ann, bob);
  await w.send(bob, conversation, ["hello Ann", "buy this now"]);
  const post = await call(server.url, "feed.v1.FeedService/Publish", { clientPostId: "1", content: { text: "cheap watches" } }, bob.token);
  await call(server.url, "account.v1.GraphService/Follow", { user: bob.id }, ann.token);

  w.step("Ann reports a message and a post");
  await row(a, "Bob").click();
  await message(a, "buy this now").click({ button: "right" });
  let dialog = await report(a, "Spam or advertising", "again and again");
  await w.shot(a, "moderation-report");
  await dialog.getByRole("button", { name: "Report", exact: true }).click();
  await dialog.getByText("The moderators will look at it").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await a.goto(`${server.url}/feed/${post.id}`);
  await a.getByRole("main", { name: "Post" }).getByRole("button", { name: "Options: Post by Bob" }).click();
  dialog = await report(a, "Fraud or scam", "");
  await dialog.getByRole("button", { name: "Report", exact: true }).click();
  await dialog.getByText("The moderators will look at it").waitFor();

  w.step("a moderator sees reports, and nothing else of the console");
  const m = await moderator("mia");
  await m.getByTestId("case").getByText(`Message of \u2068Bob\u2069 (@${bob.handle}, ${bob.id})`).waitFor();
  await m.getByTestId("case").nth(1).waitFor();
  assert.equal(await m.getByRole("link", { name: "Nodes" }).count(), 0);
  await w.shot(m, "moderation-queue");

  w.step("the post is hidden");
  await m.getByTestId("case").filter({ hasText: "cheap watches" }).click();
  await m.getByLabel("Decision").selectOption("Hide");
  await m.getByRole("button", { name: "Decide", exact: true }).click();
  await m.getByTestId("case").filter({ hasText: "cheap watches" }).waitFor({ state: "detached" });
  await assert.rejects(call(server.url, "feed.v1.FeedService/GetPost", { post: post.id }, ann.token), /no_post/);

  w.step("the sender of the message is banned, with the context read");
  await m.getByTestId("case").click();
  await m.getByTestId("content").getByText("hello Ann").waitFor();
  await m.getByText("again and again").waitFor();
  await m.getByText(`Reported by \u2068Ann\u2069 (@${ann.handle}, ${ann.id})`).waitFor();
  await m.getByLabel("Decision").selectOption("Ban");
  await m.getByLabel("Explanation").fill("no ads here");
  await m.getByLabel("Length").selectOption("7 days");
  await w.shot(m, "moderation-case");
  await m.getByRole("button", { name: "Decide", exact: true }).click();
  await m.getByText("Nothing is reported.").waitFor();

  w.step("Bob's window ends, he cannot sign in, and appeals");
  await b.locator("input[name=password]").waitFor();
  await b.locator("input[name=handle]").fill(bob.handle);
  await b.locator("input[name=password]").fill("a good password");
  await b.keyboard.press("Enter");
  await b.getByText("no ads here").waitFor();
  await b.getByLabel("Why should the ban be lifted?").fill("it was a joke");
  await w.shot(b, "moderation-banned");
  await b.getByRole("button", { name: "Appeal" }).click();
  await b.getByText("Your appeal was sent").waitFor();

  w.step("another moderator, on a phone and in Chinese, overturns the ban");
  const max = await moderator("max", { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true, colorScheme: "dark" });
  await max.getByRole("button", { name: "封禁", exact: true }).click();
  const bobInChinese = `\u2068Bob\u2069（@${bob.handle}，${bob.id}）`;
  await max.getByTestId("ban").getByText(`用户 ${bobInChinese}`).waitFor();
  await w.shot(max, "moderation-phone-bans");
  await max.getByRole("button", { name: "已处理举报", exact: true }).click();
  await max.getByTestId("case").getByText(`${bobInChinese} 的消息`, { exact: true }).waitFor();
  await max.getByRole("button", { name: "申诉", exact: true }).click();
  await max.getByTestId("appeal").getByText("it was a joke").waitFor();
  await max.getByTestId("appeal").getByText(`${bobInChinese} 的申诉`, { exact: true }).waitFor();
  await w.shot(max, "moderation-phone-appeals");
  await max.getByRole("button", { name: "推翻" }).click();
  await max.getByText("没有申诉。").waitFor();
  await b.getByRole("button", { name: "Back to sign in" }).click();
  await b.locator("input[name=handle]").fill(bob.handle);
  await b.locator("input[name=password]").fill("a good password");
  await b.keyboard.press("Enter");
  await row(b, "Ann").waitFor();

  w.step("a moderator warns Bob, whose window shows it until he has read it");
  await call(server.url, "moderation.v1.ModerationService/ReportContent", { subject: { kind: "REPORTED_KIND_USER", id: bob.id }, reason: "REPORT_REASON_HARASSMENT" }, ann.token);
  await m.reload();
  await m.getByTestId("case").click();
  await m.getByLabel("Decision").selectOption("Warn");
  await m.getByLabel("Explanation").fill("be kind to Ann");
  await m.getByRole("button", { name: "Decide", exact: true }).click();
  const warning = b.getByTestId("warning");
  await warning.getByText("be kind to Ann").waitFor();
  await w.shot(b, "moderation-warning");
  await b.reload();
  await warning.getByRole("button", { name: "I have read this" }).click();
  await warning.waitFor({ state: "detached" });
  await b.reload();
  await row(b, "Ann").waitFor();
  assert.equal(await warning.count(), 0);

  w.step("Bob finds the warning in the settings, and appeals");
  await b.goto(`${server.url}/settings/decisions`);
  const decision = b.getByTestId("decision").filter({ hasText: "be kind to Ann" });
  await decision.getByRole("button", { name: "Appeal" }).click();
  await decision.getByLabel("Why is the decision wrong?").fill("we were playing");
  await w.shot(b, "moderation-decisions");
  await decision.getByRole("button", { name: "Appeal" }).click();
  await decision.getByText("You have appealed.").waitFor();
  await max.reload();
  await max.getByRole("button", { name: "申诉", exact: true }).click();
  await max.getByTestId("appeal").getByText("we were playing").waitFor();
}
