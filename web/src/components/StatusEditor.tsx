import { Availability, lasting, type AccountSettings } from "@rialto-im/client";
import { lazy, Suspense, useState, type FormEvent } from "react";
import type { RunAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { until } from "../format.js";
import { getLocale, useText, type Key } from "../i18n.js";
import { useNow } from "../now.js";
import { IconButton } from "../ui/IconButton.js";
import { SmileIcon } from "./icons.js";

const EmojiPicker = lazy(() => import("./EmojiPicker.js"));

const availabilities: [Availability, Key][] = [
  [Availability.UNSPECIFIED, "availableAuto"],
  [Availability.DO_NOT_DISTURB, "doNotDisturb"],
  [Availability.INVISIBLE, "invisible"],
];

const notes: Partial<Record<Availability, Key>> = { [Availability.DO_NOT_DISTURB]: "doNotDisturbNote", [Availability.INVISIBLE]: "invisibleNote" };

const minute = 60_000;
/** How long a status lasts, in milliseconds; 0: until it is changed. */
const spans: [number, Key][] = [[0, "untilChanged"], [30 * minute, "for30Minutes"], [60 * minute, "for1Hour"], [4 * 60 * minute, "for4Hours"], [24 * 60 * minute, "for1Day"], [7 * 24 * 60 * minute, "for1Week"]];

/** What one shows others of oneself: whether one wants to be disturbed or seen, and a status of one's own. */
export function StatusEditor({ run }: { run: RunAction }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const now = useNow();
  const known = client.settings();
  // What was chosen shows at once; what the server refuses is taken back.
  const [chosen, setChosen] = useState<Availability>();
  const [draft, setDraft] = useState<{ emoji: string; text: string; span: number }>();
  const [picking, setPicking] = useState(false);
  const availability = chosen ?? known?.availability ?? Availability.UNSPECIFIED;
  const current = lasting(known?.customStatus, now);
  const shown = draft ?? { emoji: current?.emoji ?? "", text: current?.text ?? "", span: 0 };
  const change = (part: Partial<AccountSettings>) => void run(() => client.updateSettings(part).finally(() => setChosen(undefined)));
  const setStatus = (customStatus: AccountSettings["customStatus"]) =>
    void run(async () => {
      await client.updateSettings({ customStatus });
      setDraft(undefined); // only now: what was refused stays to be corrected
    });
  const save = (e: FormEvent) => {
    e.preventDefault();
    const text = shown.text.trim();
    setStatus(text || shown.emoji ? { emoji: shown.emoji, text, untilMs: shown.span && Date.now() + shown.span } : undefined);
  };
  const note = notes[availability];
  return (
    <form className="stack" onSubmit={save} data-testid="status-editor">
      <label>
        {t("availability")}
        <select
          disabled={!known || !online}
          value={availability}
          onChange={(e) => {
            setChosen(Number(e.target.value));
            change({ availability: Number(e.target.value) });
          }}
        >
          {availabilities.map(([value, key]) => <option key={value} value={value}>{t(key)}</option>)}
        </select>
      </label>
      {note && <p className="muted">{t(note)}</p>}
      <div className="status-fields">
        <IconButton label={shown.emoji ? t("statusEmojiIs", { emoji: shown.emoji }) : t("statusEmoji")} aria-expanded={picking} onClick={() => setPicking(!picking)}>{shown.emoji ? <span className="status-emoji">{shown.emoji}</span> : <SmileIcon />}</IconButton>
        <label>{t("status")}<input value={shown.text} maxLength={100} dir="auto" placeholder={t("statusHint")} onChange={(e) => setDraft({ ...shown, text: e.target.value })} /></label>
        <label>
          {t("clearAfter")}
          <select value={shown.span} onChange={(e) => setDraft({ ...shown, span: Number(e.target.value) })}>
            {spans.map(([ms, key]) => <option key={ms} value={ms}>{t(key)}</option>)}
          </select>
        </label>
      </div>
      {picking && (
        <Suspense>
          <EmojiPicker
            onPick={(emoji) => {
              setDraft({ ...shown, emoji });
              setPicking(false);
            }}
            onClose={() => setPicking(false)}
          />
        </Suspense>
      )}
      {current && current.untilMs > 0 && <p className="muted">{t("statusUntil", { when: until(current.untilMs, getLocale(), now) })}</p>}
      <div className="buttons">
        <button disabled={!known || !online || draft === undefined}>{t("saveStatus")}</button>
        {current && <button type="button" disabled={!online} onClick={() => setStatus(undefined)}>{t("clearStatus")}</button>}
      </div>
    </form>
  );
}
