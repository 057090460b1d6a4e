import type { ChatFolder } from "../model.js";
import { none } from "../snapshots.js";
import { sessionOf, type Context } from "./context.js";

/** Folders of conversations, the same on all devices of the user. */
export function folders(client: Context) {
  const { chat } = client.services;
  const change = async (call: () => Promise<unknown>): Promise<void> => {
    const session = sessionOf(client);
    await call();
    await session.folders.changed();
  };
  return {
    /** The user's folders of conversations, in their order. */
    folders(): readonly ChatFolder[] {
      return client.session()?.folders.current ?? none;
    },

    /** Makes a folder, after the others: at most 20. */
    createFolder(name: string, conversations: readonly string[] = []): Promise<void> {
      return change(() => chat.createFolder({ name, conversations: [...conversations] }));
    },

    /** Renames a folder, adds conversations or removes them: it has at most 200. */
    updateFolder(id: string, { name, add = [], remove = [] }: { name?: string; add?: readonly string[]; remove?: readonly string[] }): Promise<void> {
      return change(() => chat.updateFolder({ id, add: [...add], remove: [...remove], ...(name === undefined ? {} : { name }) }));
    },

    /** Deletes a folder, and no conversation. */
    deleteFolder(id: string): Promise<void> {
      return change(() => chat.deleteFolder({ id }));
    },

    /** Sets the order of the folders, by their ids. */
    orderFolders(ids: readonly string[]): Promise<void> {
      return change(() => chat.orderFolders({ ids: [...ids] }));
    },
  };
}
