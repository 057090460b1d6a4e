import { Action, ReportedKind, type User } from "./calls.js";
import type { Key, Translate } from "./text.js";

/** The users that an answer names, by their ids. */
export type Names = ReadonlyMap<string, Named>;

type Named = Pick<User, "id" | "handle" | "displayName" | "deleted">;

export function namesIn(users: readonly Named[]): Names {
  return new Map(users.map((u) => [u.id, u]));
}

/** A user as moderators read it: with name, handle and id, or with the id alone if nobody has it. */
export function userText(t: Translate, names: Names, id: string): string {
  const user = names.get(id);
  if (!user) return id;
  if (user.deleted) return t("namedDeleted", { id });
  return t("named", { name: `\u2068${user.displayName}\u2069`, handle: user.handle, id }); // names may be written from right to left
}

/** The titles of cases, by what was reported. {user} is whom a case is about. */
export const caseTitles: Record<ReportedKind, Key> = {
  [ReportedKind.UNSPECIFIED]: "none",
  [ReportedKind.MESSAGE]: "caseMessage",
  [ReportedKind.POST]: "casePost",
  [ReportedKind.COMMENT]: "caseComment",
  [ReportedKind.USER]: "caseUser",
  [ReportedKind.GROUP]: "caseGroup",
  [ReportedKind.HELD]: "caseHeld",
};

/** What may be decided about each kind of thing. */
export function actionsOf(kind: ReportedKind): Action[] {
  switch (kind) {
    case ReportedKind.MESSAGE:
      return [Action.DISMISS, Action.RECALL, Action.WARN, Action.LIMIT, Action.BAN];
    case ReportedKind.POST:
    case ReportedKind.COMMENT:
      return [Action.DISMISS, Action.HIDE, Action.WARN, Action.LIMIT, Action.BAN];
    case ReportedKind.USER:
      return [Action.DISMISS, Action.WARN, Action.LIMIT, Action.BAN];
    case ReportedKind.HELD:
      return [Action.DISMISS, Action.REFUSE, Action.WARN, Action.LIMIT, Action.BAN];
    default:
      return [Action.DISMISS];
  }
}

const day = 24 * 60 * 60 * 1000;
export const lengths: [Key, number][] = [["hours24", day], ["days7", 7 * day], ["days30", 30 * day], ["forEver", 0]];
export const allReasons = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/** Whether an action has a length. */
export const hasLength = (a: Action): boolean => a === Action.BAN || a === Action.LIMIT;

/** When a ban or a limit of a length ends; 0: never. */
export function endOf(length: number): bigint {
  return BigInt(length === 0 ? 0 : Date.now() + length);
}
