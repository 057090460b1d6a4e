/** Languages to choose from, as BCP 47 tags. */
export const languages: readonly string[] = ["en", "zh-Hans", "zh-Hant", "es", "ar", "hi", "pt", "fr", "de", "ja", "ko", "ru", "it", "id", "tr", "vi", "th", "pl", "nl", "uk", "fa", "he", "bn", "ta", "ms", "fil", "sv", "cs", "el", "ro", "hu", "da", "fi", "nb"];

/** The name of a language in another one; its tag where the browser knows none. */
export function languageName(tag: string, locale: string): string {
  try {
    return new Intl.DisplayNames([locale], { type: "language" }).of(tag) ?? tag;
  } catch {
    return tag; // of a server that knows more
  }
}
