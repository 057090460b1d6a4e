import { useEffect, useState } from "react";
import { client, useClient } from "../client.js";
import { getLocale, translate, type Translate } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { go, path } from "../routes.js";
import { Attention } from "./attention.js";
import { getChoices } from "./choices.js";
import { Notifier } from "./notifier.js";
import { playTone } from "./tone.js";

const text: Translate = (key, values) => translate(getLocale(), key, values);

/** Notifies of new messages while the app is open. chat is the one that this window shows. */
export function useNotifications(chat: string | undefined): void {
  const { me } = useClient();
  const [attention, setAttention] = useState<Attention>();
  useEffect(() => {
    const started = new Attention(me);
    const notifier = new Notifier({
      client,
      choices: () => ({ ...getChoices(), on: getChoices().on && permission() === "granted" }),
      sees: (c) => started.has(c),
      show,
      play: playTone,
      now: () => performance.now(),
      text,
      titleOf,
      nameOf: (u) => nameOf(client, u, text),
      onOpen: (c, seq) => {
        window.focus();
        go(path.message(c, seq));
      },
    });
    const clear = () => notifier.clear();
    addEventListener("pagehide", clear);
    setAttention(started);
    return () => {
      removeEventListener("pagehide", clear);
      notifier.stop();
      started.close();
    };
  }, [me]);
  useEffect(() => attention?.show(chat), [attention, chat]);
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
