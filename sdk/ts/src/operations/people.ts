import { RialtoError } from "../errors.js";
import type { User as UserPb } from "../gen/rialto/account/v1/account_pb.js";
import type { Relation, User } from "../model.js";
import type { Replica } from "../replica.js";
import { noRelations } from "../snapshots.js";
import { sessionOf, type Context } from "./context.js";

/** Other users: their profiles, and how the user stands with them. */
export function people(client: Context) {
  return {
    /** A user, as far as known. One that is not known, or no longer fresh, is fetched. */
    user(id: string): User | undefined {
      return client.people.user(id);
    },

    /** A user's name: your remark for them, or the name they gave themselves; empty until it is known. */
    nameOf(user: string): string {
      return client.names.of(user);
    },

    /** The user with a handle. */
    findUser(handle: string): Promise<User> {
      return findUser(client, handle);
    },

    /** Keeps users that came with another answer, as of a search. */
    takeUsers(users: readonly UserPb[]): void {
      client.people.take(users);
    },

    /** Fetches a user again, for instance when the picture cannot be loaded because it was replaced. */
    refreshUser(id: string): void {
      client.people.want(id);
    },

    /** Friends, requests and blocks, by user. */
    relations(): ReadonlyMap<string, Relation> {
      return client.session()?.replica.data.relations ?? noRelations;
    },

    /** Shows the answer of a call of graph at once. The stream brings the same a moment later. */
    async relate(call: Promise<Parameters<Replica["takeRelation"]>[0]>): Promise<void> {
      const { replica } = sessionOf(client);
      replica.takeRelation(await call);
    },
  };
}

/** Fetches the user with a handle. */
export async function findUser(client: Context, handle: string): Promise<User> {
  const { users } = await client.services.account.getUsers({ handles: [handle] });
  const found = users[0];
  if (!found) throw new RialtoError("not_found", `nobody has the handle ${handle}`, "no_user");
  client.people.take([found]);
  return client.people.user(found.id)!;
}
