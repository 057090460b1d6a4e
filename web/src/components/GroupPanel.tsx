import { JoinPolicy, Role, type ConversationView, type Member } from "@rialto-im/client";
import { useCallback, useEffect, useState, type FormEvent } from "react";
import { useClient, useOnline } from "../client.js";
import { useText, type Key } from "../i18n.js";
import { Confirm } from "./Confirm.js";
import { JoinRequests } from "./JoinRequests.js";
import { MemberRow } from "./MemberRow.js";
import { PickPeople } from "./PickPeople.js";
import { Retention } from "./Retention.js";

export type Run = (work: () => Promise<unknown>) => Promise<void>;

const farFuture = 4_102_444_800_000n; // the year 2100: until somebody lifts it

/** Members of a group, and what those who manage it may set. */
export function GroupPanel({ c, run, onOpen }: { c: ConversationView; run: Run; onOpen: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const [members, setMembers] = useState<Member[]>([]);
  const manages = (c.role === Role.ADMIN || c.role === Role.OWNER) && !c.dissolved;
  const online = useOnline();
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
    if (online && c.leaveSeq === 0) void run(load);
    // The list is read again when the conversation says that it changed.
  }, [load, online, c.stateSeq, c.leaveSeq]);

  return (
    <>
      {manages && <Facts key={`${c.title}\n${c.announcement}`} c={c} run={run} />}
      {manages && <Doors key={c.joinPolicy} c={c} run={run} members={members} />}
      {manages && <Retention key={c.retentionDays} c={c} run={run} />}
      {manages && c.joinPolicy === JoinPolicy.APPROVAL && <JoinRequests c={c} run={run} />}
      <h4>{t("members", { n: members.length || c.memberCount })}</h4>
      <ul className="members">
        {members.map((m) => <MemberRow key={m.user} c={c} m={m} run={run} manages={manages} onOpen={onOpen} />)}
      </ul>
      <div className="buttons">
        {c.leaveSeq === 0 && !c.dissolved && c.role !== Role.OWNER && <Confirm label={t("leave")} question={t("sureLeave")} onYes={() => void run(() => client.chat.leave({ conversation: c.id }))} />}
        {c.role === Role.OWNER && !c.dissolved && <Confirm label={t("dissolve")} question={t("sureDissolve")} onYes={() => void run(() => client.chat.dissolve({ conversation: c.id }))} />}
      </div>
    </>
  );
}

/** Name and announcement. */
function Facts({ c, run }: { c: ConversationView; run: Run }) {
  const client = useClient();
  const t = useText();
  const [title, setTitle] = useState(c.title);
  const [announcement, setAnnouncement] = useState(c.announcement);
  const changed = { title: title !== c.title ? title : undefined, announcement: announcement !== c.announcement ? announcement : undefined };
  const save = (e: FormEvent) => {
    e.preventDefault();
    void run(() => client.chat.updateGroup({ conversation: c.id, ...changed }));
  };
  return (
    <form className="stack" onSubmit={save}>
      <label>{t("groupTitle")}<input value={title} required maxLength={100} onChange={(e) => setTitle(e.target.value)} /></label>
      <label>{t("announcement")}<textarea rows={2} maxLength={2000} placeholder={t("noAnnouncement")} value={announcement} onChange={(e) => setAnnouncement(e.target.value)} /></label>
      <button disabled={changed.title === undefined && changed.announcement === undefined}>{t("save")}</button>
    </form>
  );
}

const policies: [JoinPolicy, Key][] = [[JoinPolicy.INVITE, "policyInvite"], [JoinPolicy.OPEN, "policyOpen"], [JoinPolicy.APPROVAL, "policyApproval"]];

/** Who comes in, and who may write. */
function Doors({ c, run, members }: { c: ConversationView; run: Run; members: Member[] }) {
  const client = useClient();
  const t = useText();
  const [inviting, setInviting] = useState<string[] | undefined>();
  const [link, setLink] = useState("");
  // Where an admin accepts those who ask, the link must not let them in at once, as one with a token does.
  const asks = c.joinPolicy === JoinPolicy.APPROVAL;
  const makeLink = async () => {
    const made = `${location.origin}/#${asks ? `group=${c.id}` : `join=${(await client.chat.createJoinLink({ conversation: c.id })).token}`}`;
    setLink(made);
    await navigator.clipboard?.writeText(made).catch(() => {}); // it is shown as well
  };
  const invite = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.chat.invite({ conversation: c.id, users: inviting ?? [] });
      setInviting(undefined);
    });
  };
  return (
    <>
      <div className="buttons">
        <button onClick={() => setInviting(inviting ? undefined : [])} aria-expanded={inviting !== undefined}>{t("invite")}</button>
        <button onClick={() => run(makeLink)}>{t("joinLink")}</button>
        <button onClick={() => run(() => client.chat.muteMembers({ conversation: c.id, untilMs: c.mutedAll ? 0n : farFuture }))}>{t(c.mutedAll ? "unmuteAll" : "muteAll")}</button>
      </div>
      {link && <label>{t(asks ? "askToJoinLink" : "shareLink")}<input readOnly value={link} onFocus={(e) => e.target.select()} data-testid="join-link" /></label>}
      {inviting && (
        <form className="stack" onSubmit={invite}>
          <PickPeople picked={inviting} onChange={setInviting} without={members.map((m) => m.user)} />
          <button className="primary" disabled={inviting.length === 0}>{t("invite")}</button>
        </form>
      )}
      <label>
        {t("joinPolicy")}
        <select value={c.joinPolicy || JoinPolicy.INVITE} onChange={(e) => run(() => client.chat.updateGroup({ conversation: c.id, joinPolicy: Number(e.target.value) }))}>
          {policies.map(([p, key]) => <option key={p} value={p}>{t(key)}</option>)}
        </select>
      </label>
    </>
  );
}
