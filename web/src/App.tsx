import { useEffect, useRef, useState } from "react";
import { client, useClient } from "./client.js";
import { Announcer } from "./components/Announcer.js";
import { Auth } from "./components/Auth.js";
import { UserAvatar } from "./components/Avatar.js";
import { Banner } from "./components/Banner.js";
import { ChatPane } from "./components/ChatPane.js";
import { ConversationList } from "./components/ConversationList.js";
import { ChatIcon, GearIcon, PeopleIcon } from "./components/icons.js";
import { People } from "./components/People.js";
import { Settings } from "./components/Settings.js";
import { errorText } from "./errors.js";
import { useText } from "./i18n.js";

type Tab = "chats" | "people" | "settings";

export function App() {
  const c = useClient();
  const [notice, setNotice] = useState<string>();
  const signedOut = c.connection === "signed-out";
  useEffect(() => client.on("ended", ({ reason }) => setNotice(reason)), []);
  useEffect(() => {
    if (signedOut) history.replaceState(null, ""); // which chat was open is nothing for the next who signs in
    else setNotice(undefined);
  }, [signedOut]);
  return signedOut ? <Auth notice={notice} /> : <House />;
}

function House() {
  const c = useClient();
  const t = useText();
  const [tab, setTab] = useState<Tab>("chats");
  const [open, show] = useOpenChat();
  const [said, setSaid] = useState<{ text: string; problem: boolean }>();
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

  // A link to a group was opened: with a token one is in at once, by the group's id if it is open, or when an admin accepts.
  useEffect(() => {
    const join = () => {
      const [, what, value] = /^#(join|group)=(.+)$/.exec(location.hash) ?? [];
      if (!value || client.connection !== "online") return;
      history.replaceState(history.state, "", location.pathname);
      client.chat.join(what === "join" ? { token: value } : { conversation: value }).then(
        (r) => (r.joined ? go(r.conversation) : setSaid({ text: t("askedToJoin"), problem: false })),
        (err: unknown) => setSaid({ text: errorText(err), problem: true }),
      );
    };
    join();
    window.addEventListener("hashchange", join);
    return () => window.removeEventListener("hashchange", join);
  }, [c.connection]);

  const go = (id: string) => {
    show(id);
    setTab("chats");
  };
  const tabs: [Tab, typeof ChatIcon, number][] = [["chats", ChatIcon, badge], ["people", PeopleIcon, asked], ["settings", GearIcon, 0]];

  return (
    <div className="app">
      <Banner />
      <Announcer />
      {said && <p className="banner" role={said.problem ? "alert" : "status"}>{said.text} <button className="link" onClick={() => setSaid(undefined)}>{t("close")}</button></p>}
      <div className={open ? "house has-chat" : "house"}>
        <nav className="rail" aria-label="Rialto">
          <h1 className="sr-only">Rialto</h1>
          <UserAvatar user={c.me} size={36} />
          {tabs.map(([id, Icon, n]) => (
            <button key={id} className={tab === id ? "icon current" : "icon"} title={t(id)} aria-current={tab === id ? "page" : undefined} onClick={() => setTab(id)} data-testid={`tab-${id}`}>
              <Icon />
              <span className="sr-only">{t(id)}</span>
              {n > 0 && <b className="badge">{n > 99 ? "99+" : n}</b>}
            </button>
          ))}
        </nav>
        {tab === "chats" && <ConversationList current={open} onOpen={show} onPeople={() => setTab("people")} />}
        {tab === "people" && <People onOpen={go} />}
        {tab === "settings" && <Settings />}
        {open ? <ChatPane id={open} onBack={() => show(undefined)} onOpen={go} /> : <main className="chat nothing"><img src="/icon.svg" alt="" width="72" height="72" /><p>{t("pickChat")}</p></main>}
      </div>
    </div>
  );
}

interface Place {
  chat?: string;
}

/** The chat that is open, as a place in the browser's history: Back leaves it, and a reload opens it again. */
function useOpenChat(): [string | undefined, (id: string | undefined) => void] {
  const [open, setOpen] = useState(() => (history.state as Place | null)?.chat);
  useEffect(() => {
    const moved = (e: PopStateEvent) => setOpen((e.state as Place | null)?.chat);
    window.addEventListener("popstate", moved);
    return () => window.removeEventListener("popstate", moved);
  }, []);
  // Who leaves a chat is back in the list, where they were.
  const before = useRef<string>(undefined);
  useEffect(() => {
    const left = before.current;
    before.current = open;
    if (left && !open) document.querySelector<HTMLElement>(`[data-id="${left}"]`)?.focus();
  }, [open]);
  const show = (id: string | undefined) => {
    if (id === undefined) {
      if ((history.state as Place | null)?.chat) history.back();
      else setOpen(undefined);
    } else if (id !== open) {
      if (open) history.replaceState({ chat: id }, "");
      else history.pushState({ chat: id }, "");
      setOpen(id);
    }
  };
  return [open, show];
}
