import { Role, type ConversationView } from "@rialto-im/client";
import { useCustomStatus, useOfficialAccount } from "@rialto-im/client/react";
import { useRef, useState, type FormEvent } from "react";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { deleteChat } from "../deleteChat.js";
import { customText } from "../format.js";
import { useText } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { useNow } from "../now.js";
import { isSaved } from "../saved.js";
import { IconButton } from "../ui/IconButton.js";
import { GroupAvatar, UserAvatar } from "./Avatar.js";
import { Confirm } from "../ui/Confirm.js";
import { GoToDate } from "./GoToDate.js";
import { GroupPanel } from "./GroupPanel.js";
import "./info.css";
import "./people.css";
import { CloseIcon } from "./icons.js";
import { OfficialActions } from "./OfficialMenu.js";
import { Pins } from "./Pins.js";
import { Retention } from "./Retention.js";
import { Scheduled } from "./Scheduled.js";
import { ShareCard } from "./ShareCard.js";
import { TicketDetails } from "./TicketDetails.js";
import { VerifiedMark } from "./VerifiedMark.js";

/** What there is to know and to set about a conversation. */
export function InfoPanel({ c, onClose, onOpen }: { c: ConversationView; onClose: () => void; onOpen: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const direct = c.peer !== "0" && c.peer !== "";
  const saved = isSaved(c);
  const [dating, setDating] = useState(false);
  const through = useRef(0); // the last message when the question was asked: what comes meanwhile stays
  const ask = () => (through.current = c.lastSeq);
  return (
    <aside className="info" aria-label={t("groupInfo")}>
      <header>
        <h2>{t("groupInfo")}</h2>
        <IconButton label={t("close")} onClick={onClose} autoFocus><CloseIcon /></IconButton>
      </header>
      <div className="info-who">
        {direct ? <UserAvatar user={c.peer} size={72} presence={!saved} /> : <GroupAvatar c={c} size={72} />}
        <h3><bdi>{titleOf(c)}</bdi></h3>
        {direct && !saved && <Who user={c.peer} />}
      </div>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="buttons">
        <button onClick={() => run(() => client.configure(c.id, { pinned: !c.pinned }))}>{t(c.pinned ? "unpin" : "pin")}</button>
        <button onClick={() => run(() => client.configure(c.id, { muted: !c.muted }))}>{t(c.muted ? "unmute" : "mute")}</button>
        <button onClick={() => run(() => client.configure(c.id, { archived: !c.archived }))}>{t(c.archived ? "unarchive" : "archive")}</button>
        <button onClick={() => setDating(true)}>{t("goToDate")}</button>
      </div>
      {dating && <GoToDate conversation={c.id} ms={c.lastMessage?.timeMs ?? Date.now()} onClose={() => setDating(false)} />}
      {c.ticket && <TicketDetails conversation={c.id} />}
      <Pins key={`p${c.id}`} conversation={c.id} />
      {(!c.channel || c.role >= Role.ADMIN) && <Scheduled key={`s${c.id}`} c={c} run={run} />}
      {direct && <Retention key={c.id} c={c} run={run} />}
      {direct && !saved && <Peer user={c.peer} run={run} />}
      {!direct && <GroupPanel c={c} run={run} onOpen={onOpen} />}
      <div className="buttons">
        <Confirm label={t("clearHistory")} question={t("sureClearHistory")} onAsk={ask} onYes={() => void run(() => client.clearHistory(c.id, through.current))} />
        <button type="button" className="danger" onClick={() => void run(() => deleteChat(client, c))}>{t("deleteChat")}</button>
      </div>
    </aside>
  );
}

export function Who({ user }: { user: string }) {
  const client = useClient();
  const u = client.user(user);
  const status = customText(useCustomStatus(user), useNow());
  // Where one has another name for them, theirs is shown, too.
  const own = u && u.displayName !== nameOf(client, user) ? `${u.displayName} · ` : "";
  return (
    <>
      {u && <p className="muted">{own}@{u.handle}<VerifiedMark user={user} /></p>}
      {status && <p dir="auto" data-testid="custom-status">{status}</p>}
      {u?.bio && <p dir="auto">{u.bio}</p>}
    </>
  );
}

/** How one stands with the other of a one-to-one conversation. */
export function Peer({ user, run }: { user: string; run: RunAction }) {
  const client = useClient();
  const t = useText();
  const { graph } = client;
  const r = client.relations().get(user);
  const name = client.user(user)?.displayName ?? "";
  const official = useOfficialAccount(user);
  const [remark, setRemark] = useState<string>();
  const save = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.relate(graph.remarkFriend({ user, remark: (remark ?? "").trim() }));
      setRemark(undefined);
    });
  };
  return (
    <>
      {r?.friend && (
        <form className="stack" onSubmit={save}>
          <label>{t("remark")}<input value={remark ?? r.remark} maxLength={64} placeholder={name} onChange={(e) => setRemark(e.target.value)} /></label>
          <button disabled={remark === undefined || remark.trim() === r.remark}>{t("save")}</button>
        </form>
      )}
      {official && <OfficialActions account={official} />}
      <div className="buttons">
        {!official && !r?.friend && !r?.blocked && (r?.requested ? <span className="muted">{t("requested")}</span> : <button onClick={() => run(() => client.relate(graph.requestFriend({ user })))}>{t("addFriend")}</button>)}
        {!official && !r?.blocked && <button onClick={() => run(() => client.relate(r?.following ? graph.unfollow({ user }) : graph.follow({ user })))}>{t(r?.following ? "unfollow" : "follow")}</button>}
        {name && <ShareCard card={{ title: name, user }} />}
        {r?.friend && <Confirm label={t("removeFriend")} question={t("sureUnfriend", { who: name })} onYes={() => void run(() => client.relate(graph.deleteFriend({ user })))} />}
        {r?.blocked ? <button onClick={() => run(() => client.relate(graph.unblock({ user })))}>{t("unblock")}</button> : <Confirm label={t("block")} question={t(r?.friend ? "sureBlockFriend" : "sureBlock", { who: name })} onYes={() => void run(() => client.relate(graph.block({ user })))} />}
      </div>
    </>
  );
}
