import type { VideoStage } from "./calls.js";

export const stageWidth = 168;
export const stageHeight = 56;
const gapX = 56;
const gapY = 16;

/** A stage with its place in the graph. */
export interface PlacedStage {
  stage: VideoStage;
  x: number;
  y: number;
}

/** A frame around stages that share runs of ffmpeg. */
export interface Frame {
  key: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Graph {
  width: number;
  height: number;
  stages: PlacedStage[];
  frames: Frame[];
  /** The lines from inputs to the stages that need them, as paths. */
  edges: { key: string; path: string }[];
}

/**
 * Places the stages of a video in columns: each is one column behind the last of those that it needs. The server names each stage behind its inputs. An edge that
 * follows from others is left out: what is published needs all.
 */
export function placeStages(list: readonly VideoStage[]): Graph {
  const columns = new Map<string, number>();
  const rows: number[] = [];
  const placed = new Map<string, PlacedStage>();
  const before = new Map<string, Set<string>>(); // all that a stage needs, also by others
  for (const stage of list) {
    const inputs = stage.inputs.filter((name) => columns.has(name));
    const column = inputs.reduce((most, name) => Math.max(most, columns.get(name)! + 1), 0);
    const row = rows[column] ?? 0;
    rows[column] = row + 1;
    columns.set(stage.name, column);
    before.set(stage.name, new Set(inputs.flatMap((name) => [name, ...before.get(name)!])));
    placed.set(stage.name, { stage, x: column * (stageWidth + gapX), y: row * (stageHeight + gapY) });
  }
  const edges = list.flatMap((to) =>
    to.inputs.flatMap((name) => {
      const from = placed.get(name);
      const isImplied = to.inputs.some((other) => other !== name && before.get(other)?.has(name));
      if (!from || isImplied) return [];
      const end = placed.get(to.name)!;
      const [x1, y1, x2, y2] = [from.x + stageWidth, from.y + stageHeight / 2, end.x, end.y + stageHeight / 2];
      const middle = (x1 + x2) / 2;
      return [{ key: `${name} ${to.name}`, path: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` }];
    }),
  );
  const most = Math.max(0, ...rows);
  return { width: Math.max(1, rows.length * (stageWidth + gapX) - gapX), height: Math.max(1, most * (stageHeight + gapY) - gapY), stages: [...placed.values()], edges, frames: framesOf([...placed.values()]) };
}

/** Distance of a frame from its stages. Two frames of neighbours do not touch. */
const frameGap = 5;

/** The frames around stages that share runs of ffmpeg. Those that do not follow each other in a column have several. */
function framesOf(placed: readonly PlacedStage[]): Frame[] {
  const frames: { last: PlacedStage; frame: Frame }[] = [];
  for (const at of placed) {
    const { stage, x, y } = at;
    if (stage.sharesWith.length === 0) continue;
    const above = frames.find(({ last }) => last.x === x && last.y + stageHeight + gapY === y && stage.sharesWith.includes(last.stage.name));
    if (above) {
      above.frame.height += stageHeight + gapY;
      above.last = at;
    } else {
      frames.push({ last: at, frame: { key: stage.name, x: x - frameGap, y: y - frameGap, width: stageWidth + 2 * frameGap, height: stageHeight + 2 * frameGap } });
    }
  }
  return frames.map(({ frame }) => frame);
}
