import type { RoomMessage, RoomView } from "@rialto-im/client";
import { useRoom } from "@rialto-im/client/react";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { useText, type Translate } from "../i18n.js";
import { nameOf } from "../names.js";
import { path } from "../routes.js";
import { Dialog } from "../ui/Dialog.js";
import { IconButton } from "../ui/IconButton.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { UserAvatar } from "./Avatar.js";
import { BackIcon } from "./icons.js";
import "./room.css";

const minute = 60;

/** A live chat room. One is in it while it is shown. */
export function RoomPage({ id, onBack }: { id: string; onBack: () => void }) {
  const client = useClient();
  const t = useText();
  const view = useRoom(id);
  const { run, error } = useAction();
  const room = view?.room;
  const { me } = client;
  const owner = room?.owner === me;
  const moderates = owner || (room?.moderators.includes(me) ?? false);
  const inside = view?.state === "inside"; // nothing of a closed room can be changed
  return (
    <main className="chat room" aria-label={room?.title}>
      <header className="chat-head">
        <IconButton label={t("back")} className="back" onClick={onBack}><BackIcon /></IconButton>
        <div className="chat-title"><h2><bdi>{room?.title}</bdi></h2><p data-testid="viewers">{inside ? t("roomViewers", { n: view.viewers }) : ""}</p></div>
        {room && <RoomMenu view={view} owner={owner && inside} moderates={moderates && inside} run={run} t={t} />}
      </header>
      {room?.announcement && <p className="room-announcement" dir="auto">{room.announcement}</p>}
      {!view || view.state === "entering" ? <p className="muted room-note" role="status">{t("loading")}</p> : null}
      {view?.state === "out" && <p className="room-note" role="alert">{outText(view, t)}</p>}
      {view && <Messages view={view} moderates={moderates && inside} me={me} run={run} t={t} />}
      {error && <p className="error room-note" role="alert">{error}</p>}
      {inside && <RoomFoot view={view} writes={moderates || !room?.muted} t={t} />}
    </main>
  );
}

function outText(view: RoomView, t: Translate): string {
  if (view.left === "kicked") return t("roomKicked");
  if (view.left === "closed") return t("roomClosed");
  return view.error ? errorText(view.error) : "";
}

interface MenuProps { view: RoomView | undefined; owner: boolean; moderates: boolean; run: RunAction; t: Translate }

function RoomMenu({ view, owner, moderates, run, t }: MenuProps) {
  const client = useClient();
  const room = view!.room!;
  const [announcing, setAnnouncing] = useState(false);
  return (
    <>
      <Menu label={room.title}>
        <MenuItem label={t("roomCopyLink")} onSelect={() => void run(() => navigator.clipboard.writeText(location.origin + path.room(room.id)))} />
        {moderates && <MenuItem label={t("roomAnnounce")} onSelect={() => setAnnouncing(true)} />}
        {moderates && <MenuItem label={t(room.muted ? "roomUnmuteAll" : "roomMuteAll")} onSelect={() => void run(() => client.rooms.update(room.id, { muted: !room.muted }))} />}
        {owner && <MenuItem label={t("roomClose")} sure={t("roomSureClose")} onSelect={() => void run(() => client.rooms.close(room.id))} />}
      </Menu>
      {announcing && <Announce id={room.id} text={room.announcement} onClose={() => setAnnouncing(false)} />}
    </>
  );
}

/** Sets what is shown above the messages; without a text, nothing is. */
function Announce({ id, text: before, onClose }: { id: string; text: string; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const [text, setText] = useState(before);
  const { run, busy, error } = useAction();
  const save = (e: FormEvent) => {
    e.preventDefault();
    if (!busy) void run(() => client.rooms.update(id, { announcement: text.trim() }).then(onClose));
  };
  return (
    <Dialog title={t("roomAnnounce")} onClose={onClose}>
      <form className="stack" onSubmit={save}>
        <textarea data-first rows={4} maxLength={500} dir="auto" aria-label={t("roomAnnounce")} value={text} onChange={(e) => setText(e.target.value)} />
        {error && <p className="error" role="alert">{error}</p>}
        <button className="primary" disabled={busy}>{t("save")}</button>
      </form>
    </Dialog>
  );
}

interface MessagesProps { view: RoomView; moderates: boolean; me: string; run: RunAction; t: Translate }

function Messages({ view, moderates, me, run, t }: MessagesProps) {
  const list = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const texts = view.messages.filter((m) => m.kind.case === "text");
  useEffect(() => {
    if (atEnd.current) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [view.messages]);
  const scrolled = () => {
    const at = list.current!;
    atEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < 40;
  };
  return (
    <>
      <div ref={list} className="room-messages" tabIndex={0} role="log" aria-label={t("roomMessages")} onScroll={scrolled}>
        {view.state === "inside" && texts.length === 0 && <p className="muted room-note">{t("roomEmpty")}</p>}
        <ol>
          {texts.map((m) => <Line key={m.id} m={m} room={view} acts={moderates && m.sender !== me && m.sender !== view.room?.owner} run={run} t={t} />)}
        </ol>
      </div>
      {view.missed > 0 && <p className="muted room-note" role="status">{t("roomMissed", { n: view.missed })}</p>}
    </>
  );
}

function Line({ m, room, acts, run, t }: { m: RoomMessage; room: RoomView; acts: boolean; run: RunAction; t: Translate }) {
  const client = useClient();
  const name = nameOf(client, m.sender, t);
  const { id } = room.room!;
  return (
    <li className="room-line" data-testid="room-message">
      <UserAvatar user={m.sender} size={24} />
      <p dir="auto"><b className={m.moderator ? "room-moderator" : ""}><bdi>{name}</bdi></b> <span>{m.kind.value as string}</span></p>
      {acts && (
        <Menu label={name}>
          <MenuItem label={t("roomMute10")} onSelect={() => void run(() => client.rooms.mute(id, m.sender, 10 * minute))} />
          <MenuItem label={t("roomKick10")} onSelect={() => void run(() => client.rooms.kick(id, m.sender, 10 * minute))} />
          <MenuItem label={t("roomKickDay")} sure={t("roomSureKick", { who: name })} onSelect={() => void run(() => client.rooms.kick(id, m.sender, 24 * 60 * minute))} />
        </Menu>
      )}
    </li>
  );
}

function RoomFoot({ view, writes, t }: { view: RoomView; writes: boolean; t: Translate }) {
  const client = useClient();
  const id = view.room!.id;
  const [text, setText] = useState("");
  const { run, busy, error } = useAction();
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (busy || !text.trim()) return;
    void run(async () => {
      await client.rooms.send(id, text);
      setText("");
    });
  };
  return (
    <form className="room-foot" onSubmit={submit}>
      {error && <p className="error" role="alert">{error}</p>}
      <input aria-label={t("roomSay")} placeholder={t(writes ? "roomSay" : "roomMutedAll")} disabled={!writes} maxLength={500} value={text} onChange={(e) => setText(e.target.value)} />
      <button className="primary" disabled={busy || !writes || !text.trim()}>{t("send")}</button>
      <button type="button" className="room-like" onClick={() => client.rooms.like(id)}>
        <span key={view.likes} aria-hidden="true">♥</span> <span className="sr-only">{t("roomLike")}</span> <span data-testid="likes">{view.likes}</span>
      </button>
    </form>
  );
}
