import { Audience, type CardOf, type Post } from "@rialto-im/client";
import { excerpt } from "./format.js";
import { path } from "./routes.js";

const mostTitle = 80;
const mostText = 200;

/** The card by which a post is shared with a chat. What is not for everyone is not on it: who may not see the post learns its author alone. */
export function cardOf(post: Post, title: string, origin: string, me: string): CardOf {
  const url = origin + path.post(post.id);
  const c = post.content;
  if (c?.audience !== Audience.EVERYONE) return { title, url };
  const text = excerpt(c.text, mostText);
  const picture = post.author === me ? (c.cover ?? c.images[0])?.upload ?? "0" : "0"; // a card shows pictures of its sender
  return { title: excerpt(c.title, mostTitle) || title, url, text, picture };
}
