import type { ConversationView, Relation, User } from "./model.js";

/** Names gives users and one-to-one conversations the names that this user sees. */
export class Names {
  /** One-to-one conversations with the title that they are shown with. */
  private readonly titled = new WeakMap<ConversationView, ConversationView>();

  constructor(
    private readonly user: (id: string) => User | undefined,
    private readonly relations: () => ReadonlyMap<string, Relation>,
  ) {}

  /** A user's name: one's own remark for them, or the name they gave themselves; empty until it is known. */
  of(user: string): string {
    const profile = this.user(user);
    return this.relations().get(user)?.remark || profile?.displayName || "";
  }

  /** A one-to-one conversation with the other's name as its title. The same object as long as neither changes. */
  withTitle(c: ConversationView): ConversationView {
    if (c.peer === "0" || c.peer === "") return c;
    const title = this.of(c.peer);
    let shown = this.titled.get(c);
    if (shown?.title !== title) this.titled.set(c, (shown = { ...c, title }));
    return shown!;
  }
}
