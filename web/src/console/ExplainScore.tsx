import { useState, type FormEvent } from "react";
import { RankExclusion, RankReason, type ExplainRankingResponse, type RankingModelTerm } from "./calls.js";
import type { PageProps } from "./pageProps.js";
import { describeFallback } from "./fallbackText.js";
import { three } from "./formats.js";
import { Table } from "./Table.js";
import { useText, type Key } from "./text.js";

const exclusions: Record<RankExclusion, Key> = {
  [RankExclusion.UNSPECIFIED]: "isCandidate",
  [RankExclusion.NOT_VISIBLE]: "exclusionNotVisible",
  [RankExclusion.OWN]: "exclusionOwn",
  [RankExclusion.MUTED]: "exclusionMuted",
  [RankExclusion.SHOWN_LESS]: "exclusionShownLess",
  [RankExclusion.NO_CANDIDATE]: "exclusionNoCandidate",
};

const sources: Partial<Record<RankReason, Key>> = {
  [RankReason.FOLLOWED]: "sourceFollowed",
  [RankReason.NETWORK]: "sourceNetwork",
  [RankReason.POPULAR]: "sourcePopular",
  [RankReason.SIMILAR]: "sourceSimilar",
};

/** Asks for the score of any post for any reader, and shows its parts. */
export function ExplainScore({ calls, fail }: PageProps) {
  const t = useText();
  const [answer, setAnswer] = useState<ExplainRankingResponse>();
  const [error, setError] = useState("");
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const given = new FormData(e.currentTarget);
    const id = (name: string) => String(given.get(name)).trim();
    try {
      setAnswer(await calls.ranking.explainRanking({ user: id("reader"), post: id("post") }));
      setError("");
    } catch (err) {
      setAnswer(undefined);
      setError(fail(err));
    }
  };
  return (
    <>
      <h2>{t("explain")}</h2>
      <p className="muted">{t("explainHint")}</p>
      <form className="filters" onSubmit={(e) => void submit(e)}>
        {(["reader", "post"] as const).map((name) => <label key={name}>{t(name)}<input name={name} inputMode="numeric" pattern="\s*[0-9]+\s*" autoComplete="off" required /></label>)}
        <button>{t("explainThis")}</button>
      </form>
      {error && <p className="error" role="alert">{error}</p>}
      {answer && <Explanation of={answer} />}
    </>
  );
}

function Explanation({ of }: { of: ExplainRankingResponse }) {
  const t = useText();
  const { score } = of;
  const from = of.sources.flatMap((s) => sources[s] ?? []).map((key) => t(key));
  return (
    <section className="report" data-testid="explanation" aria-label={t("explain")}>
      <p>{t(exclusions[of.exclusion] ?? "isCandidate")} {from.length > 0 && t("rankSources", { list: from.join(", ") })}</p>
      {score?.fallback && <p className="muted">{describeFallback(score.fallback, t)}</p>}
      {score && (
        <Table
          label={t("total")}
          head={[t("weight"), t("value"), t("points")]}
          rows={[...score.parts.map((p) => ({ key: `part ${p.weight}`, cells: [p.weight, three(p.feature, t), three(p.points, t)] })), { key: "part total", cells: [<strong>{t("total")}</strong>, "", <strong>{three(score.total, t)}</strong>] }]}
        />
      )}
      <Terms title={t("clickTerms")} list={score?.clickTerms ?? []} />
      <Terms title={t("conversionTerms")} list={score?.conversionTerms ?? []} />
    </section>
  );
}

function Terms({ title, list }: { title: string; list: readonly RankingModelTerm[] }) {
  const t = useText();
  if (list.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <Table label={title} head={[t("feature"), t("value"), t("logOdds")]} rows={list.map((term) => ({ key: `term ${term.feature}`, cells: [term.feature || t("constant"), term.feature ? three(term.value, t) : "", three(term.logOdds, t)] }))} />
    </>
  );
}
