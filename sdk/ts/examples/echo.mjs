// A bot that answers each text with the same text. SERVER, HANDLE and PASSWORD may be given in the environment.
import { Client } from "@rialto-im/client";

const { SERVER: url = "http://127.0.0.1:7070", HANDLE: handle = "echo", PASSWORD: password = "a good password" } = process.env;
// Node before 22 has no WebSocket of its own. Without one the client polls.
const WebSocket = globalThis.WebSocket ?? (await import("ws")).WebSocket;

const client = new Client({ url, WebSocket, info: { name: "Echo", type: "bot" } });
client.on("connection", (state) => console.log(state));
client.on("ended", ({ reason }) => console.error(`signed out: ${reason}`));
client.on("message", (m) => {
  if (m.text) client.sendText(m.conversation, `You said: ${m.text}`).catch(console.error);
});

try {
  await client.register(handle, password, "Echo");
} catch (err) {
  if (err.reason !== "handle_taken") throw err;
  await client.logIn(handle, password);
}
