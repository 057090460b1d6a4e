import { expect, test } from "vitest";
import { OfficialAccounts } from "../../src/official.js";

function made() {
  const calls: unknown[] = [];
  let following = false;
  let changes = 0;
  let me = "7";
  const account = () => ({ user: "1", channel: "9", following }) as never;
  const api = new Proxy({}, {
    get: (_, name: string) => async (request: object) => {
      calls.push([name, request]);
      return name === "tapOfficialMenu" ? { conversation: "5" } : account();
    },
  });
  const official = new OfficialAccounts({
    me: () => me, api: () => api as never, onChange: () => changes++,
    join: async (channel) => { calls.push(["join", channel]); following = true; },
    leave: async (channel) => { calls.push(["leave", channel]); following = false; },
  });
  return { official, calls, changes: () => changes, login: (user: string) => (me = user) };
}

test("following joins the account's channel, and shows it", async () => {
  const { official, calls, changes, login } = made();
  await official.follow("1");
  expect(official.view("1")?.following).toBe(true);
  await official.unfollow("1");
  expect(official.view("1")?.following).toBe(false);
  expect(calls.filter(([name]: any) => name !== "getOfficialAccount")).toEqual([["join", "9"], ["leave", "9"]]);
  expect(changes()).toBe(4);
  login("8"); // what one user sees of an account is not for another
  expect(official.view("1")).toBeUndefined();
});

test("each tap and each broadcast has a key, so that a retry is harmless", async () => {
  const { official, calls } = made();
  expect(await official.tap("1", 2, 1)).toBe("5");
  await official.broadcast({ user: "1" });
  await official.broadcast({ user: "1", key: "mine" });
  const keys = calls.map(([, request]: any) => request.key as string);
  expect(keys[0]).toMatch(/^[a-zA-Z0-9_-]{1,40}$/);
  expect(keys[1]).toMatch(/.+/);
  expect(keys[2]).toBe("mine");
});

test("many followers are labelled in several calls, each of them once", async () => {
  const { official, calls } = made();
  const followers = Array.from({ length: 450 }, (_, n) => String(n + 1));
  await official.label("1", followers, "vip");
  expect(calls.map(([name, request]: any) => [name, request.followers.length, request.label, request.remove])).toEqual([
    ["setFollowerLabel", 200, "vip", false], ["setFollowerLabel", 200, "vip", false], ["setFollowerLabel", 50, "vip", false],
  ]);
  expect(calls.flatMap(([, request]: any) => request.followers)).toEqual(followers);
});

test("a label is renamed or deleted, and the answer is shown", async () => {
  const { official, calls, changes } = made();
  await official.renameLabel("1", "vip", "gold");
  await official.deleteLabel("1", "gold");
  expect(calls).toEqual([["replaceFollowerLabel", { user: "1", label: "vip", replacement: "gold" }], ["replaceFollowerLabel", { user: "1", label: "gold" }]]);
  expect(changes()).toBe(2);
});
