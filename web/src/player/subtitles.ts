import type { VideoSubtitles } from "@rialto-im/client";
import type { KeyValueStorage } from "../storage.js";

/** What the user chose last on this device: a language, "off", or nothing yet. */
const key = "video-subtitles";
const off = "off";

/** The part of a tag that names the language, without its region or script. */
const primary = (tag: string) => tag.toLowerCase().split("-", 1)[0];

/** The language that is shown first; undefined: none. The choice of the user comes before that of the author. */
export function chosenLanguage(list: readonly VideoSubtitles[], storage: Pick<KeyValueStorage, "getItem">): string | undefined {
  const choice = storage.getItem(key);
  if (choice === off) return undefined;
  const ofUser = choice === null ? undefined : (list.find((s) => s.language === choice) ?? list.find((s) => primary(s.language) === primary(choice)));
  return (ofUser ?? list.find((s) => s.default))?.language;
}

/** The language that is shown after a press of the key: none, or the one that was shown last. */
export function toggledLanguage(list: readonly VideoSubtitles[], shown: string | undefined, last: string | undefined, locale: string): string | undefined {
  if (shown !== undefined) return undefined;
  const found = list.find((s) => s.language === last) ?? list.find((s) => s.default) ?? list.find((s) => primary(s.language) === primary(locale)) ?? list[0];
  return found?.language;
}

export function storeChoice(language: string | undefined, storage: Pick<KeyValueStorage, "setItem">): void {
  try {
    storage.setItem(key, language ?? off);
  } catch {
    // A full or forbidden storage: the next video begins as its author wants.
  }
}
