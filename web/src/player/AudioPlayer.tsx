import { useEffect, useRef, useSyncExternalStore, type KeyboardEvent } from "react";
import { PauseIcon, PlayIcon } from "../components/icons.js";
import { length } from "../format.js";
import { useText } from "../i18n.js";
import { IconButton } from "../ui/IconButton.js";
import "./audioPlayer.css";
import { Failed } from "./Failed.js";
import { commandOf, focusOf, isForSound } from "./keys.js";
import { runCommand } from "./runCommand.js";
import { SeekBar } from "./SeekBar.js";
import type { FileSource } from "./source.js";
import { SpeedChoice } from "./SpeedChoice.js";
import { speedOfSounds } from "./speedOfSounds.js";
import { useFile } from "./useFile.js";
import { usePlayback } from "./usePlayback.js";
import { Waveform } from "./Waveform.js";

interface Props {
  source: FileSource;
  /** What is played, for those who do not see it. */
  title: string;
  durationMs: number;
  waveform: Uint8Array;
}

const noPicture = { fullScreen: () => {}, pictureInPicture: () => {}, subtitles: () => {} };

/** The player for a sound: its waveform is the bar to seek with. All sounds have one speed. */
export function AudioPlayer({ source, title, durationMs, waveform }: Props) {
  const t = useText();
  const audio = useRef<HTMLAudioElement>(null);
  const playing = usePlayback(audio);
  const speed = useSyncExternalStore(speedOfSounds.subscribe, speedOfSounds.get);
  const { setSpeed } = playing;
  useEffect(() => setSpeed(speed), [setSpeed, speed]);
  const control = { ...playing, playback: { ...playing.playback, speed }, setSpeed: speedOfSounds.set };
  const { playback, toggle, seek } = control;
  const file = useFile(audio, source, durationMs);
  const duration = playback.duration || durationMs / 1_000;
  const key = (e: KeyboardEvent<HTMLElement>) => {
    const command = commandOf(e, focusOf(e.target as Element));
    if (!command || !isForSound(command)) return;
    e.preventDefault();
    e.stopPropagation(); // the list around it has keys of its own
    runCommand(command, control, duration, noPicture);
  };
  const at = Math.min(playback.at, duration);
  const ended = () => {
    if (audio.current) audio.current.currentTime = 0;
  };
  return (
    <div className="audio-player" role="group" aria-label={t("audioPlayerOf", { title })} aria-busy={playback.waiting} onKeyDown={key} data-testid="audio-player">
      <IconButton label={t(playback.paused ? "play" : "pause")} side="top" disabled={!source.url} onClick={toggle}>{playback.paused ? <PlayIcon /> : <PauseIcon />}</IconButton>
      <SeekBar playback={playback} duration={duration} storyboard={undefined} onSeek={seek}><Waveform samples={waveform} played={duration > 0 ? at / duration : 0} /></SeekBar>
      <time>{length(1_000 * (playback.paused && at === 0 ? duration : at))}</time>
      <SpeedChoice speed={speed} onChoose={speedOfSounds.set} />
      <audio ref={audio} src={source.url || undefined} preload="metadata" {...file.events} onEnded={ended} />
      {file.failure && <Failed text={t("playSoundFailed")} onRetry={file.retry} />}
    </div>
  );
}
