// Comments: people write below a post, answer each other, edit and delete; posts and profiles are shared into chats.
import assert from "node:assert/strict";
import { call, choose, confirm, dialog, message, phone, picture, row } from "../harness.mjs";

const page = (p) => p.locator("main.chat");
const comments = (p) => page(p).getByTestId("comment");
const comment = (p, text) => comments(p).filter({ hasText: text }).last();
const top = (p, text) => page(p).locator("li[data-index] > div > article").filter({ hasText: text });
const field = (p) => p.getByTestId("comment-form").locator("textarea");
const ids = (p) => p.locator("main li[data-index] > div > article").evaluateAll((list) => list.map((e) => e.dataset.id));

async function write(p, text) {
  await field(p).fill(text);
  await field(p).press("Enter");
  await comment(p, text).waitFor();
  await page(p).getByTestId("comment-outgoing").waitFor({ state: "detached" });
}

async function reply(p, to, text) {
  await comment(p, to).getByRole("button", { name: /^(Reply|回复)$/ }).first().click();
  await write(p, text);
}

const menu = (p, text) => comment(p, text).locator("footer").first();

export default async function scenario(w) {
  const ana = await w.person("ana", "Ana");
  const bob = await w.person("bob", "Bob");
  const carol = await w.person("carol", "卡萝", { locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  const { page: a } = ana;
  const { page: b } = bob;
  const { page: c } = carol;
  const publish = (content) => w.call("feed.v1.FeedService/Publish", { clientPostId: crypto.randomUUID(), content }, ana.token);
  const comments_ = (user, subject, text) => w.call("comment.v1.CommentService/CreateComment", { clientCommentId: crypto.randomUUID(), subjectKind: "SUBJECT_KIND_POST", subject, content: { text } }, user.token);
  const post = await publish({ title: "Sunday walk", text: "Who comes along to the lake?" });
  const at = `/feed/${post.id}`;

  w.step("a post without comments says so; a comment shows at once");
  await b.goto(w.url + at);
  await b.getByText("Nobody has commented yet.").waitFor();
  await w.shot(b, "96-comments-empty");
  await write(b, "I do! When do we meet?");
  await page(b).getByRole("heading", { name: "1 comment" }).waitFor();
  assert.equal(await field(b).inputValue(), "");

  w.step("answers name whom they answer, in one thread");
  await a.goto(w.url + at);
  await reply(a, "I do!", "At ten, by the station");
  await b.reload();
  await top(b, "I do!").getByRole("button", { name: "Show 1 reply" }).click();
  await reply(b, "At ten", "Perfect");
  await comment(b, "Perfect").getByRole("link", { name: "Ana" }).waitFor();
  await write(b, "May I bring my dog?");
  const image = await picture(b);
  await b.getByTestId("comment-image").setInputFiles({ name: "dog.png", mimeType: "image/png", buffer: image });
  await b.getByRole("button", { name: "Remove dog.png" }).waitFor();
  await field(b).fill("It looks like this");
  await w.shot(b, "96-comments-writing");
  await field(b).press("Enter");
  await comment(b, "It looks like this").getByRole("button", { name: "Open picture dog.png" }).click();
  await dialog(b).locator("img").waitFor();
  await b.keyboard.press("Escape");
  await w.shot(b, "96-comments");

  w.step("what is typed, and what was sent without an answer, survives the page");
  await field(b).fill("Half a thought");
  await b.route("**/CreateComment", (r) => r.abort());
  await b.reload();
  assert.equal(await field(b).inputValue(), "Half a thought");
  await field(b).press("Enter");
  await page(b).getByTestId("comment-outgoing").getByText("Half a thought").waitFor();
  await page(b).getByTestId("comment-outgoing").getByRole("button", { name: "Try again" }).waitFor();
  await w.shot(b, "96-comments-unsent");
  await b.unroute("**/CreateComment");
  await b.reload();
  await comment(b, "Half a thought").waitFor();
  await page(b).getByTestId("comment-outgoing").waitFor({ state: "detached" });
  assert.equal(await comments(b).filter({ hasText: "Half a thought" }).count(), 1);

  w.step("an author edits and deletes; a deleted comment with replies leaves its place");
  await choose(b, menu(b, "May I bring"), "Edit comment");
  await b.getByTestId("edit-comment").locator("textarea").fill("May I bring my old dog?");
  await b.getByTestId("edit-comment").locator("textarea").press("Enter");
  await comment(b, "my old dog").getByText("edited").waitFor();
  await choose(b, top(b, "I do!").locator("footer").first(), "Delete comment");
  await confirm(b, "Delete comment");
  await page(b).getByText("This comment was deleted.").waitFor();
  await choose(b, menu(b, "Half a thought"), "Delete comment");
  await confirm(b, "Delete comment");
  await comments(b).filter({ hasText: "Half a thought" }).waitFor({ state: "detached" });
  await page(b).getByRole("heading", { name: "4 comments" }).waitFor();

  w.step("the author of the post deletes comments of others");
  const rude = await comments_(bob, post.id, "Something rude");
  await a.reload();
  await choose(a, menu(a, "Something rude"), "Delete comment");
  assert.equal(await a.getByRole("menuitem", { name: "Edit comment" }).count(), 0);
  await confirm(a, "Delete comment");
  await comments(a).filter({ hasText: "Something rude" }).waitFor({ state: "detached" });
  await assert.rejects(call(w.url, "comment.v1.CommentService/GetComment", { comment: rude.id }, ana.token), /no_comment/);

  w.step("many comments are read on and on, in either order, each once");
  for (let n = 1; n <= 45; n++) await comments_(bob, post.id, `Comment ${n}`);
  await a.reload();
  await comment(a, "Comment 45").waitFor();
  for (const order of ["newest", "oldest"]) {
    await page(a).getByRole("combobox", { name: "Order of the comments" }).selectOption(order);
    const all = await everything(a);
    const numbers = all.map((t) => /Comment (\d+)/.exec(t)?.[1]).filter(Boolean).map(Number);
    const want = Array.from({ length: 45 }, (_, i) => i + 1);
    assert.deepEqual(numbers, order === "oldest" ? want : want.reverse());
    assert.equal(all.length, 48);
  }
  await a.locator("section.feed").getByTestId("post").first().getByRole("link", { name: "49 comments" }).waitFor();
  await w.shot(a, "96-comments-many");

  w.step("the keyboard leads through the comments");
  await page(a).getByRole("combobox", { name: "Order of the comments" }).selectOption("newest");
  await comment(a, "Comment 45").waitFor();
  await top(a, "Comment 45").focus();
  await a.keyboard.press("ArrowDown");
  await a.waitForFunction(() => document.activeElement?.textContent?.includes("Comment 44"));

  w.step("on a phone, in the dark, in Chinese");
  await c.goto(w.url + at);
  await comment(c, "Comment 45").waitFor();
  await c.getByRole("combobox", { name: "评论排序" }).selectOption("oldest");
  await top(c, "该评论已被删除").getByRole("button", { name: "查看 2 条回复" }).click();
  await comment(c, "Perfect").getByRole("button", { name: "回复" }).click();
  await field(c).fill("我也去");
  await w.shot(c, "96-comments-phone");
  await c.getByRole("button", { name: "发送" }).click();
  await c.getByTestId("comment-outgoing").waitFor({ state: "detached" });
  await comment(c, "我也去").getByRole("link", { name: "Bob" }).waitFor();
  assert.deepEqual((await ids(c)).length > 0, true);

  w.step("a post is shared with a friend without a chat yet, and its card opens in place");
  await w.befriend(ana, bob);
  await page(a).getByTestId("post").getByRole("button", { name: "Share" }).click();
  await w.shot(a, "96-share-dialog");
  await a.getByTestId("pick-chat").filter({ hasText: "Bob" }).click();
  await dialog(a).waitFor({ state: "detached" });
  const chat = await w.direct(ana, bob); // it is there
  await b.goto(`${w.url}/c/${chat}`);
  const card = message(b, "Sunday walk").getByTestId("card");
  await card.waitFor();
  await w.shot(b, "96-share-card");
  const pages = b.context().pages().length;
  await card.getByRole("link", { name: "Sunday walk" }).click();
  await page(b).getByText("Who comes along").waitFor();
  assert.equal(new URL(b.url()).pathname, at);
  assert.equal(b.context().pages().length, pages);
  await b.goBack();

  w.step("a profile is shared; what a reader may not see is not available, and is not on its card");
  await a.goto(`${w.url}/feed/u/${carol.handle}`);
  await a.getByTestId("feed-profile").getByRole("button", { name: "Share" }).click();
  await a.getByTestId("pick-chat").filter({ hasText: "Bob" }).click();
  await dialog(a).waitFor({ state: "detached" });
  await message(b, "卡萝").getByTestId("card").getByRole("link").click();
  await b.getByRole("heading", { name: "卡萝" }).first().waitFor();
  const secret = await publish({ title: "Only for Carol", text: "Not for others", audience: "AUDIENCE_CHOSEN", users: [carol.id] });
  await a.goto(`${w.url}/feed/${secret.id}`);
  await page(a).getByTestId("post").getByRole("button", { name: "Share" }).click();
  await a.getByTestId("pick-chat").filter({ hasText: "Bob" }).click();
  await dialog(a).waitFor({ state: "detached" });
  await b.goto(`${w.url}/c/${chat}`);
  const hidden = message(b, "Post by Ana").getByTestId("card");
  await hidden.getByRole("link").click();
  await page(b).getByText("There is no such post, or it is not for you.").waitFor();
  await w.shot(b, "96-share-not-available");
  assert.equal(await row(b, "Ana").count(), 0); // the feed has the list's place
  assert.doesNotMatch(await page(b).innerText(), /Only for Carol|Not for others/);
}

/** The texts of all top comments, as one who scrolls through them meets them. */
async function everything(p) {
  await p.locator("main li[data-index='0'] article").first().waitFor();
  return p.evaluate(async () => {
    const list = document.querySelector("main .post-page");
    const found = new Map();
    const collect = () => list.querySelectorAll("li[data-index] > div > article").forEach((e) => found.set(Number(e.closest("li[data-index]").dataset.index), e.innerText));
    /** A busy machine may draw a part of the list only when the view has left it. */
    const missed = () => {
      let n = 0;
      while (found.has(n)) n++;
      return n < Math.max(...found.keys());
    };
    list.scrollTo(0, 0);
    for (let rest = 0; rest < 30; ) {
      collect();
      const at = list.scrollTop;
      list.scrollBy(0, missed() ? -300 : 300);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      rest = list.scrollTop === at ? rest + 1 : 0;
    }
    collect();
    return [...found].sort(([x], [y]) => x - y).map(([, text]) => text);
  });
}
