/** What tells chats with equal titles apart, by their ids: how many members they have or, if that is equal, the end of the id. Chats whose title no other has are left out. */
export function distinctions(chats: readonly { id: string; title: string; memberCount: number }[], members: (n: number) => string): Map<string, string> {
  const told = new Map<string, string>();
  for (const equal of groups(chats, (c) => c.title)) {
    if (equal.length < 2) continue;
    for (const size of groups(equal, (c) => String(c.memberCount))) {
      let digits = 4;
      while (new Set(size.map((c) => c.id.slice(-digits))).size < size.length) digits++;
      for (const c of size) told.set(c.id, members(c.memberCount) + (size.length > 1 ? ` · …${c.id.slice(-digits)}` : ""));
    }
  }
  return told;
}

function groups<T>(list: readonly T[], keyOf: (item: T) => string): T[][] {
  const found = new Map<string, T[]>();
  for (const item of list) found.set(keyOf(item), [...(found.get(keyOf(item)) ?? []), item]);
  return [...found.values()];
}
