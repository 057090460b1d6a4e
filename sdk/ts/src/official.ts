import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceClient } from "./api.js";
import {
  ChangeBroadcastRequest_Action as Action,
  type Broadcast,
  type CreateBroadcastRequestSchema,
  type ListBroadcastsResponse,
  type ListOfficialFollowersResponse,
  type OfficialAccount,
  type OfficialAccountService,
  type OfficialMenuSchema,
  type OfficialRepliesSchema,
  type OfficialRole,
} from "./gen/rialto/chat/v1/official_pb.js";
import type { ContentSchema } from "./gen/rialto/chat/v1/message_pb.js";

export interface OfficialAccountsDeps {
  /** The user who is logged in. */
  me: () => string;
  api: () => ServiceClient<typeof OfficialAccountService>;
  join: (channel: string) => Promise<unknown>;
  leave: (channel: string) => Promise<unknown>;
  onChange: () => void;
}

/** What operators change of an account. Absent parts stay. */
export interface OfficialAccountUpdate {
  /** The revision that was read: the call fails if somebody else was faster. */
  revision?: string;
  menu?: MessageInitShape<typeof OfficialMenuSchema>;
  replies?: MessageInitShape<typeof OfficialRepliesSchema>;
}

const maxKnown = 200;
/** So many followers are labelled in one call. */
const mostLabelled = 200;

/** Official accounts: verified users with a menu, automatic replies and broadcasts. To follow one is to join its channel. */
export class OfficialAccounts {
  /** The accounts that were loaded last, as the user knownTo sees them. */
  private readonly known = new Map<string, OfficialAccount>();
  private knownTo = "";

  constructor(private readonly deps: OfficialAccountsDeps) {}

  /** An account that was loaded before. */
  view(user: string): OfficialAccount | undefined {
    return this.knownTo === this.deps.me() ? this.known.get(user) : undefined;
  }

  /** Loads an account, by the user that it is or by the handle of its channel. */
  async load(of: { user: string } | { handle: string }): Promise<OfficialAccount> {
    return this.remember(await this.deps.api().getOfficialAccount(of));
  }

  /** The accounts that the user operates, without menus and replies. */
  async operated(): Promise<OfficialAccount[]> {
    return (await this.deps.api().listOfficialAccounts({})).accounts;
  }

  async follow(user: string): Promise<void> {
    await this.deps.join((await this.load({ user })).channel);
    await this.load({ user });
  }

  async unfollow(user: string): Promise<void> {
    await this.deps.leave((await this.load({ user })).channel);
    await this.load({ user });
  }

  /** Makes an account send the reply of a menu item, and returns the conversation. Entries count from 0; items from 1, and 0 is the entry itself. A retry with the same key sends nothing more. Ten replies a minute at most (too_many_taps). */
  async tap(user: string, entry: number, item = 0, key: string = crypto.randomUUID()): Promise<string> {
    return (await this.deps.api().tapOfficialMenu({ user, entry, item, key })).conversation;
  }

  /** Replaces the menu, the automatic replies, or both. Fails with changed_meanwhile if the revision is not the latest. */
  async update(user: string, { revision = "0", ...changes }: OfficialAccountUpdate): Promise<OfficialAccount> {
    return this.remember(await this.deps.api().updateOfficialAccount({ user, revision, ...changes }));
  }

  /** Gives an operator a role, or with UNSPECIFIED takes it away. */
  async setOperator(user: string, operator: string, role: OfficialRole): Promise<OfficialAccount> {
    return this.remember(await this.deps.api().setOfficialOperator({ user, operator, role }));
  }

  /** Sets a label on followers, or takes it off. */
  async label(user: string, followers: readonly string[], label: string, remove = false): Promise<void> {
    for (let i = 0; i < followers.length; i += mostLabelled) {
      await this.deps.api().setFollowerLabel({ user, followers: followers.slice(i, i + mostLabelled), label, remove });
    }
  }

  /** Renames a label of all who have it. If there is one of the new name, the two become one. */
  async renameLabel(user: string, label: string, name: string): Promise<OfficialAccount> {
    return this.remember(await this.deps.api().replaceFollowerLabel({ user, label, replacement: name }));
  }

  /** Takes a label off all who have it. */
  async deleteLabel(user: string, label: string): Promise<OfficialAccount> {
    return this.remember(await this.deps.api().replaceFollowerLabel({ user, label }));
  }

  /** A page of followers with their labels: of all, or of those with a label. */
  async followers(user: string, { label = "", page = "", limit = 0 } = {}): Promise<ListOfficialFollowersResponse> {
    return this.deps.api().listOfficialFollowers({ user, label, page, limit });
  }

  /** Sends a message to followers, in waves. A retry with the same key returns the first broadcast. */
  async broadcast(request: Omit<MessageInitShape<typeof CreateBroadcastRequestSchema>, "$typeName">): Promise<Broadcast> {
    return this.deps.api().createBroadcast({ key: crypto.randomUUID(), ...request });
  }

  /** A broadcast with its progress. */
  async getBroadcast(broadcast: string): Promise<Broadcast> {
    return this.deps.api().getBroadcast({ broadcast });
  }

  /** A page of an account's broadcasts, the newest first. */
  async broadcasts(user: string, { page = "", limit = 0 } = {}): Promise<ListBroadcastsResponse> {
    return this.deps.api().listBroadcasts({ user, page, limit });
  }

  async pause(broadcast: string): Promise<Broadcast> {
    return this.change(broadcast, Action.PAUSE);
  }

  async resume(broadcast: string): Promise<Broadcast> {
    return this.change(broadcast, Action.RESUME);
  }

  /** Sends nothing more. */
  async cancel(broadcast: string): Promise<Broadcast> {
    return this.change(broadcast, Action.CANCEL);
  }

  /** Sends nothing more, and takes back what was sent. */
  async recall(broadcast: string): Promise<Broadcast> {
    return this.change(broadcast, Action.RECALL);
  }

  /** Replaces the text of all copies, and of those not sent yet. */
  async edit(broadcast: string, content: MessageInitShape<typeof ContentSchema>): Promise<Broadcast> {
    return this.deps.api().changeBroadcast({ broadcast, action: Action.EDIT, content });
  }

  private async change(broadcast: string, action: Action): Promise<Broadcast> {
    return this.deps.api().changeBroadcast({ broadcast, action });
  }

  private remember(a: OfficialAccount): OfficialAccount {
    if (this.knownTo !== this.deps.me()) this.known.clear();
    this.knownTo = this.deps.me();
    this.known.delete(a.user);
    this.known.set(a.user, a);
    if (this.known.size > maxKnown) this.known.delete(this.known.keys().next().value!);
    this.deps.onChange();
    return a;
  }
}
