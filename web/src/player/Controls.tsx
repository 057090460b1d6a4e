import type { VideoRendition, VideoStoryboard } from "@rialto-im/client";
import type { ReactNode } from "react";
import { length } from "../format.js";
import { useText } from "../i18n.js";
import { CommentIcon, FullScreenIcon, MutedIcon, PauseIcon, PictureInPictureIcon, PlayIcon, SoundIcon } from "../components/icons.js";
import { nameOfLevel, onDemand } from "./renditions.js";
import { SeekBar } from "./SeekBar.js";
import { SpeedChoice } from "./SpeedChoice.js";
import type { Engine } from "./useEngine.js";
import type { PlaybackControl } from "./usePlayback.js";
import type { Subtitles } from "./useSubtitles.js";
import type { TimedComments } from "./useTimedComments.js";

interface Props {
  control: PlaybackControl;
  engine: Engine;
  subtitles: Subtitles;
  renditions: readonly VideoRendition[];
  onRequest: (r: VideoRendition) => void;
  duration: number;
  storyboard: VideoStoryboard | undefined;
  fullScreen: boolean;
  onFullScreen: () => void;
  /** Undefined where the browser has none. */
  onPictureInPicture: (() => void) | undefined;
  /** Comments over the picture; undefined: there are none. */
  comments: Pick<TimedComments, "on" | "toggle"> | undefined;
  /** What writes one. */
  children?: ReactNode;
}

/** The bar below a video. */
export function Controls({ control, engine, subtitles, renditions, onRequest, duration, storyboard, fullScreen, onFullScreen, onPictureInPicture, comments, children }: Props) {
  const t = useText();
  const { playback, toggle, seek, setVolume, toggleMuted, setSpeed } = control;
  const { paused, ended, at, volume, muted, speed } = playback;
  const isSilent = muted || volume === 0;
  return (
    <div className="player-controls" data-testid="player-controls">
      {comments && (
        <div className="player-comment-row">
          <Button label={t(comments.on ? "timedCommentsOff" : "timedCommentsOn")} className={comments.on ? "on" : ""} onClick={comments.toggle}><CommentIcon /></Button>
          {children}
        </div>
      )}
      <SeekBar playback={playback} duration={duration} storyboard={storyboard} onSeek={seek} />
      <div className="player-bar">
        <Button label={t(ended ? "playAgain" : paused ? "play" : "pause")} onClick={toggle}>{paused ? <PlayIcon /> : <PauseIcon />}</Button>
        <span className="player-volume">
          <Button label={t(isSilent ? "soundOn" : "soundOff")} onClick={toggleMuted}>{isSilent ? <MutedIcon /> : <SoundIcon />}</Button>
          <input type="range" min={0} max={1} step={0.05} value={isSilent ? 0 : volume} aria-label={t("volume")} onChange={(e) => setVolume(e.target.valueAsNumber)} />
        </span>
        <time>{length(at * 1_000)} / {length(duration * 1_000)}</time>
        <Choice short={`${speed}×`}><SpeedChoice speed={speed} onChoose={setSpeed} /></Choice>
        {subtitles.list.length > 0 && <SubtitlesChoice subtitles={subtitles} />}
        {engine.levels.length + onDemand(renditions).length > 1 && <Quality engine={engine} renditions={renditions} onRequest={onRequest} />}
        {onPictureInPicture && <Button label={t("pictureInPicture")} className="player-pip" onClick={onPictureInPicture}><PictureInPictureIcon /></Button>}
        <Button label={t(fullScreen ? "leaveFullScreen" : "fullScreen")} onClick={onFullScreen}><FullScreenIcon /></Button>
      </div>
    </div>
  );
}

function Quality({ engine: { levels, level, chosen, choose }, renditions, onRequest }: { engine: Engine; renditions: readonly VideoRendition[]; onRequest: (r: VideoRendition) => void }) {
  const t = useText();
  const missing = onDemand(renditions);
  const chose = (height: number | undefined) => {
    choose(height); // one that is not there yet is played when it comes
    const r = missing.find((m) => m.height === height);
    if (r && !r.requested) onRequest(r);
  };
  const now = level && chosen === undefined ? t("qualityAutoNow", { name: nameOfLevel(level, renditions) }) : t("qualityAuto");
  return (
    <Choice short={chosen === undefined ? t("qualityAuto") : (missing.find((m) => m.height === chosen)?.name ?? `${chosen}p`)}>
      <select aria-label={t("quality")} value={chosen ?? ""} onChange={(e) => chose(e.target.value === "" ? undefined : Number(e.target.value))} data-testid="player-quality">
        <option value="">{now}</option>
        {missing.map((r) => <option key={r.height} value={r.height}>{t(r.requested ? "qualityRequested" : "qualityOnDemand", { name: r.name })}</option>)}
        {[...levels].reverse().map((l) => <option key={l.height} value={l.height}>{nameOfLevel(l, renditions)}</option>)}
      </select>
    </Choice>
  );
}

function SubtitlesChoice({ subtitles: { list, language, choose } }: { subtitles: Subtitles }) {
  const t = useText();
  return (
    <Choice short={<span className={language === undefined ? "player-cc off" : "player-cc"}>CC</span>}>
      <select aria-label={t("subtitles")} title={t("subtitlesKey")} value={language ?? ""} onChange={(e) => choose(e.target.value === "" ? undefined : e.target.value)} data-testid="player-subtitles">
        <option value="">{t("subtitlesOff")}</option>
        {list.map((s) => <option key={s.language} value={s.language} lang={s.language}>{s.label}</option>)}
      </select>
    </Choice>
  );
}

/** A list of the bar. Where the player is narrow, a short text stands for what is chosen, over which the list lies invisibly: its own text would be cut. */
function Choice({ short, children }: { short: ReactNode; children: ReactNode }) {
  return <span className="player-choice">{children}<span className="player-short" aria-hidden="true">{short}</span></span>;
}

/** A button of the bar. Its tip is the browser's: one of the page would not show in full screen. */
function Button({ label, className = "", onClick, children }: { label: string; className?: string; onClick: () => void; children: ReactNode }) {
  return <button type="button" className={`player-button ${className}`} aria-label={label} title={label} onClick={onClick}>{children}</button>;
}
