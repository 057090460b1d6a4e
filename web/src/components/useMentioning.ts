import { isThread, Role, type ConversationView, type Member } from "@rialto-im/client";
import { useEffect, useState, type KeyboardEvent, type RefObject } from "react";
import { flushSync } from "react-dom";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { ChosenNames, typedName } from "../mentions.js";
import { nameOf } from "../names.js";
import { useMembers } from "../useMembers.js";

/** Somebody to choose: a member, the admins, or everybody. */
export interface Choice {
  key: string;
  /** A member's id; undefined of a role and of everybody. */
  user?: string;
  name: string;
  handle: string;
}

/** So many choices are shown at most. */
const mostChoices = 8;

export interface Mentioning {
  readonly choices: readonly Choice[];
  readonly active: number;
  readonly choose: (choice: Choice) => void;
  /** Handles a key while there are choices; false where it is none of its keys. */
  readonly key: (e: KeyboardEvent) => boolean;
  /** Tell it where the cursor is after each change. */
  readonly moved: () => void;
}

/** Completes the names of a group's members behind an "@" in a field. */
export function useMentioning(written: ConversationView, field: RefObject<HTMLTextAreaElement | null>, text: string, change: (text: string) => void, names: ChosenNames): Mentioning {
  const client = useClient();
  // In a thread, all members of its conversation can be mentioned.
  const c = (isThread(written) && client.conversation(written.parent)) || written;
  const [cursor, setCursor] = useState<number>();
  const [active, setActive] = useState(0);
  const group = c.peer === "0" || c.peer === "";
  const found = group && cursor !== undefined && cursor <= text.length ? typedName(text, cursor) : undefined;
  const choices = useChoices(c, found?.typed);
  const at = Math.min(active, choices.length - 1);
  const typed = found?.typed;
  useEffect(() => setActive(0), [typed]);

  const choose = ({ name, handle, user, key }: Choice) => {
    if (!found || cursor === undefined) return;
    const label = names.choose(name, handle, user ? { user } : key === "admins" ? { admins: true } : { everybody: true });
    flushSync(() => {
      change(`${text.slice(0, found.start)}${label} ${text.slice(cursor).replace(/^ /, "")}`);
      setCursor(undefined);
    });
    // Not with the next frame: more may be typed before it.
    const end = found.start + label.length + 1;
    field.current?.focus();
    field.current?.setSelectionRange(end, end);
  };
  const key = (e: KeyboardEvent): boolean => {
    const chosen = choices[at];
    if (!chosen || e.nativeEvent.isComposing) return false; // an input method has these keys
    switch (e.key) {
      case "ArrowDown":
      case "ArrowUp":
        setActive((at + (e.key === "ArrowDown" ? 1 : choices.length - 1)) % choices.length);
        break;
      case "Enter":
      case "Tab":
        if (e.shiftKey) return false;
        choose(chosen);
        break;
      case "Escape":
        setCursor(undefined);
        break;
      default:
        return false;
    }
    e.preventDefault();
    return true;
  };
  return { choices, active: at, choose, key, moved: () => setCursor(field.current?.selectionStart ?? undefined) };
}

const isLatin = /^\p{Script=Latin}*$/u;

/** Those of whose name or handle a word begins with what was typed; none where nothing is being typed. */
function useChoices(c: ConversationView, typed: string | undefined): readonly Choice[] {
  const client = useClient();
  const t = useText();
  const members = useGroupMembers(c, typed !== undefined && !c.channel); // not the followers of a channel, who may be a million
  if (typed === undefined) return [];
  const wanted = typed.toLocaleLowerCase();
  // A word begins with it. Names in a script without spaces are one word.
  const has = (name: string) => name.toLocaleLowerCase().split(/\s+/u).some((word) => (isLatin.test(wanted) ? word.startsWith(wanted) : word.includes(wanted)));
  const people = members.flatMap(({ user }): Choice[] => {
    const known = client.user(user); // not one's own remark for them: others would read it
    return known && user !== client.me ? [{ key: user, user, name: known.displayName || known.handle, handle: known.handle }] : [];
  });
  const roles: Choice[] = [{ key: "admins", name: t("mentionAdmins"), handle: "admins" }];
  if (c.role >= Role.ADMIN) roles.unshift({ key: "everybody", name: t("mentionEverybody"), handle: "everybody" });
  const matches = (o: Choice) => [o.name, o.handle, o.user ? nameOf(client, o.user) : ""].some(has);
  return [...people, ...roles].filter(matches).slice(0, mostChoices);
}

const nobody: readonly Member[] = [];

/** Of larger groups, so many members can be chosen. */
const mostMembers = 2_000;

/** The members of a group, read when they are needed first. */
function useGroupMembers(c: ConversationView, wanted: boolean): readonly Member[] {
  const { run } = useAction();
  const [used, setUsed] = useState(false);
  if (wanted && !used) setUsed(true);
  const { members, complete, rest } = useMembers(c, run, used);
  useEffect(() => {
    if (used && !complete && members.length > 0 && members.length < mostMembers) rest(mostMembers);
  }, [used, complete, members.length, rest]);
  return used ? members : nobody;
}
