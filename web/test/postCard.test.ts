import { Audience, type Post } from "@rialto-im/client";
import { expect, test } from "vitest";
import { cardOf } from "../src/postCard.js";

const origin = "https://chat.example";
const url = `${origin}/feed/50`;
const post = (content: object) => ({ id: "50", author: "8", content: { title: "", text: "", images: [], goods: [], audience: Audience.EVERYONE, ...content } }) as unknown as Post;

test("a card of a post leads to its page, and says what the post says", () => {
  expect(cardOf(post({ title: "Lake", text: "Two hours" }), "Post by Ana", origin, "7")).toEqual({ title: "Lake", text: "Two hours", url, picture: "0" });
  const long = cardOf(post({ text: "👩‍👩‍👧".repeat(300) }), "Post by Ana", origin, "7");
  expect([long.title, long.text?.endsWith("👩‍👩‍👧…")]).toEqual(["Post by Ana", true]);
});

test("what is not for everyone is not on a card", () => {
  for (const audience of [Audience.FRIENDS, Audience.CHOSEN, Audience.EXCEPT]) {
    expect(cardOf(post({ title: "Secret", text: "x", images: [{ upload: "9" }], audience }), "Post by Ana", origin, "8")).toEqual({ title: "Post by Ana", url });
  }
});

test("a card shows a picture of its sender alone", () => {
  const images = [{ upload: "9" }];
  expect(cardOf(post({ images }), "Post by Ana", origin, "8").picture).toBe("9");
  expect(cardOf(post({ images, cover: { upload: "10" } }), "Post by Ana", origin, "8").picture).toBe("10");
  expect(cardOf(post({ images }), "Post by Ana", origin, "7").picture).toBe("0");
});
