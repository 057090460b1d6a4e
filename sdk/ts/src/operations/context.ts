import type { Edges } from "../edges.js";
import { RialtoError } from "../errors.js";
import type { Names } from "../names.js";
import type { Resolved } from "../options.js";
import type { People } from "../people.js";
import type { ReaderLists } from "../readers.js";
import type { ShownPosts } from "../shown.js";
import type { Services } from "../services.js";
import type { ClientSession } from "../session.js";
import type { Snapshots } from "../snapshots.js";

/** What the operations of a client work on. */
export interface Context {
  readonly options: Resolved;
  readonly services: Services;
  readonly snapshots: Snapshots;
  readonly people: People;
  readonly names: Names;
  readonly readers: ReaderLists;
  readonly shownPosts: ShownPosts;
  readonly edges: Edges;
  /** The user who is logged in; empty where nobody is. */
  me(): string;
  /** What there is while somebody is logged in. */
  session(): ClientSession | undefined;
}

/** The session, for an operation that makes no sense without one: it fails where nobody is logged in. */
export function sessionOf(client: Context): ClientSession {
  const session = client.session();
  if (!session) throw new RialtoError("unauthenticated", "not logged in", "logged_out");
  return session;
}
