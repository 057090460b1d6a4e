// Kinds of messages: voice, a place, an album with its gallery, a video with its poster, and forwards.
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
  await a.getByTestId("recorder").getByText("0:01").waitFor();
  await a.getByTestId("recorder").getByRole("button", { name: "Send" }).click();
  const voice = b.getByTestId("voice");
  await voice.waitFor();
  if ((await voice.locator("rect").count()) < 2) throw new Error("the voice message has no waveform");
  await voice.getByRole("button", { name: "Play" }).click();
  await voice.getByRole("button", { name: "Pause" }).waitFor();
  await b.waitForFunction(() => document.querySelector("audio").currentTime > 0);
  if ((await a.getByTestId("voice").count()) !== 1) throw new Error("the discarded recording was sent");

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
  const [clipBubble, poster] = await Promise.all([".bubble:has([data-testid=video-poster])", "[data-testid=video-poster]"].map((place) => log(chinese).locator(place).boundingBox()));
  assert.ok(poster.x + poster.width <= clipBubble.x + clipBubble.width, `the video ends at ${poster.x + poster.width}, its message at ${clipBubble.x + clipBubble.width}`);
  await w.shot(chinese, "extension-phone-zh");
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

/** A short video, recorded in the browser from a canvas. */
async function recordedClip(page) {
  const data = await page.evaluate(async () => {
    const canvas = document.createElement("canvas");
    canvas.width = 160;
    canvas.height = 90;
    const g = canvas.getContext("2d");
    const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: "video/webm" });
    const chunks = [];
    recorder.ondataavailable = (e) => chunks.push(e.data);
    const stopped = new Promise((resolve) => (recorder.onstop = resolve));
    recorder.start();
    for (let i = 0; i < 20; i++) {
      g.fillStyle = `hsl(${i * 18} 80% 50%)`;
      g.fillRect(0, 0, 160, 90);
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    recorder.stop();
    await stopped;
    return Array.from(new Uint8Array(await new Blob(chunks).arrayBuffer()));
  });
  return Buffer.from(data);
}
