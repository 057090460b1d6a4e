// Searching everything that one may read: while typing, with filters, by the keyboard alone, in Chinese on a phone, and never what one may not read. It needs ffmpeg.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inView, message, phone, picture, row } from "../harness.mjs";

const input = (page) => page.getByTestId("search-input");
const options = (page) => page.getByTestId("search-option");
const option = (page, text) => options(page).filter({ hasText: text });
const status = (page, text) => page.getByTestId("search-status").getByText(text).waitFor({ state: "attached" });

export default async function search(w) {
  const alice = await w.user("alice", "Alice");
  const bob = await w.person("bob", "Bob");
  const { page } = bob;
  await w.befriend(alice, bob);
  const chat = await w.direct(alice, bob);
  const hike = (await w.call("chat.v1.ChatService/CreateGroup", { title: "Hiking 远足", members: [bob.id] }, alice.token)).id;
  await w.send(alice, chat, ["系统提示：已添加为好友", "Shall we hike around the lake on Sunday?", "Tickets: https://tickets.example.com/boat", ...Array.from({ length: 30 }, (_, i) => `small talk ${i}`)]);
  await w.send(alice, hike, [...Array.from({ length: 8 }, (_, i) => `Lake stage ${i + 1}: rest at the mill`), "the canary sings"]);
  await w.call("feed.v1.FeedService/Publish", { clientPostId: crypto.randomUUID(), content: { title: "A day at the lake", text: "Cold water, warm bread." } }, alice.token);
  await row(page, "Hiking").waitFor();
  await byKeyboard(w, page, chat);
  await filters(w, page);
  await filesAndVideos(w, page, alice, chat);
  await paging(w, page);
  await notReadable(w, page, alice, bob, hike);
  await states(w, page);
  await onPhone(w, bob);
}

/** Types anew until something is found: what is new is found a moment later. */
async function find(page, text, wanted) {
  for (;;) {
    await input(page).fill("");
    await input(page).fill(text);
    await page.waitForFunction(() => document.querySelector("[data-testid=search-status]")?.textContent && !document.querySelector("[data-testid=search-results][aria-busy=true]"));
    await page.getByTestId("search-status").getByText(/result|条结果|Nothing|没有/).waitFor({ state: "attached" });
    if ((await wanted.count()) > 0) return;
  }
}

async function byKeyboard(w, page, chat) {
  const keys = page.keyboard;
  const focused = (what) => page.waitForFunction((s) => document.activeElement?.matches(s), what);
  w.step("Ctrl K from a chat; 添加 finds 已添加为好友, and Enter opens the message in its chat");
  await page.goto(`${w.url}/settings`);
  await page.getByTestId("tab-chats").waitFor();
  await keys.press("Control+k");
  await focused("[data-testid=search-input]");
  await find(page, "添加", option(page, "已添加为好友"));
  assert.deepEqual(await option(page, "已添加为好友").locator("mark").allInnerTexts(), ["添加"]);
  await w.shot(page, "150-search");
  const active = () => page.evaluate(() => document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.textContent ?? "");
  for (let i = 0; !(await active()).includes("已添加为好友"); i++) {
    assert.ok(i < 30, "the arrow keys do not reach the message");
    await keys.press("ArrowDown");
  }
  await keys.press("Enter");
  await page.waitForURL(`**/c/${chat}/m/*`);
  await inView(page, "系统提示：已添加为好友");

  w.step("the same message, found once more, is brought into view again");
  await page.getByTestId("messages").evaluate((e) => e.scrollTo(0, e.scrollHeight));
  await inView(page, "small talk 29");
  await keys.press("Control+k");
  await option(page, "已添加为好友").click();
  await inView(page, "系统提示：已添加为好友");

  w.step("Back returns to the results; Escape to where one was; a search is remembered in this browser alone");
  await page.goBack();
  await focused("[data-testid=search-input]");
  assert.equal(await input(page).inputValue(), "添加");
  await keys.press("Escape");
  await page.waitForURL(`**/c/${chat}/m/*`);
  await page.getByTestId("search-input").waitFor({ state: "detached" });
  await keys.press("Control+k");
  await input(page).fill("");
  await option(page, "添加").waitFor();
  assert.deepEqual(await page.evaluate((me) => JSON.parse(localStorage.getItem(`recent-searches/${me}`)), await page.locator(".rail .avatar").getAttribute("data-user")), [{ text: "添加", filters: [] }]);
  await w.shot(page, "151-search-recent");
  await keys.press("ArrowDown");
  await keys.press("Enter");
  await option(page, "已添加为好友").waitFor();
}

