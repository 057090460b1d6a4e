import { useAgentWork, useUnreadNotifications, type AgentWork } from "@rialto-im/client/react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { client, useClient } from "./client.js";
import { Announcer } from "./components/Announcer.js";
import { UserAvatar } from "./components/Avatar.js";
import { Banner } from "./components/Banner.js";
import { ChannelPage } from "./components/ChannelPage.js";
import { ChatPane } from "./components/ChatPane.js";
import { ConversationList } from "./components/ConversationList.js";
import { BellIcon, ChatIcon, FeedIcon, GearIcon, PeopleIcon, SearchIcon } from "./components/icons.js";
import { WarningDialog } from "./components/WarningDialog.js";
import { badgeOf } from "./deskWork.js";
import { useText, type Key } from "./i18n.js";
import { useNotifications } from "./notifications/useNotifications.js";
import { go, goUp, path, rootOf, usePlace, type Area, type Place } from "./routes.js";
import { isShortcut, keepTyped, openSearch, shortcut } from "./search/box.js";
import { nothingTyped } from "./search/filters.js";
import { Questions } from "./ui/Confirm.js";
import { Tip, Tips } from "./ui/Tip.js";

const Feed = lazy(() => import("./components/Feed.js").then((m) => ({ default: m.Feed })));
const NotificationsPane = lazy(() => import("./components/NotificationsPane.js").then((m) => ({ default: m.NotificationsPane })));
const PostPage = lazy(() => import("./components/PostPage.js").then((m) => ({ default: m.PostPage })));
const PostsPage = lazy(() => import("./components/PostsPage.js").then((m) => ({ default: m.PostsPage })));
const People = lazy(() => import("./components/People.js").then((m) => ({ default: m.People })));
const Person = lazy(() => import("./components/Person.js").then((m) => ({ default: m.Person })));
const OrganizationPage = lazy(() => import("./components/OrganizationPage.js").then((m) => ({ default: m.OrganizationPage })));
const HelpDeskPage = lazy(() => import("./components/HelpDeskPage.js").then((m) => ({ default: m.HelpDeskPage })));
const SettingsList = lazy(() => import("./components/Settings.js").then((m) => ({ default: m.SettingsList })));
const SettingsSection = lazy(() => import("./components/Settings.js").then((m) => ({ default: m.SettingsSection })));
const OfficialPage = lazy(() => import("./components/OfficialPage.js").then((m) => ({ default: m.OfficialPage })));
const RoomPage = lazy(() => import("./components/RoomPage.js").then((m) => ({ default: m.RoomPage })));
const SearchPalette = lazy(() => import("./components/SearchPalette.js").then((m) => ({ default: m.SearchPalette })));
const JoinDialog = lazy(() => import("./components/JoinDialog.js").then((m) => ({ default: m.JoinDialog })));

/** The app of somebody who is signed in. */
export function Shell() {
  const c = useClient();
  const t = useText();
  const { place, searching } = usePlaceBeneath();
  useSearchKey(searching);
  const [said, setSaid] = useState<string>();
  const badge = c.badge();
  const work = useAgentWork();
  useNotifications(place.area === "chats" ? place.chat : place.area === "people" ? place.desk : undefined);

  useEffect(() => {
    document.title = badge > 0 ? `(${badge}) Rialto` : "Rialto";
  }, [badge]);

  // Whose presence is shown: those one chats with, and friends.
  const shown = [...c.conversations().map((v) => v.peer), ...[...c.relations().values()].filter((r) => r.friend).map((r) => r.user)].filter((u) => u && u !== "0").join(",");
  useEffect(() => {
    client.watch(shown ? shown.split(",") : []);
  }, [shown]);

  const invitation = place.area === "chats" ? place.invitation : undefined;
  const joined = (id: string, isIn: boolean) => {
    go(isIn ? path.chat(id) : path.chats, { replace: true });
    if (!isIn) setSaid(t("askedToJoin"));
  };

  return (
    <Tips>
      <div className="app">
        <Banner />
        <Announcer />
        {invitation && <Suspense><JoinDialog key={location.pathname} to={invitation} onJoined={joined} onClose={goUp} /></Suspense>}
        {said && <p className="banner" role="status">{said} <button className="link" onClick={() => setSaid(undefined)}>{t("close")}</button></p>}
        <div className={`shell${hasDetail(place) ? " has-detail" : ""}${place.area === "feed" ? " with-feed" : ""}`}>
          <Rail place={place} searching={searching} work={work} />
          <Suspense fallback={<section className="pane-list" />}><List place={place} work={work} /></Suspense>
          <Suspense fallback={<main className="chat" />}><Detail place={place} /></Suspense>
        </div>
      </div>
      {searching && <Suspense><SearchPalette near={place.area === "chats" ? place.chat : undefined} /></Suspense>}
      <WarningDialog />
      <Questions />
    </Tips>
  );
}

/** What the address shows; of the search, the place that it was opened from, which stays below it. */
function usePlaceBeneath(): { place: Place; searching: boolean } {
  const here = usePlace();
  const beneath = useRef<Place>({ area: "chats" });
  const searching = here.area === "search";
  if (!searching) beneath.current = here;
  return { place: beneath.current, searching };
}

/** Opens the search by its key, and closes it; not above a dialog, which is to be ended first. */
function useSearchKey(searching: boolean): void {
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (!isShortcut(e) || (!searching && document.querySelector("[role=dialog], [role=alertdialog]"))) return;
      e.preventDefault();
      if (searching) goUp();
      else openSearch();
    };
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  }, [searching]);
  useEffect(() => () => keepTyped(nothingTyped), []); // the next who signs in has searched for nothing
}

