import { useEffect, useState } from "react";
import { client, useClient } from "../client.js";
import { getLocale, translate, type Translate } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { go, path } from "../routes.js";
import { Attention } from "./attention.js";
import { getChoices } from "./choices.js";
import { DeskNotifier } from "./deskNotifier.js";
import { Notifier } from "./notifier.js";
import { openPushed, renewPush } from "./push.js";
import { playTone } from "./tone.js";

const text: Translate = (key, values) => translate(getLocale(), key, values);

/** Notifies of new messages, and agents of waiting tickets, while the app is open. shown is the chat or help desk that this window shows. */
export function useNotifications(shown: string | undefined): void {
  const { me } = useClient();
  const [attention, setAttention] = useState<Attention>();
  useEffect(() => {
    const started = new Attention(me);
    const shared = { client, choices: () => ({ ...getChoices(), on: getChoices().on && permission() === "granted" }), sees: (id: string) => started.has(id), show, text };
    const notifier = new Notifier({
      ...shared,
      play: playTone,
      now: () => performance.now(),
      titleOf,
      nameOf: (u) => nameOf(client, u, text),
      onOpen: (c, seq) => focusAt(path.message(c, seq)),
    });
    const desks = new DeskNotifier({ ...shared, playTone: () => notifier.playTone(), onOpen: (d) => focusAt(path.desk(d)) });
    const clear = () => {
      notifier.clear();
      desks.clear();
    };
    addEventListener("pagehide", clear);
    setAttention(started);
    return () => {
      removeEventListener("pagehide", clear);
      notifier.stop();
      desks.stop();
      started.close();
    };
  }, [me]);
  useEffect(() => {
    renewPush();
    return openPushed();
  }, [me]);
  useEffect(() => attention?.show(shown), [attention, shown]);
}

function focusAt(place: string): void {
  window.focus();
  go(place);
}

/** What the browser allows; undefined where it has no notifications. */
export function permission(): NotificationPermission | undefined {
  return typeof Notification === "undefined" ? undefined : Notification.permission;
}

const nothing = { close: () => {}, onclick: null };

function show(title: string, options: NotificationOptions): Pick<Notification, "close" | "onclick"> {
  try {
    return new Notification(title, options);
  } catch {
    return nothing; // phones have only those of service workers
  }
}
