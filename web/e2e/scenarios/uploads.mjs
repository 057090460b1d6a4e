// Uploads of videos: several at once, paused, interrupted by the end of a page and by a kill of the server, continued on another device, and discarded. It needs ffmpeg.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { confirm, phone } from "../harness.mjs";

const mib = 1 << 20;
const mostMs = 120_000;
const own = (page, name) => page.getByTestId("own-video").filter({ hasText: name });
const upload = (page, name) => page.getByTestId("video-upload").filter({ hasText: name });
const unfinished = (page, name) => page.getByTestId("unfinished-upload").filter({ hasText: name });

/** A video with so many MiB behind it that do not matter, each of another byte. */
function clip(folder, name, size, fill = 0) {
  const file = join(folder, name);
  execFileSync("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10:duration=2", "-pix_fmt", "yuv420p", "-c:v", "libx264", file]);
  const free = Buffer.alloc(size * mib - readFileSync(file).length);
  for (let at = 0, n = fill; at < free.length; at += mib) free.fill(++n, at, Math.min(at + mib, free.length));
  free.writeUInt32BE(free.length, 0);
  free.write("free", 4, "latin1");
  writeFileSync(file, Buffer.concat([readFileSync(file), free]));
  return file;
}

/** Holds the parts after the first ones of the uploads of a page, until they are let go; counts how often each part came. */
async function held(page, after) {
  const counts = new Map();
  const waiting = [];
  let isHeld = true;
  await page.route("**/v1/media/*/parts/*", (route) => {
    const { pathname } = new URL(route.request().url());
    if (isHeld && Number(pathname.split("/").at(-1)) > after) return void waiting.push(route);
    counts.set(pathname, (counts.get(pathname) ?? 0) + 1);
    return route.continue().catch(() => {}); // the server may have been killed
  });
  return {
    counts,
    async letGo() {
      isHeld = false;
      for (const route of waiting.splice(0)) await route.continue().catch(() => {}); // of a request that was paused
    },
  };
}

/** How much of an upload the server has, in parts. */
async function untilStored(w, who, name, parts) {
  for (const ends = Date.now() + mostMs; ; ) {
    const { uploads = [] } = await w.call("chat.v1.MediaService/ListUnfinishedUploads", { purpose: "video" }, who.token);
    const found = uploads.find((u) => u.name === name);
    if (found && Number(found.stored ?? 0) === parts * 5 * mib) return found;
    assert.ok(Date.now() < ends, `it has not so much: ${JSON.stringify(uploads)}`);
    await new Promise((done) => setTimeout(done, 100)); // between one question and the next
  }
}

async function myVideos(page, [feed, videos] = ["tab-feed", "My videos"]) {
  await page.getByTestId(feed).click();
  await page.getByRole("link", { name: videos }).click();
}

