// With a finger: whatever it hits is at least 44 pixels high and wide.
import assert from "node:assert/strict";
import { message, openPanel, panel, phone, row, shots } from "../harness.mjs";

export default async function touch(w) {
  const alice = await w.person("alice", "Alice", { viewport: phone, hasTouch: true, isMobile: true, colorScheme: "dark" });
  const bob = await w.user("bob", "Bob");
  const carol = await w.user("carol", "Carol");
  await w.befriend(alice, bob);
  await w.call("account.v1.GraphService/RequestFriend", { user: alice.id, message: "Hi, we met at the lake." }, carol.token);
  const { id } = await w.call("chat.v1.ChatService/CreateGroup", { title: "Hikers", members: [bob.id] }, alice.token);
  await w.send(bob, id, ["helo"]);
  await w.call("chat.v1.ChatService/Send", { conversation: id, clientMsgId: "edit", content: { edit: { target: { seq: 2 }, content: { text: "hello" } } } }, bob.token);
  const { page } = alice;
  await row(page, "Hikers").waitFor();
  await large(page, "the list");
  await row(page, "Hikers").tap();
  await message(page, "hello").waitFor();
  await large(page, "a chat");
  await w.shot(page, "45-touch-chat");
  await swiped(w, page);
  await pressed(w, page);
  await openPanel(page);
  await panel(page).getByText("Bob").waitFor();
  await large(page, "a group's panel");
  await w.shot(page, "46-touch-panel");
  const post = await w.call("feed.v1.FeedService/Publish", { clientPostId: "touch", content: { text: "by the lake" } }, alice.token);
  await w.call("feed.v1.FeedService/EditPost", { post: post.id, content: { text: "at the lake", audience: "AUDIENCE_FRIENDS" } }, alice.token);
  for (const place of ["feed", `feed/${post.id}`, `feed/u/${bob.handle}`, "people", "settings", "settings/profile", "settings/appearance", "settings/notifications", "settings/privacy", "settings/security", "settings/sessions", `u/${bob.handle}`]) {
    await page.goto(`${w.url}/${place}`);
    await page.getByRole(/^settings\/|^u\/|^feed\//.test(place) ? "main" : "navigation").first().waitFor();
    if (place === "feed") await page.getByText("at the lake").waitFor();
    if (place.startsWith("feed/u/")) await page.getByRole("button", { name: "Follow" }).waitFor();
    if (place === "people") await page.getByRole("button", { name: "Accept" }).waitFor();
    if (place.startsWith("u/")) await page.getByRole("button", { name: "Block" }).waitFor();
    await large(page, place);
    if (place === "people") await w.shot(page, "47-touch-people");
  }
}

/** A finger drags a message: sideways and far it is a reply, not so far nothing, and up and down the list scrolls. */
async function swiped(w, page) {
  w.step("a message is swiped to reply");
  const bubble = message(page, "hello").locator(".bubble");
  const bubbleElement = await bubble.elementHandle();
  const cdp = await page.context().newCDPSession(page);
  const drag = async (dx, dy, held = async () => {}) => {
    const box = await bubble.boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await cdp.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
    for (let i = 1; i <= 8; i++) await cdp.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x: x + (dx * i) / 8, y: y + (dy * i) / 8 }] });
    await held();
    await cdp.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  };
  const quoted = page.locator(".replying");
  // The last of the finger's moves may not have been handled yet.
  const at = (translate) => page.waitForFunction(([e, is]) => getComputedStyle(e).translate === is, [bubbleElement, translate]);
  await drag(40, 4, async () => {
    await page.locator('.bubble[data-swipe="right"]:not([data-armed])').waitFor();
    await at("40px");
  });
  await drag(4, -60);
  await drag(60, -64);
  assert.equal(await quoted.count(), 0);
  await page.locator(".bubble[data-swipe]").waitFor({ state: "detached" });
  await drag(-70, 6, async () => {
    await page.locator('.bubble[data-swipe="left"][data-armed]').waitFor();
    await page.screenshot({ path: `${shots}/85-swipe.png` });
  });
  await quoted.getByText("hello").waitFor();
  await page.keyboard.press("Escape");
  await quoted.waitFor({ state: "detached" });
  await page.emulateMedia({ reducedMotion: "reduce" });
  await drag(70, 0, async () => {
    await page.locator('.bubble[data-swipe="right"][data-armed]').waitFor();
    await at("none");
  });
  await quoted.getByText("hello").waitFor();
  await page.keyboard.press("Escape");
}

/** A finger that stays on a message, or on a conversation of the list, opens its menu, and does nothing else when it lets go. */
async function pressed(w, page) {
  w.step("a long press opens menus");
  const cdp = await page.context().newCDPSession(page);
  const menu = page.getByRole("menu");
  const hold = async (target, name) => {
    const box = await target.boundingBox();
    await cdp.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x: box.x + box.width / 2, y: box.y + box.height / 2 }] });
    await menu.waitFor();
    await cdp.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await w.shot(page, name);
    const heights = await menu.getByRole("menuitem").evaluateAll((list) => list.map((e) => e.getBoundingClientRect().height));
    assert.ok(heights.length > 2 && heights.every((h) => h >= 43.5), `items of a menu are too small for a finger: ${heights}`);
  };
  await hold(message(page, "hello").locator(".bubble"), "162-touch-menu");
  await menu.getByRole("menuitem", { name: "Reply", exact: true }).tap();
  await page.locator(".replying").getByText("hello").waitFor();
  await page.keyboard.press("Escape");
  const chat = page.url();
  await page.getByRole("button", { name: "Back" }).tap();
  const hikers = row(page, "Hikers");
  await hikers.waitFor();
  await hold(hikers, "163-touch-list-menu");
  assert.notEqual(page.url(), chat, "the conversation opened when the finger let go");
  await menu.getByRole("menuitem", { name: "Mute" }).tap();
  await hikers.getByText("Muted").waitFor({ state: "attached" });
  await hikers.tap();
  await message(page, "hello").waitFor();
  assert.equal(page.url(), chat);
}

/** Controls that are shown and too small; links within a text are as high as the text. */
async function large(page, where) {
  const small = await page.evaluate(() =>
    [...document.querySelectorAll("button, select, summary, input:not([type=file]), a.row, a.icon, a.button, .file-button")]
      .map((e) => (e.type === "checkbox" ? e.closest("label") : e))
      .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".sr-only"))
      .map((e) => ({ what: `${e.tagName} ${e.className} ${e.getAttribute("aria-label") ?? e.textContent}`.slice(0, 80), ...e.getBoundingClientRect().toJSON() }))
      .filter((r) => r.width > 0 && (r.height < 43.5 || r.width < 43.5))
      .map((r) => `${r.what}: ${Math.round(r.width)} x ${Math.round(r.height)}`),
  );
  assert.deepEqual(small, [], `too small for a finger: ${where}`);
}
