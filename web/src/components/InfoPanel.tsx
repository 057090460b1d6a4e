import type { ConversationView } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { titleOf } from "../names.js";
import { Avatar, UserAvatar } from "./Avatar.js";
import { Confirm } from "./Confirm.js";
import { GroupPanel, type Run } from "./GroupPanel.js";
import { CloseIcon } from "./icons.js";
import { Retention } from "./Retention.js";

/** What there is to know and to set about a conversation. */
export function InfoPanel({ c, onClose, onOpen }: { c: ConversationView; onClose: () => void; onOpen: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const [error, setError] = useState("");
  const direct = c.peer !== "0" && c.peer !== "";
  const run: Run = async (work) => {
    setError("");
    try {
      await work();
    } catch (err) {
      setError(errorText(err));
    }
  };
  return (
    <aside className="info" aria-label={t("groupInfo")}>
      <header>
        <h2>{t("groupInfo")}</h2>
        <button className="icon" aria-label={t("close")} title={t("close")} onClick={onClose} autoFocus><CloseIcon /></button>
      </header>
      <div className="info-who">
        {direct ? <UserAvatar user={c.peer} size={72} presence /> : <Avatar id={c.id} name={c.title} size={72} />}
        <h3><bdi>{titleOf(client, c)}</bdi></h3>
        {direct && <Who user={c.peer} />}
      </div>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="buttons">
        <button onClick={() => run(() => client.configure(c.id, { pinned: !c.pinned }))}>{t(c.pinned ? "unpin" : "pin")}</button>
        <button onClick={() => run(() => client.configure(c.id, { muted: !c.muted }))}>{t(c.muted ? "unmute" : "mute")}</button>
        <button onClick={() => run(() => client.configure(c.id, { archived: !c.archived }))}>{t(c.archived ? "unarchive" : "archive")}</button>
      </div>
      {direct && <Retention key={c.retentionDays} c={c} run={run} />}
      {direct ? <Peer user={c.peer} run={run} /> : <GroupPanel c={c} run={run} onOpen={onOpen} />}
    </aside>
  );
}

function Who({ user }: { user: string }) {
  const u = useClient().user(user);
  return (
    <>
      {u && <p className="muted">{u.displayName} · @{u.handle}</p>}
      {u?.bio && <p dir="auto">{u.bio}</p>}
    </>
  );
}

/** How one stands with the other of a one-to-one conversation. */
function Peer({ user, run }: { user: string; run: Run }) {
  const client = useClient();
  const t = useText();
  const { graph } = client;
  const r = client.relations().get(user);
  const name = client.user(user)?.displayName ?? "";
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
      <div className="buttons">
        {!r?.friend && !r?.blocked && (r?.requested ? <span className="muted">{t("requested")}</span> : <button onClick={() => run(() => client.relate(graph.requestFriend({ user })))}>{t("addFriend")}</button>)}
        {r?.friend && <Confirm label={t("removeFriend")} question={t("sureUnfriend", { who: name })} onYes={() => void run(() => client.relate(graph.deleteFriend({ user })))} />}
        {r?.blocked ? <button onClick={() => run(() => client.relate(graph.unblock({ user })))}>{t("unblock")}</button> : <Confirm label={t("block")} question={t("sureBlock", { who: name })} onYes={() => void run(() => client.relate(graph.block({ user })))} />}
      </div>
    </>
  );
}
