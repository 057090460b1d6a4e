// Renditions on demand: a viewer chooses a quality that does not exist yet. It is encoded while the video plays on, then it plays, also for others. Operators see which renditions wait, and
// which share runs of ffmpeg. It needs ffmpeg.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binary, phone } from "../harness.mjs";

const post = (page) => page.locator('section.feed [data-testid="post"]').filter({ hasText: "A river" }).first();
const quality = (page) => post(page).getByTestId("player-quality");
const mostMs = 300_000; // encoding has the lowest priority

const pipeline = `
renditions: [{height: 90}, {height: 180}, {height: 270}, {height: 360}]
on_demand: {above: 270}
`;

/** Checks that the lists of a narrow player are whole within the screen, and the texts for what is chosen within them. */
async function checkLists(page) {
  const cut = await post(page).locator(".player-choice").evaluateAll((lists) => lists.flatMap((list) => {
    const text = list.querySelector(".player-short");
    const [box, select, inner] = [list.getBoundingClientRect(), list.querySelector("select").getBoundingClientRect(), document.createRange()];
    inner.selectNodeContents(text);
    const shown = inner.getBoundingClientRect();
    const isWhole = shown.width > 0 && shown.left >= box.left && shown.right <= box.right && box.left >= 0 && box.right <= innerWidth && text.scrollWidth <= text.clientWidth && box.width >= 44 && box.height >= 44 && select.left >= box.left - 1 && select.right <= box.right + 1;
    return isWhole ? [] : [`${text.textContent} from ${shown.left} to ${shown.right}, in a list from ${box.left} to ${box.right}`];
  }));
  assert.deepEqual(cut, []);
  return post(page).locator(".player-short").allTextContents();
}

/** Waits until something is so. */
async function until(what, isSo) {
  for (const ends = Date.now() + mostMs; !(await isSo()); ) {
    assert.ok(Date.now() < ends, `this does not happen: ${what}`);
    await new Promise((done) => setTimeout(done, 100)); // between one question and the next
  }
}

const state = (page) => post(page).getByTestId("player-video").evaluate((v) => ({ at: v.currentTime, paused: v.paused, height: v.videoHeight, error: v.error?.message ?? "", frames: v.getVideoPlaybackQuality().totalVideoFrames, corrupted: v.getVideoPlaybackQuality().corruptedVideoFrames }));

/** The qualities that a player offers, in their order, and the one that is chosen. */
async function qualities(page) {
  const list = await quality(page).locator("option").allTextContents();
  return [list.map((text) => text.replace(/(Auto|自动).*/, "$1")), (await quality(page).locator("option:checked").textContent()).replace(/(Auto|自动).*/, "$1")];
}

/** What the server answers of a video while its rendition on demand is encoded. */
const encoding = ({ complete, playableMs, bandwidth, ...rendition }) => ({ ...rendition, requested: true });

