import { translate, type Key, type Locale } from "./i18n.js";

/** How the server's words for what is wrong with subtitles begin, with what they say. */
const said: readonly [RegExp, Key][] = [
  [/^subtitles have at most (\d+) KiB/, "subtitlesWrongSize"],
  [/^subtitles are text in UTF-8/, "subtitlesWrongEncoding"],
  [/^subtitles have 1 to (\d+) texts/, "subtitlesWrongCount"],
  [/^the label of subtitles is .* at most (\d+) characters/, "subtitlesWrongLabel"],
  [/^a line has at most (\d+) characters/, "subtitlesWrongLineLength"],
  [/^a text ends after it begins/, "subtitlesWrongOrder"],
  [/^times are at most (\d+) hours/, "subtitlesWrongHours"],
  [/^a text has at most (\d+) lines/, "subtitlesWrongLines"],
  [/^there is a blank line between /, "subtitlesWrongHeader"],
  [/^a text begins with its times/, "subtitlesWrongTimes"],
  [/^subtitles are WebVTT or SRT/, "subtitlesWrongFormat"],
];

/** What is wrong with subtitles, in one's own language; as the server says it where this app does not know it. */
export function subtitlesError(message: string, l: Locale): string {
  const [, line = "", what = message] = /^line (\d+): (.*)$/s.exec(message) ?? [];
  if (line) return translate(l, "subtitlesWrongLine", { line: Number(line), what: subtitlesError(what, l) });
  for (const [words, key] of said) {
    const found = words.exec(message);
    if (found) return translate(l, key, { most: Number(found[1] ?? 0) });
  }
  return message;
}
