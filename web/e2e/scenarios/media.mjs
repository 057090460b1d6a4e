// Files that come from an origin of their own (media.origin): they are uploaded and shown, past the page's Content-Security-Policy.
import { message, picture, row, say, sendFile } from "../harness.mjs";

export default async function media(w) {
  await w.ownServer("--set", "media.origin=http://localhost:PORT"); // the page's is 127.0.0.1: another origin, and another site
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob");
  await w.befriend(alice, bob);
  await w.direct(alice, bob);
  const [a, b] = [alice.page, bob.page];

  w.step("a picture in a chat");
  await row(a, "Bob").click();
  await say(a, "look");
  await sendFile(a, { name: "sunset.png", mimeType: "image/png", buffer: await picture(a) });
  await row(b, "Alice").click();
  await message(b, "look").waitFor();
  await b.getByTestId("image").waitFor();
  await b.waitForFunction(() => document.querySelector('[data-testid="image"]').naturalWidth > 0);

  w.step("a profile picture");
  await a.getByTestId("tab-settings").click();
  await a.locator(".settings input[type=file]").setInputFiles({ name: "me.png", mimeType: "image/png", buffer: await picture(a) });
  await a.waitForFunction(() => document.querySelector(".rail .avatar img")?.naturalWidth > 0);
}
