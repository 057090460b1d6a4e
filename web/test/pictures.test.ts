import { expect, test } from "vitest";
import { GroupPictures } from "../src/pictures.js";

function setUp() {
  const asked: string[] = [];
  let away = false;
  const pictures = new GroupPictures({
    download: async (m, upload) => {
      asked.push(`${m.conversation}/${upload}/${m.seq ?? "group"}`);
      if (away) throw new Error("away");
      return `https://files/${upload}?n=${asked.length}`;
    },
  });
  return { asked, pictures, setAway: (v: boolean) => (away = v) };
}

test("a picture that many places show is asked for once", async () => {
  const { asked, pictures } = setUp();
  const [a, b] = await Promise.all([pictures.url("1", "7"), pictures.url("1", "7")]);
  expect(a).toBe(b);
  await pictures.url("1", "8");
  expect(asked).toEqual(["1/7/group", "1/8/group"]);
});

test("one that has expired is asked for again, once", async () => {
  const { asked, pictures } = setUp();
  const old = await pictures.url("1", "7");
  pictures.forget("1", "7", old);
  pictures.forget("1", "7", old);
  const fresh = await pictures.url("1", "7");
  pictures.forget("1", "7", old); // another place is late
  expect(await pictures.url("1", "7")).toBe(fresh);
  expect(asked).toHaveLength(2);
});

test("one that could not be had is asked for again", async () => {
  const { pictures, setAway } = setUp();
  setAway(true);
  await expect(pictures.url("1", "7")).rejects.toThrow("away");
  setAway(false);
  expect(await pictures.url("1", "7")).toContain("/7");
});

test("no more than 200 are kept", async () => {
  const { asked, pictures } = setUp();
  for (let i = 0; i <= 200; i++) await pictures.url("1", `${i}`);
  await pictures.url("1", "200");
  expect(asked).toHaveLength(201);
  await pictures.url("1", "0");
  expect(asked).toHaveLength(202);
});
