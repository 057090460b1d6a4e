import type { Ticket } from "./gen/rialto/chat/v1/helpdesk_pb.js";
import type { ClientInfo } from "./auth.js";
import type { Format } from "./codec.js";
import type { Content } from "./gen/rialto/chat/v1/message_pb.js";
import type { ChatMessage, JoinRequests } from "./model.js";
import type { WebSocketConstructor } from "./socket.js";
import type { Storage } from "./storage.js";

/** signed-out · connecting: first try · online · polling: no socket, but calls get through · offline. */
export type ConnectionState = "signed-out" | "connecting" | "online" | "polling" | "offline";

export interface ClientOptions {
  /** Address of the deployment, as https://chat.example.com; in a browser, by default, the page's own. */
  url?: string;
  /** What the device keeps: IndexedDB in browsers, memory elsewhere, by default. */
  storage?: Storage;
  format?: Format;
  /** What the session list shows of this device. */
  info?: ClientInfo;
  WebSocket?: WebSocketConstructor;
  fetch?: typeof fetch;
  now?: () => number;
  random?: () => number;
  /**
   * Asks the deployment which of its nodes to connect to, and spreads and fails over among them: for deployments whose nodes have addresses of their own
   * (public.url). Sockets go there, and calls still to url. Off unless set.
   */
  discover?: boolean;
  /** The region that this client is in, one of the operator's, for discover; that of the node that answers unless set. */
  region?: string;
  /** While the page is hidden, pings are sent as rarely as the path to the server allows, which the client finds out. On unless set to false. */
  backgroundHeartbeats?: boolean;
  /** How long a try to connect may take, from its ticket to the server's first word, before the next; 10 s unless set. */
  openTimeoutMs?: number;
  /** After how long without input a browser's window counts as away; 5 minutes unless set. */
  idleMs?: number;
}

/** Options with their defaults. */
export type Resolved = Required<Omit<ClientOptions, "storage">>;

export interface ClientEvents {
  /** Something that snapshots show has changed. Comes at most once per turn of the event loop. */
  change: undefined;
  connection: ConnectionState;
  /**
   * A message of somebody else came by the stream: in order, once; also those sent while this device was away. Not what a new
   * device, or one away for too long, finds in the lists that it starts with; and of large groups only what is pushed.
   */
  message: ChatMessage;
  /** A message was edited, or recalled: then it has no content. */
  updated: { conversation: string; seq: number; content: Content | undefined };
  /** Somebody asked to join a group that this user manages, or was answered. */
  joinRequests: JoinRequests;
  /** A ticket of a help desk changed: the user's own, or one of a desk whose agent the user is. */
  ticket: Ticket;
  /** Posts are new in the home timeline. They may be lost, or come twice, and those of authors with very many followers do not come. */
  posts: { post: string; author: string }[];
  /** Notifications are new, or were read on a device. It may be lost. */
  notifications: undefined;
  /** Moderators have warned the user, or a warning was acknowledged on a device: read warnings(). It may be lost. */
  decisions: undefined;
  /** The login ended: by this user elsewhere, by the server, or by a newer device. */
  ended: { reason: string };
}

export function withDefaults(options: ClientOptions): Resolved {
  const g = globalThis as { location?: { origin: string }; WebSocket?: unknown };
  return {
    url: (options.url ?? g.location?.origin ?? "http://127.0.0.1:7070").replace(/\/$/, ""),
    format: options.format ?? "proto",
    info: options.info ?? { name: "TypeScript SDK", type: "other" },
    WebSocket: options.WebSocket ?? (g.WebSocket as WebSocketConstructor),
    fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
    now: options.now ?? Date.now,
    random: options.random ?? Math.random,
    discover: options.discover ?? false,
    region: options.region ?? "",
    backgroundHeartbeats: options.backgroundHeartbeats ?? true,
    openTimeoutMs: options.openTimeoutMs ?? 10_000,
    idleMs: options.idleMs ?? 300_000,
  };
}
