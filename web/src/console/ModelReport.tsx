import { useId } from "react";
import type { RankingCalibration, RankingModel, RankingQuality } from "./calls.js";
import { three } from "./formats.js";
import { Table } from "./Table.js";
import { useText } from "./text.js";

const size = 200;

interface Curve {
  name: string;
  points: readonly { x: number; y: number }[];
  /** Points are marked. */
  dots?: boolean;
}

/** The points of a curve as an SVG polyline has them: from 0 to top on both axes, y upwards. */
export function polyline(points: Curve["points"], top: number): string {
  return points.map(({ x, y }) => `${((x / top) * size).toFixed(1)},${(size - (y / top) * size).toFixed(1)}`).join(" ");
}

/** The offline evaluation of a model, beside that of another one. */
export function ModelReport({ model, other }: { model: RankingModel; other: RankingModel | undefined }) {
  const t = useText();
  const models = other ? [model, other] : [model];
  const e = model.evaluation!;
  const orders: [string, RankingQuality | undefined][] = [...models.map((m): [string, RankingQuality | undefined] => [t("modelId", { id: m.id }), m.evaluation?.model]), [t("popularity"), e.popularity], [t("recency"), e.recency]];
  const calibrations = (of: (m: RankingModel) => readonly RankingCalibration[]): Curve[] => models.map((m) => ({ name: t("modelId", { id: m.id }), points: of(m).map((p) => ({ x: p.estimated, y: p.observed })), dots: true }));
  const ofConversions = calibrations((m) => m.evaluation?.conversionCalibration ?? []);
  return (
    <section aria-label={t("modelId", { id: model.id })} data-testid="model-report" className="report">
      <Table label={t("orders")} head={[t("orders"), t("auc"), t("ndcg"), t("coverage")]} rows={orders.map(([name, q]) => ({ key: `order ${name}`, cells: [name, three(q?.auc, t), three(q?.ndcg, t), three(q?.coverage, t)] }))} />
      <div className="plots">
        <Bars title={t("ndcg")} bars={orders.map(([name, q]) => ({ name, value: q?.ndcg ?? 0 }))} />
        <Bars title={t("coverage")} bars={orders.map(([name, q]) => ({ name, value: q?.coverage ?? 0 }))} />
        <Curves title={t("roc")} hint={t("rocHint")} curves={orders.map(([name, q]) => ({ name, points: (q?.roc ?? []).map((p) => ({ x: p.falsePositives, y: p.truePositives })) }))} top={1} />
        <Curves title={t("calibrationOf")} hint={t("calibrationHint")} curves={calibrations((m) => m.evaluation?.calibration ?? [])} />
        {ofConversions.some((c) => c.points.length > 0) && <Curves title={t("calibrationOfConversions")} hint={t("calibrationHint")} curves={ofConversions} />}
      </div>
      {models.map((m) => m.noConversion && <p key={m.id} className="muted">{t("modelId", { id: m.id })}: {t("noConversions", { why: m.noConversion })}</p>)}
      <h3>{t("modelWeights")}</h3>
      <p className="muted">{t("modelWeightsHint")}</p>
      <Table
        label={t("modelWeights")}
        head={[t("feature"), ...models.flatMap((m) => [`${t("click")}, ${t("modelId", { id: m.id })}`, `${t("conversion")}, ${t("modelId", { id: m.id })}`])]}
        rows={model.weights.map((w) => ({
          key: `feature ${w.feature}`,
          cells: [w.feature, ...models.flatMap((m) => {
            const of = m.weights.find((o) => o.feature === w.feature);
            return [of ? of.click.toFixed(2) : t("none"), of && !m.noConversion ? of.conversion.toFixed(2) : t("none")];
          })],
        }))}
      />
    </section>
  );
}

function Legend({ names }: { names: readonly string[] }) {
  return <ul className="legend">{names.map((n, i) => <li key={n} className={`line-${i % 6}`}><bdi>{n}</bdi></li>)}</ul>;
}

/** Values from 0 to 1 as bars. */
function Bars({ title, bars }: { title: string; bars: readonly { name: string; value: number }[] }) {
  const id = useId();
  return (
    <figure className="plot bars" aria-labelledby={id}>
      <figcaption id={id}>{title}</figcaption>
      {bars.map((b, i) => (
        <div key={b.name} className="bar">
          <span>{b.name}</span>
          <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" className={`line-${i % 6}`}><rect width={Math.max(0, Math.min(1, b.value)) * 100} height="10" /></svg>
          <b>{b.value.toFixed(3)}</b>
        </div>
      ))}
    </figure>
  );
}

/** Curves in a square, with its diagonal. Without a top, the axes end beyond the greatest value. */
function Curves({ title, hint, curves, top }: { title: string; hint: string; curves: readonly Curve[]; top?: number }) {
  const id = useId();
  const most = top ?? Math.min(1, Math.ceil(Math.max(0.01, ...curves.flatMap((c) => c.points.flatMap((p) => [p.x, p.y]))) * 20) / 20);
  return (
    <figure className="plot square" aria-labelledby={id}>
      <figcaption id={id}>{title}</figcaption>
      <span className="most">{most.toFixed(2)}</span>
      <svg viewBox={`0 0 ${size} ${size}`} aria-hidden="true">
        <rect width={size} height={size} className="axis" fill="none" />
        <line x1="0" y1={size} x2={size} y2="0" className="even" />
        {curves.map((c, i) => (
          <g key={c.name} className={`line-${i % 6}`}>
            <polyline className="line" points={polyline(c.points, most)} />
            {c.dots && c.points.map((p, n) => <circle key={n} cx={(p.x / most) * size} cy={size - (p.y / most) * size} r="3" fill="currentColor" />)}
          </g>
        ))}
      </svg>
      <Legend names={curves.map((c) => c.name)} />
      <small className="muted">{hint}</small>
    </figure>
  );
}
