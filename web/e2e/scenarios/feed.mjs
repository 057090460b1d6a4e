// Posts: people follow each other, write for some or all, read on and on, edit, repost and delete.
import assert from "node:assert/strict";
import { call, choose, confirm, dialog, phone, picture } from "../harness.mjs";

const posts = (page) => page.locator('section.feed [data-testid="post"]');
const post = (page, text) => posts(page).filter({ hasText: text }).first();
const form = (page) => page.getByTestId("post-form");
const fresh = (page) => page.locator("section.feed").getByTestId("new-posts");

/** Reads the newest posts now, as is done twice a minute: what makes a page look again when somebody returns to it. */
const look = (page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

async function publish(page, { title = "", text, audience, people = [], search = "Find people by name or handle" }) {
  await page.getByRole("button", { name: "New post" }).click();
  if (title) await form(page).getByLabel("Title").fill(title);
  await form(page).getByLabel("Text").fill(text);
  if (audience) await form(page).getByLabel("Who may see it").selectOption(audience);
  for (const name of people) {
    await form(page).getByRole("searchbox", { name: search }).fill(name);
    await form(page).getByRole("checkbox", { name }).check();
  }
  await form(page).getByRole("button", { name: "Publish" }).click();
  await form(page).waitFor({ state: "detached" });
}

export default async function feed(w) {
  const server = await w.ownServer("--set", "feed.posts_per_day=60");
  const ana = await w.person("ana", "Ana");
  const bob = await w.person("bob", "Bob");
  const carol = await w.person("carol", "卡萝", { locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  let { page: a } = ana;
  const { page: b } = bob;
  const { page: c } = carol;

  w.step("an empty feed says what to do");
  await a.getByTestId("tab-feed").click();
  await a.getByText("No posts yet. Follow people").waitFor();
  await w.shot(a, "95-feed-empty");

  w.step("a draft survives the page, and is published once");
  await a.getByRole("button", { name: "New post" }).click();
  await form(a).getByLabel("Title").fill("By the lake");
  await form(a).getByLabel("Text").fill("Two hours on foot from the station. https://example.com/map");
  const image = await picture(a);
  await a.getByTestId("post-images-input").setInputFiles([1, 2, 3, 4].map((n) => ({ name: `lake-${n}.png`, mimeType: "image/png", buffer: image })));
  await form(a).getByText("4 of 18").waitFor();
  await form(a).getByRole("button", { name: "Remove lake-4.png" }).click();
  await form(a).locator("img").nth(2).waitFor();
  await w.shot(a, "95-feed-compose");
  await a.reload();
  await a.getByRole("button", { name: "New post" }).click();
  assert.equal(await form(a).getByLabel("Title").inputValue(), "By the lake");
  await form(a).getByText("3 of 18").waitFor();
  await form(a).getByLabel("Text").press("Control+Enter");
  await form(a).waitFor({ state: "detached" });
  await post(a, "By the lake").getByRole("button", { name: "Open picture lake-1.png" }).waitFor();
  assert.equal(await posts(a).count(), 1);
  await w.shot(a, "95-feed-own");

  w.step("following brings somebody's posts at once");
  await b.goto(`${w.url}/feed/u/${ana.handle}`);
  await b.getByRole("button", { name: "Follow", exact: true }).click();
  await post(b, "By the lake").waitFor();
  await b.getByTestId("feed-profile").getByText("1 follower").waitFor();
  await w.shot(b, "95-feed-profile");
  await post(b, "By the lake").getByRole("button", { name: "Open picture lake-1.png" }).click();
  await dialog(b).getByText("1 of 3").waitFor();
  await b.keyboard.press("ArrowRight");
  await dialog(b).getByText("2 of 3").waitFor();
  await b.keyboard.press("Escape");

  w.step("who reads on comes to the end; new posts wait, and move nothing");
  for (let n = 1; n <= 45; n++) await publishByCall(ana, `Post ${n}`);
  await b.reload();
  await post(b, "Post 45").waitFor();
  await posts(b).first().focus();
  await b.keyboard.press("ArrowDown");
  await b.keyboard.press("Enter");
  await b.locator(".post-page").getByText("Post 44").waitFor();
  await b.goBack();
  await posts(b).first().focus();
  await b.keyboard.press("End");
  await b.keyboard.press("End");
  await b.keyboard.press("End");
  await b.getByText("You have seen all posts.").first().scrollIntoViewIfNeeded();
  await post(b, "By the lake").waitFor();
  const list = b.locator("section.feed .timeline-list");
  const before = await list.evaluate((e) => e.scrollTop);
  for (const n of [46, 47, 48]) await publishByCall(ana, `Post ${n}`);
  await look(b);
  await fresh(b).getByText("3 new posts").waitFor();
  assert.equal(await list.evaluate((e) => e.scrollTop), before);
  await w.shot(b, "95-feed-new");
  await fresh(b).click();
  await post(b, "Post 48").waitFor();
  await b.waitForFunction(() => document.querySelector("section.feed .timeline-list").scrollTop === 0);
  assert.match(await posts(b).first().innerText(), /Post 48/);
  assert.equal(await fresh(b).count(), 0);
  const all = await everything(b);
  assert.deepEqual(all.map((t) => /Post (\d+)|By the lake/.exec(t)?.[1] ?? "0"), Array.from({ length: 49 }, (_, i) => String(48 - i)));

  w.step("on a profile, the button for new posts hides nobody's picture");
  await b.goto(`${w.url}/feed/u/${ana.handle}`);
  const profile = b.locator("main");
  await profile.getByTestId("post").filter({ hasText: "Post 48" }).waitFor();
  await publishByCall(ana, "Post 49");
  await look(b);
  await profile.getByTestId("new-posts").waitFor();
  const [button, avatar] = await Promise.all([profile.getByTestId("new-posts").boundingBox(), b.getByTestId("feed-profile").locator(".avatar").boundingBox()]);
  assert.ok(button.y > avatar.y + avatar.height || button.y + button.height < avatar.y, JSON.stringify({ button, avatar }));
  await w.shot(b, "95-feed-profile-new");
  await profile.getByTestId("new-posts").click();
  await profile.getByTestId("post").filter({ hasText: "Post 49" }).waitFor();
  await b.goto(`${w.url}/feed`);

  w.step("an edit shows, with its versions to the author");
  await look(a);
  await fresh(a).getByText("49 new posts").click();
  await choose(a, post(a, "Post 48"), "Edit post");
  await form(a).getByLabel("Text").fill("Post 48, and a word more");
  await form(a).getByRole("button", { name: "Save" }).click();
  await post(a, "a word more").getByRole("button", { name: "edited" }).click();
  await dialog(a).getByText("Version 1").waitFor();
  assert.equal(await dialog(a).locator("li").count(), 2);
  await w.shot(a, "95-feed-versions");
  await a.keyboard.press("Escape");
  await look(b);
  await post(b, "a word more").getByText("edited").waitFor();

  w.step("a repost shows the post, until that is deleted");
  await post(b, "a word more").getByRole("button", { name: "Repost" }).click();
  await form(b).getByLabel("Text").fill("Worth reading");
  await form(b).getByRole("button", { name: "Publish" }).click();
  await post(b, "Worth reading").getByTestId("reposted").getByText("a word more").waitFor();
  await w.shot(b, "95-feed-repost");
  await posts(a).filter({ hasText: "a word more" }).getByRole("link", { name: "Ana" }).first().waitFor();
  await choose(a, post(a, "a word more"), "Delete post");
  await confirm(a, "Delete post");
  await posts(a).filter({ hasText: "a word more" }).waitFor({ state: "detached" });
  await look(b);
  await post(b, "Worth reading").getByText("is not available").waitFor();
  await posts(b).filter({ hasText: "a word more" }).waitFor({ state: "detached" }); // its place stays only where a check finds it before the push

  w.step("friends, some, all but some: the others see nothing");
  await w.befriend(ana, carol);
  await w.call("account.v1.GraphService/Follow", { user: ana.id }, carol.token);
  await publish(a, { text: "For friends only", audience: "Friends" });
  await publish(a, { text: "For Bob only", audience: "Selected people", people: ["Bob"] });
  await post(a, "For Bob only").getByText("Selected people").waitFor();
  await publish(a, { text: "Not for Bob", audience: "Everyone except some", people: ["Bob"] });
  await w.shot(a, "95-feed-audiences");
  await look(b);
  await fresh(b).getByText("1 new post").click();
  await post(b, "For Bob only").waitFor();
  assert.equal(await posts(b).filter({ hasText: /For friends|Not for Bob/ }).count(), 0);
  await c.getByTestId("tab-feed").click();
  await post(c, "Not for Bob").waitFor();
  await post(c, "For friends only").waitFor();
  assert.equal(await posts(c).filter({ hasText: /For Bob/ }).count(), 0);
  await w.shot(c, "95-feed-phone-dark");

  w.step("on a phone: a post, a profile and the dialog have the screen");
  await post(c, "Not for Bob").getByText("Not for Bob").click();
  await c.locator(".post-page").getByText("Not for Bob").waitFor();
  await w.shot(c, "95-feed-phone-post");
  await c.getByRole("button", { name: "返回" }).click();
  await post(c, "Not for Bob").getByRole("link", { name: "Ana" }).click();
  await c.getByTestId("feed-profile").getByText("2 位关注者").waitFor();
  await w.shot(c, "95-feed-phone-profile");
  await c.getByRole("button", { name: "返回" }).click();
  await c.getByRole("button", { name: "发布动态" }).click();
  await form(c).getByLabel("正文").fill("山上下雪了");
  await w.shot(c, "95-feed-phone-compose");
  await form(c).getByRole("button", { name: "发布", exact: true }).click();
  await post(c, "山上下雪了").waitFor();

  w.step("a muted author's posts are gone, and come back; those of somebody who is not followed go");
  await post(c, "Not for Bob").getByRole("button", { name: "选项" }).click();
  await c.getByRole("menuitem", { name: "不看Ana的动态" }).click();
  await posts(c).filter({ hasText: "Not for Bob" }).waitFor({ state: "detached" });
  await c.goto(`${w.url}/feed/u/${ana.handle}`);
  await c.getByRole("button", { name: "恢复看动态" }).click();
  await c.getByRole("button", { name: "返回" }).click();
  await post(c, "Not for Bob").waitFor();
  await b.goto(`${w.url}/feed/u/${ana.handle}`);
  await b.getByRole("button", { name: "Unfollow", exact: true }).click();
  await posts(b).filter({ hasText: "Post 47" }).waitFor({ state: "detached" });
  await post(b, "Worth reading").waitFor();
  await b.locator("main").getByTestId("post").filter({ hasText: "Post 47" }).waitFor(); // on the profile they stay

  w.step("a post has a cover and goods, which lead to their shop");
  await a.getByRole("button", { name: "New post" }).click();
  await form(a).getByLabel("Title").fill("Lamps of this week");
  await a.getByTestId("cover-input").setInputFiles({ name: "cover.png", mimeType: "image/png", buffer: image });
  await form(a).getByRole("button", { name: "Remove cover.png" }).waitFor();
  await form(a).getByRole("button", { name: "Add goods" }).click();
  const goods = form(a).getByTestId("goods-fields");
  await goods.getByLabel("Name").fill("Desk lamp, brass");
  await goods.getByLabel("Price").fill("49.9");
  await goods.getByLabel("Currency").selectOption("EUR");
  assert.equal(await form(a).getByRole("button", { name: "Publish" }).isDisabled(), true); // without a link
  await goods.getByLabel("Link to the shop").fill("https://shop.example.com/lamp");
  await a.getByTestId("goods-picture-input").setInputFiles({ name: "lamp.png", mimeType: "image/png", buffer: image });
  await goods.getByRole("button", { name: "Remove lamp.png" }).waitFor();
  await w.shot(a, "95-feed-goods-compose");
  await a.close();
  a = await w.window(ana.page.context()); // a closed tab loses nothing
  await a.getByTestId("tab-feed").click();
  await a.getByRole("button", { name: "New post" }).click();
  await form(a).getByRole("button", { name: "Remove cover.png" }).waitFor();
  assert.equal(await form(a).getByTestId("goods-fields").getByLabel("Price").inputValue(), "49.9");
  await form(a).getByRole("button", { name: "Publish" }).click();
  await form(a).waitFor({ state: "detached" });
  await post(a, "Lamps of this week").getByRole("button", { name: "Open the cover" }).waitFor();
  const tile = post(a, "Lamps of this week").getByTestId("goods");
  await tile.getByText("€49.90").waitFor();
  assert.equal(await tile.getAttribute("href"), "https://shop.example.com/lamp");
  await w.shot(a, "95-feed-goods");

  w.step("who has published too much is told when it is possible again");
  for (let n = 1; n <= 60; n++) await publishByCall(carol, `动态 ${n}`).catch(() => {});
  await c.getByRole("button", { name: "发布动态" }).click();
  await form(c).getByLabel("正文").fill("再来一条");
  await form(c).getByRole("button", { name: "发布", exact: true }).click();
  await form(c).getByText(/之后可以再发布/).waitFor();
  await w.shot(c, "95-feed-quota");
  assert.equal(await form(c).getByLabel("正文").inputValue(), "再来一条");

  async function publishByCall(user, text) {
    await call(server.url, "feed.v1.FeedService/Publish", { clientPostId: crypto.randomUUID(), content: { text } }, user.token);
  }
}

/** The texts of all posts of the home timeline, as one who scrolls through it meets them. */
async function everything(page) {
  return page.evaluate(async () => {
    const list = document.querySelector("section.feed .timeline-list");
    const found = new Map();
    const collect = () => list.querySelectorAll('[data-testid="post"]').forEach((e) => found.set(e.dataset.id, e.innerText));
    for (let rest = 0; rest < 30; ) {
      collect();
      const at = list.scrollTop;
      list.scrollBy(0, 300);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      rest = list.scrollTop === at ? rest + 1 : 0;
    }
    collect();
    list.scrollTo(0, 0);
    return [...found].sort(([x], [y]) => (BigInt(x) < BigInt(y) ? 1 : -1)).map(([, text]) => text);
  });
}
