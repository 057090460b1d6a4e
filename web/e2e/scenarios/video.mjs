// Videos: a file is uploaded, processed, posted and played, by its author and by those who may see it. It needs ffmpeg.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choose, confirm, dialog, phone } from "../harness.mjs";

const posts = (page) => page.locator('section.feed [data-testid="post"]');
const post = (page, text) => posts(page).filter({ hasText: text }).first();
const form = (page) => page.getByTestId("post-form");
const own = (page, name) => page.getByTestId("own-video").filter({ hasText: name });

/** A clip of so many seconds, whose picture changes all the time. */
function clip(folder, name, seconds, ...args) {
  const file = join(folder, name);
  execFileSync("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", `testsrc2=size=352x288:rate=10:duration=${seconds}`, "-f", "lavfi", "-i", `sine=frequency=440:duration=${seconds}`, "-shortest", ...args, file]);
  return { name, mimeType: "", buffer: readFileSync(file) };
}

/** What the player of a page does. */
const state = (place) => place.getByTestId("player-video").evaluate((v) => ({ at: v.currentTime, paused: v.paused, duration: v.duration, muted: v.muted, speed: v.playbackRate, ended: v.ended, ready: v.readyState, seeking: v.seeking, error: v.error?.message ?? "", width: v.videoWidth, height: v.videoHeight, frames: v.getVideoPlaybackQuality().totalVideoFrames }));

/** How long one step may take, on a busy machine. */
const mostMs = 120_000;

/** Waits until what a place's player does is what is wanted. */
async function until(place, wanted) {
  const video = place.getByTestId("player-video");
  await video.waitFor();
  const ends = Date.now() + mostMs;
  for (let last = ""; ; ) {
    const now = await state(place);
    if (wanted(now)) return now;
    const text = JSON.stringify(now);
    assert.equal(now.error, "", text);
    assert.ok(Date.now() < ends, `it does not become what is wanted (${wanted}): ${text}`);
    if (text === last) await video.evaluate((v) => new Promise((done) => { // something happens there, or a moment passes
      const events = ["timeupdate", "pause", "playing", "waiting", "seeked", "ended", "volumechange", "ratechange", "resize", "progress"];
      for (const e of events) v.addEventListener(e, done, { once: true });
      setTimeout(done, 200);
    }));
    last = text;
  }
}

