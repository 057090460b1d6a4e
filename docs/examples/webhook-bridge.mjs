// A bridge in plain JavaScript, for Node 20: a group is linked with a room of a system that knows webhooks only, such as Mattermost, Rocket.Chat or a ticket system.
//
//   RIALTO_KEY=rk_… INCOMING_URL=https://chat.example.com/hooks/… OUTGOING_TOKEN=… OWN_USER=rialto ROOM=support PORT=8090 node webhook-bridge.mjs https://rialto.example.com
//
// - What is written in the group is posted to the room's incoming webhook, INCOMING_URL: {"username": "Alice", "text": "hello"}.
// - The room's outgoing webhook posts what is written there to PORT on this machine: {"token": …, "post_id": …, "user_id": …, "user_name": "eve", "text": "hello"}.
//   As JSON or as a form; the id may be message_id as well. OUTGOING_TOKEN is its token, and OWN_USER the user_id of what came by the incoming webhook, which does not go back. Put it behind a proxy with TLS.
//
// It stores nothing. A post is answered with 200 once Rialto has stored it, so a system that repeats failed calls loses nothing, and the id of the post keeps repetitions apart.
// To the room a message comes twice if the program ends after it was posted, and before Rialto has the report: incoming webhooks have no ids.
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const [url] = process.argv.slice(2);
const { RIALTO_KEY, INCOMING_URL, OUTGOING_TOKEN, OWN_USER, ROOM, PORT } = process.env;
if (!url || !RIALTO_KEY || !INCOMING_URL || !OUTGOING_TOKEN || !ROOM || !PORT) {
  console.error("give the address of Rialto, and RIALTO_KEY, INCOMING_URL, OUTGOING_TOKEN, ROOM and PORT in the environment");
  process.exit(2);
}

async function call(method, body) {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${RIALTO_KEY}` };
  const answer = await fetch(`${url}/rialto.${method}`, { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(60_000) });
  const result = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(result.message), { code: result.code });
  return result;
}
// What Rialto refuses for good is not tried again.
const isRefused = (err) => ["invalid_argument", "not_found", "permission_denied", "already_exists"].includes(err.code);

// The conversation that is linked with ROOM; others are told that this bridge has one room. announced is the one that was printed last.
let conversation, announced;
async function readLinks() {
  conversation = undefined;
  for (let after = "0", more = true; more; ) {
    const page = await call("bridge.v1.BridgeService/ListLinkedConversations", { limit: 200, after });
    for (const link of page.links ?? []) {
      after = link.conversation;
      const ours = link.address === ROOM;
      if (link.state === "BRIDGE_LINK_STATE_PENDING") {
        const answer = ours ? { state: "BRIDGE_LINK_STATE_ACTIVE" } : { state: "BRIDGE_LINK_STATE_REFUSED", reason: "no_room", text: `The bridge has one room, ${ROOM}.` };
        await call("bridge.v1.BridgeService/ReportBridgeLink", { conversation: link.conversation, ...answer });
      }
      if (ours && link.state !== "BRIDGE_LINK_STATE_REFUSED") conversation = link.conversation;
    }
    more = page.more;
  }
  if (conversation && conversation !== announced) console.log(`conversation ${conversation} is linked with ${ROOM}`);
  announced = conversation;
}

// From the room. Systems post JSON or a form, and name the id of a post differently. Only a post with the token of the outgoing webhook is one.
const parse = (body) => (body.trimStart().startsWith("{") ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body)));
const digest = (text) => createHash("sha256").update(String(text)).digest();
async function received(post) {
  if (!timingSafeEqual(digest(post.token), digest(OUTGOING_TOKEN))) return 403;
  const id = post.post_id ?? post.message_id;
  if (!post.user_id) throw new SyntaxError("it has no user_id");
  if (String(post.user_id) === OWN_USER || !post.text) return 200;
  if (!id) throw new SyntaxError("it has no post_id and no message_id");
  if (!conversation) await readLinks();
  if (!conversation) return 200;
  try {
    const sender = { address: String(post.user_id), name: String(post.user_name ?? "").slice(0, 64) };
    await call("bridge.v1.BridgeService/SendBridgedMessage", { conversation, externalId: String(id), sender, text: String(post.text) });
  } catch (err) {
    if (!isRefused(err)) throw err;
    console.error(`post ${id} is refused: ${err.message}`);
  }
  return 200;
}

const maxBody = 1_000_000;
createServer(async (request, response) => {
  let status = 400;
  try {
    let body = "";
    for await (const part of request.setEncoding("utf8")) if ((body += part).length > maxBody) throw new SyntaxError("the post is too large");
    status = await received(parse(body));
  } catch (err) {
    if (!(err instanceof SyntaxError)) status = 503; // Rialto cannot be reached: the other system may repeat it
    console.error(`a post is not stored: ${err.message}`);
  }
  response.writeHead(status).end();
}).listen(Number(PORT), "127.0.0.1", () => console.log(`posts of the room are received at http://127.0.0.1:${PORT}`));

// To the room. An answer that says that the request is wrong is a refusal; anything else is tried again.
const names = new Map();
async function nameOf(user) {
  if (names.size > 10_000) names.clear();
  if (!names.has(user)) names.set(user, (await call("account.v1.AccountService/GetUsers", { users: [user] })).users?.[0]?.displayName ?? "somebody");
  return names.get(user);
}

async function deliver(event) {
  if (event.kind !== "EVENT_KIND_MESSAGE") return readLinks();
  if (event.conversation !== conversation) await readLinks();
  const { content, sender, bridgeDeliveries } = event.message;
  if (event.conversation !== conversation || !content || bridgeDeliveries?.some((d) => d.bridge === bridge.name)) return;
  let report = { externalId: event.id };
  if (content.text) {
    const body = JSON.stringify({ username: await nameOf(sender), text: content.text });
    const answer = await fetch(INCOMING_URL, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal: AbortSignal.timeout(30_000) });
    if (answer.status >= 500 || [408, 429].includes(answer.status)) throw new Error(`the room answers ${answer.status}`);
    if (!answer.ok) report = { reason: "refused", text: (await answer.text()).replace(/\s+/g, " ").slice(0, 200) };
  } else report = { reason: "not_carried", text: "Only texts are carried." };
  await call("bridge.v1.BridgeService/ReportDelivery", { conversation: event.conversation, seq: event.seq, ...report }).catch((err) => {
    if (!isRefused(err)) throw err; // the message has expired, or the link was ended
  });
}

const again = async (what, work) => {
  for (let pause = 500; ; pause = Math.min(2 * pause, 30_000)) {
    try {
      return await work();
    } catch (err) {
      console.error(`${what} is tried again: ${err.message}`);
      await sleep(pause);
    }
  }
};

const bridge = await call("bridge.v1.BridgeService/PutBridge", { displayName: ROOM });
await call("event.v1.ServerEventService/PutEventConsumer", { consumer: { name: bridge.name, kinds: ["EVENT_KIND_MESSAGE", "EVENT_KIND_MEMBER_JOINED"] } });
await again("reading the links", readLinks);
for (let cursor = ""; ; ) {
  const page = await again("pulling events", () => call("event.v1.ServerEventService/PullEvents", { consumer: bridge.name, cursor, limit: 50, waitMs: 20_000 }));
  for (const event of page.events ?? []) await again(`event ${event.id}`, () => deliver(event));
  cursor = page.cursor;
  await again("confirming events", () => call("event.v1.ServerEventService/ConfirmEvents", { consumer: bridge.name, cursor }));
}
