import type { VideoRendition, VideoStoryboard, VideoSubtitles } from "@rialto-im/client";
import { useEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type MouseEvent, type RefObject } from "react";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { useClient } from "../client.js";
import { confirm } from "../ui/Confirm.js";
import { Controls } from "./Controls.js";
import { Failed } from "./Failed.js";
import { commandOf, focusOf } from "./keys.js";
import "./player.css";
import { MovingComments } from "./MovingComments.js";
import { onDemandState } from "./renditions.js";
import { runCommand } from "./runCommand.js";
import type { PlayerSource } from "./source.js";
import { TimedCommentForm } from "./TimedCommentForm.js";
import { useEngine, type Engine } from "./useEngine.js";
import { useFile } from "./useFile.js";
import { useFullScreen } from "./useFullScreen.js";
import { usePlayback, type Playback } from "./usePlayback.js";
import { useSubtitles } from "./useSubtitles.js";
import { useTimedComments } from "./useTimedComments.js";

/** Controls that nobody uses hide after so long, while it plays. */
const idleMs = 2_500;
/** So often it says where it is. */
const reportEveryS = 5;
/** A paused video that is sought through is somewhere after so long. */
const settledMs = 300;
const noSubtitles: readonly VideoSubtitles[] = [];

interface Props {
  source: PlayerSource;
  /** What is played, for those who do not see it. */
  title: string;
  poster?: string | undefined;
  /** Of the whole video, also of what cannot be played yet. */
  durationMs?: number | undefined;
  storyboard?: VideoStoryboard | undefined;
  /** Plays at once: it was pressed. */
  autoPlay?: boolean;
  subtitles?: readonly VideoSubtitles[] | undefined;
  /** Where it begins, in seconds. */
  startAt?: number | undefined;
  /** Is told where it is: while it plays, and with isLeft where it pauses, or is not seen any more. */
  onPosition?: ((seconds: number, isLeft: boolean) => void) | undefined;
  /** What comments over the picture are about; undefined: there are none. */
  comments?: CommentedVideo | undefined;
  style?: CSSProperties;
}

/** A video that a post shows. */
export interface CommentedVideo {
  post: string;
  video: string;
  /** The user is its author. */
  isOwner: boolean;
}

/** Plays a video, with controls for the pointer, the finger and the keyboard. */
export default function Player({ source, title, poster, durationMs = 0, storyboard, autoPlay = false, subtitles = noSubtitles, startAt = 0, onPosition, comments, style }: Props) {
  const t = useText();
  const frame = useRef<HTMLDivElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const control = usePlayback(video);
  const { playback, toggle } = control;
  useReported(video, onPosition, playback); // before the engine, whose end empties the element
  const engine = useEngine(video, source, startAt);
  const full = useFullScreen(frame, video);
  const file = useFile(video, source, durationMs);
  const texts = useSubtitles(subtitles, source.renew);
  const requests = useRequests(source, engine);
  const timed = useTimedComments(comments?.post ?? "0", comments?.video ?? "0", playback.at);
  const { idle, used } = useIdle(!playback.paused);
  useEffect(() => {
    if (autoPlay) frame.current?.focus({ preventScroll: true });
  }, [autoPlay]);
  const pictureInPicture = document.pictureInPictureEnabled ? () => void togglePictureInPicture(video.current) : undefined;
  const duration = Math.max(playback.duration, durationMs / 1_000);
  const key = (e: KeyboardEvent<HTMLElement>) => {
    const command = commandOf(e, focusOf(e.target as Element));
    if (!command) return;
    e.preventDefault();
    e.stopPropagation(); // the list around it has keys of its own
    used();
    runCommand(command, control, duration, { fullScreen: full.toggle, pictureInPicture: pictureInPicture ?? (() => {}), subtitles: texts.toggle });
  };
  const press = (e: MouseEvent) => {
    const isTouch = (e.nativeEvent as PointerEvent).pointerType === "touch";
    if (!isTouch || !idle) toggle(); // the first touch shows the controls
    used();
  };
  const failure = engine.failure ?? file.failure;
  return (
    <div ref={frame} className={idle ? "player idle" : "player"} style={style} role="group" aria-label={t("playerOf", { title })} tabIndex={0} onKeyDown={key} onPointerMove={used} onFocus={used} onClick={(e) => e.stopPropagation()} data-testid="player">
      <video ref={video} src={source.kind === "file" ? source.url : undefined} poster={poster} playsInline autoPlay={autoPlay} preload="auto" {...file.events} onClick={press} onDoubleClick={full.toggle} data-testid="player-video">
        {texts.track && <Track key={texts.track.url} url={texts.track.url} of={texts.track.of} />}
      </video>
      {comments && timed.on && <CommentsOver video={video} playback={playback} timed={timed} of={comments} />}
      {texts.failed && <p className="player-note" role="alert">{t("subtitlesNotLoaded")}</p>}
      {requests.encoding && <p className="player-note" role="status">{t("qualityRequested", { name: requests.encoding })}</p>}
      {requests.failed && <p className="player-note" role="alert">{requests.failed}</p>}
      {playback.waiting && !failure && <span className="player-waiting" role="status"><span className="sr-only">{t("loading")}</span></span>}
      {failure && <Failed text={t(failure === "network" ? "playNetworkFailed" : "playMediaFailed")} onRetry={source.kind === "file" ? file.retry : engine.retry} />}
      <Controls control={control} engine={engine} subtitles={texts} renditions={source.kind === "hls" ? source.renditions : []} onRequest={requests.ask} duration={duration} storyboard={storyboard} comments={comments && timed} fullScreen={full.on} onFullScreen={full.toggle} onPictureInPicture={pictureInPicture}>
        {comments && timed.on && <TimedCommentForm atS={() => video.current?.currentTime ?? 0} onSend={timed.create} />}
      </Controls>
    </div>
  );
}

