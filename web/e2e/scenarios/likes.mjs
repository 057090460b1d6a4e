// Likes, favourites and views of posts and comments, and the lists that they make.
import assert from "node:assert/strict";
import { choose, confirm, dialog, phone } from "../harness.mjs";

const list = (p) => p.locator("section.feed");
const post = (p, text) => list(p).getByTestId("post").filter({ hasText: text }).first();
const open = (p) => p.locator("main.chat");
const tab = (p, name) => list(p).getByRole("navigation").getByRole("link", { name, exact: true });
const titles = (p) => list(p).getByTestId("post").locator("h3").allInnerTexts();

/** Waits until a list of the left side has these posts, in this order. */
async function shows(p, want) {
  await p.waitForFunction((w) => JSON.stringify([...document.querySelectorAll('section.feed [data-testid="post"] h3')].map((e) => e.innerText)) === w, JSON.stringify(want));
  assert.deepEqual(await titles(p), want);
}

/** Asks until the answer is as it must become. */
async function becomes(ask, want) {
  let got;
  for (let n = 0; n < 300; n++) {
    got = await ask();
    if (got === want) return;
    await new Promise((resolve) => setTimeout(resolve, 200)); // between one question and the next
  }
  assert.equal(got, want);
}

export default async function likes(w) {
  await w.ownServer(); // popular posts are those of all of its users
  const ana = await w.person("ana", "Ana");
  const bob = await w.person("bob", "Bob");
  const carol = await w.person("carol", "卡萝", { locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  const dan = await w.user("dan", "Dan");
  const { page: a } = ana;
  const { page: b } = bob;
  const { page: c } = carol;
  const publish = (title) => w.call("feed.v1.FeedService/Publish", { clientPostId: crypto.randomUUID(), content: { title } }, ana.token);
  const [first, second, third] = [await publish("Bread"), await publish("Cake"), await publish("Tea")];
  for (const u of [bob, carol]) await w.call("account.v1.GraphService/Follow", { user: ana.id }, u.token);
  const like = (user, subject, kind = "LIKE_KIND_POST") => w.call("engagement.v1.EngagementService/Like", { kind, subject }, user.token);

  w.step("a like shows at once, and is taken back where it fails");
  await b.getByTestId("tab-feed").click();
  await post(b, "Cake").waitFor();
  await post(b, "Cake").getByRole("button", { name: "Like", exact: true }).click();
  await post(b, "Cake").getByRole("button", { name: "Like, 1 like", pressed: true }).waitFor();
  await b.route("**/*.EngagementService/Like", (r) => r.fulfill({ status: 404, contentType: "application/json", body: JSON.stringify({ code: "not_found", message: "gone", details: [] }) }));
  await post(b, "Tea").getByRole("button", { name: "Like", exact: true }).click();
  await post(b, "Tea").getByRole("alert").waitFor();
  await post(b, "Tea").getByRole("button", { name: "Like", exact: true, pressed: false }).waitFor();
  await b.unroute("**/*.EngagementService/Like");
  await post(b, "Bread").getByRole("button", { name: "Add to favourites" }).click();
  await post(b, "Bread").getByRole("button", { name: "Add to favourites, 1 favourite", pressed: true }).waitFor();
  await w.shot(b, "97-likes-feed");

  w.step("who likes a post is a list; the card and the post's page say the same");
  await like(dan, second.id);
  await like(carol, second.id);
  await b.goto(`${w.url}/feed/${second.id}`);
  await open(b).getByTestId("likers").getByText("3 likes").waitFor();
  await open(b).getByTestId("likers").click();
  await dialog(b).getByRole("link", { name: "Dan" }).waitFor();
  assert.equal(await dialog(b).getByRole("link").count(), 3);
  await w.shot(b, "97-likers");
  await b.keyboard.press("Escape");
  await open(b).getByTestId("post").getByRole("button", { name: /^Like, 3/ }).click();
  await post(b, "Cake").getByRole("button", { name: "Like, 2 likes", pressed: false }).waitFor();
  await open(b).getByTestId("post").getByRole("button", { name: /^Like, 2/ }).click();
  await post(b, "Cake").getByRole("button", { name: "Like, 3 likes", pressed: true }).waitFor();

  w.step("comments are liked, and sorted by their likes");
  const comment = async (text) => w.call("comment.v1.CommentService/CreateComment", { clientCommentId: crypto.randomUUID(), subjectKind: "SUBJECT_KIND_POST", subject: second.id, content: { text } }, dan.token);
  const good = await comment("With cherries");
  await comment("Second");
  await comment("Third");
  for (const u of [ana, carol]) await like(u, good.id, "LIKE_KIND_COMMENT");
  await b.reload();
  const of = (text) => open(b).getByTestId("comment").filter({ hasText: text });
  await of("Second").getByRole("button", { name: "Like", exact: true }).click();
  await of("Second").getByRole("button", { name: "Like, 1 like", pressed: true }).waitFor();
  const order = async () => {
    await b.reload();
    await open(b).getByRole("combobox", { name: "Order of the comments" }).selectOption("likes");
    await of("Third").waitFor();
    return (await open(b).getByTestId("comment").locator(".post-text").allInnerTexts()).join();
  };
  await becomes(order, "With cherries,Second,Third"); // the order is some seconds old
  await w.shot(b, "97-likes-comments");

  w.step("what one liked, favourited and viewed are lists; what is opened of one stays beside it");
  await b.goto(`${w.url}/feed/liked`);
  await shows(b, ["Cake"]);
  await post(b, "Cake").getByText("Cake").click();
  await open(b).getByText("With cherries").waitFor();
  await shows(b, ["Cake"]);
  await tab(b, "Favourites").click();
  await shows(b, ["Bread"]);
  await post(b, "Bread").getByRole("button", { name: /^Add to favourites/ }).click();
  await post(b, "Bread").getByRole("button", { name: "Add to favourites", exact: true, pressed: false }).waitFor();
  await b.reload();
  await list(b).getByText("You have no favourites yet.").waitFor();
  await tab(b, "History").click();
  await post(b, "Cake").waitFor();
  await w.shot(b, "97-history");
  await list(b).getByRole("button", { name: "Clear history" }).click();
  await confirm(b, "Clear history");
  await list(b).getByText("You haven't viewed any posts yet.").waitFor();

  w.step("popular posts, now, today and this week");
  for (const u of [ana, bob, carol, dan]) await like(u, third.id);
  await a.goto(`${w.url}/feed/hot`);
  // Tea has the most likes, and Cake more comments.
  for (const [name, window, want] of [["Now", "HOT_WINDOW_NOW", "Cake,Tea"], ["Today", "HOT_WINDOW_TODAY", "Tea,Cake"], ["This week", "HOT_WINDOW_WEEK", "Tea,Cake"]]) {
    const hot = async () => ((await w.call("engagement.v1.EngagementService/ListHotPosts", { window }, ana.token)).posts ?? []).slice(0, 2).map((p) => p.post.content.title).join();
    await becomes(hot, want); // the list is some seconds old
    await a.reload();
    await list(a).getByRole("button", { name, exact: true }).click();
    await a.waitForFunction((w) => [...document.querySelectorAll('section.feed [data-testid="post"] h3')].slice(0, 2).map((e) => e.innerText).join() === w, want);
  }
  const places = () => list(a).getByTestId("post-rank").allInnerTexts();
  assert.deepEqual((await places()).map((text) => text.replace(/\s+/g, " ")), ["No. 1 4 likes this week", "No. 2 3 likes this week"]);
  await w.shot(a, "97-hot");

  w.step("posts that are ranked for one say why; less of an author is shown at once, and taken back");
  await tab(b, "For you").click();
  await post(b, "Bread").getByTestId("post-why").getByText("You follow the author").waitFor();
  assert.equal(new URL(b.url()).pathname, "/feed/foryou");
  assert.equal(await list(b).getByTestId("post").count(), 3);
  await w.shot(b, "97-for-you");
  const less = async (item) => {
    await post(b, "Bread").getByRole("button", { name: /^Options/ }).click();
    await w.shot(b, "97-for-you-menu");
    await b.getByRole("menuitem", { name: item, exact: true }).click();
  };
  await less("Show less of Ana");
  await list(b).getByTestId("shown-less").getByText("Posts of Ana are not shown here for 30 days.").waitFor();
  await list(b).getByTestId("post").first().waitFor({ state: "detached" });
  const focused = (text) => b.waitForFunction((t) => document.activeElement?.textContent === t, text);
  await focused("Undo"); // it was on a post, which is gone
  await w.shot(b, "97-for-you-less");
  await list(b).getByRole("button", { name: "Refresh" }).click();
  await list(b).getByText("There is nothing to recommend yet.").waitFor();
  await list(b).getByTestId("shown-less").getByRole("button", { name: "Undo" }).click();
  await post(b, "Bread").waitFor();
  await focused("Shown less");
  await less("Show less of texts");
  await list(b).getByTestId("shown-less").getByText("Here you will see fewer texts.").waitFor();
  assert.equal(await list(b).getByTestId("post").count(), 3);
  await list(b).getByRole("button", { name: "Shown less", exact: true }).click();
  await dialog(b).getByText("texts").waitFor();
  await w.shot(b, "97-shown-less");
  await dialog(b).getByRole("button", { name: "Show again: texts" }).click();
  await dialog(b).getByText("You have not asked to see less of anything.").waitFor();
  await b.keyboard.press("Escape");

  w.step("on a phone, in the dark, in Chinese: back leads to the list");
  await c.goto(`${w.url}/feed/videos`);
  const last = c.getByRole("link", { name: "我的视频" });
  await last.waitFor();
  const { x, width } = await last.boundingBox();
  assert.ok(x >= 0 && x + width <= phone.width, "the open list is not in view");
  await c.goto(`${w.url}/feed/foryou`);
  await post(c, "Bread").getByTestId("post-why").getByText("你关注了作者").waitFor();
  await w.shot(c, "97-for-you-phone");
  await c.goto(`${w.url}/feed/hot`);
  await post(c, "Tea").waitFor();
  await w.shot(c, "97-hot-phone");
  await post(c, "Cake").getByText("Cake").click();
  await open(c).getByText("With cherries").waitFor();
  await w.shot(c, "97-post-phone");
  await c.getByRole("button", { name: "返回" }).click();
  await post(c, "Tea").waitFor();
  assert.equal(new URL(c.url()).pathname, "/feed/hot");

  w.step("a post that its author deletes leaves the list, and so do those of who is blocked");
  const eve = await w.user("eve", "Eve");
  const scones = await w.call("feed.v1.FeedService/Publish", { clientPostId: crypto.randomUUID(), content: { title: "Scones" } }, eve.token);
  for (const u of [ana, carol]) await like(u, scones.id);
  const week = async () => ((await w.call("engagement.v1.EngagementService/ListHotPosts", { window: "HOT_WINDOW_WEEK" }, ana.token)).posts ?? []).map((p) => p.post.content.title).join();
  await becomes(week, "Tea,Cake,Scones");
  await b.goto(`${w.url}/feed/hot`);
  await list(b).getByRole("button", { name: "This week", exact: true }).click();
  await shows(b, ["Tea", "Cake", "Scones"]);
  await w.call("feed.v1.FeedService/DeletePost", { post: third.id }, ana.token);
  await post(b, "Tea").waitFor({ state: "detached" });
  await list(b).getByTestId("post-gone").waitFor();
  await choose(b, post(b, "Scones"), "Block Eve");
  await confirm(b, "Block Eve");
  await b.reload();
  await list(b).getByRole("button", { name: "This week", exact: true }).click();
  await shows(b, ["Cake"]);
  assert.ok(first.id);
}
