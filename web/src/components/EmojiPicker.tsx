import { useEffect, useRef, type KeyboardEvent } from "react";
import { useText } from "../i18n.js";

const emoji = [
  ..."😀😄😁😅😂🤣🙂🙃😉😊😇😍🥰😘😋😜🤪🤗🤭🤫🤔🤨😐😑😏🙄😬😌😔😴🤒🤧🥵🥶🤯🥳😎🤓😕😮😳🥺😢😭😱😤😡🤬💀💩🤡👻🤖",
  ..."👍👎👌✌️🤞🤙👋👏🙌🤝🙏💪✍️👀🧠💃🕺🙋🤷🤦❤️🧡💛💚💙💜🖤💔💯💥🔥🎉✨🌟",
  ..."☀️⛅🌧️❄️🌈🌙🌊🍀🌹🌻🐼🐱🐶🦊🐷🐔🐟🦋🍎🍌🍉🍓🥑🍞🍕🍔🍜🍚🥟🍣🍰🎂🍵☕🍺🥂",
  ..."⚽🏀🏓🎮🎵🎬📷✈️🚗🚲🚄🚀🏠🏖️⛰️🎁🧧🏮📚💡📎📌📅⏰💰💬✅❌❓❗",
];
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

/** A grid of emoji: the arrow keys move in it, Tab goes past it. */
export function EmojiPicker({ onPick, onClose }: { onPick: (emoji: string) => void; onClose: () => void }) {
  const t = useText();
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => ref.current?.querySelector("button")?.focus(), []);
  const key = (e: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns(ref.current), ArrowDown: columns(ref.current) };
    const step = steps[e.key];
    if (e.key === "Escape") onClose();
    else if (step) {
      const items = [...(ref.current?.querySelectorAll("button") ?? [])];
      items[items.indexOf(document.activeElement as HTMLButtonElement) + step]?.focus();
    } else return;
    e.preventDefault();
  };
  return (
    <div className="emoji" role="group" aria-label={t("emoji")} ref={ref} onKeyDown={key}>
      {list.map((e, i) => (
        <button type="button" key={e} tabIndex={i === 0 ? 0 : -1} onClick={() => onPick(e)}>{e}</button>
      ))}
    </div>
  );
}

/** How many emoji the grid shows in a row. */
function columns(el: HTMLElement | null): number {
  return el ? getComputedStyle(el).gridTemplateColumns.split(" ").length : 1;
}
