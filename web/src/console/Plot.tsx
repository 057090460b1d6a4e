import { useId } from "react";
import type { Point } from "./series.js";
import { useText } from "./text.js";

export interface Line {
  name: string;
  points: readonly Point[];
}

const width = 320;
const height = 96;

/** The parts of a line between its gaps, as a path. */
export function pathOf(points: readonly Point[], fromMs: number, toMs: number, most: number): string {
  let pen = "M";
  return points
    .flatMap(({ timeMs, value }) => {
      if (value === undefined) {
        pen = "M";
        return [];
      }
      const x = ((timeMs - fromMs) / Math.max(toMs - fromMs, 1)) * width;
      const y = height - (value / most) * (height - 4) - 2;
      const part = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
      pen = "L";
      return [part];
    })
    .join("");
}

/** A plot of lines over the last minutes, from zero to the greatest value. It is drawn here: a library would be larger than the rest of the console. */
export function Plot({ title, lines, format, periodMs }: { title: string; lines: readonly Line[]; format: (value: number) => string; periodMs: number }) {
  const t = useText();
  const id = useId();
  const values = lines.flatMap((l) => l.points.flatMap((p) => (p.value === undefined ? [] : [p.value])));
  const toMs = Math.max(0, ...lines.flatMap((l) => l.points.map((p) => p.timeMs)));
  const most = Math.max(0, ...values) || 1;
  return (
    <figure className="plot" aria-labelledby={id}>
      <figcaption id={id}>
        {title} <small>{t("lastMinutes")}</small>
      </figcaption>
      {values.length === 0 ? (
        <p className="muted">{t("plotEmpty")}</p>
      ) : (
        <>
          <span className="most">{format(most)}</span>
          <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
            <line x1="0" x2={width} y1={height - 1} y2={height - 1} className="axis" />
            {lines.map((l, i) => (
              <path key={l.name} className={`line line-${i % 6}`} d={pathOf(l.points, toMs - periodMs, toMs, most)} />
            ))}
          </svg>
        </>
      )}
      <ul className="legend">
        {lines.map((l, i) => {
          const last = l.points.at(-1)?.value;
          return (
            <li key={l.name} className={`line-${i % 6}`}>
              <bdi>{l.name}</bdi> {last === undefined ? t("none") : format(last)}
            </li>
          );
        })}
      </ul>
    </figure>
  );
}
