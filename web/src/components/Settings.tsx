import { Activity, WhoMayAdd, WhoMaySee, type DevicePresence, type AccountSettings, type SessionInfo } from "@rialto-im/client";
import { useEffect, useState, type FormEvent } from "react";
import { Link } from "wouter";
import { useAction, type RunAction } from "../action.js";
import { appearance, drafts, useClient, useOnline } from "../client.js";
import { deviceType } from "../deviceType.js";
import { ago, moment } from "../format.js";
import { getLocale, useText, type Key } from "../i18n.js";
import { useNow } from "../now.js";
import { path, sections, type Section } from "../routes.js";
import { useTheme, type Theme } from "../theme.js";
import { Page } from "../ui/Page.js";
import { UserAvatar } from "./Avatar.js";
import { Confirm } from "../ui/Confirm.js";
import { BellIcon, DevicesIcon, DownloadIcon, FlagIcon, KeyIcon, LockIcon, PersonIcon, ShieldIcon, ThemeIcon } from "./icons.js";
import { Decisions } from "./Decisions.js";
import { NotificationSettings } from "./NotificationSettings.js";
import { Password } from "./Password.js";
import { Picture } from "./Picture.js";
import { Security } from "./Security.js";
import { StatusEditor } from "./StatusEditor.js";
import { YourData } from "./YourData.js";
import "./settings.css";
import "./people.css";

const titles: Record<Section, Key> = { profile: "profile", appearance: "theme", notifications: "notifications", privacy: "privacy", password: "password", security: "security", sessions: "sessions", decisions: "decisions", data: "yourData" };

const icons = { profile: PersonIcon, appearance: ThemeIcon, notifications: BellIcon, privacy: LockIcon, password: KeyIcon, security: ShieldIcon, sessions: DevicesIcon, decisions: FlagIcon, data: DownloadIcon };

function SectionIcon({ section }: { section: Section }) {
  const Icon = icons[section];
  return <Icon />;
}

/** The sections of the settings, and the way out. */
export function SettingsList({ current }: { current: Section | undefined }) {
  const client = useClient();
  const t = useText();
  const { error, run } = useAction();
  return (
    <section className="pane-list settings-list" aria-label={t("settings")}>
      <h2>{t("settings")}</h2>
      {error && <p className="error" role="alert">{error}</p>}
      <nav className="rows" aria-label={t("settings")}>
        {sections.map((s) => <Link key={s} href={path.section(s)} className={s === current ? "row current" : "row"} aria-current={s === current ? "page" : undefined}><SectionIcon section={s} />{t(titles[s])}</Link>)}
      </nav>
      <Confirm label={t("signOut")} question={t("sureSignOut")} testId="sign-out" onYes={() => void run(() => client.logOut().then(() => drafts.clear()))} />
    </section>
  );
}

/** One section of the settings. */
export function SettingsSection({ section }: { section: Section }) {
  const t = useText();
  const { error, run } = useAction();
  return (
    <Page title={t(titles[section])} className="settings" error={error}>
      {section === "profile" && <><Profile run={run} /><StatusEditor run={run} /></>}
      {section === "appearance" && <Appearance />}
      {section === "notifications" && <NotificationSettings />}
      {section === "privacy" && <Privacy run={run} />}
      {section === "password" && <Password />}
      {section === "security" && <Security />}
      {section === "sessions" && <Sessions run={run} />}
      {section === "decisions" && <Decisions />}
      {section === "data" && <YourData />}
    </Page>
  );
}

function Profile({ run }: { run: RunAction }) {
  const client = useClient();
  const t = useText();
  const me = client.user(client.me);
  const [name, setName] = useState<string | undefined>();
  const [bio, setBio] = useState<string | undefined>();
  const [saved, setSaved] = useState(false);
  const save = (e: FormEvent) => {
    e.preventDefault();
    setSaved(false);
    void run(async () => {
      client.takeUsers([await client.account.updateProfile({ displayName: name, bio })]);
      setName(undefined);
      setBio(undefined);
      setSaved(true);
    });
  };
  const setAvatar = async (avatar: string) => client.takeUsers([await client.account.updateProfile({ avatar })]);
  return (
    <form className="stack" onSubmit={save}>
      <Picture
        face={<UserAvatar user={client.me} size={64} />}
        text={<><b className="name">{me?.displayName}</b><small className="muted">@{me?.handle}</small></>}
        testId="my-picture"
        onChoose={(file) => void run(async () => setAvatar((await client.upload(file, file.name)).upload))}
        onRemove={me?.avatarUrl ? () => void run(() => setAvatar("0")) : undefined}
      />
      <label>{t("displayName")}<input value={name ?? me?.displayName ?? ""} maxLength={64} onChange={(e) => setName(e.target.value)} /></label>
      <label>{t("bio")}<textarea rows={2} maxLength={500} dir="auto" value={bio ?? me?.bio ?? ""} onChange={(e) => setBio(e.target.value)} /></label>
      <button disabled={name === undefined && bio === undefined}>{t("save")}</button>
      <p className="muted" role="status">{saved && name === undefined && bio === undefined && t("saved")}</p>
    </form>
  );
}

