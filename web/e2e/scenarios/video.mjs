// Videos: a file is uploaded, processed, posted and played, by its author and by those who may see it. It needs ffmpeg.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choose, confirm, desktop, dialog, phone, picture } from "../harness.mjs";

const posts = (page) => page.locator('section.feed [data-testid="post"]');
const post = (page, text) => posts(page).filter({ hasText: text }).first();
const form = (page) => page.getByTestId("post-form");
const own = (page, name) => page.getByTestId("own-video").filter({ hasText: name });

/** A clip of so many seconds, whose picture changes all the time. */
function clip(folder, name, seconds, ...args) {
  const file = join(folder, name);
  execFileSync("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", `testsrc2=size=640x360:rate=25:duration=${seconds}`, "-f", "lavfi", "-i", `sine=frequency=440:duration=${seconds}`, "-shortest", ...args, file]);
  return { name, mimeType: "", buffer: readFileSync(file) };
}

/** What the player of a page does. */
const state = (place) => place.getByTestId("player-video").evaluate((v) => ({ at: v.currentTime, paused: v.paused, duration: v.duration, muted: v.muted, speed: v.playbackRate, error: v.error?.message ?? "", width: v.videoWidth, frames: v.getVideoPlaybackQuality().totalVideoFrames }));

/** Waits until the player's state is one that is wanted. */
async function until(page, place, wanted, ...args) {
  const video = await place.getByTestId("player-video").elementHandle();
  await page.waitForFunction(([v, text, given]) => new Function("v", "given", `return (${text})(v, ...given)`)(v, given), [video, String(wanted), args]);
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
  await form(a).getByTestId("video-input").setInputFiles(clip(folder, "walk.mkv", 12, "-c:v", "mpeg4", "-q:v", "5", "-c:a", "mp3"));
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
  await card.getByRole("button", { name: "Play video, 0:12" }).waitFor();
  await w.shot(a, "97-video-card");
  await card.getByRole("button", { name: "Play video, 0:12" }).click();
  await until(a, card, (v) => v.currentTime > 1);
  const playing = await state(card);
  assert.equal(playing.error, "");
  assert.ok(playing.frames > 10 && playing.width > 0, JSON.stringify(playing));
  assert.ok(Math.abs(playing.duration - 12) < 0.2, `it is ${playing.duration} s long`);

  w.step("the keyboard: pause, seek, speed, sound, numbers");
  await a.keyboard.press("Space");
  await until(a, card, (v) => v.paused);
  await a.keyboard.press("5");
  await until(a, card, (v) => Math.abs(v.currentTime - 6) < 0.3 && !v.seeking);
  await a.keyboard.press("ArrowLeft");
  await until(a, card, (v) => Math.abs(v.currentTime - 1) < 0.3 && !v.seeking);
  await a.keyboard.press("ArrowRight");
  await a.keyboard.press("m");
  await a.keyboard.press(">");
  await until(a, card, (v) => Math.abs(v.currentTime - 6) < 0.3 && v.muted && v.playbackRate === 1.25);
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
  await until(a, card, (v) => v.videoHeight === 240 && v.currentTime > 6.5);
  assert.equal((await state(card)).error, "");
  await a.keyboard.press("Space");
  await until(a, card, (v) => v.paused);
  const left = (await state(card)).at;

  w.step("who comes back goes on where they were");
  await a.reload();
  await post(a, "A walk").getByRole("button", { name: /^Play video/ }).click();
  await until(a, post(a, "A walk"), (v, from) => v.currentTime >= from && v.readyState >= 3, Math.floor(left));
  await until(a, post(a, "A walk"), (v) => v.ended);
  await post(a, "A walk").getByRole("button", { name: "Play again" }).waitFor();

  w.step("somebody else watches it on a phone, in Chinese and in the dark");
  await l.getByTestId("tab-feed").click();
  const theirs = post(l, "A walk");
  await theirs.getByRole("button", { name: "播放视频，0:12" }).click();
  await until(l, theirs, (v) => v.currentTime > 0.5);
  await w.shot(l, "97-video-phone");
  assert.equal((await state(theirs)).error, "");

  w.step("one's own videos: another one is uploaded, posted, and deleted");
  await a.getByRole("link", { name: "My videos" }).click();
  await own(a, "walk.mkv").waitFor();
  await a.getByTestId("video-input").setInputFiles(clip(folder, "lake.mp4", 4, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", "25", "-c:a", "aac"));
  await own(a, "lake.mp4").getByText("Ready").waitFor();
  await w.shot(a, "97-video-own");
  await own(a, "lake.mp4").getByRole("button", { name: "Post it" }).click();
  await form(a).getByLabel("Text").fill("At the lake");
  await form(a).getByRole("button", { name: "Publish" }).click();
  await form(a).waitFor({ state: "detached" });
  await l.getByTestId("tab-feed").click();
  await l.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await l.getByTestId("new-posts").first().click();
  await post(l, "At the lake").getByRole("button", { name: "播放视频，0:04" }).click();
  await until(l, post(l, "At the lake"), (v) => v.currentTime > 0.5);
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
