// A video is played, and pictures are shown, through an edge near the viewer. When that hangs, the next edge serves, and when that is killed, the origin. Operators see both with their figures. It needs ffmpeg.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binary, phone, Server } from "../harness.mjs";

const posts = (page) => page.locator('section.feed [data-testid="post"]');
const post = (page, text) => posts(page).filter({ hasText: text }).first();
const form = (page) => page.getByTestId("post-form");
const mostMs = 120_000;

function clip(folder) {
  const file = join(folder, "lake.mp4");
  execFileSync("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=352x288:rate=10:duration=6", "-f", "lavfi", "-i", "sine=frequency=440:duration=6", "-shortest", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", "10", "-c:a", "aac", file]);
  return { name: "lake.mp4", mimeType: "", buffer: readFileSync(file) };
}

function photo(folder) {
  const file = join(folder, "photo.png");
  execFileSync("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=352x288", "-frames:v", "1", file]);
  return { name: "photo.png", mimeType: "image/png", buffer: readFileSync(file) };
}

/** Waits until something is so. */
async function until(what, isSo) {
  for (const ends = Date.now() + mostMs; !(await isSo()); ) {
    assert.ok(Date.now() < ends, `this does not happen: ${what}`);
    await new Promise((done) => setTimeout(done, 100)); // between one question and the next
  }
}

const state = (place) => place.getByTestId("player-video").evaluate((v) => ({ at: v.currentTime, error: v.error?.message ?? "", frames: v.getVideoPlaybackQuality().totalVideoFrames, corrupted: v.getVideoPlaybackQuality().corruptedVideoFrames }));

/** Plays the video of a post, and checks that it is shown. */
async function play(page, text) {
  await post(page, text).getByRole("button", { name: /^(Play video|播放视频)/ }).click();
  await post(page, text).getByTestId("player-video").waitFor();
  await until("the video plays", async () => (await state(post(page, text))).at > 2);
  const { error, frames, corrupted } = await state(post(page, text));
  assert.deepEqual([error, corrupted, frames > 10], ["", 0, true]);
}

/** Counts the segments that a page gets, by where they come from. */
function segmentsOf(page) {
  const from = new Map();
  page.on("response", (r) => {
    const { origin, pathname } = new URL(r.url());
    if (pathname.endsWith(".m4s") && r.ok()) from.set(origin, (from.get(origin) ?? 0) + 1);
  });
  return from;
}

/** A device that knows the edges of now, and does not hear that one is gone; with where its segments come from, and which addresses of videos and files gave it nothing. */
async function device(w, person) {
  const page = await w.device(person);
  const body = JSON.stringify(await w.call("gateway.v1.GatewayService/FindGateways", {}));
  await page.route("**/*.GatewayService/FindGateways", (r) => r.fulfill({ contentType: "application/json", body }));
  const failed = { videos: new Set(), posters: new Set(), files: new Set() };
  page.on("requestfailed", (r) => {
    const { origin, pathname } = new URL(r.url());
    if (pathname.startsWith("/v1/video/")) (/\.(m3u8|m4s|mp4)$/.test(pathname) ? failed.videos : failed.posters).add(origin);
    if (pathname.startsWith("/v1/media/")) failed.files.add(origin);
  });
  return { page, segments: segmentsOf(page), failed };
}

/** Such a device that sees the posts. */
async function watcher(w, person) {
  const d = await device(w, person);
  await d.page.getByTestId("tab-feed").click();
  await post(d.page, "A lake").getByRole("button", { name: /Play video/ }).waitFor();
  return d;
}

/** Where a picture that is shown came from; "" until it is there. */
const sourceOf = (img) => img.evaluate((i) => (i.complete && i.naturalWidth > 0 ? new URL(i.currentSrc).origin : ""));

