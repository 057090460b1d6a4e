import type { CustomStatusView } from "./customStatus.js";
import { toUser, type User } from "./model.js";
import type { User as UserPb } from "./gen/rialto/account/v1/account_pb.js";
import { Status, type Presence } from "./gen/rialto/presence/v1/presence_pb.js";

export type PresenceStatus = "offline" | "online" | "away" | "doNotDisturb";

export interface PresenceView {
  status: PresenceStatus;
  /** Connected with any device: the status is not offline. */
  online: boolean;
  lastActiveMs: number;
  /** As the user set it; show it while it lasts only (useCustomStatus does). */
  custom?: CustomStatusView;
}

const statuses: Partial<Record<Status, PresenceStatus>> = { [Status.ONLINE]: "online", [Status.AWAY]: "away", [Status.DO_NOT_DISTURB]: "doNotDisturb" };

/** A custom status while it lasts. */
export function lasting(custom: CustomStatusView | undefined, nowMs: number): CustomStatusView | undefined {
  return custom && (custom.untilMs === 0 || custom.untilMs > nowMs) ? custom : undefined;
}

/** A presence as the API gives it. */
export function toPresence(p: Presence): PresenceView {
  const status = statuses[p.status] ?? "offline";
  const view: PresenceView = { status, online: status !== "offline", lastActiveMs: Number(p.lastActiveMs) };
  if (p.custom) view.custom = { emoji: p.custom.emoji, text: p.custom.text, untilMs: Number(p.custom.untilMs) };
  return view;
}

export interface PeopleDeps {
  now: () => number;
  onChange: () => void;
  getUsers: (ids: string[]) => Promise<readonly UserPb[]>;
  getPresence: (ids: string[]) => Promise<readonly Presence[]>;
  /** Asks for pushes of these users' presence, if there is a socket. */
  watch: (users: string[]) => void;
  /** Stores profiles on the device. */
  store: (users: readonly User[]) => void;
}

const usersFreshMs = 8 * 3_600_000;
const typingShownMs = 4_000;
/** The server's limits: users to watch, and users in one call. */
const mostWatched = 500;
const usersInCall = 200;
/** Without a socket, presence is read this often. */
const presenceEveryMs = 15_000;

/** People is what the client knows of other users: profiles, presence, and who is typing. */
export class People {
  private readonly users = new Map<string, User>();
  private readonly wanted = new Set<string>();
  private readonly presences = new Map<string, PresenceView>();
  private readonly typings = new Map<string, Map<string, number>>();
  private watchedUsers: string[] = [];
  private polledMs = -Infinity;

  constructor(private readonly deps: PeopleDeps) {}

  load(users: readonly User[]): void {
    for (const u of users) this.users.set(u.id, u);
  }

  clear(): void {
    this.users.clear();
    this.presences.clear();
    this.typings.clear();
    this.watchedUsers = [];
    this.polledMs = -Infinity;
  }

  // --- profiles ---

  /** A user, as far as known; fetches one that is not, or no longer fresh. */
  user(id: string): User | undefined {
    const u = this.users.get(id);
    if (id && id !== "0" && (!u || this.deps.now() - u.fetchedMs > usersFreshMs)) this.want(id);
    return u;
  }

  take(users: readonly UserPb[]): void {
    if (users.length === 0) return;
    const now = this.deps.now();
    const list = users.map((u) => toUser(u, now));
    this.load(list);
    this.deps.store(list);
    this.deps.onChange();
  }

  /** The profile changed: what is known stays on view until the new one is here. */
  stale(id: string): void {
    const u = this.users.get(id);
    if (!u) return;
    const stale = { ...u, fetchedMs: 0 };
    this.users.set(id, stale);
    this.deps.store([stale]);
  }

  /** Fetches a profile, together with others that are wanted at this moment. */
  want(id: string): void {
    if (this.wanted.size === 0) setTimeout(() => void this.fetch(), 10);
    this.wanted.add(id);
  }

  private async fetch(): Promise<void> {
    const ids = [...this.wanted];
    this.wanted.clear();
    for (let i = 0; i < ids.length; i += usersInCall) {
      try {
        this.take(await this.deps.getUsers(ids.slice(i, i + usersInCall)));
      } catch {
        // Fetched when they are shown again.
      }
    }
  }

  // --- presence ---

  get watched(): readonly string[] {
    return this.watchedUsers;
  }

  presence(user: string): PresenceView | undefined {
    return this.presences.get(user);
  }

  /** Replaces the set of users whose presence is wanted. */
  watch(users: readonly string[]): void {
    const next = [...new Set(users)].sort().slice(0, mostWatched);
    if (next.length === this.watchedUsers.length && next.every((u, i) => u === this.watchedUsers[i])) return;
    this.watchedUsers = next;
    this.polledMs = -Infinity;
    this.deps.watch(next);
  }

  takePresences(list: readonly Presence[]): void {
    for (const p of list) this.presences.set(p.user, toPresence(p));
    if (list.length > 0) this.deps.onChange();
  }

  /** Reads the presence of users who are not watched, as of the members in view: at most 200 in a call. */
  async readPresence(users: readonly string[]): Promise<void> {
    const unwatched = users.filter((u) => !this.watchedUsers.includes(u));
    for (let i = 0; i < unwatched.length; i += usersInCall) this.takePresences(await this.deps.getPresence(unwatched.slice(i, i + usersInCall)));
  }

  /** Reads the presence of the watched users by calls, for a client without a socket. */
  async pollPresence(): Promise<void> {
    const now = this.deps.now();
    if (now - this.polledMs < presenceEveryMs) return;
    this.polledMs = now;
    for (let i = 0; i < this.watchedUsers.length; i += usersInCall) {
      this.takePresences(await this.deps.getPresence(this.watchedUsers.slice(i, i + usersInCall)));
    }
  }

  /** What was known may be wrong by now. */
  forgetPresence(): void {
    this.presences.clear();
    this.polledMs = -Infinity;
    this.deps.onChange();
  }

  // --- typing ---

  typing(conversation: string): string[] {
    return [...(this.typings.get(conversation)?.keys() ?? [])];
  }

  typed(conversation: string, user: string): void {
    let of = this.typings.get(conversation);
    if (!of) this.typings.set(conversation, (of = new Map()));
    const at = this.deps.now();
    of.set(user, at);
    setTimeout(() => {
      if (of.get(user) === at) of.delete(user);
      this.deps.onChange();
    }, typingShownMs);
    this.deps.onChange();
  }

  wrote(conversation: string, user: string): void {
    this.typings.get(conversation)?.delete(user);
  }
}
