import { useState, type FormEvent } from "react";
import type { RankingWeightChange, RankingWeights } from "./calls.js";
import { moment } from "./formats.js";
import type { PageProps } from "./pageProps.js";
import { ReasonDialog } from "./ReasonDialog.js";
import { useText } from "./text.js";

/** The weights, by the names that the API and scores have. */
const names = {
  recency: "recency", likes: "likes", comments: "comments", affinity: "affinity", followed: "followed", network: "network", seen: "seen", shownLess: "shown_less", similarity: "similarity", click: "click", conversion: "conversion", diversity: "diversity",
  searchRecency: "search_recency", searchPopularity: "search_popularity", searchPreference: "search_preference",
} as const;
type Name = keyof typeof names;
const all = Object.keys(names) as Name[];
type Values = Record<Name, number>;
/** The least value of a weight, and the highest. */
const bounds = (n: Name): [number, number] => [n.startsWith("search") ? 0 : -1000, n === "searchRecency" ? 100 : 1000];

const valuesOf = (w: RankingWeights | undefined): Values => Object.fromEntries(all.map((n) => [n, w?.[n] ?? 0])) as Values;

interface Props extends PageProps {
  weights: RankingWeights | undefined;
  changes: readonly RankingWeightChange[];
  onChanged: () => void;
}

/** The weights of the ranking. Operators change them, after a confirmation. */
export function RankingWeightTable({ calls, fail, mayChange, weights, changes, onChanged }: Props) {
  const t = useText();
  const now = valuesOf(weights);
  const [edited, setEdited] = useState<Partial<Values>>({});
  const [asked, setAsked] = useState(false);
  const different = all.filter((n) => edited[n] !== undefined && edited[n] !== now[n]);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (different.length > 0) setAsked(true);
  };
  const act = async (reason: string): Promise<string | undefined> => {
    try {
      await calls.ranking.setRankingWeights({ weights: { ...now, ...edited }, reason });
      setEdited({});
      onChanged();
      return undefined;
    } catch (err) {
      return fail(err);
    }
  };
  return (
    <>
      <h2>{t("weights")}</h2>
      <p className="muted">{t("weightsHint")}</p>
      <form className="weights" aria-label={t("weights")} onSubmit={submit}>
        {all.map((n) => (
          <label key={n}>
            <code>{names[n]}</code>
            <input name={names[n]} type="number" min={bounds(n)[0]} max={bounds(n)[1]} step={1} required readOnly={!mayChange} value={edited[n] ?? now[n]} onChange={(e) => setEdited((d) => ({ ...d, [n]: e.target.valueAsNumber }))} />
          </label>
        ))}
        {mayChange && <button disabled={different.length === 0}>{t("changeWeights")}</button>}
      </form>
      <ul className="rows" data-testid="weight-changes">
        {changes.map((c, i) => <li key={i} className="muted">{moment(c.timeMs)} · <bdi>{c.by}</bdi> · <code>{c.weight}</code>: {c.value ?? t("theDefault")} {c.reason && `· ${c.reason}`}</li>)}
      </ul>
      {asked && <ReasonDialog question={t("changeWeightsQuestion", { what: different.map((n) => `${names[n]} ${now[n]} → ${edited[n]}`).join(", ") })} label={t("changeWeights")} act={act} onClose={() => setAsked(false)} />}
    </>
  );
}
