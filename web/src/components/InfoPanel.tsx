import { Role, type ConversationView, type Member } from "@rialto-im/client";
import { useCallback, useEffect, useState } from "react";
import { errorText, useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { Avatar, UserAvatar } from "./Avatar.js";
import { CloseIcon } from "./icons.js";
import { PickPeople } from "./PickPeople.js";

/** What there is to know and to set about a conversation. */
export function InfoPanel({ c, onClose }: { c: ConversationView; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const [error, setError] = useState("");
  const direct = c.peer !== "0" && c.peer !== "";
  const run = async (work: () => Promise<unknown>) => {
    setError("");
    try {
      await work();
    } catch (err) {
      setError(errorText(err));
    }
  };
  const relation = client.relations().get(c.peer);
  return (
    <aside className="info" aria-label={t("groupInfo")} onKeyDown={(e) => e.key === "Escape" && onClose()}>
      <header>
        <h2>{t("groupInfo")}</h2>
        <button className="icon" aria-label={t("close")} onClick={onClose} autoFocus><CloseIcon /></button>
      </header>
      <div className="info-who">
        {direct ? <UserAvatar user={c.peer} size={72} /> : <Avatar id={c.id} name={c.title} size={72} />}
        <h3>{titleOf(client, c)}</h3>
        {direct && <p className="muted">{client.user(c.peer)?.bio}</p>}
      </div>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="buttons">
        <button onClick={() => run(() => client.configure(c.id, { pinned: !c.pinned }))}>{t(c.pinned ? "unpin" : "pin")}</button>
        <button onClick={() => run(() => client.configure(c.id, { muted: !c.muted }))}>{t(c.muted ? "unmute" : "mute")}</button>
        {direct && <button onClick={() => run(() => client.relate(relation?.blocked ? client.graph.unblock({ user: c.peer }) : client.graph.block({ user: c.peer })))}>{t(relation?.blocked ? "unblock" : "block")}</button>}
      </div>
      {!direct && <Group c={c} run={run} />}
    </aside>
  );
}

function Group({ c, run }: { c: ConversationView; run: (work: () => Promise<unknown>) => Promise<void> }) {
  const client = useClient();
  const t = useText();
  const [members, setMembers] = useState<Member[]>([]);
  const [title, setTitle] = useState(c.title);
  const [announcement, setAnnouncement] = useState(c.announcement);
  const [inviting, setInviting] = useState<string[] | undefined>();
  const [copied, setCopied] = useState(false);
  const manages = c.role === Role.ADMIN || c.role === Role.OWNER;

  const load = useCallback(async () => {
    const all: Member[] = [];
    for (let page = ""; ; ) {
      const r = await client.chat.listMembers({ conversation: c.id, limit: 200, page });
      all.push(...r.members);
      if (!(page = r.next)) break;
    }
    setMembers(all);
  }, [client, c.id]);
  useEffect(() => {
    void run(load);
    // The list is read again when the conversation says that it changed.
  }, [load, c.stateSeq]);

  const link = async () => {
    const { token } = await client.chat.createJoinLink({ conversation: c.id });
    await navigator.clipboard.writeText(`${location.origin}/#join=${token}`);
    setCopied(true);
  };

  return (
    <>
      {manages && (
        <form className="stack" onSubmit={(e) => { e.preventDefault(); void run(() => client.chat.updateGroup({ conversation: c.id, title: title !== c.title ? title : undefined, announcement: announcement !== c.announcement ? announcement : undefined })); }}>
          <label>{t("groupTitle")}<input value={title} maxLength={100} onChange={(e) => setTitle(e.target.value)} /></label>
          <label>{t("announcement")}<textarea rows={2} maxLength={2000} value={announcement} onChange={(e) => setAnnouncement(e.target.value)} /></label>
          <button disabled={title === c.title && announcement === c.announcement}>{t("save")}</button>
        </form>
      )}
      {manages && (
        <div className="buttons">
          <button onClick={() => setInviting(inviting ? undefined : [])} aria-expanded={inviting !== undefined}>{t("invite")}</button>
          <button onClick={() => run(link)}>{t(copied ? "copied" : "copyLink")}</button>
          <button onClick={() => run(() => client.chat.muteMembers({ conversation: c.id, untilMs: c.mutedAll ? 0n : 4102444800000n }))}>{t(c.mutedAll ? "unmuteAll" : "muteAll")}</button>
        </div>
      )}
      {inviting && (
        <form className="stack" onSubmit={(e) => { e.preventDefault(); void run(async () => { await client.chat.invite({ conversation: c.id, users: inviting }); setInviting(undefined); }); }}>
          <PickPeople picked={inviting} onChange={setInviting} without={members.map((m) => m.user)} />
          <button className="primary" disabled={inviting.length === 0}>{t("invite")}</button>
        </form>
      )}
      <h4>{t("members", { n: members.length || c.memberCount })}</h4>
      <ul className="members">
        {members.map((m) => <MemberRow key={m.user} c={c} m={m} run={run} manages={manages} />)}
      </ul>
      <div className="buttons">
        {c.leaveSeq === 0 && c.role !== Role.OWNER && <button className="danger" onClick={() => run(() => client.chat.leave({ conversation: c.id }))}>{t("leave")}</button>}
        {c.role === Role.OWNER && !c.dissolved && <button className="danger" onClick={() => run(() => client.chat.dissolve({ conversation: c.id }))}>{t("dissolve")}</button>}
      </div>
    </>
  );
}

function MemberRow({ c, m, run, manages }: { c: ConversationView; m: Member; run: (work: () => Promise<unknown>) => Promise<void>; manages: boolean }) {
  const client = useClient();
  const t = useText();
  const other = m.user !== client.me;
  const over = c.role === Role.OWNER || (c.role === Role.ADMIN && m.role === Role.MEMBER);
  return (
    <li className="person">
      <UserAvatar user={m.user} size={32} />
      <span className="person-name">{nameOf(client, m.user, t)}<small>{m.role === Role.OWNER ? t("owner") : m.role === Role.ADMIN ? t("admin") : ""}</small></span>
      {manages && other && over && (
        <details className="menu">
          <summary aria-label={nameOf(client, m.user)}>⋯</summary>
          <div>
            {c.role === Role.OWNER && <button onClick={() => run(() => client.chat.setRole({ conversation: c.id, user: m.user, role: m.role === Role.ADMIN ? Role.MEMBER : Role.ADMIN }))}>{t(m.role === Role.ADMIN ? "makeMember" : "makeAdmin")}</button>}
            {c.role === Role.OWNER && <button onClick={() => run(() => client.chat.transfer({ conversation: c.id, user: m.user }))}>{t("makeOwner")}</button>}
            <button onClick={() => run(() => client.chat.muteMembers({ conversation: c.id, users: [m.user], untilMs: BigInt(Date.now() + 3_600_000) }))}>{t("muteMember")}</button>
            <button className="danger" onClick={() => run(() => client.chat.remove({ conversation: c.id, users: [m.user] }))}>{t("remove")}</button>
          </div>
        </details>
      )}
    </li>
  );
}
