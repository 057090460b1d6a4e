import type { VideoSubtitles } from "@rialto-im/client";
import { useEffect, useRef, useState } from "react";
import { useClient } from "../client.js";
import { getLocale } from "../i18n.js";
import { storage } from "../storage.js";
import { chosenLanguage, storeChoice, toggledLanguage } from "./subtitles.js";

export interface Subtitles {
  readonly list: readonly VideoSubtitles[];
  /** The language that is shown; undefined: none. */
  readonly language: string | undefined;
  /** The file that a track element loads; undefined until it is there. */
  readonly track: { readonly url: string; readonly of: VideoSubtitles } | undefined;
  /** The file could not be loaded. */
  readonly failed: boolean;
  readonly choose: (language: string | undefined) => void;
  /** Shows them, or none. */
  readonly toggle: () => void;
}

/** The subtitles of a video, and which are shown. They are loaded when they are first shown; an address that has expired is renewed. */
export function useSubtitles(list: readonly VideoSubtitles[], renew: () => void): Subtitles {
  const [choice, setChoice] = useState<{ language: string | undefined }>();
  const chosen = choice ? choice.language : chosenLanguage(list, storage); // the list may come later than the player
  const last = useRef(chosen);
  if (chosen !== undefined) last.current = chosen;
  const shown = list.find((s) => s.language === chosen);
  const { track, failed } = useFile(shown, renew);
  const choose = (language: string | undefined) => {
    setChoice({ language });
    storeChoice(language, storage);
  };
  return { list, language: shown?.language, track, failed, choose, toggle: () => choose(toggledLanguage(list, shown?.language, last.current, getLocale())) };
}

/** The name of a file, which stays when its address is signed again, and changes with the file. */
const nameOf = (url: string) => url.slice(url.lastIndexOf("/") + 1);

/**
 * Loads a file by a request of the page, as the segments are, and gives it to the track as a part of the page: a track element does not try again, and needs the leave
 * of the server where that has another origin.
 */
function useFile(shown: VideoSubtitles | undefined, renew: () => void) {
  const client = useClient();
  const [loaded, setLoaded] = useState<{ name: string; url: string }>();
  const [failed, setFailed] = useState<string>();
  const name = shown && nameOf(shown.url);
  const url = shown?.url;
  const renewed = useRef<string>(undefined);
  useEffect(() => {
    if (!url || !name || loaded?.name === name) return;
    const aborted = new AbortController();
    client
      .readFile(url, aborted.signal)
      .then((file) => {
        if (aborted.signal.aborted) return;
        setLoaded({ name, url: URL.createObjectURL(file) });
        setFailed(undefined);
      })
      .catch(() => {
        if (aborted.signal.aborted) return;
        setFailed(name);
        if (renewed.current !== url) renew(); // with a new address it is tried again
        renewed.current = url;
      });
    return () => aborted.abort();
  }, [client, url, name, loaded]);
  useEffect(() => () => {
    if (loaded) URL.revokeObjectURL(loaded.url);
  }, [loaded]);
  return { track: shown && loaded?.name === name ? { url: loaded!.url, of: shown } : undefined, failed: name !== undefined && failed === name };
}
