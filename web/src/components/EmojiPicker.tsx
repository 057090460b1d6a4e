import { useText } from "../i18n.js";

const emoji = [..."😀😄😅😂🙂😉😊😍😘🤗🤔😐😴😭😡🥳😎🤝👍👎👏🙏💪👀❤️🔥🎉✨🌟☀️🌧️🌈🍀🍎🍜🍵🎂🚲🚀🏠📷🎵📚💡✅❌❓⏰💬🐼🐱🐶"];
const list = joinMarks(emoji);

/** Variation selectors belong to the character before them. */
function joinMarks(chars: string[]): string[] {
  const out: string[] = [];
  for (const c of chars) {
    if (c === "\ufe0f" && out.length > 0) out[out.length - 1] += c;
    else out.push(c);
  }
  return out;
}

export function EmojiPicker({ onPick, onClose }: { onPick: (emoji: string) => void; onClose: () => void }) {
  const t = useText();
  return (
    <div className="emoji" role="group" aria-label={t("emoji")} onKeyDown={(e) => e.key === "Escape" && onClose()}>
      {list.map((e) => (
        <button type="button" key={e} onClick={() => onPick(e)}>{e}</button>
      ))}
    </div>
  );
}
