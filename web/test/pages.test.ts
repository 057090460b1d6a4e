import { beforeEach, expect, test } from "vitest";
import { Pages } from "../src/pages.js";

let stored: number[];
let reads: string[];
let failing: boolean;
let pages: Pages<number>;

beforeEach(() => {
  [stored, reads, failing] = [[1, 2, 3, 4, 5], [], false];
  pages = new Pages(async (page) => {
    reads.push(page);
    if (failing) throw new Error("not now");
    const from = Number(page);
    const next = from + 2 < stored.length ? String(from + 2) : "";
    return { items: stored.slice(from, from + 2), next };
  });
});

test("a list is read page by page to its end", async () => {
  expect(await pages.more()).toEqual({ items: [], next: "" });
  await pages.reload();
  expect(await pages.more()).toEqual({ items: [1, 2, 3, 4], next: "4" });
  expect(await pages.more()).toEqual({ items: [1, 2, 3, 4, 5], next: "" });
  await pages.more();
  expect(reads).toEqual(["", "2", "4"]);
});

test("a reload keeps what was read, and has what has changed", async () => {
  await pages.reload();
  await pages.more();
  stored = [0, 1, 3, 4, 5];
  expect(await pages.reload()).toEqual({ items: [0, 1, 3, 4], next: "4" });
  stored = [7];
  expect(await pages.reload()).toEqual({ items: [7], next: "" });
});

test("reads follow each other: a page is listed once, and a failure loses nothing", async () => {
  const [, first, second] = await Promise.all([pages.reload(), pages.more(), pages.more()]);
  expect([first.items.length, second.items]).toEqual([4, [1, 2, 3, 4, 5]]);
  failing = true;
  await expect(pages.reload()).rejects.toThrow("not now");
  failing = false;
  expect((await pages.more()).items).toEqual([1, 2, 3, 4, 5]);
});
