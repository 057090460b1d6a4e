import { useCallback, useState, type FormEvent } from "react";
import { VideoStageState, VideoState, type VideoPipeline, type VideoStage } from "./calls.js";
import type { PageProps } from "./pageProps.js";
import { bytes, count, duration, milliseconds, moment } from "./formats.js";
import { placeStages, stageHeight, stageWidth } from "./pipelineGraph.js";
import { useText, type Key, type Translate } from "./text.js";
import { usePolled } from "./usePolled.js";
import { VideoCosts } from "./VideoCosts.js";

const everyMs = 2000;

const stateNames: Record<VideoStageState, [Key, string]> = {
  [VideoStageState.UNSPECIFIED]: ["none", "waiting"],
  [VideoStageState.WAITING]: ["stageWaiting", "waiting"],
  [VideoStageState.QUEUED]: ["stageQueued", "waiting"],
  [VideoStageState.RUNNING]: ["stageRunning", "running"],
  [VideoStageState.RETRYING]: ["stageRetrying", "retrying"],
  [VideoStageState.DONE]: ["stageDone", "done"],
  [VideoStageState.SKIPPED]: ["stageSkipped", "skipped"],
  [VideoStageState.FAILED]: ["stageFailed", "failed"],
  [VideoStageState.ON_DEMAND]: ["stageOnDemand", "skipped"],
};

const videoStates: Record<VideoState, Key> = {
  [VideoState.UNSPECIFIED]: "none",
  [VideoState.WAITING]: "videoWaiting",
  [VideoState.PROCESSING]: "videoProcessing",
  [VideoState.READY]: "videoReady",
  [VideoState.FAILED]: "videoFailed",
};

/** What is made of a video, by its id, as a graph. */
export function VideosPage(props: PageProps) {
  const { calls, fail } = props;
  const t = useText();
  const [id, setId] = useState("");
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    setId((e.currentTarget.elements.namedItem("video") as HTMLInputElement).value.trim());
  };
  return (
    <>
      <form className="filters" onSubmit={submit}>
        <label>
          {t("videoId")}
          <input name="video" inputMode="numeric" pattern="[0-9]{1,20}" required />
        </label>
        <button className="primary">{t("show")}</button>
      </form>
      {id && <Shown key={id} id={id} calls={calls} fail={fail} />}
      <VideoCosts {...props} />
    </>
  );
}

function Shown({ id, calls, fail }: { id: string } & Pick<PageProps, "calls" | "fail">) {
  const t = useText();
  const load = useCallback((signal: AbortSignal) => calls.operation.getVideoPipeline({ video: id }, { signal }), [calls, id]);
  const { value, error } = usePolled(load, everyMs, fail);
  return (
    <>
      {error && <p className="error" role="status">{value ? t("stale", { error }) : error}</p>}
      {!value && !error && <p className="muted">{t("loading")}</p>}
      {value && <Pipeline video={value} />}
    </>
  );
}

function Pipeline({ video }: { video: VideoPipeline }) {
  const t = useText();
  return (
    <>
      <p>
        <strong>{t(videoStates[video.state])}</strong> · {t("created")}: {moment(video.createdMs)}
        {video.endedMs > 0 && <> · {t("finished")}: {moment(video.endedMs)}</>}
      </p>
      {video.error && <p className="error"><code>{video.reason}</code> {video.error}</p>}
      <Drawing stages={video.stages} />
      <StageTable stages={video.stages} />
    </>
  );
}

/** The time that a stage took, or has taken so far. */
function spent(stage: VideoStage, t: Translate): string {
  if (stage.startedMs === 0n) return "";
  const ms = Number(stage.spentMs);
  return ms < 10_000 ? milliseconds(ms / 1000) : duration(ms, t);
}

/** Room around the graph, for frames. */
const margin = 7;

/** The graph. What it shows is in the table as well. */
function Drawing({ stages }: { stages: readonly VideoStage[] }) {
  const t = useText();
  const graph = placeStages(stages);
  return (
    <div className="scroll pipeline" tabIndex={0} role="region" aria-label={t("pipeline")} data-testid="pipeline">
      <svg width={graph.width + 2 * margin} height={graph.height + 2 * margin} viewBox={`${-margin} ${-margin} ${graph.width + 2 * margin} ${graph.height + 2 * margin}`} aria-hidden="true">
        {graph.frames.map(({ key, ...place }) => <rect key={key} className="shared" {...place} rx="12" data-testid="shared-runs" />)}
        {graph.edges.map((e) => <path key={e.key} className="edge" d={e.path} />)}
        {graph.stages.map(({ stage, x, y }) => {
          const [key, look] = stateNames[stage.state];
          return (
            <g key={stage.name} className={`stage ${look}`} transform={`translate(${x} ${y})`}>
              <rect width={stageWidth} height={stageHeight} rx="8" />
              <text x="12" y="22" className="name">{stage.name.length > 20 ? `${stage.name.slice(0, 19)}…` : stage.name}</text>
              <text x="12" y="42">
                {t(key)}
                {stage.tasks > 1 && ` · ${count(stage.done)}/${count(stage.tasks)}`}
                {spent(stage, t) && ` · ${spent(stage, t)}`}
              </text>
            </g>
          );
        })}
      </svg>
      {graph.frames.length > 0 && (
        <p className="legend muted" data-testid="pipeline-legend">
          <svg width="22" height="16" aria-hidden="true"><rect className="shared" x="1" y="1" width="20" height="14" rx="5" /></svg>
          {t("sharedRunsLegend")}
        </p>
      )}
    </div>
  );
}

function StageTable({ stages }: { stages: readonly VideoStage[] }) {
  const t = useText();
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={t("stages")}>
      <table>
        <thead>
          <tr>
            {(["stage", "state", "stageTasks", "attempts", "onNodes", "started", "finished", "spent", "storedBytes"] as const).map((k) => (
              <th key={k} scope="col">{t(k)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {stages.map((s) => (
            <tr key={s.name} data-testid="stage">
              <th scope="row">
                <bdi>{s.name}</bdi>
                {s.optional && <small className="muted hint"> {t("optional")}</small>}
                {s.copied && <small className="muted hint"> {t("copied")}</small>}
                {s.sharedTasks > 0 && <small className="muted hint"> {t("sharedRuns", { n: count(s.sharedTasks), of: count(s.tasks), others: s.sharesWith.join(", ") })}</small>}
                {s.error && <p className="error hint">{s.error}</p>}
              </th>
              <td>{t(stateNames[s.state][0])}</td>
              <td>{count(s.done)}/{count(s.tasks)}</td>
              <td>{count(s.attempts)}</td>
              <td>{s.nodes.join(", ") || t("none")}</td>
              <td>{s.startedMs > 0 ? moment(s.startedMs) : t("none")}</td>
              <td>{s.endedMs > 0 ? moment(s.endedMs) : t("none")}</td>
              <td>{spent(s, t) || t("none")}</td>
              <td>{s.storedBytes > 0n ? bytes(Number(s.storedBytes)) : t("none")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
