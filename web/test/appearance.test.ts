import type { AccountSettings } from "@rialto-im/client";
import { expect, test } from "vitest";
import { Appearance, type Choice } from "../src/appearance.js";

function setup(account: Partial<AccountSettings> | undefined) {
  const data = new Map<string, string>();
  const storage = { length: 0, key: () => null, getItem: (k: string) => data.get(k) ?? null, setItem: (k: string, v: string) => void data.set(k, v), removeItem: (k: string) => void data.delete(k) };
  const port = {
    me: "1",
    online: true,
    account,
    settings: () => port.account as AccountSettings | undefined,
    async updateSettings(part: Choice) {
      if (!port.online) throw new Error("offline");
      port.account = { ...port.account, ...part };
    },
  };
  let shown: Choice = {};
  return { port, appearance: new Appearance(port, storage, (c) => (shown = { ...shown, ...c })), shown: () => shown };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

test("what another device chose shows here", () => {
  const { port, appearance, shown } = setup({ theme: "dark", locale: "zh" });
  appearance.follow();
  expect(shown()).toEqual({ theme: "dark", locale: "zh" });
  port.account = { theme: "light", locale: "" };
  appearance.follow();
  expect(shown()).toEqual({ theme: "light", locale: "zh" });
});

test("a choice shows at once, and is saved when the network is back", async () => {
  const { port, appearance, shown } = setup({ theme: "light", locale: "en" });
  port.online = false;
  appearance.choose({ theme: "dark" });
  await turn();
  appearance.follow();
  expect([shown().theme, port.account?.theme]).toEqual(["dark", "light"]);
  port.online = true;
  appearance.follow();
  await turn();
  expect(port.account).toEqual({ theme: "dark", locale: "en" });
});

test("who chooses before signing in has it saved to their account; the next user's is left alone", async () => {
  const { port, appearance, shown } = setup(undefined);
  port.me = "";
  appearance.choose({ locale: "zh" });
  port.me = "1";
  port.account = { locale: "en" };
  appearance.follow();
  await turn();
  expect(port.account.locale).toBe("zh");
  port.online = false;
  appearance.choose({ locale: "en" });
  await turn();
  Object.assign(port, { me: "", account: undefined });
  appearance.follow();
  Object.assign(port, { me: "2", online: true, account: { locale: "zh" } });
  appearance.follow();
  await turn();
  expect([port.account?.locale, shown().locale]).toEqual(["zh", "zh"]);
});
