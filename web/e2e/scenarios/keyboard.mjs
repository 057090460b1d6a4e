// Signing in, choosing a chat, writing and leaving it, without a mouse.
import assert from "node:assert/strict";
import { message, password } from "../harness.mjs";

export default async function keyboard(w) {
  const alice = await w.user("alice", "Alice");
  const carol = await w.user("carol", "Carol");
  await w.send(alice, await w.direct(alice, carol), ["hello"]);
  const page = await w.page();
  const keys = page.keyboard;
  const focused = (what) => page.waitForFunction((s) => document.activeElement?.matches(s), what);
  const hasFocus = (what) => page.evaluate((s) => document.activeElement?.matches(s), what);

  await focused("input[name=handle]");
  await keys.type(carol.handle);
  await keys.press("Tab");
  await keys.type(password);
  await keys.press("Enter");
  await page.getByTestId("conversation").waitFor();
  for (let i = 0; !(await hasFocus("input[type=search]")); i++) {
    assert.ok(i < 20, "the list is not reached with Tab");
    await keys.press("Tab");
  }
  await keys.press("ArrowDown");
  await focused("[data-testid=conversation]");
  await keys.press("Enter");
  await focused("[data-testid=composer]");
  await keys.type("typed by hand");
  await keys.press("Shift+Enter");
  await keys.type("second line ");
  await keys.press("Shift+Tab");
  await keys.press("Enter"); // the emoji
  await focused(".emoji input");
  await keys.type("grinning squinting");
  // The search has an effect a moment later: what Enter picks is then the one that was found.
  await page.waitForFunction(() => document.querySelector(".emoji-one[data-active]")?.textContent === "😆");
  await keys.press("Enter");
  await focused("[data-testid=composer]");
  await keys.press("Enter");
  await message(page, "typed by hand").filter({ hasText: "second line 😆" }).waitFor();
  await keys.press("Escape");
  await focused(".emoji input, [data-testid=conversation], [data-testid=composer]");
  for (let i = 0; !(await hasFocus("[data-testid=conversation]")); i++) {
    assert.ok(i < 3, "Escape does not lead back to the list");
    await keys.press("Escape");
  }
}
