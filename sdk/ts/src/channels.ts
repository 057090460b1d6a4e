import type { ServiceClient } from "./api.js";
import type { ChatService, ListMembersResponse } from "./gen/rialto/chat/v1/chat_pb.js";
import { JoinPolicy } from "./gen/rialto/chat/v1/message_pb.js";
import type { ConversationView } from "./model.js";
import type { Replica } from "./replica.js";

/** How a channel is named: by its handle, by its id, or by the token of a join link. */
export type ChannelAddress = { handle: string } | { conversation: string } | { token: string };

/** What users see of a channel before they follow it. */
export interface ChannelPreview {
  conversation: string;
  title: string;
  description: string;
  /** Empty for none. */
  handle: string;
  /** Followers and members. */
  followers: number;
  /** The user follows the channel, or is a member, already. */
  following: boolean;
  /** false: the address leads to a group. */
  channel: boolean;
}

export interface NewChannel {
  title: string;
  description?: string;
  /** Open: everybody who has the address may follow. Otherwise only those with a join link. By default open. */
  open?: boolean;
  handle?: string;
  /** The same for each try to create this channel: a retry creates no other. By default a new one. */
  key?: string;
}

/** Channels are conversations in which only admins write, and which everybody may follow who has the address. To post is to send. */
export class Channels {
  constructor(
    private readonly api: () => ServiceClient<typeof ChatService>,
    private readonly replica: () => Replica,
  ) {}

  /** Creates a channel with the user as its owner. Where the handle is refused, the channel exists without it, and a retry needs the key. */
  async create({ title, description, open = true, handle, key = crypto.randomUUID() }: NewChannel): Promise<ConversationView> {
    const joinPolicy = open ? JoinPolicy.OPEN : JoinPolicy.INVITE;
    const made = await this.api().createGroup({ title, channel: true, joinPolicy, key });
    if (!handle && !description) return this.replica().conversations.take(made);
    await this.api().updateGroup({ conversation: made.id, ...(handle ? { handle } : {}), ...(description ? { announcement: description } : {}) });
    return this.take(made.id);
  }

  async preview(at: ChannelAddress): Promise<ChannelPreview> {
    const r = await this.api().previewJoinLink(at);
    return { conversation: r.conversation, title: r.title, description: r.announcement, handle: r.handle, followers: r.memberCount, following: r.member, channel: r.channel };
  }

  /** Follows a channel. */
  async join(at: ChannelAddress): Promise<ConversationView> {
    return this.take((await this.api().join(at)).conversation);
  }

  /** Ends to follow a channel, or to be a member of it. Its owner transfers or dissolves it first. */
  async leave(conversation: string): Promise<void> {
    const { seq } = await this.api().leave({ conversation });
    if (seq === 0n) this.replica().conversations.forget(conversation); // a follower leaves without an entry
  }

  /** A page of members and followers, for admins. */
  followers(conversation: string, page = "", limit = 200): Promise<ListMembersResponse> {
    return this.api().listMembers({ conversation, page, limit });
  }

  /** Sets the handle, or takes it away where it is empty; the owner may. */
  async setHandle(conversation: string, handle: string): Promise<ConversationView> {
    await this.api().updateGroup({ conversation, handle });
    return this.take(conversation);
  }

  /** Reads a channel again: followers come and go without an event for the others. */
  refresh(conversation: string): Promise<ConversationView> {
    return this.take(conversation);
  }

  private async take(conversation: string): Promise<ConversationView> {
    return this.replica().conversations.take(await this.api().getConversation({ conversation }));
  }
}

const link = /^https?:\/\/[^/]+\/(c|g|join)\/([^/?#]+)/i;
const handleForm = /^[a-z0-9_.]{3,32}$/;

/** The address in what a person typed or was sent: "@news", "news", an id, or a link of the app. Undefined where it is none. */
export function channelAddress(text: string): ChannelAddress | undefined {
  const [, kind, part] = link.exec(text.trim()) ?? [];
  const name = part === undefined ? text.trim() : decoded(part);
  if (kind?.toLowerCase() === "join") return { token: name };
  if (/^\d{1,20}$/.test(name)) return { conversation: name };
  const handle = name.replace(/^@/, "").toLowerCase();
  return handleForm.test(handle) ? { handle } : undefined;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that escapes nothing
  }
}