async function filters(w, page) {
  const keys = page.keyboard;
  w.step("people, groups, messages and posts in groups; a person opens the chat");
  await input(page).fill("");
  await find(page, "lake", option(page, "A day at the lake"));
  for (const group of ["Messages", "Posts"]) await page.getByRole("group", { name: group, exact: true }).waitFor();
  await find(page, "hiking", option(page, "Hiking 远足"));
  await find(page, "ali", option(page, "@alice"));
  await page.getByRole("group", { name: "People", exact: true }).waitFor();

  w.step("filters are completed by the keyboard, and removed by it");
  await input(page).fill("");
  await keys.type("lake in:hik");
  await option(page, "Hiking").waitFor();
  await keys.press("Tab");
  await page.getByTestId("search-filter").getByText("In: Hiking 远足").waitFor();
  assert.equal(await input(page).inputValue(), "lake ");
  await keys.type("kind:message ");
  await page.getByRole("button", { name: "Messages", pressed: true }).waitFor();
  await option(page, "Lake stage").first().waitFor();
  assert.equal(await option(page, "Sunday").count(), 0);
  await w.shot(page, "152-search-filters");
  await keys.press("Home");
  await keys.press("Backspace");
  await page.getByRole("button", { name: "Messages", pressed: false }).waitFor();
  await keys.press("Backspace");
  await page.getByTestId("search-filter").waitFor({ state: "detached" });
  await input(page).fill("");
  await keys.type("has:link ");
  await option(page, "tickets.example.com").waitFor();
  await keys.press("Backspace");
  await keys.type("before:2020-01-31 lake ");
  await status(page, /Nothing found/);
  await w.shot(page, "153-search-nothing");
  await page.getByRole("button", { name: "Remove the filters" }).click();
  await option(page, "A day at the lake").waitFor();
}

/** Uploads a file of a user; returns what a message or a video is made from. */
async function upload(w, user, name, mimeType, bytes) {
  const { upload: id, url } = await w.call("chat.v1.MediaService/CreateUpload", { name, mimeType, size: bytes.length }, user.token);
  const put = await fetch(new URL(url, w.url), { method: "PUT", body: bytes });
  assert.ok(put.ok, `the upload is answered with ${put.status}`);
  await w.call("chat.v1.MediaService/CompleteUpload", { upload: id }, user.token);
  return id;
}

/** A video with subtitles, which is ready. */
async function publishVideo(w, user, title) {
  const folder = mkdtempSync(join(tmpdir(), "rialto-e2e-search-"));
  try {
    const file = join(folder, "clip.mp4");
    execFileSync("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10:duration=3", "-pix_fmt", "yuv420p", "-c:v", "libx264", file]);
    const { id } = await w.call("video.v1.VideoService/CreateVideo", { upload: await upload(w, user, "clip.mp4", "video/mp4", readFileSync(file)) }, user.token);
    for (let state = ""; state !== "VIDEO_STATE_READY"; ) {
      ({ state } = await w.call("video.v1.VideoService/GetVideo", { video: id }, user.token));
      assert.notEqual(state, "VIDEO_STATE_FAILED");
      await new Promise((done) => setTimeout(done, 200));
    }
    await w.call("video.v1.VideoService/SetSubtitles", { video: id, language: "en", file: "1\n00:00:00,000 --> 00:00:02,000\nthe otter dives\n" }, user.token);
    return (await w.call("feed.v1.FeedService/Publish", { clientPostId: crypto.randomUUID(), content: { title, video: id } }, user.token)).id;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function filesAndVideos(w, page, alice, chat) {
  const keys = page.keyboard;
  const sendFile = async (kind, name, mimeType, bytes, caption = "") => {
    const id = await upload(w, alice, name, mimeType, bytes);
    await w.call("chat.v1.ChatService/Send", { conversation: chat, clientMsgId: name, content: { [kind]: { upload: id, name, mimeType, size: bytes.length, caption } } }, alice.token);
  };
  await sendFile("file", "季度报告.pdf", "application/pdf", Buffer.from("%PDF-1.4\n".padEnd(24_000, " ")));
  await sendFile("file", "harborReportFinal.zip", "application/zip", Buffer.from("PK".padEnd(3_000, "x")));
  await sendFile("image", "harbor_at_dawn.png", "image/png", await picture(page), "Before the storm");
  const post = await publishVideo(w, alice, "Otters in the harbor");
  const group = (name) => page.getByRole("group", { name, exact: true });

  w.step("files are found by parts of their names, and each message once");
  await input(page).fill("");
  await find(page, "报告", option(page, "季度报告.pdf"));
  assert.deepEqual(await group("Files").locator("mark").allInnerTexts(), ["报告"]);
  assert.match(await option(page, "季度报告.pdf").innerText(), /24 KB/);
  assert.equal(await option(page, "季度报告.pdf").count(), 1);
  await find(page, "report", option(page, "harborReportFinal.zip"));
  assert.deepEqual(await option(page, "harborReportFinal.zip").locator("mark").allInnerTexts(), ["Report"]);

  w.step("videos and files have groups of their own, with pictures");
  await find(page, "harbor", group("Videos"));
  await group("Files").locator("img").waitFor();
  await group("Videos").locator("img").waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll("[data-testid=search-results] .search-picture img")].every((i) => i.naturalWidth > 0));
  await w.shot(page, "159-search-files-videos");

  w.step("types of files are chosen by the keyboard");
  await input(page).fill("");
  await keys.type("type:arch");
  await option(page, "Archives").waitFor();
  await keys.press("Tab");
  await page.getByRole("button", { name: "Archives", pressed: true }).waitFor();
  await option(page, "harborReportFinal.zip").waitFor();
  assert.equal(await options(page).count(), 1);
  await w.shot(page, "159-search-types");
  await keys.press("Home");
  await keys.press("Backspace");
  await page.getByRole("button", { name: "Archives" }).waitFor({ state: "detached" });

  w.step("a file opens in its chat, by the keyboard; a video, found by its subtitles, opens its page");
  await find(page, "dawn", option(page, "harbor_at_dawn.png"));
  await keys.press("Enter");
  await page.waitForURL(`**/c/${chat}/m/*`);
  await message(page, "Before the storm").waitFor();
  await keys.press("Control+k");
  await find(page, "otter dives", option(page, "the otter dives"));
  await keys.press("Enter");
  await page.waitForURL(`**/feed/${post}`);
  await keys.press("Control+k");
  await input(page).waitFor();
}

