import type { VideoSubtitles, VideoView } from "@rialto-im/client";
import { useId, useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { client } from "../client.js";
import { errorText } from "../errors.js";
import { bytes } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { confirm } from "../ui/Confirm.js";
import { Dialog } from "../ui/Dialog.js";
import { IconButton } from "../ui/IconButton.js";
import { languageName, languages } from "./languages.js";
import { CloseIcon } from "./icons.js";
import "./video.css";

const mostBytes = 512 << 10;

/** The subtitles of one's own video, once they were read: those that it has, and a form for another language, or for another file in one. */
export function VideoSubtitlesEditor({ id, read, name, onClose }: { id: string; read: VideoView; name: string; onClose: () => void }) {
  const t = useText();
  return (
    <Dialog title={t("subtitlesOf", { name })} onClose={onClose}>
      {read.video ? <Editor id={id} known={read.video.subtitles} /> : read.error ? <p className="error" role="alert">{errorText(read.error)}</p> : <p role="status">{t("loading")}</p>}
    </Dialog>
  );
}

function Editor({ id, known }: { id: string; known: readonly VideoSubtitles[] }) {
  const t = useText();
  const { run, busy, error, setError } = useAction();
  const remove = async (s: VideoSubtitles) => {
    const sure = await confirm({ label: t("removeSubtitles", { name: s.label }), question: t("sureRemoveSubtitles") });
    if (sure) await run(() => client.removeSubtitles(id, s.language));
  };
  const set = async (s: NewFile) => {
    let isSet = false;
    await run(async () => {
      await client.setSubtitles(id, s);
      isSet = true;
    });
    return isSet;
  };
  return (
    <div className="subtitles-editor">
      {known.length === 0 && <p>{t("noSubtitles")}</p>}
      <ul aria-label={t("subtitles")}>
        {known.map((s) => (
          <li key={s.language} data-testid="subtitles">
            <span><b lang={s.language}>{s.label}</b> <small>{languageName(s.language, getLocale())} · {t("subtitlesCues", { n: s.cues })}{s.default && ` · ${t("subtitlesIsDefault")}`}</small></span>
            <IconButton label={t("removeSubtitles", { name: s.label })} onClick={() => void remove(s)}><CloseIcon /></IconButton>
          </li>
        ))}
      </ul>
      <NewSubtitles busy={busy} known={known} onError={setError} onSet={set} />
      {error && <p className="error" role="alert">{error}</p>}
    </div>
  );
}

interface NewFile {
  language: string;
  label: string;
  isDefault: boolean;
  file: string;
}

interface NewProps {
  busy: boolean;
  known: readonly VideoSubtitles[];
  onError: (text: string) => void;
  /** Whether they are stored. */
  onSet: (s: NewFile) => Promise<boolean>;
}

function NewSubtitles({ busy, known, onError, onSet }: NewProps) {
  const t = useText();
  const locale = getLocale();
  const id = useId();
  // What the author has not chosen follows from what the video has.
  const [chosen, setLanguage] = useState<string>();
  const [label, setLabel] = useState<string>();
  const [isDefault, setDefault] = useState<boolean>();
  const [file, setFile] = useState<File>();
  const language = chosen ?? languages.find((l) => !known.some((k) => k.language === l)) ?? languages[0]!;
  const same = known.find((k) => k.language === language);
  const shown = label ?? same?.label ?? languageName(language, language);
  const checked = isDefault ?? same?.default ?? known.length === 0;
  const submit = async (e: FormEvent) => {
    e.preventDefault();
    if (!file) return;
    if (file.size > mostBytes) return onError(t("subtitlesTooLarge", { size: bytes(mostBytes, locale) }));
    const isSet = await onSet({ language, label: shown, isDefault: checked, file: await file.text() });
    setFile(undefined);
    if (!isSet) return;
    setLanguage(undefined);
    setLabel(undefined);
    setDefault(undefined);
  };
  return (
    <form onSubmit={(e) => void submit(e)}>
      <label htmlFor={`${id}-language`}>{t("subtitlesLanguage")}</label>
      <select id={`${id}-language`} value={language} onChange={(e) => setLanguage(e.target.value)} data-testid="subtitles-language">
        {languages.map((l) => <option key={l} value={l}>{languageName(l, locale)}</option>)}
      </select>
      <label htmlFor={`${id}-label`}>{t("subtitlesLabel")}</label>
      <input id={`${id}-label`} value={shown} maxLength={60} onChange={(e) => setLabel(e.target.value)} />
      <label className="check"><input type="checkbox" checked={checked} onChange={(e) => setDefault(e.target.checked)} /> {t("subtitlesDefault")}</label>
      <label className="file-button video-file">
        {file?.name ?? t("chooseSubtitles")}
        <input
          type="file"
          accept=".vtt,.srt,text/vtt,application/x-subrip"
          data-testid="subtitles-input"
          onChange={(e) => {
            setFile(e.target.files?.[0]);
            setLanguage(language); // a file is in a language, whatever comes to the video meanwhile
            onError("");
            e.target.value = ""; // the same file can be chosen again
          }}
        />
      </label>
      <div className="buttons end"><button type="submit" className="primary" disabled={!file || busy}>{t(same ? "replaceSubtitles" : "addSubtitles")}</button></div>
    </form>
  );
}
