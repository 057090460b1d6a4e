import { JoinPolicy, Role, type ConversationView } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import type { RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText, type Key } from "../i18n.js";
import { titleOf } from "../names.js";
import { path } from "../routes.js";
import { Bans } from "./Bans.js";
import "./channel.css";
import { ChannelHandle } from "./ChannelHandle.js";
import { Confirm } from "../ui/Confirm.js";
import { Tabs } from "../ui/Tabs.js";
import { VirtualList } from "../ui/VirtualList.js";
import { useMembers, type Members } from "../useMembers.js";
import { Invited } from "./Invited.js";
import { JoinRequests } from "./JoinRequests.js";
import { MemberRow } from "./MemberRow.js";
import { PickPeople } from "./PickPeople.js";
import { Picture } from "./Picture.js";
import { Retention } from "./Retention.js";
import { ShareCard } from "./ShareCard.js";

const farFuture = 4_102_444_800_000n; // the year 2100: until somebody lifts it

/** Members of a group, and what those who manage it may set. */
export function GroupPanel({ c, run, onOpen }: { c: ConversationView; run: RunAction; onOpen: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const manages = (c.role === Role.ADMIN || c.role === Role.OWNER) && !c.dissolved;
  const hidden = c.channel && !manages; // only admins see who follows
  const members = useMembers(c, run, !hidden);
  const size = t(c.channel ? "followers" : "members", { n: c.memberCount });
  const leave = () => (c.channel ? client.channels.leave(c.id) : client.chat.leave({ conversation: c.id }));
  const removed = async () => {
    if (!c.channel) return; // the entry that says it has the members read again
    members.again();
    await client.channels.refresh(c.id);
  };
  const list = (
    <VirtualList
      className="member-list"
      rows={members.members}
      total={Math.max(c.memberCount, members.members.length)}
      keyOf={(m) => m.user}
      render={(m) => <MemberRow c={c} m={m} run={run} manages={manages} onOpen={onOpen} onRemoved={removed} />}
      onEnd={members.more}
    />
  );
  return (
    <>
      {manages && c.joinPolicy === JoinPolicy.APPROVAL && <JoinRequests c={c} run={run} />}
      {manages ? (
        <Tabs
          label={titleOf(c)}
          tabs={[
            { id: "members", label: size, content: <>{!c.notices && <Invite key={c.joinPolicy} c={c} run={run} members={members} />}{list}</> },
            { id: "manage", label: t("manage"), content: <Manage key={c.id} c={c} run={run} /> },
          ]}
        />
      ) : (
        <>
          {!c.notices && <h4>{size}</h4>}
          {c.handle && <p className="muted">@{c.handle}</p>}
          {c.channel && c.announcement && <p className="channel-description" dir="auto">{c.announcement}</p>}
          {!hidden && list}
        </>
      )}
      <div className="buttons">
        {c.leaveSeq === 0 && !c.notices && !c.ticket && (c.dissolved || c.role !== Role.OWNER) && <Confirm label={t(c.channel ? "leaveChannel" : "leave")} question={t(c.channel ? "sureLeaveChannel" : "sureLeave")} onYes={() => void run(leave)} />}
        {c.role === Role.OWNER && !c.dissolved && <Confirm label={t(c.channel ? "dissolveChannel" : "dissolve")} question={t(c.channel ? "sureDissolveChannel" : "sureDissolve")} onYes={() => void run(() => client.chat.dissolve({ conversation: c.id }))} />}
      </div>
    </>
  );
}

/** What those who manage a group may set. */
function Manage({ c, run }: { c: ConversationView; run: RunAction }) {
  return (
    <>
      <GroupProfile c={c} run={run} />
      {c.channel && !c.notices && c.role === Role.OWNER && <ChannelHandle c={c} run={run} />}
      {!c.notices && <Rules c={c} run={run} />}
      <Retention c={c} run={run} />
      {!c.notices && <Bans c={c} run={run} />}
    </>
  );
}

/** Name and announcement. */
function GroupProfile({ c, run }: { c: ConversationView; run: RunAction }) {
  const client = useClient();
  const t = useText();
  // What was typed but not yet saved. A change that arrives meanwhile must not undo it.
  const [title, setTitle] = useState<string>();
  const [announcement, setAnnouncement] = useState<string>();
  if (title === c.title) setTitle(undefined);
  if (announcement === c.announcement) setAnnouncement(undefined);
  const save = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.chat.updateGroup({ conversation: c.id, title, announcement });
      setTitle(undefined); // the server may have trimmed it
      setAnnouncement(undefined);
    });
  };
  const setAvatar = (avatar: string) => client.chat.updateGroup({ conversation: c.id, avatar });
  return (
    <form className="stack" onSubmit={save}>
      <Picture
        testId="group-picture"
        onChoose={(file) => void run(async () => setAvatar((await client.upload(file, file.name)).upload))}
        onRemove={c.avatar !== "" && c.avatar !== "0" ? () => void run(() => setAvatar("0")) : undefined}
      />
      <label>{t(c.channel ? "channelTitle" : "groupTitle")}<input value={title ?? c.title} required maxLength={100} onChange={(e) => setTitle(e.target.value)} /></label>
      <label>{t(c.channel ? "description" : "announcement")}<textarea rows={2} maxLength={2000} placeholder={c.channel ? "" : t("noAnnouncement")} value={announcement ?? c.announcement} onChange={(e) => setAnnouncement(e.target.value)} /></label>
      <button disabled={title === undefined && announcement === undefined}>{t("save")}</button>
    </form>
  );
}

