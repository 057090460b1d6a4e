// A whole client in plain JavaScript, written from docs/protocol.md, for Node 22 (or Node 20 with --experimental-websocket):
//
//   node client.mjs http://127.0.0.1:7070 alice1 "correct horse" CONVERSATION
//
// It sends each line that it reads to CONVERSATION, and prints each message of all conversations once, also those that came while it was away. What must outlive it
// (device, tokens, position, unsent messages, their numbers) is in client-HANDLE.json. It ends when its input has, and all is sent.
// It knows no large groups: what is missing of their messages would have to be read with History. It shows no edits and reactions; a
// message that was recalled has no content.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [url, handle, password, conversation] = process.argv.slice(2);
if (!conversation) usage("usage: node client.mjs URL HANDLE PASSWORD CONVERSATION");
if (typeof WebSocket === "undefined") usage("this program needs Node 22, or Node 20 with --experimental-websocket");
const file = `client-${handle}.json`;
const kept = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { position: {}, count: 0, unsent: [], last: {} };
const save = () => {
  writeFileSync(`${file}.new`, JSON.stringify(kept), { mode: 0o600 });
  renameSync(`${file}.new`, file);
};

async function call(method, body, token) {
  const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  const answer = await fetch(`${url}/rialto.${method}`, { method: "POST", headers, body: JSON.stringify(body) });
  const result = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(result.message), { code: result.code });
  return result;
}

// A token that is good: the one we have, or a refreshed one, or that of a new login on the same device.
async function token() {
  if (kept.session && Date.now() < Number(kept.session.expiresMs) - 60_000) return kept.session.accessToken;
  try {
    kept.session = await call("account.v1.AccountService/Refresh", { refreshToken: kept.session?.refreshToken ?? "" });
  } catch (err) {
    if (err.code !== "unauthenticated") throw err;
    const client = { name: "example", type: "terminal", device: kept.session?.device, deviceKey: kept.session?.deviceKey };
    kept.session = await call("account.v1.AccountService/Login", { handle, password, client });
  }
  save();
  return kept.session.accessToken;
}

let socket, tries = 0, notBefore = 0, inputEnded = false, syncing = false, quiet, silent;
const at = (position) => BigInt(position?.seq ?? 0); // positions are compared by seq alone

async function connect() {
  const { ticket } = await call("account.v1.AccountService/CreateTicket", {}, await token());
  socket = new WebSocket(`${url.replace(/^http/, "ws")}/v1/socket?ticket=${ticket}`, "rialto.v1.json");
  socket.onmessage = (m) => take(JSON.parse(m.data));
  listen();
  socket.onclose = (e) => (e.code >= 4100 ? stop(`the server says: stay away (${e.code} ${e.reason})`) : again());
}

function again() {
  if (socket) socket.onclose = socket.onmessage = null; // its end is not waited for: on a dead path it never comes
  socket?.close();
  socket = undefined;
  clearTimeout(silent);
  setTimeout(() => connect().catch(again), notBefore + Math.random() * Math.min(30_000, 500 * 2 ** tries++));
  notBefore = 0;
}

// A ping goes out after 5 seconds, and is answered at once: where nothing came for 15, the connection is dead, or its node is stopped.
function listen() {
  clearTimeout(silent);
  silent = setTimeout(again, 15_000);
}

function send(frame) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  socket.send(JSON.stringify(frame));
  clearTimeout(quiet); // a ping where nothing else is sent, with some jitter
  quiet = setTimeout(() => send({ ping: {} }), 4000 + 1000 * Math.random());
}

// One sync at a time. What is pushed meanwhile is dropped: the server has it in the last page, or pushes it after that page.
function sync() {
  if (!syncing) send({ request: "1", sync: { after: kept.position } });
  syncing = true;
}

function take(frame) {
  listen();
  if (frame.bye) notBefore = frame.bye.retryMs ?? 0;
  if (frame.hello) {
    tries = 0;
    syncing = false;
    kept.count = Math.max(kept.count, Number(frame.hello.clientSeq ?? 0));
    if (kept.unsent.length > 0) send({ sends: kept.unsent }); // again, oldest first: it is stored once
    if (at(frame.hello.tail) !== at(kept.position)) sync();
    send({ ping: {} });
  }
  for (const event of frame.events ?? []) {
    if (!event.seq) apply(event); // of a large group, which is not in the stream
    else if (syncing || at(event) <= at(kept.position)) continue; // the sync has it, or we do
    else if (BigInt(event.prev ?? 0) !== at(kept.position)) sync(); // something is missing before it
    else {
      apply(event);
      kept.position = { epoch: event.epoch, seq: event.seq };
    }
  }
  if (frame.hint) sync();
  if (frame.request === "1" && (frame.sync || frame.error)) {
    syncing = false;
    for (const event of frame.sync?.events ?? []) apply(event);
    // Only a reset leads back: the server has another stream than we knew.
    if (frame.sync && (frame.sync.reset || at(frame.sync.next) > at(kept.position))) kept.position = frame.sync.next;
    if (frame.error) setTimeout(sync, frame.error.retryMs ?? 1000);
    else if (frame.sync.more) sync();
  }
  for (const receipt of frame.receipts ?? []) {
    if (receipt.error?.retryMs) {
      const message = kept.unsent.find((m) => m.clientSeq === receipt.clientSeq);
      if (message) setTimeout(() => send({ sends: [message] }), receipt.error.retryMs);
      continue;
    }
    if (receipt.error) console.error(`not sent: ${receipt.error.message}`);
    kept.unsent = kept.unsent.filter((m) => m.clientSeq !== receipt.clientSeq);
  }
  save();
  if (inputEnded && kept.unsent.length === 0 && !syncing) stop();
}

// (conversation, seq) is what identifies a message: one that comes again is not shown again.
function apply({ message }) {
  if (!message || message.seq <= (kept.last[message.conversation] ?? 0)) return;
  kept.last[message.conversation] = Number(message.seq);
  const where = message.conversation === conversation ? "" : `(conversation ${message.conversation}) `;
  if (message.content?.text) console.log(`${where}${message.sender}: ${message.content.text}`);
}

function usage(text) {
  console.error(text);
  process.exit(2);
}

function stop(why) {
  if (why) console.error(why);
  process.exit(why ? 1 : 0);
}

await connect().catch((err) => (err.code === "unauthenticated" ? stop(err.message) : again()));
const input = createInterface({ input: process.stdin });
input.on("line", (text) => {
  const message = { conversation, clientSeq: String(++kept.count), content: { text } };
  kept.unsent.push(message);
  save(); // before it is sent: what was sent with a number is sent with that number again
  send({ sends: [message] });
});
input.on("close", () => {
  inputEnded = true;
  if (socket?.readyState === WebSocket.OPEN && kept.unsent.length === 0 && !syncing) stop();
});
