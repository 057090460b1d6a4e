import type { SessionInfo, Settings as SettingsPb } from "@rialto-im/client";
import { useEffect, useState, type FormEvent } from "react";
import { drafts, useClient, useOnline } from "../client.js";
import { errorText } from "../errors.js";
import { when } from "../format.js";
import { getLocale, setLocale, useText } from "../i18n.js";
import { getTheme, setTheme, type Theme } from "../theme.js";
import { UserAvatar } from "./Avatar.js";
import { Confirm } from "./Confirm.js";
import { Password } from "./Password.js";

export function Settings() {
  const client = useClient();
  const t = useText();
  const [error, setError] = useState("");
  const run = async (work: () => Promise<unknown>) => {
    setError("");
    try {
      await work();
    } catch (err) {
      setError(errorText(err));
    }
  };
  return (
    <section className="pane-list settings" aria-label={t("settings")}>
      {error && <p className="error" role="alert">{error}</p>}
      <Profile run={run} />
      <Appearance />
      <Privacy run={run} />
      <Password />
      <Sessions run={run} />
      <Confirm label={t("signOut")} question={t("sureSignOut")} onYes={() => void run(() => client.logOut().then(() => drafts.clear()))} />
    </section>
  );
}

type Run = (work: () => Promise<unknown>) => Promise<void>;

function Profile({ run }: { run: Run }) {
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
  const picture = (file: File | undefined) =>
    file &&
    run(async () => {
      const up = await client.upload(file, file.name);
      client.takeUsers([await client.account.updateProfile({ avatar: up.upload })]);
    });
  return (
    <form className="stack" onSubmit={save}>
      <h2>{t("profile")}</h2>
      <div className="profile-head">
        <UserAvatar user={client.me} size={64} />
        <div><b className="name">{me?.displayName}</b><small className="muted">@{me?.handle}</small>
          <label className="file-button">{t("changePicture")}<input type="file" accept="image/png,image/jpeg,image/gif,image/webp" onChange={(e) => void picture(e.target.files?.[0])} /></label>
        </div>
      </div>
      <label>{t("displayName")}<input value={name ?? me?.displayName ?? ""} maxLength={64} onChange={(e) => setName(e.target.value)} /></label>
      <label>{t("bio")}<textarea rows={2} maxLength={500} dir="auto" value={bio ?? me?.bio ?? ""} onChange={(e) => setBio(e.target.value)} /></label>
      <button disabled={name === undefined && bio === undefined}>{t("save")}</button>
      <p className="muted" role="status">{saved && name === undefined && bio === undefined && t("saved")}</p>
    </form>
  );
}

function Appearance() {
  const t = useText();
  const [theme, set] = useState<Theme>(getTheme());
  const choose = (v: Theme) => {
    setTheme(v);
    set(v);
  };
  return (
    <div className="stack">
      <label>
        {t("theme")}
        <select value={theme} onChange={(e) => choose(e.target.value as Theme)} data-testid="theme">
          <option value="auto">{t("themeAuto")}</option>
          <option value="light">{t("themeLight")}</option>
          <option value="dark">{t("themeDark")}</option>
        </select>
      </label>
      <label>
        {t("language")}
        <select value={getLocale()} onChange={(e) => setLocale(e.target.value === "zh" ? "zh" : "en")} data-testid="language">
          <option value="en">English</option>
          <option value="zh">中文</option>
        </select>
      </label>
    </div>
  );
}

function Privacy({ run }: { run: Run }) {
  const client = useClient();
  const t = useText();
  const [s, setS] = useState<SettingsPb | undefined>();
  const online = useOnline();
  useEffect(() => {
    if (online) void run(async () => setS(await client.account.getSettings({})));
  }, [client, online]);
  const change = (part: Partial<Pick<SettingsPb, "hidePresence" | "hideRead">>) => {
    if (s) void run(async () => setS(await client.account.updateSettings({ settings: { ...s, ...part } })));
  };
  return (
    <div className="stack">
      <label className="check"><input type="checkbox" disabled={!s} checked={s?.hidePresence ?? false} onChange={(e) => change({ hidePresence: e.target.checked })} />{t("hidePresence")}</label>
      <label className="check"><input type="checkbox" disabled={!s} checked={s?.hideRead ?? false} onChange={(e) => change({ hideRead: e.target.checked })} />{t("hideRead")}</label>
    </div>
  );
}

function Sessions({ run }: { run: Run }) {
  const client = useClient();
  const t = useText();
  const [list, setList] = useState<SessionInfo[]>([]);
  const load = async () => setList((await client.account.listSessions({})).sessions);
  const online = useOnline();
  useEffect(() => {
    if (online) void run(load);
  }, [client, online]);
  return (
    <div className="stack">
      <h2>{t("sessions")}</h2>
      <ul className="members">
        {list.map((s) => (
          <li key={s.session} className="person">
            <span className="person-name">{s.name || s.type}<small>{s.current ? t("thisDevice") : when(Number(s.usedMs), getLocale(), t)}</small></span>
            {!s.current && <Confirm label={t("endSession")} question={t("sureEndSession", { who: s.name || s.type })} onYes={() => void run(async () => { await client.account.revokeSession({ session: s.session }); await load(); })} />}
          </li>
        ))}
      </ul>
    </div>
  );
}
