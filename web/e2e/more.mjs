// Further scenes of the browsers' test: a long history, the keyboard alone, and a group's life.
import assert from "node:assert/strict";

/** Calls the API as a stranger's program would: JSON over HTTP. */
export async function call(url, method, body, token) {
  const res = await fetch(`${url}/rialto.${method}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  });
  const answer = await res.json();
  if (!res.ok) throw new Error(`${method}: ${JSON.stringify(answer)}`);
  return answer;
}

export const count = 400;

/** Somebody who wrote a lot while the other was away. */
export async function writeMuch(url, handle, name, to, count) {
  const me = await call(url, "account.v1.AccountService/Register", { handle, password: "a good password", displayName: name });
  const { conversation } = await call(url, "chat.v1.ChatService/OpenDirect", { user: to }, me.accessToken).then((c) => ({ conversation: c.id }));
  for (let n = 1; n <= count; n++) {
    const text = n % 9 === 0 ? `line ${n}\n${"a longer one, with several lines. ".repeat(n % 5)}` : `line ${n}`;
    await call(url, "chat.v1.ChatService/Send", { conversation, clientSeq: n, content: { text } }, me.accessToken);
  }
}

const numbers = (page) => page.locator('[data-testid="message"] .text').evaluateAll((all) => all.map((p) => Number(/line (\d+)/.exec(p.textContent)?.[1])));

/** Reads a long chat from its end to its beginning and back: everything once, in order, and never much of it in the page. */
export async function readAll(page, name) {
  const row = page.getByTestId("conversation").filter({ hasText: name });
  await row.getByTestId("unread").filter({ hasText: String(count) }).waitFor();
  await row.click();
  await page.locator('[data-testid="message"] .text').getByText(`line ${count}`, { exact: true }).waitFor();
  await row.getByTestId("unread").waitFor({ state: "detached" });
  const seen = new Set();
  for (;;) {
    const shown = await numbers(page);
    for (const [i, n] of shown.entries()) {
      seen.add(n);
      if (i > 0) assert.equal(n, shown[i - 1] + 1, "a hole or a wrong order in what is shown");
    }
    assert.ok(shown.length <= 400 - 100, `${shown.length} messages in the page`);
    if (shown[0] === 1) break;
    // What one looks at stays in its place while older messages come in above it.
    const drift = await page.evaluate(async () => {
      const box = document.querySelector('[data-testid="messages"]');
      const edge = box.getBoundingClientRect().top;
      box.scrollTop = 0;
      const row = box.querySelector("[data-row]");
      const first = row.dataset.row;
      const at = row.getBoundingClientRect().top - edge;
      await new Promise((resolve) => {
        const look = () => (box.querySelector("[data-row]").dataset.row !== first ? resolve() : requestAnimationFrame(look));
        look();
      });
      await new Promise((resolve) => requestAnimationFrame(resolve));
      return Math.abs(box.querySelector(`[data-row="${first}"]`).getBoundingClientRect().top - edge - at);
    });
    assert.ok(drift < 60, `the view moved by ${drift} pixels`); // the heading of the day may go
  }
  assert.equal(seen.size, count);
  await page.getByRole("button", { name: "To the newest message" }).click();
  await page.locator('[data-testid="message"] .text').getByText(`line ${count}`, { exact: true }).waitFor();
}

/** Opens a chat with more new messages than fit: the way to the first is one click, and a growing field keeps the view at the end. */
export async function jumpToNew(page, name, count) {
  await page.getByTestId("conversation").filter({ hasText: name }).click();
  await page.getByRole("button", { name: `↑ ${count} new messages` }).click();
  await inView(page, "line 1");
  await page.getByRole("button", { name: "To the newest message" }).click();
  await inView(page, `line ${count}`);
  await page.getByTestId("composer").fill(Array.from({ length: 12 }, (_, i) => `row ${i}`).join("\n"));
  await inView(page, `line ${count}`);
  assert.equal(await page.getByRole("button", { name: "To the newest message" }).count(), 0);
  await page.getByTestId("composer").fill("");
}

function inView(page, text) {
  return page.waitForFunction((wanted) => {
    const box = document.querySelector('[data-testid="messages"]').getBoundingClientRect();
    const p = [...document.querySelectorAll('[data-testid="message"] .text')].find((e) => e.textContent === wanted)?.getBoundingClientRect();
    return p && p.top >= box.top && p.bottom <= box.bottom;
  }, text);
}

/** Logging in, choosing a chat, writing and leaving it, without a mouse. */
export async function byKeyboard(page, url, handle, text) {
  const { keyboard } = page;
  const focused = (what) => page.waitForFunction((w) => document.activeElement?.matches(w), what);
  await page.goto(url);
  await focused("input[name=handle]");
  await keyboard.type(handle);
  await keyboard.press("Tab");
  await keyboard.type("a good password");
  await keyboard.press("Enter");
  await page.getByTestId("conversation").waitFor();
  for (let i = 0; !(await page.evaluate(() => document.activeElement?.matches("input[type=search]"))); i++) {
    assert.ok(i < 20, "the list is not reached with Tab");
    await keyboard.press("Tab");
  }
  await keyboard.press("ArrowDown");
  await focused("[data-testid=conversation]");
  await keyboard.press("Enter");
  await focused("[data-testid=composer]");
  await keyboard.type(text);
  await keyboard.press("Shift+Enter");
  await keyboard.type("second line ");
  await keyboard.press("Shift+Tab");
  await keyboard.press("Enter"); // the emoji
  await focused(".emoji button");
  await keyboard.press("ArrowRight");
  await keyboard.press("Enter");
  await focused("[data-testid=composer]");
  await keyboard.press("Enter");
  await page.getByTestId("message").filter({ hasText: `${text}` }).filter({ hasText: "second line 😄" }).waitFor();
  await keyboard.press("Escape");
  await focused(".emoji button, [data-testid=conversation], [data-testid=composer]");
  for (let i = 0; !(await page.evaluate(() => document.activeElement?.matches("[data-testid=conversation]"))); i++) {
    assert.ok(i < 3, "Escape does not lead back to the list");
    await keyboard.press("Escape");
  }
}

/** Who signs out leaves nothing on the device; who signs in again has it all. */
export async function signOutAndIn(page, handle, name, before) {
  await page.getByTestId("conversation").filter({ hasText: name }).click();
  await page.getByTestId("composer").fill("not for others to see");
  await page.getByTestId("tab-settings").click();
  await page.locator(".settings > button").last().click();
  await page.locator("dialog").getByRole("button", { name: "Sign out" }).click();
  await page.locator("input[name=handle]").fill(handle);
  assert.equal(await page.evaluate(() => Object.keys(localStorage).filter((k) => k.startsWith("draft/")).length), 0);
  await page.locator("input[name=password]").fill("a good password");
  await page.keyboard.press("Enter");
  await page.getByTestId("conversation").filter({ hasText: name }).click();
  const texts = page.locator('[data-testid="message"] .text');
  await page.waitForFunction((n) => document.querySelectorAll('[data-testid="message"] .text').length === n, before.length);
  assert.deepEqual(await texts.allInnerTexts(), before);
}

/** A group is renamed, announces, is joined by its link and after being asked, makes an admin, loses a member, and is left. */
export async function groupLife({ alice, bob, carol, shot }) {
  await alice.getByTestId("conversation").filter({ hasText: "周末爬山" }).click();
  await alice.getByRole("button", { name: "About this chat" }).click();
  const panel = alice.getByRole("complementary", { name: "About this chat" });
  await panel.getByLabel("Group name").fill("周日爬山 ⛰️");
  await panel.getByLabel("Announcement").fill("八点在西门集合");
  await panel.getByRole("button", { name: "Save" }).click();
  await bob.locator(".announcement").filter({ hasText: "八点在西门集合" }).waitFor();
  await bob.getByTestId("conversation").filter({ hasText: "周日爬山" }).waitFor();
  await panel.getByRole("button", { name: "Join link" }).click();
  const link = await alice.getByTestId("join-link").inputValue();
  await carol.goto(link); // the page is open already: only its address changes
  await carol.getByRole("main", { name: "周日爬山 ⛰️" }).waitFor();
  await alice.getByText("3 members").first().waitFor();
  const member = (name) => panel.locator("li").filter({ hasText: name });
  await member("Bob").getByRole("button", { name: "Options" }).click();
  await member("Bob").getByRole("button", { name: "Make admin" }).click();
  await member("Bob").getByText("admin").first().waitFor();
  await shot(alice, "11-group-admin");
  await member("Carol").getByRole("button", { name: "Options" }).click();
  await member("Carol").getByRole("button", { name: "Remove" }).click();
  await alice.locator("dialog").getByRole("button", { name: "Remove" }).click();
  await carol.locator(".closed-note").waitFor();
  await panel.getByLabel("Who may join").selectOption({ label: "Anybody, after approval" });
  await alice.getByText("You changed how people join").last().waitFor();
  await panel.getByRole("button", { name: "Join link" }).click();
  await panel.getByText("asks to join").waitFor();
  await carol.goto(await alice.getByTestId("join-link").inputValue());
  await carol.getByText("Your request was sent").waitFor();
  await panel.getByRole("button", { name: "Accept" }).click(); // the panel was open: it is told
  await carol.getByTestId("conversation").filter({ hasText: "周日爬山" }).click();
  await carol.getByTestId("composer").waitFor();
  await panel.getByTestId("retention").selectOption({ label: "for 30 days" });
  await panel.getByRole("button", { name: "Keep for a shorter time" }).click();
  await alice.locator("dialog").getByText("no way back").waitFor();
  await shot(alice, "14-shorter-retention");
  await alice.locator("dialog").getByRole("button", { name: "Keep for a shorter time" }).click();
  await alice.getByText(/kept for 30 days/).last().waitFor();
  await carol.getByText(/kept for 30 days/).last().waitFor();
  await panel.getByTestId("retention").selectOption({ label: "for 90 days" }); // longer: nothing is lost, nothing is asked
  await panel.getByRole("button", { name: "Save" }).last().click();
  await carol.getByText(/kept for 90 days/).last().waitFor();
  await panel.getByRole("button", { name: "Only admins write" }).click();
  await carol.locator(".closed-note").waitFor();
  await shot(alice, "13-group-open-by-approval");
  await bob.getByRole("button", { name: "Leave group" }).click();
  await bob.locator("dialog").getByRole("button", { name: "Leave group" }).click();
  await bob.locator(".closed-note").waitFor();
  await alice.getByText("2 members", { exact: true }).first().waitFor();
}
