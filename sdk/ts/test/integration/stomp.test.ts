import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Client } from "@stomp/stompjs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Server } from "./server.js";

let server: Server;

beforeEach(async () => {
  server = await Server.start("stomp.websocket=true");
});
afterEach(() => server.stop());

async function call<T>(method: string, body: object, token = ""): Promise<T> {
  const r = await fetch(`${server.url}/rialto.${method}`, { method: "POST", headers: { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) }, body: JSON.stringify(body) });
  const answer = await r.json();
  if (!r.ok) throw new Error(`${method}: ${JSON.stringify(answer)}`);
  return answer as T;
}

const register = (handle: string) => call<{ user: string; accessToken: string }>("account.v1.AccountService/Register", { handle, password: "a good password", displayName: handle });

// The program of docs/stomp.md, with a client of STOMP that is not ours, chats with another one.
test("the page's program sends, gets its receipt, and gets messages", async () => {
  const alice = await register("alice");
  const bob = await register("bob");
  const { id } = await call<{ id: string }>("chat.v1.ChatService/OpenDirect", { user: bob.user }, alice.accessToken);
  const url = server.url.replace("http", "ws") + "/v1/stomp";

  const page = readFileSync(new URL("../../../../docs/stomp.md", import.meta.url), "utf8");
  const folder = mkdtempSync(new URL("./stomp-", import.meta.url).pathname); // modules are found from here
  writeFileSync(`${folder}/client.mjs`, /```js\n([^]*?)```/.exec(page)![1]!);
  const program = spawn(process.execPath, [`${folder}/client.mjs`, url, alice.accessToken, id], { stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise((resolve) => program.once("exit", resolve));
  const lines = createInterface(program.stdout)[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);

  const got: string[] = [];
  const errors: string[] = [];
  const client = new Client({ webSocketFactory: () => new WebSocket(url, ["v12.stomp"]), connectHeaders: { passcode: bob.accessToken }, reconnectDelay: 0 });
  try {
    const first = [await next(), await next()].sort();
    expect(first[0]).toBe(`message: ${alice.user} hello: 你好`);
    expect(first[1]).toMatch(/^stored: [0-9A-Z-]{19}$/);

    await new Promise<void>((resolve) => {
      client.onConnect = () => {
        client.subscribe(`/conversation/${id}`, (m) => {
          if (m.headers["content-type"] === "text/plain") got.push(m.body);
          if (got.length === 2) resolve();
        }, { after: "0" });
        client.publish({ destination: `/conversation/${id}`, body: "answer\n2 👋🏽", headers: { "client-msg-id": "a" } });
      };
      client.activate();
    });
    expect(got).toEqual(["hello: 你好", "answer\n2 👋🏽"]);
    expect(await next()).toBe(`message: ${bob.user} answer`); // its second line follows
    expect(await next()).toBe("2 👋🏽");

    await new Promise<void>((resolve) => {
      client.onStompError = (frame) => {
        errors.push(frame.headers["reason"] ?? "", frame.headers["receipt-id"] ?? "");
        resolve();
      };
      client.publish({ destination: "/conversation/1", body: "x", headers: { receipt: "r" } });
    });
    expect(errors).toEqual(["no_conversation", "r"]);
  } finally {
    program.kill();
    await gone;
    await client.deactivate();
    rmSync(folder, { recursive: true });
  }
});
