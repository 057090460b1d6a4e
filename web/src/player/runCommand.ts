import { speedAfter, type PlayerCommand } from "./keys.js";
import type { PlaybackControl } from "./usePlayback.js";

/** What only a picture has. */
export interface PictureCommands {
  fullScreen: () => void;
  pictureInPicture: () => void;
  subtitles: () => void;
}

/** Does what a key says, with a video or a sound of so many seconds. */
export function runCommand(c: PlayerCommand, { playback, toggle, seek, setVolume, toggleMuted, setSpeed }: PlaybackControl, duration: number, picture: PictureCommands): void {
  switch (c.kind) {
    case "toggle":
      return toggle();
    case "seekBy":
      return seek(playback.at + c.seconds);
    case "seekTo":
      return seek(duration * c.part);
    case "volumeBy":
      return setVolume((playback.muted ? 0 : playback.volume) + c.change);
    case "speedBy":
      return setSpeed(speedAfter(playback.speed, c.steps));
    case "mute":
      return toggleMuted();
    case "fullscreen":
      return picture.fullScreen();
    case "subtitles":
      return picture.subtitles();
    default:
      return picture.pictureInPicture();
  }
}
