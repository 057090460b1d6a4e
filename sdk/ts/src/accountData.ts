import type { AccountSettings, ChatFolder, GroupInvitation, OrganizationInvitation } from "./model.js";
import type { Channels } from "./channels.js";
import { HelpDesks } from "./helpDesks.js";
import { OfficialAccounts } from "./official.js";
import type { Services } from "./services.js";
import { Threads } from "./threads.js";

const none: readonly never[] = [];

/** AccountData is what belongs to the account and to no conversation, the same on all the user's devices. */
export abstract class AccountData extends Threads {
  abstract readonly officialApi: Services["officialApi"];
  abstract readonly organizationApi: Services["organizationApi"];
  abstract readonly helpDeskApi: Services["helpDeskApi"];
  abstract readonly channels: Channels;
  abstract get me(): string;

  /** Official accounts that the user follows, meets or operates. */
  readonly official = new OfficialAccounts({
    me: () => this.me, api: () => this.officialApi, onChange: () => this.snapshots.touch(),
    join: (channel) => this.channels.join({ conversation: channel }), leave: (channel) => this.channels.leave(channel),
  });

  /** Help desks, the user's own tickets, and those of the desks whose agent the user is. */
  readonly helpDesks = new HelpDesks({
    me: () => this.me, api: () => this.helpDeskApi, onChange: () => this.snapshots.touch(),
    readConversation: async (id) => this.current.replica.conversations.take(await this.chat.getConversation({ conversation: id })),
  });

  /** Whether this window leads, of the browser's windows of this user: it does what one of them must do, such as notifying. */
  get leading(): boolean {
    return this.session?.leading ?? false;
  }

  /** What the user chose for the account, as last read; undefined until that was. */
  settings(): AccountSettings | undefined {
    return this.session?.settings.current;
  }

  /** Changes some of the account's settings, for all devices. */
  updateSettings(part: Partial<AccountSettings>): Promise<AccountSettings> {
    return this.current.settings.update(part);
  }

  /** Invitations to groups that wait for an answer, the newest first. */
  invitations(): readonly GroupInvitation[] {
    return this.session?.invitations.current ?? none;
  }

  /** Joins the group of an invitation, which is known then, or declines it. */
  async answerInvitation(conversation: string, accept: boolean): Promise<void> {
    const { invitations, replica } = this.current;
    await this.chat.answerInvitation({ conversation, accept });
    await invitations.changed();
    if (accept) replica.conversations.take(await this.chat.getConversation({ conversation }));
  }

  /** Invitations to organizations that wait for an answer, the newest first. */
  organizationInvitations(): readonly OrganizationInvitation[] {
    return this.session?.organizationInvitations.current ?? none;
  }

  /** Becomes a member of the organization of an invitation, or declines it. */
  async answerOrganizationInvitation(organization: string, accept: boolean): Promise<void> {
    const { organizationInvitations } = this.current;
    await this.organizationApi.answerOrganizationInvitation({ organization, accept });
    await organizationInvitations.changed();
  }

  /** The user's folders of conversations, in their order. */
  folders(): readonly ChatFolder[] {
    return this.session?.folders.current ?? none;
  }

  /** Makes a folder, after the others: at most 20. */
  async createFolder(name: string, conversations: readonly string[] = []): Promise<void> {
    await this.changeFolders(() => this.chat.createFolder({ name, conversations: [...conversations] }));
  }

  /** Renames a folder, adds conversations or removes them: it has at most 200. */
  async updateFolder(id: string, change: { name?: string; add?: readonly string[]; remove?: readonly string[] }): Promise<void> {
    const { name, add = [], remove = [] } = change;
    await this.changeFolders(() => this.chat.updateFolder({ id, add: [...add], remove: [...remove], ...(name === undefined ? {} : { name }) }));
  }

  /** Deletes a folder, and no conversation. */
  async deleteFolder(id: string): Promise<void> {
    await this.changeFolders(() => this.chat.deleteFolder({ id }));
  }

  /** Sets the order of the folders, by their ids. */
  async orderFolders(ids: readonly string[]): Promise<void> {
    await this.changeFolders(() => this.chat.orderFolders({ ids: [...ids] }));
  }

  private async changeFolders(change: () => Promise<unknown>): Promise<void> {
    const { folders } = this.current;
    await change();
    await folders.changed();
  }
}
