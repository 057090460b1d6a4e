import { useCallback, useState } from "react";
import type { PageProps } from "./pageProps.js";
import { moment } from "./formats.js";
import { ReasonDialog } from "./ReasonDialog.js";
import { switches, switchNamed, type Switch } from "./switches.js";
import { useText } from "./text.js";
import { usePolled } from "./usePolled.js";

const everyMs = 5000;

/** The prepared plan for overload: what can be switched off of posts, and who did. */
export function FeaturesPage({ calls, fail, mayChange }: PageProps) {
  const t = useText();
  const [asked, setAsked] = useState<Switch>();
  const load = useCallback((signal: AbortSignal) => calls.feed.getFeedPlan({}, { signal }), [calls]);
  const { value, error, reload } = usePolled(load, everyMs, fail);
  if (!value) return <p className={error ? "error" : "muted"}>{error || t("loading")}</p>;
  const plan = value.plan;
  const isOff = (s: Switch) => plan?.[s] ?? false;
  const act = async (s: Switch, reason: string): Promise<string | undefined> => {
    try {
      const of = (other: Switch) => (other === s ? !isOff(other) : isOff(other));
      await calls.feed.setFeedPlan({ plan: { likesOff: of("likesOff"), commentsReadOnly: of("commentsReadOnly"), pullOnly: of("pullOnly") }, reason });
      reload();
      return undefined;
    } catch (err) {
      return fail(err);
    }
  };
  return (
    <>
      {error && <p className="error" role="status">{t("stale", { error })}</p>}
      <p className="muted">{t("featuresHint")}</p>
      <ul className="rows">
        {switches.map((s) => (
          <li key={s} className="switch" data-testid={s}>
            <div>
              <strong>{t(s)}</strong> <span className={isOff(s) ? "error" : "muted"}>{t(isOff(s) ? "isOff" : "isOn")}</span>
              <p className="muted">{t(`${s}Hint`)}</p>
            </div>
            {mayChange && <button onClick={() => setAsked(s)}>{t(isOff(s) ? "switchOn" : "switchOff")}</button>}
          </li>
        ))}
      </ul>
      <ul className="rows">
        {value.changes.map((c, i) => (
          <li key={i} className="muted">
            {moment(c.timeMs)} · <bdi>{c.by}</bdi> · {switchNamed(c.switch) ? t(switchNamed(c.switch)!) : c.switch}: {t(c.on ? "isOff" : "isOn")} {c.reason && `· ${c.reason}`}
          </li>
        ))}
      </ul>
      {asked && (
        <ReasonDialog
          question={t(isOff(asked) ? "switchOnQuestion" : "switchOffQuestion", { what: t(asked) })}
          label={t(isOff(asked) ? "switchOn" : "switchOff")}
          danger={!isOff(asked)}
          act={(reason) => act(asked, reason)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}