/** A master playlist as it is while the rendition on demand is not there. */
const without360p = (playlist) => playlist.replace(/^#EXT-X-STREAM-INF:.*\n360p\.m3u8.*\n/m, "");

/** Changes what a page reads of the rendition on demand, as long as it is told to: then it is not in the playlist. */
async function changing(page) {
  const hold = { change: undefined };
  await page.route("**/*.VideoService/GetVideo", async (route) => {
    const answer = await route.fetch();
    const video = await answer.json();
    const renditions = video.renditions?.map((r) => (r.onDemand && hold.change ? hold.change(r) : r));
    await route.fulfill({ response: answer, json: { ...video, renditions } });
  });
  await page.route("**/master.m3u8*", async (route) => {
    const answer = await route.fetch();
    const text = await answer.text();
    await route.fulfill({ response: answer, body: hold.change ? without360p(text) : text });
  });
  return hold;
}

/** The state, and what is said of sharing, of each stage in the console. */
const stages = async (page) => Object.fromEntries(await page.getByTestId("stage").evaluateAll((rows) => rows.map((r) => [r.querySelector("bdi").textContent, [r.cells[1].textContent, [...r.querySelectorAll("th small")].map((s) => s.textContent.trim()).join()]])));

export default async function renditions(w) {
  const folder = mkdtempSync(join(tmpdir(), "rialto-e2e-renditions-"));
  try {
    await scenario(w, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A video of a person, with a post that shows it; returns the video's id. */
async function publish(w, person, folder) {
  const clip = join(folder, "river.mkv");
  execFileSync("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=5:duration=30", "-f", "lavfi", "-i", "sine=frequency=440:duration=30", "-c:v", "mpeg4", "-q:v", "5", "-c:a", "mp3", clip]);
  const bytes = readFileSync(clip);
  const { upload, url } = await w.call("chat.v1.MediaService/CreateUpload", { name: "river.mkv", size: bytes.length }, person.token);
  assert.equal((await fetch(new URL(url, w.url), { method: "PUT", body: bytes })).status, 204);
  await w.call("chat.v1.MediaService/CompleteUpload", { upload }, person.token);
  const { id } = await w.call("video.v1.VideoService/CreateVideo", { upload }, person.token);
  await until("the video is ready", async () => (await w.call("video.v1.VideoService/GetVideo", { video: id }, person.token)).state === "VIDEO_STATE_READY");
  await w.call("feed.v1.FeedService/Publish", { clientPostId: "1", content: { title: "A river", video: id } }, person.token);
  return id;
}

/** The page of the console with the graph of a video. */
async function consolePage(w, server, name, video, look, [videos, label, show]) {
  const key = execFileSync(binary, ["admin", "key", "create", "--data", server.dir, "--name", name, "--role", "auditor"], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  const page = await w.page(look);
  await page.goto(`http://127.0.0.1:${server.port + 1}/console/`);
  await page.locator("input[name=key]").fill(key);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: videos }).click();
  await page.getByLabel(label).fill(video);
  await page.getByRole("button", { name: show }).click();
  await page.getByTestId("stage").first().waitFor();
  return page;
}

async function play(page) {
  await page.getByTestId("tab-feed").click();
  await post(page).getByRole("button", { name: /^(Play video|播放视频)/ }).click();
  await post(page).getByTestId("player-video").waitFor();
  await until("the video plays", async () => (await state(page)).at > 0.5);
  // Slowly from here on: on a busy machine it would be at its end before what is waited for has happened, and not go on. The speed is also that of the next address.
  await post(page).getByTestId("player-video").evaluate((v) => (v.playbackRate = v.defaultPlaybackRate = 0.1));
}

/** A picture of a page with the player's controls, which hide after a time. */
async function show(w, page, name) {
  await post(page).getByTestId("player").focus();
  await quality(page).focus();
  await w.shot(page, name);
}

/** Plays from a tenth of the video on. */
async function playAgain(page) {
  await post(page).getByTestId("player").focus();
  await page.keyboard.press("1");
  if ((await state(page)).paused) await page.keyboard.press("Space");
  const from = (await state(page)).at;
  await until("the video plays again", async () => (await state(page)).at > from);
}

async function scenario(w, folder) {
  const file = join(folder, "pipeline.yaml");
  writeFileSync(file, pipeline);
  const server = await w.ownServer("--set", `video.pipeline=${file}`, "--set", "video.workers=1");
  const ana = await w.person("ana", "Ana");
  const li = await w.person("li", "小丽", { locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  const { page: a } = ana;
  const { page: l } = li;
  await w.call("account.v1.GraphService/Follow", { user: ana.id }, li.token);
  const video = await publish(w, ana, folder);
  const rendition = async () => (await w.call("video.v1.VideoService/GetVideo", { video }, ana.token)).renditions.find((r) => r.name === "360p");

  w.step("operators see that the largest rendition waits, and which others share runs");
  const english = await consolePage(w, server, "olga", video, { colorScheme: "dark" }, ["Videos", "Id of the video", "Show"]);
  const before = await stages(english);
  assert.deepEqual([before["90p"], before["360p"]], [["done", ""], ["on demand", ""]]);
  assert.match(before["180p"][1], /^(\d+) of \1 chunks in one run with 270p$/);
  assert.match(before["270p"][1], /^(\d+) of \1 chunks in one run with 180p$/);
  assert.equal(await english.getByTestId("shared-runs").count(), 1);
  await english.getByTestId("pipeline-legend").getByText("One run of ffmpeg decodes a chunk once").waitFor();
  const counts = async (page) => {
    await page.getByTestId("row on-demand").waitFor();
    return page.getByTestId("row on-demand").locator("td").allTextContents();
  };
  assert.deepEqual(await counts(english), ["0", "0", "0", "0", "0"]);
  await w.shot(english, "98-renditions-console");

  w.step("a viewer is refused, and the player says why");
  const [ofA, ofL] = [await changing(a), await changing(l)];
  await play(a);
  assert.deepEqual(await qualities(a), [["Auto", "360p (on demand)", "270p", "180p", "90p"], "Auto"]);
  await a.route("**/*.VideoService/RequestRendition", (r) => r.fulfill({ status: 429, contentType: "application/json", body: JSON.stringify({ code: "resource_exhausted", message: "too many", details: [{ debug: { reason: "too_many_renditions" } }] }) }));
  await quality(a).selectOption({ label: "360p (on demand)" });
  await post(a).getByRole("alert").getByText("You have asked for too many qualities at once.").waitFor();
  assert.deepEqual((await qualities(a))[1], "Auto");
  await show(w, a, "98-renditions-refused");
  await a.unroute("**/*.VideoService/RequestRendition");

  w.step("the viewer asks again: the video plays on, and the menu says that the quality is being prepared, on another device as well");
  ofA.change = ofL.change = encoding;
  await quality(a).selectOption({ label: "360p (on demand)" });
  await post(a).getByRole("alert").waitFor({ state: "detached" });
  await until("the menu says so", async () => (await qualities(a))[1] === "360p (being prepared)");
  const meanwhile = await state(a);
  await until("it plays on meanwhile", async () => (await state(a)).at > meanwhile.at);
  assert.ok(meanwhile.height < 360, JSON.stringify(meanwhile));
  await post(a).getByRole("status").getByText("360p (being prepared)").waitFor();
  await show(w, a, "98-renditions-prepared");
  await until("it is encoded", async () => (await rendition()).complete === true);
  await play(l);
  assert.deepEqual(await qualities(l), [["自动", "360p（正在生成）", "270p", "180p", "90p"], "自动"]);
  await show(w, l, "98-renditions-prepared-phone");
  assert.deepEqual(await checkLists(l), ["0.1×", "自动"]);

  w.step("when it is there, it plays from where the viewer was");
  await playAgain(a);
  const left = (await state(a)).at;
  ofA.change = undefined;
  await until("360p plays", async () => (await state(a)).height === 360);
  await until("it goes on", async () => (await state(a)).at > left + 0.5);
  const after = await state(a);
  assert.deepEqual([after.error, after.corrupted, after.paused, after.at < left + 20], ["", 0, false, true], JSON.stringify([left, after]));
  assert.deepEqual(await qualities(a), [["Auto", "360p", "270p", "180p", "90p"], "360p"]);
  await show(w, a, "98-renditions-playing");

  w.step("another viewer, for whom encoding seems to fail, is told so and plays on; later that viewer has the quality, too");
  await quality(l).selectOption({ label: "360p（正在生成）" });
  ofL.change = ({ complete, playableMs, bandwidth, ...r }) => r;
  await post(l).getByRole("alert").getByText("暂时无法生成该清晰度，请稍后重试。").waitFor();
  assert.deepEqual(await qualities(l), [["自动", "360p（按需生成）", "270p", "180p", "90p"], "自动"]);
  await show(w, l, "98-renditions-failed-phone");
  await playAgain(l);
  ofL.change = undefined;
  await quality(l).selectOption({ label: "360p（按需生成）" });
  await until("360p plays", async () => (await state(l)).height === 360);
  await post(l).getByRole("alert").waitFor({ state: "detached" });
  assert.deepEqual((await qualities(l))[1], "360p");
  await show(w, l, "98-renditions-phone");
  assert.deepEqual(await checkLists(l), ["0.1×", "360p"]);

  w.step("operators see the rendition that was encoded");
  const chinese = await consolePage(w, server, "wei", video, { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true }, ["视频", "视频 ID", "查看"]);
  const now = await stages(chinese);
  assert.deepEqual(now["360p"], ["已完成", ""]);
  assert.match(now["180p"][1], /^(\d+) 个分块中有 \1 个与 270p 一起编码$/);
  await chinese.getByTestId("pipeline-legend").getByText("虚线框内的清晰度由同一次 ffmpeg 运行编码").waitFor();
  assert.deepEqual(await counts(chinese), ["1", "0", "1", "0", "0"]);
  assert.deepEqual(await chinese.getByRole("region", { name: "各清晰度的开销" }).getByRole("rowheader").allTextContents(), ["90p", "180p", "270p", "360p", "音频", "直接复制的画面", "图片", "自定义阶段"]);
  await chinese.getByTestId("pipeline-legend").scrollIntoViewIfNeeded();
  await w.shot(chinese, "98-renditions-console-phone");
}
