// Videos: a file is uploaded, processed, posted and played, by its author and by those who may see it. It needs ffmpeg.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choose, confirm, phone } from "../harness.mjs";

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

  w.step("who comes back goes on where they were, and to the end of a playlist that still grows");
  let grows = true;
  await a.route("**/*.m3u8", async (route) => {
    const answer = await route.fetch();
    const text = await answer.text();
    await route.fulfill({ response: answer, body: grows ? begun(text) : text });
  });
  await a.reload();
  await post(a, "A walk").getByRole("button", { name: /^Play video/ }).click();
  await until(post(a, "A walk"), (v) => v.at >= Math.floor(left) && v.ready >= 3);
  await until(post(a, "A walk"), (v) => !v.paused && v.ready < 3); // at the end of what there is
  assert.deepEqual([(await state(post(a, "A walk"))).at < 7, await post(a, "A walk").getByText("0:08").count()], [true, 1]);
  grows = false;
  await until(post(a, "A walk"), (v) => v.ended);
  assert.equal((await state(post(a, "A walk"))).error, "");
  await post(a, "A walk").getByRole("button", { name: "Play again" }).waitFor();

  w.step("somebody else watches it on a phone, in Chinese and in the dark");
  await l.getByTestId("tab-feed").click();
  const theirs = post(l, "A walk");
  await theirs.getByRole("button", { name: "播放视频，0:08" }).click();
  await until(theirs, (v) => v.at > 0.5);
  await w.shot(l, "97-video-phone");
  assert.equal((await state(theirs)).error, "");

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
