import type { AccountSettings } from "../model.js";
import { sessionOf, type Context } from "./context.js";

/** The settings of the account, the same on all devices of the user. */
export function accountSettings(client: Context) {
  return {
    /** What the user chose for the account, as last read; undefined until that was. */
    settings(): AccountSettings | undefined {
      return client.session()?.settings.current;
    },

    /** Changes some of the account's settings, for all devices. */
    updateSettings(part: Partial<AccountSettings>): Promise<AccountSettings> {
      return sessionOf(client).settings.update(part);
    },
  };
}
