import { useCallback, useState } from "react";
import type { RankingModel } from "./calls.js";
import { ExplainScore } from "./ExplainScore.js";
import { describeFallback } from "./fallbackText.js";
import { count, moment, three } from "./formats.js";
import { ModelReport } from "./ModelReport.js";
import type { PageProps } from "./pageProps.js";
import { RankingWeightTable } from "./RankingWeightTable.js";
import { ReasonDialog } from "./ReasonDialog.js";
import { Table } from "./Table.js";
import { useText } from "./text.js";
import { usePolled } from "./usePolled.js";

const everyMs = 10_000;

/** What ranks "for you": the models with their offline evaluations, the weights, and the parts of any score. */
export function RankingPage(props: PageProps) {
  const { calls, fail, mayChange } = props;
  const t = useText();
  const load = useCallback(
    async (signal: AbortSignal) => {
      const [models, weights] = await Promise.all([calls.ranking.listRankingModels({}, { signal }), calls.ranking.getRankingWeights({}, { signal })]);
      return { ...models, weights: weights.weights, weightChanges: weights.changes };
    },
    [calls],
  );
  const { value, error, reload } = usePolled(load, everyMs, fail);
  const [shown, setShown] = useState<string>();
  const [other, setOther] = useState("");
  const [asked, setAsked] = useState<string>();
  if (!value) return <p className={error ? "error" : "muted"}>{error || t("loading")}</p>;
  const byId = (id: string | undefined) => value.models.find((m) => m.id === id);
  const why = value.models.length === 0 || (value.changes[0]?.model ?? "0") !== "0" ? describeFallback(value.fallback, t) : "";
  const model = byId(shown) ?? byId(value.active) ?? value.models[0];
  const act = async (id: string, reason: string): Promise<string | undefined> => {
    try {
      await calls.ranking.activateRankingModel({ model: id, reason });
      reload();
      return undefined;
    } catch (err) {
      return fail(err);
    }
  };
  return (
    <>
      {error && <p className="error" role="status">{t("stale", { error })}</p>}
      <p data-testid="ranked-by">{value.active === "0" ? t("rankedByWeights") : t("rankedByModel", { id: value.active })} <span className="muted">{t("impressions", { n: Number(value.shown) })} {value.active === "0" && why}</span></p>
      <h2>{t("models")}</h2>
      {value.models.length === 0 ? <p className="muted">{t("noModels")}</p> : <Models list={value.models} active={value.active} shown={model?.id} onShow={setShown} />}
      {model && (
        <div className="filters">
          <label>
            {t("compareWith")}
            <select value={other} onChange={(e) => setOther(e.target.value)}>
              <option value="">{t("noComparison")}</option>
              {value.models.filter((m) => m.id !== model.id && m.evaluation).map((m) => <option key={m.id} value={m.id}>{t("modelId", { id: m.id })}</option>)}
            </select>
          </label>
          {mayChange && (
            <span className="buttons">
              {model.id !== value.active && model.evaluation && <button className="primary small" onClick={() => setAsked(model.id)}>{t("activate")}</button>}
              {value.active !== "0" && <button onClick={() => setAsked("0")}>{t("rankByWeights")}</button>}
            </span>
          )}
        </div>
      )}
      {model?.evaluation && <ModelReport model={model} other={other === model.id ? undefined : byId(other)} />}
      <h2>{t("rankingChanges")}</h2>
      {value.changes.length === 0 && <p className="muted">{t("noRankingChanges")}</p>}
      <ul className="rows" data-testid="model-changes">
        {value.changes.map((c, i) => <li key={i} className="muted">{moment(c.timeMs)} · <bdi>{c.by}</bdi> · {c.model === "0" ? t("theWeights") : t("modelId", { id: c.model })} {c.reason && `· ${c.reason}`}</li>)}
      </ul>
      <RankingWeightTable {...props} weights={value.weights} changes={value.weightChanges} onChanged={reload} />
      <ExplainScore {...props} />
      {asked !== undefined && (
        <ReasonDialog
          question={asked === "0" ? t("rankByWeightsQuestion") : t("activateQuestion", { id: asked })}
          label={asked === "0" ? t("rankByWeights") : t("activate")}
          act={(reason) => act(asked, reason)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}

function Models({ list, active, shown, onShow }: { list: readonly RankingModel[]; active: string; shown: string | undefined; onShow: (id: string) => void }) {
  const t = useText();
  const rows = list.map((m) => {
    const e = m.evaluation;
    return {
      key: `model ${m.id}`,
      cells: [
        <><button className="link" aria-pressed={m.id === shown} onClick={() => onShow(m.id)}>{t("modelId", { id: m.id })}</button>{m.id === active && <strong> {t("inUse")}</strong>}<small className="muted hint"> {moment(m.createdMs)} · <bdi>{m.by}</bdi>{m.reason && ` · ${m.reason}`}</small></>,
        three(e?.model?.auc, t),
        three(e?.model?.ndcg, t),
        three(e?.calibrationError, t),
        three(e?.model?.coverage, t),
        <>{count(m.examples)} <small className="muted">{t("opened", { n: count(m.clicks) })}</small></>,
      ],
    };
  });
  return <Table label={t("models")} head={[t("model"), t("auc"), t("ndcg"), t("calibrationError"), t("coverage"), t("trainedWith")]} rows={rows} />;
}
