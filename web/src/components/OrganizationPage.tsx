import { OrganizationMessaging, OrganizationRole, importMembers, type Department, type ImportResult, type Organization, type OrganizationMember } from "@rialto-im/client";
import { useCallback, useEffect, useState, type FormEvent } from "react";
import { Link } from "wouter";
import { useAction, type RunAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { errorText } from "../errors.js";
import { useText, type Key, type Translate } from "../i18n.js";
import type { Listed } from "../pages.js";
import { go, path } from "../routes.js";
import { usePages } from "../usePages.js";
import { Confirm } from "../ui/Confirm.js";
import { IconButton } from "../ui/IconButton.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { Page } from "../ui/Page.js";
import { UserAvatar } from "./Avatar.js";
import { ChatIcon } from "./icons.js";
import { OrganizationInvitations } from "./OrganizationInvitations.js";
import "./organization.css";

/** What all parts of the page need. */
interface Shared {
  organization: string;
  admin: boolean;
  owner: boolean;
  /** Changes when departments or members may have changed. */
  version: number;
  run: RunAction;
  changed: () => void;
  onOpen: (conversation: string) => void;
}

/** The address book of an organization, and for its admins, what changes it. */
export function OrganizationPage({ id, onOpen }: { id: string; onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const { run, error } = useAction();
  const [organization, setOrganization] = useState<Organization>();
  const [version, setVersion] = useState(0);
  const [query, setQuery] = useState("");
  const changed = useCallback(() => setVersion((v) => v + 1), []);
  useEffect(() => {
    if (online) void run(async () => setOrganization(await client.organizationApi.getOrganization({ organization: id })));
  }, [client, id, online, version]);
  useEffect(() => {
    window.addEventListener("focus", changed);
    return () => window.removeEventListener("focus", changed);
  }, [changed]);
  const role = organization?.role ?? OrganizationRole.UNSPECIFIED;
  const admin = role >= OrganizationRole.ADMIN;
  const leave = () =>
    run(async () => {
      await client.organizationApi.removeOrganizationMembers({ organization: id, users: [client.me] });
      go(path.people, { replace: true });
    });
  const shared: Shared = { organization: id, admin, owner: role === OrganizationRole.OWNER, version, run, changed, onOpen };
  return (
    <Page title={organization?.name ?? t("organization")} error={error}>
      {organization && (
        <div className="organization">
          <p className="muted">{t("organizationMembers", { n: organization.members })}</p>
          <input type="search" placeholder={t("findMember")} aria-label={t("findMember")} value={query} onChange={(e) => setQuery(e.target.value)} />
          {query.trim() ? <Members shared={shared} namePrefix={query.trim()} /> : <><Departments shared={shared} parent="0" /><AllMembers shared={shared} /></>}
          {admin && (
            <>
              <OrganizationInvitations organization={id} version={version} run={run} changed={changed} />
              <Messaging organization={organization} shared={shared} />
              <Import shared={shared} />
            </>
          )}
          {role !== OrganizationRole.OWNER && <Confirm label={t("leaveOrganization")} question={t("sureLeaveOrganization", { name: organization.name })} onYes={() => void leave()} />}
        </div>
      )}
    </Page>
  );
}

/** The departments below one. */
function Departments({ shared, parent }: { shared: Shared; parent: string }) {
  const client = useClient();
  const t = useText();
  const { list, more } = usePages(shared.run, `${shared.organization} ${parent}`, shared.version, async (page): Promise<Listed<Department>> => {
    const { departments, next } = await client.organizationApi.listDepartments({ organization: shared.organization, parent, page });
    return { items: departments, next };
  });
  return (
    <ul className="departments">
      {list?.map((d) => <li key={d.id}><DepartmentRow shared={shared} department={d} /></li>)}
      {more && <li><button className="link" onClick={more}>{t("showMore")}</button></li>}
      {shared.admin && <li><NewDepartment shared={shared} parent={parent} /></li>}
    </ul>
  );
}

/** All members, also those without a department, behind a button. */
function AllMembers({ shared }: { shared: Shared }) {
  const t = useText();
  const [open, setOpen] = useState(false);
  return (
    <div>
      <div className="department"><button className="link" aria-expanded={open} onClick={() => setOpen(!open)}>{t("allMembers")}</button></div>
      {open && <div className="inside"><Members shared={shared} /></div>}
    </div>
  );
}

/** A button, and once it was pressed, the form that adds a department. */
function NewDepartment({ shared, parent }: { shared: Shared; parent: string }) {
  const client = useClient();
  const t = useText();
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const add = (e: FormEvent) => {
    e.preventDefault();
    void shared.run(async () => {
      await client.organizationApi.putDepartments({ organization: shared.organization, departments: [{ parent, name }] });
      setName("");
      setOpen(false);
      shared.changed();
    });
  };
  if (!open) return <button className="link" onClick={() => setOpen(true)}>+ {t("newDepartment")}</button>;
  return (
    <form className="new-department" onSubmit={add}>
      <input autoFocus aria-label={t("newDepartment")} placeholder={t("newDepartment")} value={name} maxLength={100} onChange={(e) => setName(e.target.value)} />
      <button disabled={!name.trim()}>{t("addDepartment")}</button>
    </form>
  );
}

function DepartmentRow({ shared, department }: { shared: Shared; department: Department }) {
  const client = useClient();
  const t = useText();
  const [open, setOpen] = useState(false);
  const { organization } = shared;
  const remove = async () => {
    await client.organizationApi.removeDepartments({ organization, departments: [department.id] });
    shared.changed();
  };
  const createGroup = async () => {
    const key = `web ${crypto.randomUUID().slice(0, 18)}`;
    const group = await client.organizationApi.createOrganizationGroup({ organization, department: department.id, below: true, title: department.name, key });
    shared.onOpen(group.conversation);
  };
  return (
    <>
      <div className="department">
        <button className="link" aria-expanded={open} onClick={() => setOpen(!open)}><bdi>{department.name}</bdi> <span className="muted">{department.members}</span></button>
        {shared.admin && (
          <Menu label={department.name}>
            <MenuItem label={t("departmentGroup")} onSelect={() => void shared.run(createGroup)} />
            <MenuItem label={t("removeDepartment")} sure={t("sureRemoveDepartment", { name: department.name })} onSelect={() => void shared.run(remove)} />
          </Menu>
        )}
      </div>
      {open && (
        <div className="inside">
          <Members shared={shared} department={department.id} />
          <Departments shared={shared} parent={department.id} />
        </div>
      )}
    </>
  );
}

/** The members of a department, or those whose names begin with a text. */
function Members({ shared, department = "0", namePrefix = "" }: { shared: Shared; department?: string; namePrefix?: string }) {
  const client = useClient();
  const t = useText();
  const { list, more } = usePages(shared.run, `${shared.organization} ${department} ${namePrefix}`, shared.version, async (page): Promise<Listed<OrganizationMember>> => {
    const { members, next } = await client.organizationApi.listOrganizationMembers({ organization: shared.organization, department, namePrefix, page, limit: 50 });
    return { items: members, next };
  });
  const write = (user: string) => shared.run(async () => shared.onOpen((await client.openDirect(user)).id));
  const transfer = (user: string) =>
    shared.run(async () => {
      await client.organizationApi.transferOrganization({ organization: shared.organization, user });
      shared.changed();
    });
  return (
    <>
      {list?.length === 0 && !more && <p className="muted">{t(namePrefix ? "noMemberFound" : "noMembersHere")}</p>}
      {list?.map((m) => (
        <div key={m.user} className="person" data-testid="member">
          <Link href={path.user(m.user)} className="person-who">
            <UserAvatar user={m.user} />
            <span className="person-name"><bdi className="name">{m.name}</bdi><small>{[roleText(m.role, t), m.title, m.phone].filter(Boolean).join(" · ")}</small></span>
          </Link>
          {m.user !== client.me && <IconButton label={t("message")} onClick={() => void write(m.user)}><ChatIcon /></IconButton>}
          {shared.owner && m.user !== client.me && (
            <Menu label={m.name}><MenuItem label={t("transferOrganization")} sure={t("sureTransferOrganization", { name: m.name })} onSelect={() => void transfer(m.user)} /></Menu>
          )}
        </div>
      ))}
      {more && <button className="link" onClick={more}>{t("showMore")}</button>}
    </>
  );
}

/** What a member may do, in a word; nothing for most. */
function roleText(role: OrganizationRole, t: Translate): string {
  if (role === OrganizationRole.OWNER) return t("organizationOwner");
  return role === OrganizationRole.ADMIN ? t("organizationAdmin") : "";
}

const rules: [OrganizationMessaging, Key][] = [
  [OrganizationMessaging.EVERYONE, "messagingEveryone"], [OrganizationMessaging.ORGANIZATION, "messagingOrganization"],
  [OrganizationMessaging.INSIDE, "messagingInside"], [OrganizationMessaging.DEPARTMENT, "messagingDepartment"],
];

/** With whom members may have one-to-one conversations. */
function Messaging({ organization, shared }: { organization: Organization; shared: Shared }) {
  const client = useClient();
  const t = useText();
  const set = (messaging: OrganizationMessaging) =>
    void shared.run(async () => {
      await client.organizationApi.updateOrganization({ organization: organization.id, messaging });
      shared.changed();
    });
  return (
    <label>
      {t("messaging")}
      <select value={organization.messaging} onChange={(e) => set(Number(e.target.value))}>
        {rules.map(([rule, key]) => <option key={rule} value={rule}>{t(key)}</option>)}
      </select>
    </label>
  );
}

/** Imports members from a CSV: first what it would change, then the change. */
function Import({ shared }: { shared: Shared }) {
  const client = useClient();
  const t = useText();
  const [csv, setCSV] = useState<string>();
  const [preview, setPreview] = useState<ImportResult>();
  const [share, setShare] = useState<number>();
  const [done, setDone] = useState(false);
  const start = (text: string, dryRun: boolean) =>
    void shared.run(async () => {
      setShare(0);
      try {
        const result = await importMembers(client.organizationApi, shared.organization, text, { dryRun, onProgress: setShare });
        setPreview(result);
        setDone(!dryRun && result.wrong === 0);
        if (!dryRun) shared.changed();
      } finally {
        setShare(undefined);
      }
    });
  const pick = async (file: File | undefined) => {
    if (!file) return;
    const text = await file.text();
    setCSV(text);
    setPreview(undefined);
    start(text, true);
  };
  return (
    <section className="import">
      <label>{t("importCSV")}<input type="file" accept=".csv,text/csv" onChange={(e) => void pick(e.target.files?.[0])} /></label>
      {share !== undefined && <progress aria-label={t("importCSV")} value={share} max={1} />}
      {preview && (
        <div role="status">
          <p>{t(done ? "imported" : "importPreview", { added: preview.added, changed: preview.changed, departments: preview.departmentsAdded, wrong: preview.wrong })}</p>
          <ul>
            {preview.errors.map((e) => <li key={e.line} className="error">{t("importLine", { line: e.line, message: errorText(e) })}</li>)}
            {!done && preview.changes.map((c) => <li key={c}><bdi>{c}</bdi></li>)}
          </ul>
        </div>
      )}
      {preview && csv && !done && preview.wrong === 0 && <button className="primary small" disabled={share !== undefined} onClick={() => start(csv, false)}>{t("importApply")}</button>}
    </section>
  );
}