/** Waits until the server knows that somebody was at a place of a video; returns the title of its post. */
async function untilWatched(w, who, isThere) {
  const ends = Date.now() + mostMs;
  for (;;) {
    const { videos = [] } = await w.call("video.v1.VideoService/ListWatched", {}, who.token);
    const at = (videos[0]?.video.positionMs ?? 0) / 1_000;
    if (isThere(at)) return videos[0].post.content.title;
    assert.ok(Date.now() < ends, `the server does not know it: ${JSON.stringify(videos[0])}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** What the subtitles of a player show. */
const subtitlesOf = (place) => place.getByTestId("player-video").evaluate((v) => [...v.textTracks].filter((t) => t.mode === "showing").flatMap((t) => [...(t.activeCues ?? [])].map((c) => c.text)));

/** Waits until the subtitles of a player show what is wanted. */
async function untilSubtitles(place, wanted) {
  const ends = Date.now() + mostMs;
  for (let now; ; ) {
    now = (await subtitlesOf(place)).join("|");
    if (now === wanted) return;
    assert.ok(Date.now() < ends, `the subtitles are ${now}, not ${wanted}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** A file of subtitles with one text for all of a video. */
const srt = (name, text) => ({ name, mimeType: "application/x-subrip", buffer: Buffer.from(`1\n00:00:00,000 --> 00:00:08,000\n${text}\n`) });

/** A playlist as it is while its video is processed: without the last segment of each track. */
function begun(playlist) {
  const lines = playlist.trimEnd().split("\n");
  if (!lines.includes("#EXT-X-ENDLIST")) return playlist;
  return `${lines.slice(0, -3).join("\n").replace("TYPE:VOD", "TYPE:EVENT")}\n`;
}

export default async function video(w) {
  await w.ownServer();
  const folder = mkdtempSync(join(tmpdir(), "rialto-e2e-video-"));
  try {
    await scenario(w, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function scenario(w, folder) {
  const ana = await w.person("ana", "Ana");
  const li = await w.person("li", "小丽", { locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  const { page: a } = ana;
  const { page: l } = li;
  await w.call("account.v1.GraphService/Follow", { user: ana.id }, li.token);

  w.step("a video is chosen in the dialog of a post; its steps show while one writes on");
  await a.getByTestId("tab-feed").click();
  await a.getByRole("button", { name: "New post" }).click();
  await form(a).getByTestId("video-input").setInputFiles(clip(folder, "walk.mkv", 8, "-c:v", "mpeg4", "-q:v", "5", "-c:a", "mp3"));
  await form(a).getByLabel("Title").fill("A walk");
  await form(a).getByTestId("video-processing").getByText("Check the file").waitFor();
  await w.shot(a, "97-video-processing");
  await form(a).getByRole("button", { name: /^Use the frame/ }).first().click();
  await form(a).getByRole("button", { name: "Remove cover.jpg" }).waitFor();
  assert.equal(await form(a).locator('.video-frames [aria-pressed="true"]').count(), 1);
  await form(a).getByTestId("video-processing").waitFor({ state: "detached" });
  await w.shot(a, "97-video-compose");
  await form(a).getByRole("button", { name: "Publish" }).click();
  await form(a).waitFor({ state: "detached" });

  w.step("it plays in place: time advances, and nothing fails to decode");
  const card = post(a, "A walk");
  await card.getByRole("button", { name: "Play video, 0:08" }).waitFor();
  await w.shot(a, "97-video-card");
  await card.getByRole("button", { name: "Play video, 0:08" }).click();
  await until(card, (v) => v.at > 1);
  const playing = await state(card);
  assert.equal(playing.error, "");
  assert.ok(playing.frames > 10 && playing.width > 0, JSON.stringify(playing));
  assert.ok(Math.abs(playing.duration - 8) < 0.2, `it is ${playing.duration} s long`);

  w.step("the keyboard: pause, seek, speed, sound, numbers");
  await a.keyboard.press("Space");
  await until(card, (v) => v.paused);
  await a.keyboard.press("5");
  await until(card, (v) => Math.abs(v.at - 4) < 0.3 && !v.seeking);
  await a.keyboard.press("ArrowRight");
  await until(card, (v) => v.at === v.duration || v.at > 7.5);
  await a.keyboard.press("ArrowLeft");
  await a.keyboard.press("m");
  await a.keyboard.press(">");
  await until(card, (v) => Math.abs(v.at - 3) < 0.6 && v.muted && v.speed === 1.25);
  assert.equal(await posts(a).count(), 1); // no key went to the list
  await a.keyboard.press("f");
  await a.waitForFunction(() => document.fullscreenElement?.dataset.testid === "player");
  await card.getByRole("button", { name: "Leave full screen" }).click();
  await a.waitForFunction(() => !document.fullscreenElement);

  w.step("a place on the bar shows its frame; a quality is chosen");
  await card.getByTestId("player-seek").hover({ position: { x: 200, y: 8 } });
  await card.getByTestId("player-preview").locator("i").waitFor();
  await w.shot(a, "97-video-player");
  await card.getByTestId("player-quality").selectOption({ label: "240p" });
  await card.getByTestId("player").focus();
  await a.keyboard.press("Space");
  await until(card, (v) => v.height === 240 && v.at > 4);
  assert.equal((await state(card)).error, "");
  await a.keyboard.press("Space");
  await until(card, (v) => v.paused);
  await a.keyboard.press("5");
  await until(card, (v) => Math.abs(v.at - 4) < 0.3 && !v.seeking);
  const left = (await state(card)).at;

  w.step("on another device, the video goes on from there; its place there is that of all devices");
  assert.equal(await untilWatched(w, ana, (at) => Math.abs(at - left) < 0.1), "A walk");
  const second = await w.device(ana, { locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  await second.getByTestId("tab-feed").click();
  await post(second, "A walk").getByTestId("video-watched").waitFor();
  await w.shot(second, "97-video-watched");
  await post(second, "A walk").getByRole("button", { name: /^播放视频，0:08，已看到 0:04$/ }).click();
  await until(post(second, "A walk"), (v) => v.at > left + 0.5 && v.at < left + 4);
  await second.keyboard.press("Space");
  await until(post(second, "A walk"), (v) => v.paused);
  await second.keyboard.press("ArrowRight"); // to its end
  await second.keyboard.press("6");
  await until(post(second, "A walk"), (v) => Math.abs(v.at - 4.8) < 0.3 && !v.seeking);
  // Slowly: on a busy machine it would get behind what the next step has of the video before the page is left, and playback would wait there.
  await post(second, "A walk").getByTestId("player-video").evaluate((v) => (v.playbackRate = 0.2));
  await second.keyboard.press("Space");
  await until(post(second, "A walk"), (v) => v.at > 5);
  await second.goto("about:blank"); // while it plays
  await untilWatched(w, ana, (at) => at > 4.7);
  await second.context().close();

  w.step("who comes back goes on where they were, and to the end of a playlist that still grows");
  let grows = true;
  await a.route("**/*.m3u8", async (route) => {
    const answer = await route.fetch();
    const text = await answer.text();
    await route.fulfill({ response: answer, body: grows ? begun(text) : text });
  });
  await a.reload();
  await post(a, "A walk").getByRole("button", { name: /^Play video/ }).click();
  await until(post(a, "A walk"), (v) => v.at >= 4 && v.ready >= 3);
  await until(post(a, "A walk"), (v) => !v.paused && v.ready < 3); // at the end of what there is
  assert.deepEqual([(await state(post(a, "A walk"))).at < 7, await post(a, "A walk").getByText("0:08").count()], [true, 1]);
  grows = false;
  await until(post(a, "A walk"), (v) => v.ended);
  assert.equal((await state(post(a, "A walk"))).error, "");
  await post(a, "A walk").getByRole("button", { name: "Play again" }).waitFor();

  w.step("subtitles: a file that is wrong is refused with its line, one in a language is added, and one replaced");
  await a.getByRole("link", { name: "My videos" }).click();
  await choose(a, own(a, "walk.mkv"), "Subtitles");
  const editor = dialog(a);
  await editor.getByText("This video has no subtitles.").waitFor();
  await editor.getByTestId("subtitles-input").setInputFiles({ name: "a.srt", mimeType: "", buffer: Buffer.from("1\nhello\n") });
  await editor.getByRole("button", { name: "Add subtitles" }).click();
  await editor.getByText("This file can't be used as subtitles: line 2:").waitFor();
  await editor.getByTestId("subtitles-input").setInputFiles(srt("a.srt", "<font color=red>A walk</font> <script>in the</script> <i>park</i>"));
  await editor.getByRole("button", { name: "Add subtitles" }).click();
  await editor.getByTestId("subtitles").filter({ hasText: "English" }).getByText("1 text · by default").waitFor();
  await editor.getByTestId("subtitles-language").selectOption("zh-Hans");
  await editor.getByTestId("subtitles-input").setInputFiles(srt("b.srt", "公园"));
  await editor.getByRole("button", { name: "Add subtitles" }).click();
  await editor.getByTestId("subtitles").nth(1).waitFor();
  await editor.getByTestId("subtitles-language").selectOption("zh-Hans");
  await editor.getByTestId("subtitles-input").setInputFiles(srt("b.srt", "公园里的散步"));
  await editor.getByRole("button", { name: "Replace" }).click();
  await w.shot(a, "97-video-subtitles");
  await editor.getByRole("button", { name: "Add subtitles" }).and(a.locator(":disabled")).waitFor(); // for the next language
  assert.deepEqual(await editor.getByTestId("subtitles").getByText("by default").allInnerTexts(), ["English · 1 text · by default"]);

  w.step("the page is opened again: the form waits for the video, and the default stays the default when its file is replaced");
  await a.reload();
  let read;
  const isRead = new Promise((done) => (read = done));
  await a.route("**/*VideoService/GetVideo", (route) => isRead.then(() => route.continue()));
  await choose(a, own(a, "walk.mkv"), "Subtitles");
  await editor.getByRole("status").waitFor();
  assert.deepEqual([await editor.getByTestId("subtitles-language").count(), await editor.getByText("This video has no subtitles.").count()], [0, 0]);
  read();
  await editor.getByTestId("subtitles").nth(1).waitFor();
  await a.unroute("**/*VideoService/GetVideo");
  assert.deepEqual([await editor.getByTestId("subtitles-language").inputValue(), await editor.getByRole("checkbox").isChecked()], ["zh-Hant", false]);
  await editor.getByTestId("subtitles-language").selectOption("en");
  assert.equal(await editor.getByRole("checkbox").isChecked(), true);
  await editor.getByTestId("subtitles-input").setInputFiles(srt("a.srt", "<font color=red>A walk</font> <script>in the</script> <i>park</i> again"));
  await editor.getByRole("button", { name: "Replace" }).click();
  await editor.getByRole("button", { name: "Add subtitles" }).and(a.locator(":disabled")).waitFor();
  assert.deepEqual(await editor.getByTestId("subtitles").getByText("by default").allInnerTexts(), ["English · 1 text · by default"]);
  await editor.getByRole("button", { name: "Close" }).click();

  w.step("somebody else watches it on a phone, in Chinese and in the dark");
  await l.getByTestId("tab-feed").click();
  const theirs = post(l, "A walk");
  await l.route("**/*.vtt*", (route) => route.abort());
  await theirs.getByRole("button", { name: "播放视频，0:08" }).click();
  await theirs.getByRole("alert").getByText("字幕无法加载。").waitFor();
  await l.unroute("**/*.vtt*");
  await theirs.getByTestId("player-subtitles").selectOption({ label: "关闭字幕" });
  await theirs.getByRole("alert").waitFor({ state: "detached" });
  await theirs.getByTestId("player-subtitles").selectOption({ label: "English" });
  await until(theirs, (v) => v.at > 0.5);
  await untilSubtitles(theirs, "A walk in the <i>park</i> again");
  await theirs.getByTestId("player-subtitles").selectOption({ label: "简体中文" });
  await untilSubtitles(theirs, "公园里的散步");
  await w.shot(l, "97-video-phone");
  await theirs.getByTestId("player").focus();
  await l.keyboard.press("c");
  await untilSubtitles(theirs, "");
  assert.equal(await theirs.getByTestId("player-subtitles").inputValue(), "");
  await l.keyboard.press("c");
  await untilSubtitles(theirs, "公园里的散步");
  assert.equal((await state(theirs)).error, "");

  w.step("comments move over the picture, in one's own lane, and are deleted by their author and that of the video");
  await theirs.getByTestId("player").focus();
  if (!(await state(theirs)).paused) await l.keyboard.press("Space");
  await until(theirs, (v) => v.paused);
  await l.keyboard.press("2");
  await until(theirs, (v) => Math.abs(v.at - 1.6) < 0.3 && !v.seeking);
  await theirs.getByTestId("player-comment-input").focus();
  await l.keyboard.insertText("😀".repeat(101));
  await theirs.getByRole("alert").getByText("弹幕最多 100 个字符。").waitFor();
  await l.keyboard.press("Backspace");
  await theirs.getByRole("alert").waitFor({ state: "detached" });
  assert.deepEqual([[...(await theirs.getByTestId("player-comment-input").inputValue())].length, await theirs.getByRole("button", { name: "发送弹幕" }).isEnabled()], [100, true]);
  for (const text of ["好看！", "这是哪里？"]) {
    await theirs.getByTestId("player-comment-input").fill(text);
    await l.keyboard.press("Enter");
    await theirs.getByTestId("player-comment").filter({ hasText: text }).waitFor({ state: "attached" });
  }
  assert.equal((await state(theirs)).paused, true); // no key of the text went to the player
  await theirs.getByTestId("player").focus();
  await l.keyboard.press("Space");
  await until(theirs, (v) => v.at > 4);
  await l.keyboard.press("Space");
  await until(theirs, (v) => v.paused);
  const boxes = await theirs.getByTestId("player-comment").evaluateAll((list) => list.map((e) => e.getBoundingClientRect()).map(({ left, right, top, bottom }) => ({ left, right, top, bottom })));
  const picture = await theirs.getByTestId("player-video").boundingBox();
  assert.equal(boxes.length, 2);
  assert.ok(boxes[0].bottom <= boxes[1].top || boxes[1].bottom <= boxes[0].top || boxes[0].right <= boxes[1].left || boxes[1].right <= boxes[0].left, JSON.stringify(boxes));
  for (const b of boxes) assert.ok(b.left > picture.x && b.left < picture.x + picture.width && b.bottom < picture.y + picture.height / 2 + 60, JSON.stringify([b, picture]));
  await w.shot(l, "97-video-comments");
  await theirs.getByRole("button", { name: "删除弹幕“这是哪里？”" }).click();
  await confirm(l, "删除评论");
  await theirs.getByTestId("player-comment").filter({ hasText: "这是哪里？" }).waitFor({ state: "detached" });
  await theirs.getByRole("button", { name: "隐藏弹幕" }).click();
  await theirs.getByTestId("player-comments").waitFor({ state: "detached" });
  await a.emulateMedia({ reducedMotion: "reduce" });
  await a.getByTestId("tab-feed").click();
  await a.getByRole("link", { name: "Following" }).click();
  await post(a, "A walk").getByRole("button", { name: "Play video, 0:08" }).click();
  await until(post(a, "A walk"), (v) => v.at > 0.2);
  await a.keyboard.press("Space");
  await a.keyboard.press("3");
  await until(post(a, "A walk"), (v) => v.paused && Math.abs(v.at - 2.4) < 0.3 && !v.seeking);
  assert.equal(await post(a, "A walk").getByTestId("player-subtitles").inputValue(), "en"); // by default
  const said = post(a, "A walk").getByTestId("player-comment");
  await said.waitFor();
  const [still, frame] = [await said.boundingBox(), await post(a, "A walk").getByTestId("player-video").boundingBox()];
  assert.ok(Math.abs(still.x + still.width / 2 - frame.x - frame.width / 2) < 20, JSON.stringify([still, frame])); // in the middle, but for its button
  await w.shot(a, "97-video-comments-still");
  await said.getByRole("button", { name: "Delete the comment “好看！”" }).click();
  await confirm(a, "Delete comment");
  await said.waitFor({ state: "detached" });
  await a.emulateMedia({ reducedMotion: null });
  await a.keyboard.press("End");

  w.step("the videos that one has watched: one is removed, and all");
  await a.getByRole("link", { name: "Watched" }).click();
  const watched = a.getByTestId("watched-video");
  await watched.getByRole("link", { name: "A walk" }).waitFor();
  await w.shot(a, "97-video-history");
  await watched.getByRole("button", { name: "Play video, 0:08" }).click();
  await until(watched, (v) => v.at > 0.5);
  await watched.getByRole("button", { name: "Remove A walk from the list" }).click();
  await a.getByText("You have not watched any videos yet.").waitFor();
  await l.getByRole("link", { name: "看过" }).click();
  await l.getByTestId("watched-video").waitFor();
  await w.shot(l, "97-video-history-phone");
  await l.getByRole("button", { name: "清空看过的视频" }).click();
  await confirm(l, "清空看过的视频");
  await l.getByTestId("watched-video").waitFor({ state: "detached" });
  await l.getByRole("link", { name: "我的关注" }).click();

  w.step("one's own videos: another one is uploaded, posted, and deleted");
  await a.getByRole("link", { name: "My videos" }).click();
  await own(a, "walk.mkv").waitFor();
  await a.getByTestId("video-input").setInputFiles(clip(folder, "lake.mp4", 4, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", "10", "-c:a", "aac"));
  await own(a, "lake.mp4").getByText("· Ready").waitFor();
  await w.shot(a, "97-video-own");
  await own(a, "lake.mp4").getByRole("button", { name: "Post it" }).click();
  await form(a).getByLabel("Text").fill("At the lake");
  await form(a).getByRole("button", { name: "Publish" }).click();
  await form(a).waitFor({ state: "detached" });
  await l.getByTestId("tab-feed").click();
  await l.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await l.getByTestId("new-posts").first().click();
  await post(l, "At the lake").getByRole("button", { name: "播放视频，0:04" }).click();
  await until(post(l, "At the lake"), (v) => v.at > 0.5);
  await choose(a, own(a, "lake.mp4"), "Delete video");
  await confirm(a, "Delete video");
  await own(a, "lake.mp4").waitFor({ state: "detached" });
  await l.reload();
  await post(l, "At the lake").getByText("该视频已不可查看").waitFor();

  w.step("a file that is no video is refused with its reason");
  await a.getByTestId("video-input").setInputFiles({ name: "notes.mp4", mimeType: "video/mp4", buffer: Buffer.from("no video at all") });
  await a.getByTestId("video-upload").getByText("This file is not a video").waitFor();
  await w.shot(a, "97-video-refused");
  await a.getByRole("button", { name: "Cancel the upload of notes.mp4" }).click();
  await a.getByTestId("video-upload").waitFor({ state: "detached" });
}