const policies: [JoinPolicy, Key][] = [[JoinPolicy.INVITE, "policyInvite"], [JoinPolicy.OPEN, "policyOpen"], [JoinPolicy.APPROVAL, "policyApproval"]];

/** Who may come in, and who may write. */
function Rules({ c, run }: { c: ConversationView; run: RunAction }) {
  const client = useClient();
  const t = useText();
  return (
    <div className="stack">
      <label>
        {t("joinPolicy")}
        <select value={c.joinPolicy || JoinPolicy.INVITE} onChange={(e) => run(() => client.chat.updateGroup({ conversation: c.id, joinPolicy: Number(e.target.value) }))}>
          {policies.filter(([p]) => !c.channel || p !== JoinPolicy.APPROVAL).map(([p, key]) => <option key={p} value={p}>{t(key)}</option>)}
        </select>
      </label>
      {!c.channel && <label className="check"><input type="checkbox" checked={c.mutedAll} onChange={(e) => run(() => client.chat.muteMembers({ conversation: c.id, untilMs: e.target.checked ? farFuture : 0n }))} />{t("muteAll")}</label>}
    </div>
  );
}

/** Bringing people in: friends at once, others by a link. */
function Invite({ c, run, members }: { c: ConversationView; run: RunAction; members: Members }) {
  const client = useClient();
  const t = useText();
  const [inviting, setInviting] = useState<string[] | undefined>();
  const [asked, setAsked] = useState(0);
  const [link, setLink] = useState("");
  // Where an admin accepts those who ask, the link must not let them in at once, as one with a token does.
  const asks = c.joinPolicy === JoinPolicy.APPROVAL;
  // The address of an open channel is its link.
  const isPublic = c.channel && c.joinPolicy === JoinPolicy.OPEN;
  const address = async () => (isPublic ? path.chat(c.handle || c.id) : asks ? path.group(c.id) : path.join((await client.chat.createJoinLink({ conversation: c.id })).token));
  const makeLink = async () => {
    const made = location.origin + (await address());
    setLink(made);
    await navigator.clipboard?.writeText(made).catch(() => {}); // it is shown as well
  };
  const revoke = async () => {
    await client.chat.revokeJoinLink({ conversation: c.id });
    setLink("");
  };
  const open = () => {
    setInviting(inviting ? undefined : []);
    members.rest(); // friends who are in the group are not offered
  };
  const invite = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.chat.invite({ conversation: c.id, users: inviting ?? [] });
      setInviting(undefined);
      setAsked(asked + 1);
    });
  };
  return (
    <>
      <div className="buttons">
        {!c.channel && <button onClick={open} aria-expanded={inviting !== undefined}>{t("invite")}</button>}
        {(asks || c.joinPolicy === JoinPolicy.OPEN) && <ShareCard card={{ title: c.title, group: c.id }} />}
        <button onClick={() => run(makeLink)}>{t(isPublic ? "channelLink" : "joinLink")}</button>
        {!asks && !isPublic && <Confirm label={t("revokeLink")} question={t("sureRevokeLink")} onYes={() => void run(revoke)} />}
      </div>
      {link && <label>{t(isPublic ? "shareChannel" : asks ? "askToJoinLink" : "shareLink")}<input readOnly value={link} onFocus={(e) => e.target.select()} data-testid="join-link" /></label>}
      {inviting && (
        <form className="stack" onSubmit={invite}>
          {members.complete ? <PickPeople picked={inviting} onChange={setInviting} without={members.members.map((m) => m.user)} /> : <p className="empty">{t("loading")}</p>}
          <button className="primary" disabled={inviting.length === 0}>{t("invite")}</button>
        </form>
      )}
      {!c.channel && <Invited c={c} run={run} asked={asked} />}
    </>
  );
}