/** The console shows the edges among the nodes, and what their caches did. */
async function console(w, server, look, name, [caches, files], shot) {
  const key = execFileSync(binary, ["admin", "key", "create", "--data", server.dir, "--name", name, "--role", "auditor"], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  const page = await w.page(look);
  await page.goto(`http://127.0.0.1:${server.port + 1}/console/`);
  await page.locator("input[name=key]").fill(key);
  await page.keyboard.press("Enter");
  for (const edge of ["edge-near", "edge-far"]) await page.getByTestId("node").filter({ hasText: edge }).getByText("edge", { exact: true }).waitFor();
  await w.shot(page, `${shot}-nodes`);
  await page.getByRole("link", { name: caches }).click();
  const row = page.getByRole("region", { name: files }).getByRole("row").filter({ hasText: "edge-near" });
  await row.waitFor();
  await until("the edge has files on its disk", async () => /[kM]i?B/i.test(await row.innerText()));
  await w.shot(page, `${shot}-caches`);
  await page.context().close();
}

export default async function edges(w) {
  const folder = mkdtempSync(join(tmpdir(), "rialto-e2e-edges-"));
  try {
    await scenario(w, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function scenario(w, folder) {
  const secret = `edge.secret=${"s".repeat(40)}`;
  const server = await w.ownServer("--set", secret, "--set", "public.region=eu");
  const edge = async (name, region) => {
    const e = await Server.start("--set", "roles=edge", "--set", secret, "--set", `edge.origins=${server.url}`, "--set", "public.url=http://127.0.0.1:PORT", "--set", `public.region=${region}`, "--set", `node=${name}`);
    w.servers.push(e);
    return e;
  };
  const [near, far] = [await edge("edge-near", "eu"), await edge("edge-far", "us")];
  const found = async () => (await w.call("gateway.v1.GatewayService/FindGateways", {})).edges ?? [];
  await until("clients are told of both edges", async () => (await found()).join() === `${near.url},${far.url}`);

  w.step("a photo and a video are published");
  const ana = await w.person("ana", "Ana");
  const { page: a } = ana;
  await a.getByTestId("tab-feed").click();
  await a.getByRole("button", { name: "New post" }).click();
  await form(a).getByTestId("post-images-input").setInputFiles(photo(folder));
  await form(a).getByLabel("Title").fill("A photo");
  await form(a).locator(".post-image img").waitFor();
  await form(a).getByRole("button", { name: "Publish" }).click();
  await form(a).waitFor({ state: "detached" });
  await a.getByRole("button", { name: "New post" }).click();
  await form(a).getByTestId("video-input").setInputFiles(clip(folder));
  await form(a).getByLabel("Title").fill("A lake");
  await form(a).getByTestId("video-processing").waitFor();
  await form(a).getByTestId("video-processing").waitFor({ state: "detached" });
  await form(a).getByRole("button", { name: "Publish" }).click();
  await form(a).waitFor({ state: "detached" });

  w.step("it plays from the near edge, whose cache the second viewer finds full");
  const ofAna = segmentsOf(a);
  await play(a, "A lake");
  assert.deepEqual([...ofAna.keys()], [near.url]);
  await w.shot(a, "edges-playing");
  const second = await w.device(ana, { locale: "zh-CN" });
  await second.getByTestId("tab-feed").click();
  await post(second, "A lake").getByRole("button", { name: /播放视频/ }).waitFor();
  const ofSecond = segmentsOf(second);
  await play(second, "A lake");
  assert.deepEqual([...ofSecond.keys()], [near.url]);

  w.step("operators see both edges, live, with their figures");
  await console(w, server, { colorScheme: "dark" }, "olga", ["Caches and search", "Caches of files"], "edges-console");
  await console(w, server, { locale: "zh-CN", viewport: phone }, "ming", ["缓存与搜索", "文件缓存"], "edges-console-zh");

  w.step("the near edge hangs: a viewer who knows only that plays from the other");
  const third = await watcher(w, ana);
  const visitor = await device(w, ana);
  near.child.kill("SIGSTOP");
  await play(third.page, "A lake");
  assert.deepEqual([...third.segments.keys()], [far.url]);
  assert.ok(third.failed.videos.has(near.url), "the player asked the edge that hangs");
  const frame = third.page.getByTestId("player-preview").locator("i");
  await until("the small frames come from the other", async () => {
    await third.page.getByTestId("player-seek").hover({ position: { x: 200, y: 8 } }); // the bar moves when the list does
    return (await frame.count()) > 0 && (await frame.evaluate((i) => getComputedStyle(i).backgroundImage, undefined, { timeout: 5_000 }).catch(() => "")).includes(far.url);
  });
  await w.shot(third.page, "edges-near-hangs");

  w.step("pictures and posters come from the other, too");
  await visitor.page.getByTestId("tab-feed").click();
  const poster = post(visitor.page, "A lake").getByTestId("video-poster").locator("img");
  await until("the poster comes from the other", async () => (await sourceOf(poster)) === far.url);
  const picture = post(visitor.page, "A photo").getByTestId("post-images").locator("img");
  await picture.scrollIntoViewIfNeeded();
  await until("the photo comes from the other", async () => (await sourceOf(picture)) === far.url);
  assert.ok(visitor.failed.files.has(near.url), "the picture was asked of the edge that hangs");
  await w.shot(visitor.page, "edges-pictures");
  await until("clients are told of the other one only", async () => (await found()).join() === far.url);

  w.step("the other is killed: the origin serves");
  const fourth = await watcher(w, ana);
  await far.kill();
  await play(fourth.page, "A lake");
  assert.deepEqual([...fourth.segments.keys()], [server.url]);
  // Its poster may have been on its way: then the player knows that the edge fails, and does not ask it.
  assert.ok(fourth.failed.videos.has(far.url) || fourth.failed.posters.has(far.url), "the page asked the edge that was killed");
  await w.shot(fourth.page, "edges-origin-serves");
}
