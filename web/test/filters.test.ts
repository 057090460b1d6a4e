import type { ConversationView } from "@rialto-im/client";
import { expect, test } from "vitest";
import { filters, matches } from "../src/filters.js";

const view = (fields: Partial<ConversationView>) => ({ peer: "0", lastCounted: 0, readCounted: 0, recalled: 0, markedUnread: false, ...fields }) as ConversationView;

test("each filter lists its chats", () => {
  const chats = { group: view({ lastCounted: 2, readCounted: 1 }), marked: view({ markedUnread: true }), recalled: view({ lastCounted: 1, recalled: 1 }), direct: view({ peer: "7" }) };
  const listed = (filter: (typeof filters)[number]) => Object.entries(chats).flatMap(([name, c]) => (matches(c, filter) ? [name] : []));
  expect(Object.fromEntries(filters.map((f) => [f, listed(f)]))).toEqual({
    all: ["group", "marked", "recalled", "direct"],
    unread: ["group", "marked"],
    groups: ["group", "marked", "recalled"],
    direct: ["direct"],
    threads: ["group", "marked", "recalled", "direct"], // whatever the list of threads has
  });
});
