import { useText } from "../i18n.js";
import { speeds } from "./keys.js";

/** How fast it plays. */
export function SpeedChoice({ speed, onChoose }: { speed: number; onChoose: (speed: number) => void }) {
  const t = useText();
  return (
    <select className="player-speed" aria-label={t("speed")} value={speed} onChange={(e) => onChoose(Number(e.target.value))} data-testid="player-speed">
      {[...new Set([...speeds, speed])].map((s) => <option key={s} value={s}>{s}×</option>)}
    </select>
  );
}
