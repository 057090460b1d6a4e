import { EmojiPicker as Picker, type EmojiData, type EmojiPickerListComponents, type SkinTone } from "frimousse";
import { useState } from "react";
import { getLocale, useText } from "../i18n.js";
import { storage } from "../storage.js";
import "./emoji.css";

const tones: SkinTone[] = ["none", "light", "medium-light", "medium", "medium-dark", "dark"];

/** The data is the app's own, in one's language, with the search words of English: the app works offline, and loads from no other host. */
async function load(locale: string): Promise<EmojiData> {
  const { default: data } = await (locale === "zh" ? import("virtual:emoji/zh") : import("virtual:emoji/en"));
  return data;
}

// Rows and columns count from 1 for screen readers; the library counts from 0.
const components: EmojiPickerListComponents = {
  CategoryHeader: ({ category, ...props }) => <div {...props} className="emoji-group">{category.label}</div>,
  Row: (props) => <div {...props} aria-rowindex={(props["aria-rowindex"] ?? 0) + 1} />,
  Emoji: ({ emoji, ...props }) => <button {...props} type="button" className="emoji-one" aria-colindex={(props["aria-colindex"] ?? 0) + 1}>{emoji.emoji}</button>,
};

function savedTone(): SkinTone {
  return tones.find((tone) => tone === storage.getItem("skinTone")) ?? "none";
}

/** Emoji to pick from, with a search and skin tones. The arrow keys move in it, also from the search. */
export default function EmojiPicker({ onPick, onClose }: { onPick: (emoji: string) => void; onClose: () => void }) {
  const t = useText();
  const [tone, setTone] = useState(savedTone);
  const choose = (next: SkinTone) => {
    storage.setItem("skinTone", next);
    setTone(next);
  };
  return (
    <Picker.Root className="emoji" aria-label={t("emoji")} role="group" columns={8} locale={getLocale()} skinTone={tone} resolveEmojiData={load} onEmojiSelect={({ emoji }) => onPick(emoji)} onKeyDown={(e) => e.key === "Escape" && (e.preventDefault(), onClose())}>
      <div className="emoji-head">
        <Picker.Search autoFocus placeholder={t("searchEmoji")} aria-label={t("searchEmoji")} />
        <Picker.SkinTone>
          {({ skinToneVariations }) => (
            <select aria-label={t("skinTone")} value={tone} onChange={(e) => choose(e.target.value as SkinTone)} data-testid="skin-tone">
              {skinToneVariations.map((v) => <option key={v.skinTone} value={v.skinTone}>{v.emoji}</option>)}
            </select>
          )}
        </Picker.SkinTone>
      </div>
      <Picker.Viewport className="emoji-list">
        <Picker.Loading className="empty">{t("loading")}</Picker.Loading>
        <Picker.Empty className="empty">{t("noEmoji")}</Picker.Empty>
        <Picker.List components={components} />
      </Picker.Viewport>
    </Picker.Root>
  );
}
