import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Plugin } from "vite";

interface Skin {
  emoji: string;
  tone: number | number[];
}

interface Entry {
  emoji: string;
  label: string;
  group?: number;
  order?: number;
  subgroup?: number;
  version: number;
  tags?: string[];
  skins?: Skin[];
}

interface Messages {
  groups: { key: string; message: string; order: number }[];
  skinTones: { key: string; message: string }[];
}

const tones = ["light", "medium-light", "medium", "medium-dark", "dark"];
/** Devices of 2022 and later show these. */
const newestVersion = 15;
const components = 2; // the group of skin tones and hair styles, which are no emoji of their own

const require = createRequire(import.meta.url);
const read = <T>(file: string): T => JSON.parse(readFileSync(require.resolve(`emojibase-data/${file}`), "utf8")) as T;

/** The picker's data in a language. To each emoji belong its English words, since people search in English in other languages, too. */
export function emojiData(locale: string) {
  const english = new Map(read<Entry[]>("en/data.json").map((e) => [e.emoji, e]));
  const { groups, skinTones } = read<Messages>(`${locale}/messages.json`);
  const emojis = read<Entry[]>(`${locale}/data.json`)
    .filter((e) => e.group !== undefined && e.group !== components && e.version <= newestVersion)
    .sort((a, b) => a.order! - b.order!)
    .map((e) => {
      const also = english.get(e.emoji);
      const skins = e.skins?.filter((s) => typeof s.tone === "number").map((s) => [tones[(s.tone as number) - 1], s.emoji]);
      return { emoji: e.emoji, category: e.group!, label: e.label, version: e.version, tags: [...new Set([...(e.tags ?? []), ...(also?.tags ?? []), ...(also && also.label !== e.label ? [also.label] : [])])], ...(skins?.length ? { skins: Object.fromEntries(skins) } : {}) };
    });
  const categories = groups.filter((g) => g.order !== components).map((g) => ({ index: g.order, label: g.message }));
  return { locale, emojis, categories, skinTones: Object.fromEntries(skinTones.map((s) => [s.key, s.message])) };
}

/** Serves virtual:emoji/LOCALE. */
export function emoji(): Plugin {
  return {
    name: "emoji",
    resolveId: (id) => (id.startsWith("virtual:emoji/") ? `\0${id}` : undefined),
    load: (id) => (id.startsWith("\0virtual:emoji/") ? `export default JSON.parse(${JSON.stringify(JSON.stringify(emojiData(id.split("/")[1]!)))});` : undefined),
  };
}
