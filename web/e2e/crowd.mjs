// Thousands of users, conversations and messages, made by an API key: without passwords to hash, and without limits.
import { call } from "./harness.mjs";

const atOnce = 16;

/** Calls work for 0 to n - 1, some at a time; resolves to the results in order. */
async function times(n, work) {
  const results = new Array(n);
  let next = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < n) {
      const i = next++;
      results[i] = await work(i);
    }
  }));
  return results;
}

export class Crowd {
  constructor(url, key) {
    this.url = url;
    this.key = key;
  }

  as(user, method, body) {
    return call(this.url, method, body, this.key, user);
  }

  /** Users 1 to n; resolves to their ids. */
  users(n) {
    return times(n, async (i) => (await this.as(undefined, "account.v1.AdminService/PutUser", { externalId: `crowd-${i}`, displayName: `Person ${i + 1}` })).id);
  }

  /** Each writes to somebody, the first one last; resolves to the conversations. */
  async write(users, to) {
    const ids = await times(users.length, async (i) => (await this.as(users[i], "chat.v1.ChatService/OpenDirect", { user: to })).id);
    for (let i = users.length - 1; i >= 0; i--) await this.say(users[i], ids[i], `hello from ${i + 1}`);
    return ids;
  }

  say(user, conversation, text) {
    return this.as(user, "chat.v1.ChatService/Send", { conversation, clientMsgId: `${conversation}-${text}`, content: { text } });
  }

  /** A group of an owner and these users. */
  async group(owner, title, users) {
    const { id } = await this.as(owner, "chat.v1.ChatService/CreateGroup", { title, members: [] });
    for (let i = 0; i < users.length; i += 500) await this.as(owner, "chat.v1.ChatService/Invite", { conversation: id, users: users.slice(i, i + 500) });
    return id;
  }
}
