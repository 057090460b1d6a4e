// Both languages, and a phone.
import { message, phone, row, say } from "../harness.mjs";

export default async function appearance(w) {
  const alice = await w.person("alice", "Alice 爱丽丝");
  const bob = await w.user("bob", "Bob");
  await w.befriend(alice, bob);
  const { page } = alice;
  await w.send(bob, await w.direct(bob, alice), ["周末爬山吗？⛰️"]);
  await row(page, "Bob").click();
  await message(page, "周末爬山吗").waitFor();
  await say(page, "带上水和防晒霜 ☀️");
  await message(page, "防晒霜").waitFor();

  w.step("in Chinese");
  await page.getByTestId("tab-settings").click();
  await page.getByRole("link", { name: "Appearance" }).click();
  await page.getByTestId("language").selectOption("zh");
  await page.getByTestId("theme").selectOption("light");
  await w.shot(page, "07-settings-zh");

  w.step("another device follows, at once and at its next start");
  const other = await w.device(alice, { colorScheme: "dark" });
  await other.getByRole("searchbox", { name: "搜索聊天" }).waitFor();
  await other.waitForFunction(() => document.documentElement.dataset.theme === "light" && document.documentElement.lang === "zh-CN");
  await page.getByTestId("theme").selectOption("dark");
  await other.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  await w.shot(other, "42-theme-followed");
  await page.getByTestId("theme").selectOption("auto");
  await other.waitForFunction(() => document.documentElement.dataset.theme === undefined);
  await other.context().close();
  await page.getByTestId("tab-chats").click();

  w.step("an emoji, found by Chinese and English words, in a skin tone");
  await page.getByRole("button", { name: "表情" }).click();
  const search = page.getByRole("searchbox", { name: "搜索表情" });
  const found = (emoji) => page.locator(".emoji-one").filter({ hasText: emoji }).first();
  await search.fill("waving");
  await found("👋").waitFor();
  await page.getByTestId("skin-tone").selectOption("medium");
  await found("👋🏽").waitFor();
  await search.fill("挥手");
  await found("👋🏽").waitFor();
  await w.shot(page, "25-emoji-search");
  await found("👋🏽").click();
  await search.fill("");
  await found("😀").waitFor();
  await w.shot(page, "26-emoji");
  await page.getByRole("button", { name: "表情" }).click();
  await page.getByTestId("composer").press("Enter");
  await message(page, "👋🏽").waitFor();

  w.step("on a phone");
  await page.setViewportSize(phone);
  await w.shot(page, "08-phone-chat");
  await page.getByRole("button", { name: "返回" }).click();
  await w.shot(page, "09-phone-list");
}