/** The subtitles that are shown. A track element shows nothing by itself unless it was there from the beginning. */
function Track({ url, of: { language, label } }: { url: string; of: VideoSubtitles }) {
  const track = useRef<HTMLTrackElement>(null);
  useEffect(() => {
    if (track.current) track.current.track.mode = "showing";
  }, []);
  return <track ref={track} kind="subtitles" src={url} srcLang={language} label={label} data-testid="player-track" />;
}

/** The comments that move over the picture. */
function CommentsOver({ video, playback, timed, of }: { video: RefObject<HTMLVideoElement | null>; playback: Playback; timed: ReturnType<typeof useTimedComments>; of: CommentedVideo }) {
  const t = useText();
  const { me } = useClient();
  const [failed, setFailed] = useState("");
  const remove = async (comment: string) => {
    if (document.fullscreenElement) await document.exitFullscreen(); // the question is asked on the page
    if (!(await confirm({ label: t("deleteComment"), question: t("sureRemoveTimedComment") }))) return;
    await timed.remove(comment).then(() => setFailed(""), (err: unknown) => setFailed(errorText(err)));
  };
  return (
    <>
      <MovingComments video={video} list={timed.list} atS={playback.at} paused={playback.paused} me={me} isOwner={of.isOwner} onRemove={(c) => void remove(c)} />
      {failed && <p className="player-note" role="alert">{failed}</p>}
    </>
  );
}

async function togglePictureInPicture(el: HTMLVideoElement | null): Promise<void> {
  try {
    if (document.pictureInPictureElement) await document.exitPictureInPicture();
    else await el?.requestPictureInPicture();
  } catch {
    // The browser refuses before the video is loaded.
  }
}

/** Asks for sizes that are encoded on demand. Where one is refused, or cannot be encoded, playback follows the network and the screen again. */
function useRequests(source: PlayerSource, { chosen, choose }: Engine) {
  const t = useText();
  const [failed, setFailed] = useState("");
  const state = source.kind === "hls" ? onDemandState(source.renditions, chosen) : undefined;
  const before = useRef({ state, chosen });
  useEffect(() => {
    if (before.current.chosen === chosen && before.current.state === "encoding" && state === "missing") {
      setFailed(t("errRendition"));
      choose(undefined);
    }
    before.current = { state, chosen };
  }, [state]);
  useEffect(() => {
    if (chosen !== undefined) setFailed("");
  }, [chosen]);
  const ask = ({ name }: VideoRendition) => {
    if (source.kind !== "hls") return;
    source.request(name).catch((err: unknown) => {
      setFailed(errorText(err));
      choose(undefined);
    });
  };
  const encoding = source.kind === "hls" && state === "encoding" ? source.renditions.find((r) => r.height === chosen)?.name : undefined;
  return { failed, encoding, ask };
}

/** Whether the controls hide, and what shows them. */
function useIdle(playing: boolean): { idle: boolean; used: () => void } {
  const [quiet, setQuiet] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const used = () => {
    setQuiet(false);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuiet(true), idleMs);
  };
  useEffect(() => {
    if (playing) used();
    return () => clearTimeout(timer.current);
  }, [playing]);
  return { idle: playing && quiet, used };
}

/** Says where a video is: while it plays, where it pauses or is sought to, and when it is left. One that was only paused meanwhile is not said again: another device may be further. */
function useReported(video: RefObject<HTMLVideoElement | null>, report: Props["onPosition"], { at, paused }: Playback): void {
  const slot = Math.floor(paused ? at : at / reportEveryS);
  const latest = useRef(report);
  latest.current = report;
  /** It has played at all, and it is somewhere that was not said yet. */
  const [began, due] = [useRef(false), useRef(false)];
  const say = (isLeft: boolean) => {
    const el = video.current;
    if (!el || !began.current || !Number.isFinite(el.duration)) return;
    due.current = false;
    latest.current?.(el.currentTime, isLeft);
  };
  useEffect(() => {
    if (!paused) {
      began.current = due.current = true;
      say(false);
      return;
    }
    if (began.current) due.current = true;
    const timer = setTimeout(() => due.current && say(true), settledMs);
    return () => clearTimeout(timer);
  }, [slot, paused]);
  useEffect(() => {
    const el = video.current;
    const left = () => {
      if (!el || !began.current || (el.paused && !due.current) || !Number.isFinite(el.duration)) return;
      due.current = false;
      latest.current?.(el.currentTime, true);
    };
    const hidden = () => document.visibilityState === "hidden" && left();
    document.addEventListener("visibilitychange", hidden);
    addEventListener("pagehide", left);
    return () => {
      document.removeEventListener("visibilitychange", hidden);
      removeEventListener("pagehide", left);
      left();
    };
  }, [video]);
}