/** Whether one thing of the list is open: on a phone it has the whole screen. */
function hasDetail(place: Place): boolean {
  switch (place.area) {
    case "chats":
      return place.chat !== undefined || place.channel !== undefined || place.room !== undefined;
    case "notifications":
      return false;
    case "feed":
      return place.post !== undefined || place.user !== undefined;
    case "people":
      return place.user !== undefined || place.organization !== undefined || place.desk !== undefined;
    case "settings":
      return place.section !== undefined;
    default:
      return true;
  }
}

const tabs: [Area, typeof ChatIcon, Key & Area][] = [["chats", ChatIcon, "chats"], ["notifications", BellIcon, "notifications"], ["feed", FeedIcon, "feed"], ["people", PeopleIcon, "people"], ["settings", GearIcon, "settings"]];

/** The areas of the app. A tab leads to where one was last in its area; the tab of the present area, to its list. */
function Rail({ place, searching, work }: { place: Place; searching: boolean; work: readonly AgentWork[] }) {
  const c = useClient();
  const t = useText();
  const last = useRef<Partial<Record<Area, string>>>({});
  if (!searching && place.area !== "none" && place.area !== "search" && !(place.area === "chats" && place.invitation)) last.current[place.area] = location.pathname;
  const unread = useUnreadNotifications();
  const asked = [...c.relations().values()].filter((r) => r.asked && !r.friend && !r.blocked).length;
  const badges: Record<Area, { n: number; text: string }> = { chats: badgeOf([], c.badge() + c.invitations().length + c.organizationInvitations().length), notifications: badgeOf([], unread), feed: badgeOf([]), people: badgeOf(work, asked), settings: badgeOf([]) };
  return (
    <nav className="rail" aria-label="Rialto">
      <h1 className="sr-only">Rialto</h1>
      <UserAvatar user={c.me} size={36} />
      <Tip label={t("searchAllHint", { key: shortcut.text })} side="right">
        <button type="button" className="icon" aria-keyshortcuts={shortcut.aria} aria-haspopup="dialog" onClick={() => openSearch()} data-testid="search">
          <SearchIcon />
          <span className="sr-only">{t("searchAll")}</span>
        </button>
      </Tip>
      {tabs.map(([area, Icon, text]) => (
        <Tip key={area} label={t(text)} side="right">
          <Link href={(place.area !== area && last.current[area]) || rootOf[area]} className={place.area === area ? "icon current" : "icon"} aria-current={place.area === area ? "page" : undefined} data-testid={`tab-${area}`}>
            <Icon />
            <span className="sr-only">{t(text)}</span>
            {badges[area].n > 0 && <b className="badge">{badges[area].text}</b>}
          </Link>
        </Tip>
      ))}
    </nav>
  );
}

const open = (id: string) => go(path.chat(id));

function List({ place, work }: { place: Place; work: readonly AgentWork[] }) {
  switch (place.area) {
    case "notifications":
      return <NotificationsPane />;
    case "feed":
      return <Feed list={place.list} beside={place.post !== undefined || place.user !== undefined} current={place.post} />;
    case "people":
      return <People work={work} onOpen={open} />;
    case "settings":
      return <SettingsList current={place.section} />;
    default:
      return <ConversationList current={place.area === "chats" ? place.chat : undefined} onOpen={open} onPeople={() => go(path.people)} />;
  }
}

function Detail({ place }: { place: Place }) {
  const left = place.area === "chats" ? place.chat : undefined;
  const before = useRef<string>(undefined);
  // Who leaves a chat is back in the list, where they were.
  useEffect(() => {
    if (before.current && !left) document.querySelector<HTMLElement>(`[data-id="${before.current}"]`)?.focus();
    before.current = left;
  }, [left]);
  switch (place.area) {
    case "chats":
      if (place.room) return <RoomPage key={place.room} id={place.room} onBack={goUp} />;
      if (place.channel) return <ChannelPage key={place.channel} at={{ handle: place.channel }} onBack={goUp} />;
      return place.chat ? <ChatPane id={place.chat} info={place.info ?? false} seq={place.seq} onBack={goUp} onOpen={open} /> : <Nothing text="pickChat" />;
    case "notifications":
      return <Nothing text="pickNotification" />;
    case "feed":
      if (place.post) return <PostPage key={place.post} id={place.post} />;
      return place.user ? <PostsPage key={place.user} who={place.user} /> : <Nothing text="pickPost" />;
    case "people":
      if (place.user && place.manages) return <OfficialPage key={place.user} user={place.user} />;
      if (place.organization) return <OrganizationPage key={place.organization} id={place.organization} onOpen={open} />;
      if (place.desk) return <HelpDeskPage key={place.desk} id={place.desk} onOpen={open} />;
      return place.user ? <Person key={place.user} who={place.user} onOpen={open} /> : <Nothing text="pickPerson" />;
    case "settings":
      return <SettingsSection section={place.section ?? "profile"} />;
    default:
      return <Nothing text="noPage" />;
  }
}

function Nothing({ text }: { text: Key }) {
  const t = useText();
  return (
    <main className="chat nothing">
      <img src="/icon.svg" alt="" width="72" height="72" />
      <p>{t(text)}</p>
      {text === "noPage" && <Link href={path.chats} className="button primary">{t("toChats")}</Link>}
    </main>
  );
}
