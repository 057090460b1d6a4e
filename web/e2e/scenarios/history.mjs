// Long chats: read from end to beginning, jumped in, and with a message as long as a text may be.
import assert from "node:assert/strict";
import { desktop, inView, log, message, phone, row, say } from "../harness.mjs";

const many = 400;
const lots = 1_200;
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}`);

export default async function history(w) {
  const alice = await w.person("alice", "Alice");
  const carol = await w.user("carol", "Carol");
  const dave = await w.user("dave", "Dave");
  const { page } = alice;

  w.step("read from its end to its beginning");
  await writeMuch(w, carol, alice, many);
  await row(page, "Carol").getByTestId("unread").filter({ hasText: String(many) }).waitFor();
  const toEnd = page.getByRole("button", { name: "To the newest message" });
  await row(page, "Carol").click();
  await inView(page, "line 1"); // it opens at the first new message
  await toEnd.click();
  await inView(page, `line ${many}`);
  await row(page, "Carol").getByTestId("unread").waitFor({ state: "detached" });
  await readByServer(w, alice, carol);
  await readByDevice(page, await w.direct(alice, carol));
  await page.reload(); // it has the messages, and shows the last of them
  await readAll(page);
  await w.shot(page, "12-long-history");
  const small = await w.device(alice, { viewport: phone, hasTouch: true, isMobile: true }); // it has none: they come from the server
  await row(small, "Carol").tap();
  await readAll(small);
  await w.shot(small, "50-phone-history");
  await small.context().close();

  w.step("so many new messages that they are not loaded whole: only those that were seen are read");
  const unread = () => row(page, "Dave").getByTestId("unread").innerText();
  await writeMuch(w, dave, alice, lots);
  await row(page, "Dave").getByTestId("unread").filter({ hasText: "999+" }).waitFor();
  await row(page, "Dave").click();
  await inView(page, "line 1");
  assert.equal(await unread(), "999+");
  await toEnd.click();
  await inView(page, `line ${lots}`);
  await row(page, "Dave").getByTestId("unread").waitFor({ state: "detached" });
  await row(page, "Carol").click();
  await w.send(dave, await w.direct(dave, alice), range(lots + 1, lots + 600));
  await row(page, "Dave").getByTestId("unread").filter({ hasText: "600" }).waitFor();
  await row(page, "Dave").click();
  await inView(page, `line ${lots + 1}`);
  await page.getByText("600 messages arrived while you were away").waitFor();
  await w.shot(page, "48-first-unread");
  assert.ok(Number(await unread()) > 500, "messages that were not seen are read");
  await log(page).evaluate((box) => (box.scrollTop += 2_500)); // reading on
  await page.waitForFunction(() => Number(document.querySelector('[data-testid="conversation"][aria-current] [data-testid="unread"]')?.textContent) < 560);
  assert.ok(Number(await unread()) > 400, "messages that were not seen are read");
  await toEnd.click();
  await inView(page, `line ${lots + 600}`);
  await page.getByTestId("composer").fill(Array.from({ length: 12 }, (_, i) => `row ${i}`).join("\n"));
  await inView(page, `line ${lots + 600}`); // a field that grows keeps the view at the end
  await toEnd.waitFor({ state: "detached" });
  await page.getByTestId("composer").fill("");
  const hidden = (field) => field.evaluate((el) => el.scrollHeight - el.clientHeight);
  assert.equal(await hidden(page.getByTestId("composer")), 0, "a field of one line has a scrollbar");

  await longAddress(w, alice);
}

/** Somebody who wrote a lot while the other was away. */
async function writeMuch(w, from, to, count) {
  const text = (n) => (n % 9 === 0 ? `line ${n}\n${"a longer one, with several lines. ".repeat(n % 5)}` : `line ${n}`);
  await w.send(from, await w.direct(from, to), Array.from({ length: count }, (_, i) => text(i + 1)));
}

/** Waits until the server knows that somebody has read all that another one wrote: it then opens at its end, on each device. */
async function readByServer(w, reader, writer) {
  const conversation = await w.direct(reader, writer);
  while (Number((await w.call("chat.v1.ChatService/GetConversation", { conversation }, reader.token)).unread ?? 0) > 0);
}

/** Waits until the device has stored that all is read, which may take longer than to tell the server. */
async function readByDevice(page, conversation) {
  const stored = async ([id, least]) => {
    for (const { name } of await indexedDB.databases()) {
      const db = await new Promise((resolve, reject) => {
        const open = indexedDB.open(name);
        open.onsuccess = () => resolve(open.result);
        open.onerror = () => reject(open.error);
      });
      const c = db.objectStoreNames.contains("conversations") && (await new Promise((resolve) => {
        const got = db.transaction("conversations").objectStore("conversations").get(id);
        got.onsuccess = () => resolve(got.result);
        got.onerror = () => resolve(undefined);
      }));
      db.close();
      if (c) return c.lastSeq >= least && c.readSeq >= c.lastSeq; // it may not have stored yet that there are so many
    }
    return false;
  };
  while (!(await page.evaluate(stored, [conversation, many]))); // waitForFunction does not wait for promises
}

/** Everything is shown once, in order, and never much of it is in the page. */
async function readAll(page) {
  await inView(page, `line ${many}`);
  const found = await page.evaluate(readUp);
  assert.equal(found.hole, undefined, "a hole or a wrong order in what is shown");
  assert.equal(found.numbers, many);
  assert.ok(found.pages >= 5, `older messages came in ${found.pages} times`);
  assert.ok(found.most < 60, `${found.most} messages in the page`);
  assert.ok(found.drift < 10, `the view moved by ${found.drift} pixels`); // the first message may join the one before it
  await page.getByRole("button", { name: "To the newest message" }).click();
  await inView(page, `line ${many}`);
  await page.waitForFunction(() => {
    const box = document.querySelector('[data-testid="messages"]');
    return box.scrollHeight - box.scrollTop - box.clientHeight < 2; // the very end
  });
}

/**
 * In the page: scrolls to the beginning, as with a wheel. Each turn moves what one looks at by as much as it scrolls, and nothing else
 * moves it, in no frame, while older messages come in above and rows are measured.
 */
async function readUp() {
  const box = document.querySelector('[data-testid="messages"]');
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const look = () => new Map([...box.querySelectorAll("[data-row]")].filter((row) => row.checkVisibility({ visibilityProperty: true })).map((row) => [row, row.getBoundingClientRect().top]));
  const numbers = new Set();
  const result = { drift: 0, most: 0, pages: 0 };
  // The list comes to rest at its end, with all rows around the view measured: half a second of frames without a change.
  for (let rest = 0, size = 0; rest < 30; rest = size === box.scrollHeight ? rest + 1 : 0, size = box.scrollHeight) await frame();
  for (let size = box.scrollHeight; ; ) {
    const shown = [...box.querySelectorAll('[data-testid="message"] .text')].map((p) => Number(/line (\d+)/.exec(p.textContent)?.[1]));
    for (const n of shown) numbers.add(n);
    result.most = Math.max(result.most, shown.length);
    result.hole ??= shown.find((n, i) => i > 0 && n !== shown[i - 1] + 1);
    if (shown[0] === 1 && box.scrollTop < 1) return { ...result, numbers: numbers.size };
    let before = look();
    const from = box.scrollTop;
    box.scrollBy({ top: -250, behavior: "instant" });
    let scrolled = from - box.scrollTop;
    for (let i = 0; i < 4 || (box.scrollTop < 1 && !box.textContent.includes("The beginning of this chat")); i++) {
      await frame();
      const now = look();
      for (const [row, top] of now) if (before.has(row)) result.drift = Math.max(result.drift, Math.abs(top - before.get(row) - scrolled));
      before = now;
      scrolled = 0;
      if (box.scrollHeight > size + 1000) result.pages++;
      size = box.scrollHeight;
    }
  }
}

/** It is shown, as a link, and makes nothing wider than the window. */
async function longAddress(w, alice) {
  w.step("an address as long as a text may be");
  const { page } = alice;
  const long = await w.user("long", "Long Wind");
  const head = "https://example.com/";
  await w.send(long, await w.direct(long, alice), ["a".repeat(100_000 - head.length), `${".".repeat(99_990 - head.length)}x`].map((tail) => head + tail));
  await row(page, "Long Wind").click();
  const link = (length) => page.waitForFunction((n) => [...document.querySelectorAll('[data-testid="message"] .text a')].some((a) => a.textContent.length === n), length);
  await link(100_000); // each is higher than many windows
  await page.getByRole("button", { name: "To the newest message" }).click();
  await link(99_991);
  for (const viewport of [phone, desktop]) {
    await page.setViewportSize(viewport);
    // Nothing is wider than the window, once the app has followed it.
    await page.waitForFunction(() => ![...document.querySelectorAll("*")].some((e) => e.clientWidth > 0 && e.getBoundingClientRect().right > innerWidth + 1 && getComputedStyle(e).position !== "absolute"));
  }
  await say(page, "the app still answers");
  await message(page, "the app still answers").waitFor();
}
