import { isProcessing, VideoState, VideoStepKind, type Video, type VideoStep } from "@rialto-im/client";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { roughly } from "../format.js";
import { useText, type Key } from "../i18n.js";
import { CheckIcon, ClockIcon } from "./icons.js";
import "./video.css";

const stepTexts: Record<VideoStepKind, Key | undefined> = {
  [VideoStepKind.UNSPECIFIED]: undefined,
  [VideoStepKind.INSPECT]: "stepInspect",
  [VideoStepKind.COPY]: "stepCopy",
  [VideoStepKind.ENCODE]: "stepEncode",
  [VideoStepKind.AUDIO]: "stepAudio",
  [VideoStepKind.POSTERS]: "stepPosters",
  [VideoStepKind.STORYBOARD]: "stepStoryboard",
  [VideoStepKind.PUBLISH]: "stepPublish",
  [VideoStepKind.STAGE]: "stepStage",
};

/** How far the processing of a video is, or why it failed. Its owner sees the steps. Nothing once it is ready. */
export function VideoStatus({ video }: { video: Video }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const { state, failure, steps, remainingMs, playback, awaitsStorage } = video;
  if (state === VideoState.FAILED) {
    return (
      <div className="video-status" data-testid="video-failed">
        <p className="error" role="alert">{failure?.message ? t("videoFailedBecause", { why: errorText({ code: "", reason: failure.reason, message: failure.message }) }) : t("videoFailed")}</p>
        {failure?.retriable && <button type="button" disabled={busy} onClick={() => void run(() => client.retryVideo(video.id))}>{t("videoRetry")}</button>}
        {error && <p className="error" role="alert">{error}</p>}
      </div>
    );
  }
  if (!isProcessing(video)) return null;
  const total = steps.reduce((sum, s) => sum + s.total, 0);
  const done = steps.reduce((sum, s) => sum + s.done, 0);
  const what = awaitsStorage ? t("videoAwaitsStorage") : state === VideoState.WAITING ? t("videoWaits") : remainingMs > 0 ? t("videoProcessingLeft", { time: roughly(remainingMs, t) }) : t("videoProcessing");
  return (
    <div className="video-status" data-testid="video-processing">
      <p>{what} {playback && <span>{t("videoPlayable")}</span>}</p>
      {total > 0 && <progress value={done} max={total} aria-label={t("videoSteps")} />}
      {steps.length > 0 && <ul className="video-steps" aria-label={t("videoSteps")}>{steps.map((s) => <Step key={`${s.kind}/${s.rendition}/${s.stage}`} step={s} />)}</ul>}
    </div>
  );
}

function Step({ step: { kind, rendition, stage, done, total } }: { step: VideoStep }) {
  const t = useText();
  const text = stepTexts[kind];
  if (!text) return null; // of a newer server
  const isDone = total > 0 && done === total;
  return (
    <li className={isDone ? "done" : undefined}>
      {isDone ? <CheckIcon /> : <ClockIcon />}
      {t(text, { name: rendition || stage })} {isDone ? <span className="sr-only">{t("stepDone")}</span> : total > 1 && <small>{t("stepOf", { done, total })}</small>}
    </li>
  );
}
