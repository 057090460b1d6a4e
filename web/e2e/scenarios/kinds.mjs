// Kinds of messages: voice, a place, an album with its gallery, videos with their posters, alone and in an album, and forwards.
import assert from "node:assert/strict";
import { choose, confirm, dialog, log, message, openPanel, panel, phone, picture, row, say } from "../harness.mjs";

export default async function kinds(w) {
  const alice = await w.person("alice", "Alice", { permissions: ["microphone", "geolocation"], geolocation: { latitude: 45.438, longitude: 12.33585, accuracy: 20 } });
  const bob = await w.person("bob", "Bob");
  await w.befriend(alice, bob);
  const conversation = await w.direct(alice, bob);
  const [a, b] = [alice.page, bob.page];
  await row(a, "Bob").click();
  await say(a, "hello");
  await row(b, "Alice").click();
  await message(b, "hello").waitFor();

  w.step("a voice message is recorded, discarded, recorded again and played");
  await a.getByRole("button", { name: "Record a voice message" }).click();
  await a.getByTestId("recorder").getByText("0:01").waitFor();
  await a.getByRole("button", { name: "Discard the recording" }).click();
  await a.getByRole("button", { name: "Record a voice message" }).click();
  await a.getByTestId("recorder").getByText("0:04").waitFor();
  await a.getByTestId("recorder").getByRole("button", { name: "Send" }).click();
  await voices(w, a, b);

  w.step("the place of the device");
  await a.getByRole("button", { name: "Send my location" }).click();
  await b.getByTestId("place").getByRole("link", { name: "45.43800, 12.33585" }).waitFor();
  await b.getByTestId("place").getByText("± 20 m").waitFor();
  assert.equal(await b.getByTestId("place").getByRole("link").count(), 1); // this server has no map service

  w.step("an album has one caption, and opens as a gallery");
  const files = [1, 2, 3].map((n) => ({ name: `${n}.png`, mimeType: "image/png" }));
  const buffer = await picture(a);
  await a.getByTestId("file").setInputFiles(files.map((f) => ({ ...f, buffer })));
  await dialog(a).getByLabel("Caption").fill("three of them");
  await dialog(a).getByRole("button", { name: "Send", exact: true }).click();
  const album = message(b, "three of them");
  await album.waitFor();
  const own = a.getByTestId("album").last(); // beside the open panel there is less room
  await openPanel(a);
  const [bubble, grid] = [await message(a, "three of them").locator(".bubble").boundingBox(), await own.locator(".album").boundingBox()];
  assert.ok(grid.x + grid.width <= bubble.x + bubble.width, `the album ends at ${grid.x + grid.width}, its message at ${bubble.x + bubble.width}`);
  await a.getByRole("button", { name: "About this chat" }).click();
  await panel(a).waitFor({ state: "hidden" });
  await album.getByRole("button", { name: /^Open/ }).first().click();
  await b.getByTestId("gallery").getByText("1 of 3").waitFor();
  await b.keyboard.press("ArrowRight");
  await b.getByTestId("gallery").getByText("2 of 3").waitFor();
  await b.waitForFunction(() => document.querySelector('[data-testid="gallery-image"]')?.naturalWidth > 0);
  await w.shot(b, "gallery");
  await b.keyboard.press("Escape");
  await dialog(b).waitFor({ state: "hidden" });
  await w.shot(b, "kinds");

  w.step("a video has its first frame as poster");
  const clip = await recordedClip(a);
  await a.getByTestId("file").setInputFiles({ name: "clip.webm", mimeType: "video/webm", buffer: clip });
  await dialog(a).getByRole("button", { name: "Send", exact: true }).click();
  await b.getByTestId("video-poster").locator("img").waitFor();
  await b.getByRole("button", { name: /^Play video/ }).click();
  await b.waitForFunction(() => document.querySelector('[data-testid="player-video"]')?.currentTime > 0);
  await recordingIsSought(a, b, w);

  w.step("the videos of an album open in the same player, by the pointer and by keys, on a desktop and on a phone");
  await a.getByTestId("file").setInputFiles([{ name: "one.webm", mimeType: "video/webm", buffer: clip }, { name: "two.png", mimeType: "image/png", buffer }, { name: "three.webm", mimeType: "video/webm", buffer: await recordedClip(a, 90) }]);
  await dialog(a).getByLabel("Caption").fill("moving");
  await dialog(a).getByRole("button", { name: "Send", exact: true }).click();
  const moving = message(b, "moving");
  await moving.getByTestId("video-poster").nth(1).locator("img").waitFor();
  assert.equal(await moving.locator("video[controls]").count(), 0);
  await w.shot(b, "album-videos");
  const playsIn = (page) => page.waitForFunction(() => document.querySelector('[role="dialog"] [data-testid="player-video"]')?.currentTime > 0);
  await moving.getByTestId("video-poster").first().click();
  await playsIn(b);
  await b.getByTestId("gallery").getByRole("group", { name: /^Video player/ }).waitFor();
  await w.shot(b, "album-video-opened");
  await b.keyboard.press("Escape");
  await dialog(b).waitFor({ state: "hidden" });
  await moving.getByTestId("video-poster").first().focus(); // as the Tab key does
  await b.keyboard.press("Tab");
  await b.keyboard.press("Tab");
  assert.equal(await moving.getByTestId("video-poster").nth(1).evaluate((el) => el === document.activeElement), true, "the tiles follow each other by the Tab key");
  await b.keyboard.press("Enter");
  await playsIn(b);
  await b.waitForFunction(() => document.activeElement?.dataset["testid"] === "player");
  await b.keyboard.press("k"); // of the player
  await b.waitForFunction(() => document.querySelector('[role="dialog"] [data-testid="player-video"]').paused);
  await b.getByTestId("gallery").getByRole("button", { name: "Previous" }).press("ArrowLeft"); // of the gallery
  await b.waitForFunction(() => document.querySelector('[data-testid="gallery-image"]')?.naturalWidth > 0);
  await b.keyboard.press("ArrowLeft");
  await b.getByTestId("gallery").getByTestId("player-video").waitFor();
  assert.equal(await b.getByTestId("gallery").getByTestId("player-video").evaluate((v) => v.paused), true, "only what was pressed plays by itself");
  await dialog(b).getByRole("button", { name: "Close" }).click();
  await dialog(b).waitFor({ state: "hidden" });

  w.step("a message is forwarded, and several as a card; a recall takes the text out of both");
  const carol = await w.user("carol", "Carol");
  await w.befriend(bob, carol);
  await w.direct(bob, carol);
  await say(a, "secret one");
  await say(a, "open two");
  await message(b, "open two").waitFor();
  await choose(b, message(b, "secret one"), "Forward");
  await dialog(b).getByTestId("pick-chat").filter({ hasText: "Carol" }).click();
  await dialog(b).waitFor({ state: "hidden" });
  await choose(b, message(b, "secret one"), "Select");
  await b.getByTestId("select-bar").getByText("1 selected").waitFor();
  await log(b).getByRole("checkbox", { name: "Alice: open two" }).check(); // no key: the menu that closes moves the focus
  await b.getByTestId("select-bar").getByText("2 selected").waitFor();
  await b.getByTestId("select-bar").getByRole("button", { name: "Forward" }).click();
  await dialog(b).getByTestId("pick-chat").filter({ hasText: "Carol" }).click();
  await dialog(b).waitFor({ state: "hidden" });
  await row(b, "Carol").click();
  await b.getByTestId("forward").filter({ hasText: "Messages from Alice" }).getByText("Alice: secret one").waitFor();
  await b.getByTestId("forward").filter({ hasText: "Forwarded from Alice" }).getByText("secret one", { exact: true }).waitFor();
  await w.shot(b, "forward");
  await choose(a, message(a, "secret one"), "Delete for everyone");
  await confirm(a, "Delete for everyone");
  await message(a, "open two").waitFor();
  await row(b, "open two").click();
  await b.getByText("secret one").first().waitFor({ state: "detached" });
  await row(b, "Carol").click();
  await b.getByTestId("forward").filter({ hasText: "Messages from Alice" }).getByText("This message is not available.").waitFor();
  await b.getByText("secret one").first().waitFor({ state: "detached" });

  w.step("a person is shared as a card, which leads to their page");
  await openPanel(b);
  await panel(b).getByRole("button", { name: "Share" }).click();
  await dialog(b).getByTestId("pick-chat").filter({ hasText: "Alice" }).click();
  await dialog(b).waitFor({ state: "hidden" });
  await a.getByTestId("card").getByRole("link", { name: "Carol" }).click();
  await a.getByRole("heading", { name: "Carol" }).waitFor();
  await w.shot(a, "shared-card");
  await a.goBack();
  await a.getByTestId("card").waitFor();

  w.step("the operator's extension shows a kind of its own, in the language of the page, and sends");
  await a.getByTestId("tab-chats").click();
  await row(a, "Bob").click();
  const custom = (clientMsgId, type, data, fallback) => w.call("chat.v1.ChatService/Send", { conversation, clientMsgId, content: { custom: { type, data: btoa(data), fallback } } }, bob.token);
  await custom("poll", "app.example/poll", '{"question":"<b>Lunch</b>?","options":["Pizza","Ramen"]}', "no extension");
  await row(a, "Bob").getByText("📊 Poll: <b>Lunch</b>?").waitFor();
  const poll = a.getByRole("group", { name: "Poll: <b>Lunch</b>?" });
  await message(a, "<b>Lunch</b>?").getByTestId("custom").waitFor(); // as a text, without a <b>
  const chinese = await w.device(bob, { locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  await row(chinese, "📊 投票: <b>Lunch</b>?").click();
  await chinese.getByRole("group", { name: "投票: <b>Lunch</b>?" }).getByRole("button", { name: "Pizza" }).click();
  await message(a, "我选: Pizza").waitFor(); // nobody registered votes: their fallback is shown
  await poll.getByRole("button", { name: "Ramen" }).click();
  await message(chinese, "My vote: Ramen").waitFor();
  const [clipBubble, poster] = await Promise.all([".bubble:has([data-testid=video-poster])", "[data-testid=video-poster]"].map((place) => log(chinese).locator(place).first().boundingBox()));
  assert.ok(poster.x + poster.width <= clipBubble.x + clipBubble.width, `the video ends at ${poster.x + poster.width}, its message at ${clipBubble.x + clipBubble.width}`);
  await w.shot(chinese, "extension-phone-zh");
  await message(chinese, "moving").getByTestId("video-poster").nth(1).tap();
  await playsIn(chinese);
  await w.shot(chinese, "album-video-opened-phone-zh");
  await dialog(chinese).getByRole("button", { name: "关闭" }).click();
  await w.shot(a, "extension");
  await chinese.context().close();

  w.step("a kind that nobody registered, and data that are not valid, show the fallback, in the chat and in the list; a link is shared as a card");
  await custom("ballot", "app.example/ballot", '{"question":"lunch?"}', "Ballot: lunch?");
  await message(a, "Ballot: lunch?").waitFor();
  await row(a, "Bob").getByText("Ballot: lunch?").waitFor();
  await custom("bare", "app.example/poll", "{}", "");
  await message(a, "A message that this app cannot show").waitFor();
  for (const [clientMsgId, card] of Object.entries({ site: { title: "The menu", text: "of today", url: "https://lunch.invalid/menu" }, script: { title: "No link", url: "javascript:alert(1)" } })) {
    await w.call("chat.v1.ChatService/Send", { conversation, clientMsgId, content: { card } }, bob.token).catch((e) => assert.match(`${clientMsgId} ${e.message}`, /^script /));
  }
  const site = message(a, "The menu").getByTestId("card").getByRole("link");
  await site.waitFor();
  assert.deepEqual(await site.evaluate((el) => [el.href, el.target, el.rel]), ["https://lunch.invalid/menu", "_blank", "noopener noreferrer nofollow"]);
  await message(a, "The menu").getByText("of today").waitFor();
  await row(a, "Bob").getByText("The menu").waitFor();
  assert.equal(await log(a).locator('a[href^="javascript:"]').count(), 0);
  await w.shot(a, "custom-and-card");

  w.step("without a microphone there is a reason");
  await a.evaluate(() => (navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("no", "NotAllowedError"))));
  await a.getByRole("button", { name: "Record a voice message" }).click();
  await a.getByRole("alert").filter({ hasText: "The microphone cannot be used" }).waitFor();
}

/** What the player of a voice message does. */
const soundOf = (voice) => voice.locator("audio").evaluate((el) => ({ at: el.currentTime, of: el.duration, paused: el.paused, speed: el.playbackRate, error: el.error?.message ?? "" }));

/** Waits until what an element does is what is wanted. */
async function until(look, wanted) {
  for (const ends = Date.now() + 60_000; ; ) {
    const now = await look();
    if (wanted(now)) return now;
    assert.ok(now.error === "" && Date.now() < ends, `it does not become what is wanted (${wanted}): ${JSON.stringify(now)}`);
    await new Promise((done) => setTimeout(done, 50)); // between one question and the next
  }
}

const untilSound = (voice, wanted) => until(() => soundOf(voice), wanted);

/** A voice message of some four seconds plays for who got it, by the pointer and by keys. */
async function voices(w, a, b) {
  const voice = b.getByTestId("voice").first();
  const player = voice.getByRole("group", { name: "Voice message of Alice" });
  const bar = voice.getByRole("slider", { name: "Position" });
  await player.waitFor();
  assert.ok((await voice.locator("rect").count()) > 2, "the voice message has no waveform");
  assert.equal(await a.getByTestId("voice").count(), 1, "the discarded recording was sent");
  const { of } = await untilSound(voice, (s) => Number.isFinite(s.of) && s.of > 3 && s.at === 0);
  assert.match(await player.locator("time").innerText(), /^\d:\d\d$/);
  await player.getByRole("button", { name: "Play" }).click();
  await untilSound(voice, (s) => s.at > 0 && !s.paused);

  w.step("it has the keys of the player, a place of its waveform is where it goes on, and its speed is that of all voice messages");
  await bar.focus();
  await b.keyboard.press("Space");
  await untilSound(voice, (s) => s.paused);
  await b.keyboard.press("5");
  await untilSound(voice, (s) => Math.abs(s.at - of / 2) < 0.5);
  await b.keyboard.press("ArrowRight");
  await untilSound(voice, (s) => s.at > of / 2 + 0.5 || s.at === 0); // five seconds on, or to its end
  await b.keyboard.press("Home");
  await untilSound(voice, (s) => s.at === 0);
  await b.keyboard.press(">");
  await untilSound(voice, (s) => s.speed === 1.25);
  await voice.getByTestId("player-speed").selectOption({ label: "0.5×" });
  await untilSound(voice, (s) => s.speed === 0.5);
  const { width, height } = await bar.boundingBox();
  await bar.click({ position: { x: width * 0.6, y: height / 2 } });
  await untilSound(voice, (s) => Math.abs(s.at - of * 0.6) < 0.3);
  assert.ok((await voice.locator("rect.played").count()) > 0, "the waveform does not show where it is");
  await bar.hover({ position: { x: width * 0.5, y: height / 2 } });
  await voice.getByTestId("player-preview").getByText(/^\d:\d\d$/).waitFor();
  await w.shot(b, "voice");

  w.step("it goes on where it was left, also after one has been elsewhere; another one pauses it");
  await player.getByRole("button", { name: "Play" }).click();
  await untilSound(voice, (s) => s.at > of * 0.6 + 0.1);
  await player.getByRole("button", { name: "Pause" }).click();
  const left = (await untilSound(voice, (s) => s.paused)).at;
  await b.getByTestId("tab-feed").click();
  await voice.waitFor({ state: "detached" });
  await b.getByTestId("tab-chats").click();
  if ((await voice.count()) === 0) await row(b, "Alice").click();
  await untilSound(voice, (s) => Math.abs(s.at - Math.floor(left)) < 0.3 && s.speed === 0.5);
  await a.getByRole("button", { name: "Record a voice message" }).click();
  await a.getByTestId("recorder").getByText("0:01").waitFor();
  await a.getByTestId("recorder").getByRole("button", { name: "Send" }).click();
  const second = b.getByTestId("voice").nth(1);
  await untilSound(second, (s) => s.speed === 0.5);
  await player.getByRole("button", { name: "Play" }).click();
  await untilSound(voice, (s) => !s.paused);
  await second.getByRole("button", { name: "Play" }).click();
  await untilSound(voice, (s) => s.paused);
  await untilSound(second, (s) => s.paused && s.at === 0); // it has ended
  await second.getByRole("button", { name: "Play" }).waitFor();
}

/** A recording of a browser does not say how long it is: its message does, and its player seeks. */
async function recordingIsSought(a, b, w) {
  w.step("a recording of a browser, which does not say how long it is, is sought");
  const recording = await recordedClip(a, 120);
  await a.getByTestId("file").setInputFiles({ name: "long.webm", mimeType: "video/webm", buffer: recording });
  await dialog(a).getByRole("button", { name: "Send", exact: true }).click();
  const poster = b.getByRole("button", { name: /^Play video, (?!0:00)/ });
  await poster.waitFor();
  await poster.click();
  const player = b.getByTestId("player").last();
  const state = () => player.getByTestId("player-video").evaluate((v) => ({ at: v.currentTime, paused: v.paused, seeking: v.seeking, error: v.error?.message ?? "" }));
  await until(state, (v) => v.at > 0);
  await b.keyboard.press("Space");
  await until(state, (v) => v.paused);
  const length = Number(await player.getByTestId("player-seek").getAttribute("max"));
  await b.keyboard.press("7");
  await until(state, (v) => !v.seeking && Math.abs(v.at - 0.7 * length) < 0.2);
  await w.shot(b, "recording-sought");
  await b.keyboard.press("2");
  await until(state, (v) => !v.seeking && Math.abs(v.at - 0.2 * length) < 0.2);
  await player.getByTestId("player-seek").fill(String(0.5 * length));
  await until(state, (v) => !v.seeking && Math.abs(v.at - 0.5 * length) < 0.2);
}

/** A short video, recorded in the browser from a canvas. */
async function recordedClip(page, frames = 20) {
  const data = await page.evaluate(async (frames) => {
    const canvas = document.createElement("canvas");
    canvas.width = 160;
    canvas.height = 90;
    const g = canvas.getContext("2d");
    const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: "video/webm" });
    const chunks = [];
    recorder.ondataavailable = (e) => chunks.push(e.data);
    const stopped = new Promise((resolve) => (recorder.onstop = resolve));
    recorder.start();
    for (let i = 0; i < frames; i++) {
      g.fillStyle = `hsl(${i * 18} 80% 50%)`;
      g.fillRect(0, 0, 160, 90);
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    recorder.stop();
    await stopped;
    return Array.from(new Uint8Array(await new Blob(chunks).arrayBuffer()));
  }, frames);
  return Buffer.from(data);
}
