import { useCallback, useState, type FormEvent } from "react";
import type { Ban } from "./calls.js";
import { moment } from "./formats.js";
import { allReasons, endOf, lengths, namesIn, userText, type Names } from "./moderationNames.js";
import type { PageProps } from "./pageProps.js";
import { ReasonDialog } from "./ReasonDialog.js";
import { useText, type Key, type Translate } from "./text.js";
import { useRows } from "./useRows.js";

type TargetKind = "user" | "device" | "network" | "limitedUser";
const kinds: TargetKind[] = ["network", "device", "user", "limitedUser"];

/** Bans that hold, and the form for another one. */
export function BanList({ calls, fail }: PageProps) {
  const t = useText();
  const [failed, setFailed] = useState("");
  const [lifted, setLifted] = useState<Ban>();
  const load = useCallback(
    async (page: string, signal?: AbortSignal) => {
      const { bans, users, next } = await calls.moderation.listBans({ page }, signal ? { signal } : {});
      const names = namesIn(users);
      return { rows: bans.map((of) => ({ of, names })), next };
    },
    [calls],
  );
  const { rows, error, more, reload } = useRows(load, fail);
  const ban = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const form = e.currentTarget;
    const data = new FormData(form);
    try {
      await calls.moderation.banTarget({
        target: { of: { case: data.get("kind") as TargetKind, value: String(data.get("target")).trim() } },
        endsMs: endOf(Number(data.get("length"))),
        reason: Number(data.get("reason")),
        note: String(data.get("note") ?? "").trim(),
      });
      form.reset();
      setFailed("");
      reload();
    } catch (err) {
      setFailed(fail(err));
    }
  };
  const lift = async (id: string, note: string): Promise<string | undefined> => {
    try {
      await calls.moderation.liftBan({ ban: id, note });
      reload();
      return undefined;
    } catch (err) {
      return fail(err);
    }
  };
  return (
    <>
      {(error || failed) && <p className="error" role="status">{error || failed}</p>}
      {rows?.length === 0 && <p className="muted">{t("noBans")}</p>}
      <ul className="rows">{rows?.map((r) => <BanRow key={r.of.id} {...r} onLift={() => setLifted(r.of)} />)}</ul>
      {more && <button onClick={more}>{t("moreRows")}</button>}
      <BanForm onSubmit={(e) => void ban(e)} />
      {lifted && <ReasonDialog question={t("liftQuestion")} label={t("lift")} act={(note) => lift(lifted.id, note)} onClose={() => setLifted(undefined)} />}
    </>
  );
}

/** Who or what a ban is about. */
function targetText(t: Translate, of: Ban, names: Names): string {
  const target = of.target?.of;
  if (!target?.case) return "";
  switch (target.case) {
    case "network":
      return `${t("network")} ${target.value}`;
    case "device":
      return t("deviceOf", { device: target.value, user: userText(t, names, of.about) });
    default:
      return `${t(target.case)} ${userText(t, names, target.value)}`;
  }
}

function BanRow({ of, names, onLift }: { of: Ban; names: Names; onLift: () => void }) {
  const t = useText();
  return (
    <li className="switch" data-testid="ban">
      <div>
        <strong>{targetText(t, of, names)}</strong>
        <p className="muted">
          {of.endsMs ? t("until", { when: moment(BigInt(of.endsMs)) }) : t("forEver")} · <bdi>{of.by}</bdi> {of.explanation && <>· <bdi>{of.explanation}</bdi></>}
        </p>
      </div>
      <button onClick={onLift}>{t("lift")}</button>
    </li>
  );
}

function BanForm({ onSubmit }: { onSubmit: (e: FormEvent<HTMLFormElement>) => void }) {
  const t = useText();
  const [kind, setKind] = useState(kinds[0]);
  return (
    <form className="card stack" aria-label={t("newBan")} onSubmit={onSubmit} onReset={() => setKind(kinds[0])}>
      <h2>{t("newBan")}</h2>
      <label>
        {t("targetKind")}
        <select name="kind" onChange={(e) => setKind(e.target.value as TargetKind)}>{kinds.map((k) => <option key={k} value={k}>{t(k)}</option>)}</select>
      </label>
      <label>{t("target")}<input name="target" required autoComplete="off" placeholder={kind === "network" ? "203.0.113.0/24" : undefined} /></label>
      <label>{t("rule")}<select name="reason">{allReasons.map((r) => <option key={r} value={r}>{t(`reason${r}` as Key)}</option>)}</select></label>
      <label>{t("banFor")}<select name="length">{lengths.map(([key, ms]) => <option key={key} value={ms}>{t(key)}</option>)}</select></label>
      <label>{t("note")}<input name="note" maxLength={500} autoComplete="off" /></label>
      <div className="buttons end"><button className="primary danger-fill">{t("setBan")}</button></div>
    </form>
  );
}
