import type { HelpDesk } from "@rialto-im/client";
import type { AgentWork } from "@rialto-im/client/react";
import { Link } from "wouter";
import { deskState, isOpen } from "../businessHours.js";
import { badgeOf } from "../deskWork.js";
import { getLocale, useText } from "../i18n.js";
import { useNow } from "../now.js";
import { path } from "../routes.js";
import { Avatar } from "./Avatar.js";
import "./helpDesk.css";

/** The help desks, in the list of people: those whose agent one is come first, with what waits there. */
export function HelpDeskList({ desks, work }: { desks: readonly HelpDesk[]; work: readonly AgentWork[] }) {
  const sorted = [...desks].sort((a, b) => Number(b.isAgent) - Number(a.isAgent) || a.name.localeCompare(b.name));
  return sorted.map((d) => (
    <Link key={d.id} className="person" href={path.desk(d.id)} data-testid="help-desk">
      <Avatar id={d.id} name={d.name} />
      <span className="person-name"><bdi className="name">{d.name}</bdi><small><DeskState desk={d} /></small></span>
      <WorkBadge work={work.filter((w) => w.desk === d.id)} />
    </Link>
  ));
}

/** Whether a desk is open, in words and by a dot. */
export function DeskState({ desk }: { desk: HelpDesk }) {
  const t = useText();
  const now = useNow();
  const open = !desk.closed && isOpen(desk, now);
  return (
    <span className="desk-state">
      <span className={open ? "desk-dot open" : "desk-dot"} aria-hidden="true" />
      {deskState(desk, getLocale(), t, now)}{desk.isAgent && ` · ${t("deskAgent")}`}
    </span>
  );
}

/** How many tickets wait for an agent; nothing where none does. */
function WorkBadge({ work }: { work: readonly AgentWork[] }) {
  const t = useText();
  const { n, text } = badgeOf(work);
  return n > 0 && <b className="badge" aria-label={t("deskWork", { n })} data-testid="desk-work">{text}</b>;
}