function Appearance() {
  const t = useText();
  const theme = useTheme();
  return (
    <div className="stack">
      <label>
        {t("theme")}
        <select value={theme} onChange={(e) => appearance.choose({ theme: e.target.value as Theme })} data-testid="theme">
          <option value="auto">{t("themeAuto")}</option>
          <option value="light">{t("themeLight")}</option>
          <option value="dark">{t("themeDark")}</option>
        </select>
      </label>
      <label>
        {t("language")}
        <select value={getLocale()} onChange={(e) => appearance.choose({ locale: e.target.value === "zh" ? "zh" : "en" })} data-testid="language">
          <option value="en">English</option>
          <option value="zh">中文</option>
        </select>
      </label>
    </div>
  );
}

const adders: [WhoMayAdd, Key][] = [[WhoMayAdd.UNSPECIFIED, "addDefault"], [WhoMayAdd.EVERYONE, "addEveryone"], [WhoMayAdd.FRIENDS, "addFriends"], [WhoMayAdd.NOBODY, "addNobody"]];

const viewers: [WhoMaySee, Key][] = [[WhoMaySee.EVERYONE, "addEveryone"], [WhoMaySee.FRIENDS, "addFriends"], [WhoMaySee.NOBODY, "addNobody"]];

function Privacy({ run }: { run: RunAction }) {
  const client = useClient();
  const t = useText();
  const known = client.settings();
  // What was chosen shows at once; what the server refuses is taken back.
  const [chosen, setChosen] = useState<Partial<AccountSettings>>({});
  const s = known && { ...known, ...chosen };
  const online = useOnline();
  const change = (part: Partial<AccountSettings>) => {
    setChosen((c) => ({ ...c, ...part }));
    void run(() => client.updateSettings(part).finally(() => setChosen({})));
  };
  return (
    <div className="stack">
      <label>
        {t("whoMaySee")}
        <select disabled={!s || !online} value={s?.whoMaySeePresence || WhoMaySee.FRIENDS} onChange={(e) => change({ whoMaySeePresence: Number(e.target.value) })}>
          {viewers.map(([who, key]) => <option key={who} value={who}>{t(key)}</option>)}
        </select>
      </label>
      <label className="check"><input type="checkbox" disabled={!s || !online} checked={s?.hideRead ?? false} onChange={(e) => change({ hideRead: e.target.checked })} />{t("hideRead")}</label>
      <label className="check"><input type="checkbox" disabled={!s || !online} checked={!(s?.noLinkPreviews ?? false)} onChange={(e) => change({ noLinkPreviews: !e.target.checked })} />{t("showLinkPreviews")}</label>
      <label className="check"><input type="checkbox" disabled={!s || !online} checked={!(s?.noPersonalization ?? false)} onChange={(e) => change({ noPersonalization: !e.target.checked })} data-testid="personalization" />{t("personalization")}</label>
      <small className="muted">{t("personalizationIs")}</small>
      <label>
        {t("whoMayAdd")}
        <select disabled={!s || !online} value={s?.whoMayAdd ?? WhoMayAdd.UNSPECIFIED} onChange={(e) => change({ whoMayAdd: Number(e.target.value) })}>
          {adders.map(([who, key]) => <option key={who} value={who}>{t(key)}</option>)}
        </select>
        {s?.whoMayAdd !== WhoMayAdd.EVERYONE && s?.whoMayAdd !== WhoMayAdd.NOBODY && <small className="muted">{t("othersInvite")}</small>}
      </label>
    </div>
  );
}

function Sessions({ run }: { run: RunAction }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const [list, setList] = useState<SessionInfo[]>([]);
  const [devices, setDevices] = useState<DevicePresence[]>([]);
  const connected = new Map(devices.map((d) => [d.session, d]));
  const load = async () => {
    setDevices((await client.presenceApi.listDevices({})).devices);
    setList((await client.account.listSessions({})).sessions.sort((a, b) => Number(b.current) - Number(a.current) || Number(b.usedMs - a.usedMs)));
  };
  const lastUsed = (s: SessionInfo) => {
    const device = connected.get(s.session);
    if (device?.activity === Activity.ACTIVE) return t("online");
    return device ? `${t("away")} · ${ago(Number(device.lastActiveMs), getLocale(), t, now)}` : ago(Number(s.usedMs), getLocale(), t, now);
  };
  /** Whether the device has everything. A device that acknowledges nothing is not known to lack anything. */
  const received = (s: SessionInfo) => {
    if (s.upToDate) return t("upToDate");
    return s.behindSinceMs ? t("behindSince", { when: moment(Number(s.behindSinceMs), getLocale()) }) : "";
  };
  const online = useOnline();
  useEffect(() => {
    if (online) void run(load);
  }, [client, online]);
  const others = list.filter((s) => !s.current);
  const end = (sessions: SessionInfo[]) =>
    void run(async () => {
      for (const { session } of sessions) await client.account.revokeSession({ session });
      await load();
    });
  return (
    <div className="stack">
      <ul className="members" data-testid="sessions">
        {list.map((s) => (
          <li key={s.session} className="person">
            <span className="person-name"><b>{s.name || deviceType(t, s.type)}</b><small>{s.current ? t("thisDevice") : lastUsed(s)}</small>{received(s) && <small>{received(s)}</small>}</span>
            {!s.current && <Confirm label={t("endSession")} question={t("sureEndSession", { who: s.name || deviceType(t, s.type) })} onYes={() => end([s])} />}
          </li>
        ))}
      </ul>
      {others.length > 0 && <Confirm label={t("endOthers")} question={t("sureEndOthers")} onYes={() => end(others)} />}
    </div>
  );
}
