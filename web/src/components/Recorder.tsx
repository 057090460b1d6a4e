import { useEffect, useRef, useState } from "react";
import { client } from "../client.js";
import { errorText } from "../errors.js";
import { length } from "../format.js";
import { useText } from "../i18n.js";
import { record, type Recording } from "../recording.js";
import { IconButton } from "../ui/IconButton.js";
import { CloseIcon, SendIcon } from "./icons.js";
import "./voice.css";

const longestMs = 10 * 60_000;

/** Records a voice message from when it is shown, and sends it. onDone gets why it could not, or nothing. */
export function Recorder({ conversation, onDone }: { conversation: string; onDone: (error?: string) => void }) {
  const t = useText();
  const [level, setLevel] = useState(0);
  const [ms, setMs] = useState(0);
  const recording = useRef<Recording>(undefined);
  const done = useRef(onDone);
  done.current = onDone;

  useEffect(() => {
    let gone = false;
    record((l, at) => (setLevel(l), setMs(at))).then(
      (r) => (gone ? r.cancel() : (recording.current = r)),
      () => !gone && done.current(t("noMicrophone")),
    );
    return () => {
      gone = true;
      recording.current?.cancel();
    };
  }, []);

  const send = async () => {
    const r = recording.current;
    if (!r) return;
    recording.current = undefined;
    try {
      const { file, durationMs, waveform } = await r.stop();
      await client.sendVoice(conversation, file, durationMs, waveform);
      done.current();
    } catch (err) {
      done.current(errorText(err));
    }
  };
  const over = ms >= longestMs;
  useEffect(() => {
    if (over) void send();
  }, [over]);

  return (
    <div className="recorder" role="group" aria-label={t("recording")} data-testid="recorder" onKeyDown={(e) => { if (e.key === "Escape") { e.preventDefault(); onDone(); } }}>
      <IconButton label={t("cancelRecording")} side="top" onClick={() => onDone()}><CloseIcon /></IconButton>
      <time role="timer">{length(ms)}</time>
      <span className="level"><i style={{ width: `${(level / 255) * 100}%` }} /></span>
      <IconButton label={t("send")} side="top" className="send" autoFocus disabled={ms === 0} onClick={() => void send()}><SendIcon /></IconButton>
    </div>
  );
}
