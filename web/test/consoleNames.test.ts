import { expect, test } from "vitest";
import { namesIn, userText } from "../src/console/moderationNames.js";
import { en, zh, type Translate } from "../src/console/text.js";
import { fill } from "../src/locale.js";

const inEnglish: Translate = (key, values) => fill("en", en, key, values);
const inChinese: Translate = (key, values) => fill("zh", zh, key, values);

test("moderators read a user's name, handle and id, in both languages, and the id alone of whom there is no name", () => {
  const names = namesIn([{ id: "7", handle: "bob", displayName: "Bob", deleted: false }, { id: "8", handle: "x8", displayName: "x", deleted: true }]);
  expect(userText(inEnglish, names, "7")).toBe("\u2068Bob\u2069 (@bob, 7)");
  expect(userText(inChinese, names, "7")).toBe("\u2068Bob\u2069（@bob，7）");
  expect(userText(inEnglish, names, "8")).toBe("8 (deleted account)");
  expect(userText(inChinese, names, "8")).toBe("8（已注销的账号）");
  expect(userText(inEnglish, names, "9")).toBe("9");
});
