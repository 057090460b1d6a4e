import { useEffect, useState } from "react";
import { client, errorText, useClient } from "./client.js";
import { Announcer } from "./components/Announcer.js";
import { Auth } from "./components/Auth.js";
import { UserAvatar } from "./components/Avatar.js";
import { Banner } from "./components/Banner.js";
import { ChatPane } from "./components/ChatPane.js";
import { ConversationList } from "./components/ConversationList.js";
import { ChatIcon, GearIcon, PeopleIcon } from "./components/icons.js";
import { People } from "./components/People.js";
import { Settings } from "./components/Settings.js";
import { useText } from "./i18n.js";

type Tab = "chats" | "people" | "settings";

export function App() {
  const c = useClient();
  const [notice, setNotice] = useState<string>();
  useEffect(() => client.on("ended", ({ reason }) => setNotice(reason)), []);
  return c.connection === "signed-out" ? <Auth notice={notice} /> : <House />;
}

function House() {
  const c = useClient();
  const t = useText();
  const [tab, setTab] = useState<Tab>("chats");
  const [open, setOpen] = useState<string | undefined>();
  const [problem, setProblem] = useState("");
  const badge = c.badge();
  const asked = [...c.relations().values()].filter((r) => r.asked && !r.friend && !r.blocked).length;

  useEffect(() => {
    document.title = badge > 0 ? `(${badge}) Rialto` : "Rialto";
  }, [badge]);

  // Whose presence is shown: those one chats with, and friends.
  const shown = [...c.conversations().map((v) => v.peer), ...[...c.relations().values()].filter((r) => r.friend).map((r) => r.user)].filter((u) => u && u !== "0").join(",");
  useEffect(() => {
    client.watch(shown ? shown.split(",") : []);
  }, [shown]);

  useEffect(() => {
    const token = /^#join=(.+)$/.exec(location.hash)?.[1];
    if (!token || c.connection !== "online") return;
    history.replaceState(null, "", location.pathname);
    client.chat.join({ token }).then((r) => go(r.conversation), (err: unknown) => setProblem(errorText(err)));
  }, [c.connection]);

  const go = (id: string) => {
    setOpen(id);
    setTab("chats");
  };
  const back = () => {
    const id = open;
    setOpen(undefined);
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-id="${id}"]`)?.focus());
  };
  const tabs: [Tab, typeof ChatIcon, number][] = [["chats", ChatIcon, badge], ["people", PeopleIcon, asked], ["settings", GearIcon, 0]];

  return (
    <div className="app">
      <Banner />
      <Announcer />
      {problem && <p className="banner" role="alert">{problem} <button className="link" onClick={() => setProblem("")}>{t("close")}</button></p>}
      <div className={open ? "house has-chat" : "house"}>
        <nav className="rail" aria-label="Rialto">
          <UserAvatar user={c.me} size={36} />
          {tabs.map(([id, Icon, n]) => (
            <button key={id} className={tab === id ? "icon current" : "icon"} aria-label={t(id)} title={t(id)} aria-current={tab === id} onClick={() => setTab(id)} data-testid={`tab-${id}`}>
              <Icon />
              {n > 0 && <b className="badge">{n > 99 ? "99+" : n}</b>}
            </button>
          ))}
        </nav>
        {tab === "chats" && <ConversationList current={open} onOpen={setOpen} />}
        {tab === "people" && <People onOpen={go} />}
        {tab === "settings" && <Settings />}
        {open ? <ChatPane id={open} onBack={back} /> : <main className="chat nothing"><img src="/icon.svg" alt="" width="72" height="72" /><p>{t("pickChat")}</p></main>}
      </div>
    </div>
  );
}
