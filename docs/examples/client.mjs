// A whole client in plain JavaScript, written from docs/protocol.md, for Node 22 (or Node 20 with --experimental-websocket):
//
//   node client.mjs http://127.0.0.1:7070 alice1 "correct horse" CONVERSATION
//
// It sends each line that it reads, and prints each message once, also those that came while it was away. What must outlive it
// (device, tokens, position, unsent messages, their numbers) is in client-HANDLE.json. It ends when its input has, and all is sent.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [url, handle, password, conversation] = process.argv.slice(2);
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
    const client = { name: "example", type: "terminal", device: kept.session?.device };
    kept.session = await call("account.v1.AccountService/Login", { handle, password, client });
  }
  save();
  return kept.session.accessToken;
}

let socket, tries = 0, inputEnded = false, syncing = false, quiet;

async function connect() {
  const { ticket } = await call("account.v1.AccountService/CreateTicket", {}, await token());
  socket = new WebSocket(`${url.replace(/^http/, "ws")}/v1/socket?ticket=${ticket}`, "rialto.v1.json");
  socket.onmessage = (m) => take(JSON.parse(m.data));
  socket.onclose = (e) => (e.code >= 4100 ? stop(`the server says: stay away (${e.code} ${e.reason})`) : again());
}

function again() {
  socket = undefined;
  setTimeout(() => connect().catch(again), Math.random() * Math.min(30_000, 500 * 2 ** tries++));
}

function send(frame) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  socket.send(JSON.stringify(frame));
  clearTimeout(quiet); // a ping where nothing else is sent, with some jitter
  quiet = setTimeout(() => send({ ping: {} }), 4000 + 1000 * Math.random());
}

function sync() {
  if (!syncing) send({ request: "1", sync: { after: kept.position } });
  syncing = true;
}

function take(frame) {
  if (frame.hello) {
    tries = 0;
    syncing = false;
    kept.count = Math.max(kept.count, Number(frame.hello.clientSeq ?? 0));
    if (kept.unsent.length > 0) send({ sends: kept.unsent }); // again, oldest first: it is stored once
    if ((frame.hello.tail?.seq ?? "0") !== (kept.position.seq ?? "0")) sync();
    send({ ping: {} });
  }
  if (frame.sync) {
    syncing = false;
    for (const event of frame.sync.events ?? []) apply(event);
    kept.position = frame.sync.next;
    if (frame.sync.more) sync();
  }
  for (const event of frame.events ?? []) {
    if (!event.seq) apply(event); // of a large group, which is not in the stream
    else if (BigInt(event.seq) <= BigInt(kept.position.seq ?? 0)) continue; // we have it
    else if ((event.prev ?? "0") !== (kept.position.seq ?? "0")) sync(); // something is missing before it
    else {
      apply(event);
      kept.position = { epoch: event.epoch, seq: event.seq };
    }
  }
  if (frame.hint) sync();
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
  if (message.content.text) console.log(`${message.sender}: ${message.content.text}`);
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
