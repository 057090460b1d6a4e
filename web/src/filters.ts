import { unread, type ConversationView } from "@rialto-im/client";

/** Parts of the list of chats. */
export const filters = ["all", "unread", "groups", "direct", "threads"] as const;
export type Filter = (typeof filters)[number];

export function isFilter(text: string): text is Filter {
  return filters.some((f) => f === text);
}

export function matches(c: ConversationView, filter: Filter): boolean {
  const group = c.peer === "0" || c.peer === "";
  switch (filter) {
    case "all":
    case "threads": // another list
      return true;
    case "unread":
      return unread(c) > 0 || c.markedUnread;
    case "groups":
      return group;
    case "direct":
      return !group;
  }
}
