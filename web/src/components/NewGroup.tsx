import { useRef, useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { go, path } from "../routes.js";
import { useObjectUrl } from "../objectUrl.js";
import { Dialog } from "../ui/Dialog.js";
import { Avatar } from "./Avatar.js";
import "./channel.css";
import { ImageIcon } from "./icons.js";
import { PickPeople } from "./PickPeople.js";
import { Picture } from "./Picture.js";

const titles = { group: "newGroup", channel: "newChannel", room: "newRoom" } as const;
const names = { group: "groupTitle", channel: "channelTitle", room: "roomTitle" } as const;

export function NewGroup({ onClose, onMade }: { onClose: () => void; onMade: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const [title, setTitle] = useState("");
  const [picked, setPicked] = useState<string[]>([]);
  const [picture, setPicture] = useState<File>();
  const [kind, setKind] = useState<"group" | "channel" | "room">("group");
  const channel = kind === "channel";
  const [about, setAbout] = useState({ description: "", handle: "", open: true });
  /** Of the channel: trying again with another handle must not create another. */
  const [key] = useState(() => crypto.randomUUID());
  const face = useObjectUrl(picture);
  const { run, busy, error } = useAction();
  /** The group, where it was created and its picture failed: trying again must not create another. */
  const made = useRef<string>(undefined);
  const create = async () => {
    if (kind === "room") {
      const { id } = await client.rooms.create(title);
      onClose();
      go(path.room(id));
      return;
    }
    const upload = picture && (await client.upload(picture, picture.name)).upload;
    made.current ??= (channel ? await client.channels.create({ title, ...about, key }) : await client.createGroup(title, picked)).id;
    if (upload) await client.chat.updateGroup({ conversation: made.current, avatar: upload });
    onMade(made.current);
    onClose();
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (!busy) void run(create);
  };
  return (
    <Dialog title={t(titles[kind])} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <fieldset className="kinds" disabled={made.current !== undefined}>
          <legend className="sr-only">{t("groupOrChannel")}</legend>
          <label className="check"><input type="radio" name="kind" checked={kind === "group"} onChange={() => setKind("group")} />{t("aGroup")}</label>
          <label className="check"><input type="radio" name="kind" checked={channel} onChange={() => setKind("channel")} />{t("aChannel")}</label>
          <label className="check"><input type="radio" name="kind" checked={kind === "room"} onChange={() => setKind("room")} />{t("aRoom")}</label>
        </fieldset>
        {kind !== "room" && <Picture face={face ? <Avatar id="0" name={title} url={face} size={64} onGone={() => setPicture(undefined)} /> : <span className="avatar blank" style={{ width: 64, height: 64 }}><ImageIcon /></span>} testId="new-group-picture" onChoose={setPicture} onRemove={picture && (() => setPicture(undefined))} />}
        <label>
          {t(names[kind])}
          <input required maxLength={100} value={title} onChange={(e) => setTitle(e.target.value)} data-first />
        </label>
        {channel && <AboutChannel about={about} onChange={setAbout} />}
        {kind === "group" && <PickPeople picked={picked} onChange={setPicked} />}
        {kind === "room" && <p className="muted">{t("roomHint")}</p>}
        {error && <p className="error" role="alert">{error}</p>}
        <button className="primary" disabled={busy}>{t("create")}</button>
      </form>
    </Dialog>
  );
}

interface About {
  description: string;
  handle: string;
  open: boolean;
}

function AboutChannel({ about, onChange }: { about: About; onChange: (about: About) => void }) {
  const t = useText();
  return (
    <>
      <p className="muted">{t("channelHint")}</p>
      <label>{t("description")}<textarea rows={3} maxLength={2000} value={about.description} onChange={(e) => onChange({ ...about, description: e.target.value })} /></label>
      <label className="check"><input type="checkbox" checked={about.open} onChange={(e) => onChange({ ...about, open: e.target.checked })} />{t("channelOpen")}</label>
      <label>
        {t("channelHandle")}
        <input value={about.handle} maxLength={33} autoCapitalize="none" spellCheck={false} onChange={(e) => onChange({ ...about, handle: e.target.value.trim().toLowerCase() })} />
        <small>{t("channelHandleHint")}</small>
      </label>
    </>
  );
}
