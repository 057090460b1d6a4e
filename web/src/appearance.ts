import type { AccountSettings } from "@rialto-im/client";
import type { Locale } from "./i18n.js";
import type { KeyValueStorage } from "./storage.js";
import type { Theme } from "./theme.js";

export interface Choice {
  locale?: Locale;
  theme?: Theme;
}

/** The client's methods that this needs. */
export interface Port {
  readonly me: string;
  settings(): AccountSettings | undefined;
  updateSettings(part: Choice): Promise<unknown>;
}

const key = "appearance";

/**
 * Appearance is the language and the theme. A choice shows at once, also without a network and before one signs in, and is then saved to
 * the account, which all devices follow.
 */
export class Appearance {
  private saving = false;
  /** There was a reason to save while that was under way. */
  private again = false;
  /** The user whose settings were followed last. */
  private user = "";

  constructor(
    private readonly port: Port,
    private readonly storage: KeyValueStorage,
    private readonly show: (c: Choice) => void,
  ) {}

  choose(part: Choice): void {
    this.show(part);
    this.storage.setItem(key, JSON.stringify({ ...this.unsaved(), ...part }));
    void this.save();
  }

  /** Call it when the client's settings may have changed. */
  follow(): void {
    const { me } = this.port;
    if (this.user && !me) this.storage.removeItem(key); // signed out: the next user's account is not to get what this one chose
    this.user = me;
    const s = this.port.settings();
    if (!me || !s) return;
    if (this.unsaved()) return void this.save();
    const locale = s.locale === "en" || s.locale === "zh" ? s.locale : undefined;
    const theme = s.theme === "auto" || s.theme === "light" || s.theme === "dark" ? s.theme : undefined;
    this.show({ ...(locale && { locale }), ...(theme && { theme }) });
  }

  private unsaved(): Choice | undefined {
    const text = this.storage.getItem(key);
    return text === null ? undefined : (JSON.parse(text) as Choice);
  }

  private async save(): Promise<void> {
    this.again = this.saving;
    const part = this.unsaved();
    if (!part || this.saving || !this.port.me) return;
    this.saving = true;
    const before = JSON.stringify(part);
    const saved = await this.port.updateSettings(part).then(() => true, () => false); // else it is tried when the client changes
    this.saving = false;
    if (saved && this.storage.getItem(key) === before) this.storage.removeItem(key);
    if (saved || this.again) await this.save(); // what was chosen meanwhile
  }
}