async function paging(w, page) {
  w.step("more of a group follow where its first ones end");
  await input(page).fill("");
  await find(page, "lake stage", option(page, "Lake stage"));
  const more = option(page, "More: Messages");
  await more.waitFor();
  await more.click();
  await page.waitForFunction(() => [...document.querySelectorAll("[data-testid=search-option]")].filter((o) => /Lake stage \d/.test(o.textContent)).length === 8);
}

async function notReadable(w, page, alice, bob, hike) {
  w.step("a recalled message is not found");
  const nothing = async (text) => {
    await input(page).fill("");
    await input(page).fill(text);
    await status(page, `Nothing found for “${text}”.`);
    assert.equal(await options(page).count(), 0);
  };
  await input(page).fill("");
  await find(page, "canary", option(page, "the canary sings"));
  const { messages } = await w.call("chat.v1.ChatService/History", { conversation: hike, limit: 5 }, alice.token);
  const { seq } = messages.find((m) => m.content.text === "the canary sings");
  await w.call("chat.v1.ChatService/Send", { conversation: hike, clientMsgId: "recall", content: { recall: { target: { seq } } } }, alice.token);
  await nothing("canary");

  w.step("who left a group finds what was written before, and nothing after");
  await w.send(alice, hike, ["the heron fishes"]);
  await find(page, "heron", option(page, "the heron fishes"));
  await w.call("chat.v1.ChatService/Leave", { conversation: hike }, bob.token);
  await w.send(alice, hike, ["the kingfisher dives"]);
  await find(page, "heron", option(page, "the heron fishes"));
  await nothing("kingfisher");
}

async function states(w, page) {
  w.step("an index that is not complete, an error, and no network are told, with what to do");
  const answer = (body, code = 200) => page.route("**/rialto.search.v1.SearchService/Search", (r) => r.fulfill({ status: code, contentType: "application/json", body: JSON.stringify(body) }));
  await answer({ incomplete: true });
  await input(page).fill("incomplete");
  await page.getByTestId("search-incomplete").waitFor();
  await w.shot(page, "154-search-incomplete");
  await page.unroute("**/rialto.search.v1.SearchService/Search");
  await answer({ code: "internal", message: "no" }, 500);
  await input(page).fill("failing");
  await page.getByRole("alert").getByText("The search did not work.").waitFor();
  await w.shot(page, "155-search-error");
  await page.unroute("**/rialto.search.v1.SearchService/Search");
  await page.getByRole("button", { name: "Search again" }).click();
  await status(page, "Nothing found for “failing”.");
  await page.context().setOffline(true);
  await input(page).fill("heron");
  await status(page, "You are offline.");
  await page.context().setOffline(false);
  await option(page, "the heron fishes").waitFor();
  await page.keyboard.press("Escape");
}

async function onPhone(w, bob) {
  w.step("in Chinese on a phone, in the dark");
  const page = await w.device(bob, { viewport: phone, locale: "zh-CN", colorScheme: "dark", hasTouch: true, isMobile: true });
  await page.getByTestId("conversation").first().waitFor();
  await w.shot(page, "156-search-phone-list");
  await page.getByTestId("search").tap();
  await input(page).waitFor();
  assert.doesNotMatch(await page.getByTestId("search-status").innerText(), /方向键/, "a phone has no arrow keys");
  await find(page, "添加", option(page, "已添加为好友"));
  await w.shot(page, "157-search-phone");
  await find(page, "报告", option(page, "季度报告.pdf"));
  await page.getByRole("group", { name: "文件", exact: true }).waitFor();
  await w.shot(page, "157-search-phone-files");
  await find(page, "添加", option(page, "已添加为好友"));
  await option(page, "已添加为好友").tap();
  await message(page, "已添加为好友").waitFor();
  await page.getByTestId("search-in-chat").tap();
  await page.getByTestId("search-filter").getByText("位于：Alice").waitFor();
  await find(page, "湖", page.getByTestId("search-status").getByText(/没有/));
  await find(page, "lake", option(page, "Sunday"));
  assert.equal(await option(page, "A day at the lake").count(), 0);
  await w.shot(page, "158-search-in-chat-phone");
}
