import { AccountData } from "./accountData.js";
import { RialtoError } from "./errors.js";
import type { User as UserPb } from "./gen/rialto/account/v1/account_pb.js";
import type { Relation, User } from "./model.js";
import { Names } from "./names.js";
import type { People, PresenceView } from "./people.js";
import { ReaderLists, type NewReaders } from "./readers.js";
import type { Replica } from "./replica.js";
import type { Services } from "./services.js";
import { noRelations } from "./snapshots.js";

/** Contacts has the people of a user: profiles, how one stands with them, presence, and who reads or types. */
export abstract class Contacts extends AccountData {
  abstract readonly account: Services["account"];
  protected abstract readonly people: People;
  protected readonly readers = new ReaderLists((messages) => void this.session?.connection.send({ watchReaders: { messages: [...messages] } }));
  protected readonly names = new Names((id) => this.user(id), () => this.relations());

  /** A user, as far as known; asks for one that is not, or no longer fresh. */
  user(id: string): User | undefined {
    return this.people.user(id);
  }

  /** A user's name: your remark for them, or the name they gave themselves; empty until it is known. */
  nameOf(user: string): string {
    return this.names.of(user);
  }

  /** The user with a handle. */
  async findUser(handle: string): Promise<User> {
    const { users } = await this.account.getUsers({ handles: [handle] });
    const found = users[0];
    if (!found) throw new RialtoError("not_found", `nobody has the handle ${handle}`, "no_user");
    this.takeUsers([found]);
    return this.people.user(found.id)!;
  }

  /** Keeps users that came with another answer, as of a search. */
  takeUsers(users: readonly UserPb[]): void {
    this.people.take(users);
  }

  /** Asks for a user afresh, as where the picture is not there any more: it was replaced. */
  refreshUser(id: string): void {
    this.people.want(id);
  }

  relations(): ReadonlyMap<string, Relation> {
    return this.session?.replica.data.relations ?? noRelations;
  }

  /** Applies the answer of a graph call at once; the stream says the same a moment later. */
  async relate(call: Promise<Parameters<Replica["takeRelation"]>[0]>): Promise<void> {
    const { replica } = this.current;
    replica.takeRelation(await call);
  }

  /**
   * Tells who reads a message of this user, while its list of readers is shown; the answer ends it. Read the list (chat.listReaders) at the
   * beginning and where there is more.
   */
  watchReaders(conversation: string, seq: number, told: (news: NewReaders) => void): () => void {
    return this.readers.watch(conversation, seq, told);
  }

  /** Replaces the set of users whose presence is kept up to date: at most 500. */
  watch(users: readonly string[]): void {
    this.people.watch(users);
  }

  /** A watched user's presence, where it is known: not while the client is offline. */
  presence(user: string): PresenceView | undefined {
    return this.people.presence(user);
  }

  /** Reads the presence of users who are not watched, as of a group's members in view. What was read is shown by presence. */
  readPresence(users: readonly string[]): Promise<void> {
    return this.people.readPresence(users);
  }

  /** Tells whether this device is idle or in the background. In browsers the client finds out by itself. */
  setAway(away: boolean): void {
    this.session?.connection.setAway(away);
  }

  /** Who is typing in a conversation now. */
  typing(conversation: string): readonly string[] {
    return this.snapshots.list(`typing/${conversation}`, () => this.people.typing(conversation));
  }
}
