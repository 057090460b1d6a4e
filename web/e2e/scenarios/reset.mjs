// An email address in the account, and a new password by a code that is sent there.
import { createServer } from "node:net";
import { once } from "node:events";
import { confirm } from "../harness.mjs";

/** Takes emails as an SMTP server does, and gives the text of each. */
function mailServer() {
  const waiting = [], texts = [];
  const server = createServer((socket) => {
    let text = "", inText = false, rest = "";
    socket.setEncoding("utf8");
    socket.on("error", () => {}); // the client may close first
    socket.write("220 test\r\n");
    socket.on("data", (part) => {
      const lines = (rest + part).split("\r\n");
      rest = lines.pop();
      for (const line of lines) {
        if (inText && line === ".") {
          inText = false;
          const next = waiting.shift();
          if (next) next(text);
          else texts.push(text);
          text = "";
          socket.write("250 taken\r\n");
        } else if (inText) text += `${line}\n`;
        else if (line === "DATA") socket.write("354 go on\r\n", () => {}), (inText = true);
        else socket.write(line === "QUIT" ? "221 bye\r\n" : "250 ok\r\n");
      }
    });
  });
  const next = () => (texts.length > 0 ? Promise.resolve(texts.shift()) : new Promise((resolve) => waiting.push(resolve)));
  return { server, code: async () => /[0-9A-Z]{4}-[0-9A-Z]{4}/.exec(await next())[0], notice: next };
}

export default async function reset(w) {
  const { server, code, notice } = mailServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await w.ownServer("--set", `account.smtp.address=127.0.0.1:${server.address().port}`, "--set", "account.smtp.from=chat@example.com", "--set", "account.smtp.tls=none");
    const alice = await w.person("alice", "Alice");
    const { page } = alice;

    w.step("an email address is confirmed by a code");
    await page.goto(`${w.url}/settings/security`);
    const main = page.getByRole("main", { name: "Account protection" });
    await main.getByLabel("Email address").fill("alice@example.org");
    await main.getByRole("button", { name: "Send a code" }).click();
    await main.getByLabel("Code that was sent to you").fill("0000-0000");
    await main.getByRole("button", { name: "Confirm address" }).click();
    await main.getByRole("alert").getByText("This code is wrong or has expired").waitFor();
    await main.getByLabel("Code that was sent to you").fill(await code());
    await main.getByRole("button", { name: "Confirm address" }).click();
    await main.getByText("alice@example.org").waitFor();
    await w.shot(page, "46-contacts");

    w.step("who forgot the password sets a new one, and is signed out elsewhere");
    const other = await w.page();
    await other.getByRole("button", { name: "I forgot my password" }).click();
    await other.getByLabel("Handle").fill(alice.handle);
    await other.getByRole("button", { name: "Send a code" }).click();
    await other.getByLabel("Code").waitFor();
    await w.shot(other, "47-reset");
    await other.getByLabel("Code").fill("0000-0000");
    await other.locator("input[name=password]").fill("quite another one");
    await other.getByRole("button", { name: "Set the new password" }).click();
    await other.getByRole("alert").getByText("This code is wrong or has expired").waitFor();
    await other.getByLabel("Code").fill(await code());
    await other.getByRole("button", { name: "Set the new password" }).click();
    await other.getByTestId("tab-chats").waitFor();
    await page.getByText("You were signed out").waitFor();
    await notice();

    w.step("the address is removed, and told so");
    await other.goto(`${w.url}/settings/security`);
    await other.getByRole("button", { name: "Remove" }).click();
    await confirm(other, "Remove");
    await other.getByLabel("Email address").waitFor();
    await notice();
  } finally {
    server.close();
  }
}