export default async function uploads(w) {
  const server = await w.ownServer();
  const folder = mkdtempSync(join(tmpdir(), "rialto-e2e-uploads-"));
  try {
    await scenario(w, server, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function scenario(w, server, folder) {
  const ana = await w.person("ana", "Ana");
  const { page: a } = ana;

  w.step("three files are chosen at once: two go, and one waits for them; one is paused, and goes on");
  await myVideos(a);
  const lines = await held(a, 1);
  await a.getByTestId("video-input").setInputFiles([clip(folder, "one.mp4", 17), clip(folder, "two.mp4", 18), clip(folder, "three.mp4", 1)]);
  await upload(a, "one.mp4").getByText("Uploading one.mp4").waitFor();
  await upload(a, "three.mp4").getByText("three.mp4 waits for the others").waitFor();
  await untilStored(w, ana, "one.mp4", 1);
  await w.shot(a, "98-uploads-several");
  await a.getByRole("button", { name: "Pause the upload of two.mp4" }).click();
  await upload(a, "two.mp4").getByText("two.mp4 is paused").waitFor();
  await own(a, "three.mp4").waitFor(); // it has the place of the paused one
  await a.getByRole("button", { name: "Resume the upload of two.mp4" }).click();
  await upload(a, "two.mp4").getByText("Uploading two.mp4").waitFor();
  await lines.letGo();
  await own(a, "one.mp4").waitFor();
  await own(a, "two.mp4").waitFor();
  assert.equal(await a.getByTestId("unfinished-upload").count(), 0);
  await a.unrouteAll();

  w.step("the page is closed during an upload: it is there as unfinished, on this device and on a phone");
  const film = clip(folder, "film.mp4", 32);
  const first = await held(a, 3);
  await a.getByTestId("video-input").setInputFiles(film);
  await untilStored(w, ana, "film.mp4", 3);
  assert.equal(await a.getByTestId("unfinished-upload").count(), 0); // it is on its way
  await a.goto("about:blank");
  await a.unrouteAll();
  await a.goto(w.url);
  await myVideos(a);
  await unfinished(a, "film.mp4").getByText(/of 3[0-9.]+ MB uploaded · kept for 2[34] hours/).waitFor();
  await w.shot(a, "98-uploads-unfinished");
  const second = await w.device(ana, { locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  await myVideos(second, ["tab-feed", "我的视频"]);
  await unfinished(second, "film.mp4").waitFor();
  await w.shot(second, "98-uploads-unfinished-phone");

  w.step("there, another file of the same size is refused, and the upload stays; with the right one it goes on, and the server is killed meanwhile");
  await unfinished(second, "film.mp4").getByTestId("continue-input").setInputFiles(clip(folder, "film2.mp4", 31));
  await unfinished(second, "film.mp4").getByRole("alert").getByText("这不是之前中断上传的那个文件").waitFor();
  await unfinished(second, "film.mp4").getByTestId("continue-input").setInputFiles(clip(folder, "film3.mp4", 32, 7));
  await upload(second, "film3.mp4").getByText("这不是之前中断上传的那个文件").waitFor();
  await w.shot(second, "98-uploads-other-file-phone");
  await upload(second, "film3.mp4").getByRole("button", { name: "取消上传 film3.mp4" }).click();
  await unfinished(second, "film.mp4").waitFor();
  const rest = await held(second, 5);
  await unfinished(second, "film.mp4").getByTestId("continue-input").setInputFiles(film);
  await untilStored(w, ana, "film.mp4", 5);
  await server.kill();
  await rest.letGo();
  await upload(second, "film.mp4").getByRole("alert").waitFor();
  await server.run();
  await upload(second, "film.mp4").getByRole("button", { name: "重试" }).click();
  await own(second, "film.mp4").getByText("已就绪").waitFor();
  const parts = [...rest.counts].map(([path, n]) => [Number(path.split("/").at(-1)), n]).sort(([x], [y]) => x - y);
  assert.deepEqual(parts.filter(([part]) => part <= 3), [], "no part is sent again that the first page has sent");
  assert.deepEqual(parts.filter(([part]) => part <= 5), [[4, 1], [5, 1]], "nor one that was stored before the kill");
  assert.equal(await second.getByTestId("unfinished-upload").count(), 0);
  assert.ok(first.counts.size >= 3);

  w.step("an unfinished upload is discarded, and one is taken back while it goes: the server has nothing of them");
  const third = await held(a, 1);
  await a.getByTestId("video-input").setInputFiles(clip(folder, "lake.mp4", 20));
  await untilStored(w, ana, "lake.mp4", 1);
  await a.reload();
  await unfinished(a, "lake.mp4").getByRole("button", { name: "Discard the upload of lake.mp4" }).click();
  await confirm(a, "Discard upload");
  await unfinished(a, "lake.mp4").waitFor({ state: "detached" });
  await a.getByTestId("video-input").setInputFiles(clip(folder, "sea.mp4", 20));
  await untilStored(w, ana, "sea.mp4", 1);
  await a.getByRole("button", { name: "Cancel the upload of sea.mp4" }).click();
  for (const ends = Date.now() + mostMs; ; ) {
    const { uploads = [] } = await w.call("chat.v1.MediaService/ListUnfinishedUploads", {}, ana.token);
    if (uploads.length === 0) break;
    assert.ok(Date.now() < ends, JSON.stringify(uploads));
    await new Promise((done) => setTimeout(done, 100)); // between one question and the next
  }
  await third.letGo();

  w.step("a file that is no video is refused, and nothing is kept of it");
  await a.unrouteAll();
  await a.getByTestId("video-input").setInputFiles({ name: "notes.mp4", mimeType: "video/mp4", buffer: Buffer.from("no video at all") });
  await upload(a, "notes.mp4").getByText("This file is not a video").waitFor();
  assert.equal(await upload(a, "notes.mp4").getByRole("button", { name: "Try again" }).count(), 0);
  await w.shot(a, "98-uploads-refused");
}
