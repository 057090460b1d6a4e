import type { ServiceClient } from "./api.js";
import type { AccountService } from "./gen/rialto/account/v1/account_pb.js";
import { fromSettings, toSettings, type AccountSettings } from "./model.js";
import { ServerCopy } from "./serverCopy.js";
import type { Store } from "./storage.js";

export interface AccountSettingsDeps {
  store: Store;
  api: Pick<ServiceClient<typeof AccountService>, "getSettings" | "updateSettings">;
  onChange: () => void;
}

/** SettingsCopy is the device's copy of the account's settings. */
export class SettingsCopy extends ServerCopy<AccountSettings> {
  constructor(private readonly deps: AccountSettingsDeps) {
    super({ store: deps.store, key: "settings", read: async () => toSettings(await deps.api.getSettings({})), onChange: deps.onChange });
  }

  /** Changes some of them, and keeps the others: the server replaces all at once, and another device may have changed another one. */
  update(part: Partial<AccountSettings>): Promise<AccountSettings> {
    return this.inTurn(async () => {
      const now = toSettings(await this.deps.api.getSettings({}));
      const next = toSettings(await this.deps.api.updateSettings({ settings: fromSettings({ ...now, ...part }) }));
      await this.take(next);
      return next;
    });
  }
}
