import { isThread, Role, type ConversationView, type Member, type Mentioned, type NamedMention } from "@rialto-im/client";
import { useEffect, useState, type KeyboardEvent, type RefObject } from "react";
import { flushSync } from "react-dom";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { chosenName, typedName, type ChosenNames } from "../mentions.js";
import { nameOf } from "../names.js";
import { useMembers } from "../useMembers.js";
import { useUserSearch } from "./useUserSearch.js";

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
  const typing = useTyping(field, text);
  const group = c.peer === "0" || c.peer === "";
  const choices = useChoices(c, group ? typing.found?.typed : undefined);
  return useChoosing(typing, choices, change, (name, handle, mentioned) => names.choose(name, handle, mentioned));
}

/** Completes the names of people behind an "@" in the text of a post or a comment. What was chosen is kept with the text. */
export function usePostMentioning(field: RefObject<HTMLTextAreaElement | null>, text: string, change: (text: string) => void, names: readonly NamedMention[], setNames: (names: readonly NamedMention[]) => void): Mentioning {
  const typing = useTyping(field, text);
  return useChoosing(typing, usePeople(typing.found?.typed), change, (name, handle, mentioned) => {
    const { label, names: next } = chosenName(names, name, handle, mentioned);
    setNames(next);
    return label;
  });
}

/** The name that is being typed in a field. */
function useTyping(field: RefObject<HTMLTextAreaElement | null>, text: string) {
  const [cursor, setCursor] = useState<number>();
  const found = cursor !== undefined && cursor <= text.length ? typedName(text, cursor) : undefined;
  return { field, text, cursor, setCursor, found };
}

/** Chooses one of the names, with the keyboard or otherwise. take gives the name that stands for a choice. */
function useChoosing({ field, text, cursor, setCursor, found }: ReturnType<typeof useTyping>, choices: readonly Choice[], change: (text: string) => void, take: (name: string, handle: string, mentioned: Mentioned) => string): Mentioning {
  const [active, setActive] = useState(0);
  const at = Math.min(active, choices.length - 1);
  const typed = found?.typed;
  useEffect(() => setActive(0), [typed]);

  const choose = ({ name, handle, user, key }: Choice) => {
    if (!found || cursor === undefined) return;
    const label = take(name, handle, user ? { user } : key === "admins" ? { admins: true } : { everybody: true });
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

/** Whether a word of a name begins with what was typed. Names in a script without spaces are one word. */
function beginningWith(typed: string): (name: string) => boolean {
  const wanted = typed.toLocaleLowerCase();
  return (name) => name.toLocaleLowerCase().split(/\s+/u).some((word) => (isLatin.test(wanted) ? word.startsWith(wanted) : word.includes(wanted)));
}

/** The choice of a user; none while the profile is not known. */
function choiceOf(client: ReturnType<typeof useClient>, user: string): Choice[] {
  const known = client.user(user); // not one's own remark for them: others would read it
  return known && user !== client.me ? [{ key: user, user, name: known.displayName || known.handle, handle: known.handle }] : [];
}

const ignore = () => {}; // without an answer, the names that are known are offered

/** Friends and those whom one follows, and others whom a search finds; none where nothing is being typed. */
export function usePeople(typed: string | undefined): readonly Choice[] {
  const client = useClient();
  const others = useUserSearch(typed ?? "", ignore) ?? [];
  if (typed === undefined) return [];
  const has = beginningWith(typed);
  const known = [...client.relations().values()].filter((r) => (r.friend || r.following) && !r.blocked).flatMap((r) => choiceOf(client, r.user));
  const near = known.filter((o) => [o.name, o.handle, nameOf(client, o.user!)].some(has));
  const rest = others.filter((u) => !near.some((o) => o.user === u.id) && !client.relations().get(u.id)?.blocked).flatMap((u) => choiceOf(client, u.id));
  return [...near, ...rest].slice(0, mostChoices);
}

/** Those of whose name or handle a word begins with what was typed; none where nothing is being typed. */
function useChoices(c: ConversationView, typed: string | undefined): readonly Choice[] {
  const client = useClient();
  const t = useText();
  const members = useGroupMembers(c, typed !== undefined && !c.channel); // not the followers of a channel, who may be a million
  if (typed === undefined) return [];
  const has = beginningWith(typed);
  const people = members.flatMap(({ user }) => choiceOf(client, user));
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
