import type { OfficialAccount, OfficialFollower } from "@rialto-im/client";
import { useRef, useState } from "react";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import type { Listed } from "../pages.js";
import { usePages } from "../usePages.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { UserAvatar } from "./Avatar.js";
import { LabelDialog } from "./LabelDialog.js";
import { RenameLabel } from "./RenameLabel.js";
import "./pick.css";

/** The followers of an account with their labels: of all, or of those with a label. Those who are selected are labelled together. */
export function OfficialFollowers({ account }: { account: OfficialAccount }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const { user } = account;
  const [label, setLabel] = useState("");
  const [selected, setSelected] = useState<readonly string[]>([]);
  const [labelling, setLabelling] = useState(false);
  const labels = label && !account.labels.includes(label) ? [...account.labels, label] : account.labels; // while it is renamed, and where another operator deleted it
  const filter = useRef<HTMLSelectElement>(null);
  const { list, more, reload } = usePages(run, `${user} ${label}`, 0, async (page): Promise<Listed<OfficialFollower>> => {
    const { followers, next } = await client.official.followers(user, { label, page, limit: 50 });
    return { items: followers, next };
  });
  const shown = list?.map((f) => f.user) ?? [];
  const chosen = list?.filter((f) => selected.includes(f.user)) ?? [];
  const show = (next: string) => {
    setSelected([]);
    setLabel(next);
  };
  const replaced = (name: string) => {
    show(name);
    if (!name) filter.current?.focus(); // the menu that had the focus goes with the label
  };
  const toggle = (follower: string, on: boolean) => setSelected(on ? [...selected, follower] : selected.filter((s) => s !== follower));
  return (
    <div className="stack">
      <p className="muted">{t("followers", { n: account.followers })}</p>
      {labels.length > 0 && (
        <div className="follower-filter">
          <label>{t("followersToShow")}<select ref={filter} value={label} onChange={(e) => show(e.target.value)}><option value="">{t("allFollowers")}</option>{labels.map((l) => <option key={l}>{l}</option>)}</select></label>
          {label && <LabelMenu account={account} label={label} run={run} onReplaced={replaced} />}
        </div>
      )}
      {error && <p className="error" role="alert">{error}</p>}
      {!list && !error && <p className="muted" role="status">{t("loading")}</p>}
      {list?.length === 0 && !more && <p className="empty" role="status">{t(label ? "noFollowerHasLabel" : "noFollowers")}</p>}
      {shown.length > 0 && (
        <>
          <p className="muted">{t("labelsNote")}</p>
          <div className="buttons">
            <button className="primary small" disabled={chosen.length === 0} onClick={() => setLabelling(true)}>{t("labelSelected", { n: chosen.length })}</button>
            <button onClick={() => setSelected(chosen.length < shown.length ? shown : [])}>{t(chosen.length < shown.length ? "selectShown" : "selectNone")}</button>
          </div>
          <ul>{list?.map((f) => <Follower key={f.user} follower={f} selected={selected.includes(f.user)} onSelect={(on) => toggle(f.user, on)} />)}</ul>
        </>
      )}
      {more && <button onClick={more}>{t("showMore")}</button>}
      {labelling && <LabelDialog account={account} followers={chosen} onChanged={reload} onClose={() => setLabelling(false)} />}
    </div>
  );
}

function Follower({ follower, selected, onSelect }: { follower: OfficialFollower; selected: boolean; onSelect: (on: boolean) => void }) {
  const client = useClient();
  const { user, labels } = follower;
  return (
    <li data-testid="follower">
      <label className="pick-row">
        <input type="checkbox" checked={selected} onChange={(e) => onSelect(e.target.checked)} />
        <UserAvatar user={user} size={32} />
        <span className="follower">
          <bdi className="name">{nameOf(client, user)}</bdi>
          {labels.length > 0 && <span className="labels">{labels.map((l) => <bdi key={l}>{l}</bdi>)}</span>}
        </span>
      </label>
    </li>
  );
}

/** What is done with a label, of all who have it. */
function LabelMenu({ account, label, run, onReplaced }: { account: OfficialAccount; label: string; run: RunAction; onReplaced: (name: string) => void }) {
  const client = useClient();
  const t = useText();
  const [renaming, setRenaming] = useState(false);
  const remove = () =>
    run(async () => {
      await client.official.deleteLabel(account.user, label);
      onReplaced("");
    });
  return (
    <>
      <Menu label={label}>
        <MenuItem label={t("renameLabel")} onSelect={() => setRenaming(true)} />
        <MenuItem label={t("deleteLabel")} sure={t("sureDeleteLabel", { label })} onSelect={() => void remove()} />
      </Menu>
      {renaming && <RenameLabel account={account} label={label} onRenamed={onReplaced} onClose={() => setRenaming(false)} />}
    </>
  );
}
