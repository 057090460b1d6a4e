// Texts as Markdown, and previews of links.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { choose, message, picture, row } from "../harness.mjs";

export default async function links(w) {
  const site = await openSite();
  try {
    await w.ownServer("--set", `link_previews.internal_hosts=${site.host}`, "--set", "chat.map_url=https://map.invalid/?lat={latitude}&lon={longitude}");
    await chat(w, site);
  } finally {
    site.close();
  }
}

async function chat(w, site) {
  const alice = await w.person("alice", "Alice", { permissions: ["clipboard-read", "clipboard-write"] });
  const bob = await w.person("bob", "Bob");
  await w.befriend(alice, bob);
  const conversation = await w.direct(alice, bob);
  const [a, b] = [alice.page, bob.page];
  await row(a, "Bob").click();
  const field = a.getByTestId("composer");

  w.step("keys put marks around what is selected, and all see the text without them");
  await field.fill("some words");
  await field.evaluate((el) => el.setSelectionRange(5, 10));
  await field.press("Control+b");
  if ((await field.inputValue()) !== "some **words**") throw new Error(`the field has ${await field.inputValue()}`);
  await field.press("Control+i");
  await field.press("Control+b");
  if ((await field.inputValue()) !== "some *words*") throw new Error(`the field has ${await field.inputValue()}`);
  await field.press("Control+b");
  await a.getByText("**bold**").waitFor(); // the hint
  await field.press("Enter");
  await row(b, "Alice").getByText("some words").waitFor();
  await row(b, "Alice").click();
  await message(b, "some words").locator("em strong, strong em").waitFor();

  w.step("code scrolls by itself, and is copied as it was typed");
  const code = `if **a** {\n\treturn "${"x".repeat(200)}"\n}`;
  await field.fill(`> quoted\nmy answer\n\n- one\n- [two](${site.url}/plain)\n\n\`\`\`\n${code}\n\`\`\`\nand \`inline\`, ~~gone~~ <b>no HTML</b> [a](javascript:alert(1))`);
  await field.press("Enter");
  const shown = message(a, "no HTML");
  await shown.locator("blockquote", { hasText: /^quoted$/ }).waitFor(); // the answer is outside
  await shown.getByText("my answer").waitFor();
  await shown.locator("ul > li", { hasText: "one" }).waitFor();
  await shown.getByText("<b>no HTML</b> [a](javascript:alert(1))").waitFor();
  if ((await shown.locator("a:not(time a)").evaluateAll((all) => all.filter((l) => l.target === "_blank" && !/noopener/.test(l.rel)).length)) > 0) throw new Error("a link has no noopener");
  const block = shown.getByTestId("code");
  const scrolls = await block.locator("pre").evaluate((el) => el.scrollWidth > el.clientWidth);
  const inside = await a.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  if (!scrolls || !inside) throw new Error("long lines of code do not scroll in their block");
  await block.getByRole("button", { name: "Copy code" }).click();
  await block.getByRole("button", { name: "Copied" }).waitFor();
  if ((await a.evaluate(() => navigator.clipboard.readText())) !== code) throw new Error("the code was not copied");
  await w.shot(a, "markdown");

  w.step("a preview shows while one types, and is in the message");
  await picture(a).then((png) => (site.picture = png));
  await field.fill(`see ${site.url}/page`);
  await a.getByTestId("composed-preview").getByText("Fish & chips").waitFor();
  await w.shot(a, "composed-preview");
  await field.press("Enter");
  const card = message(b, "see").getByTestId("link-preview");
  await card.getByText("Where to get them").waitFor();
  await card.getByText(site.host).waitFor();
  await card.locator("img").waitFor();
  await b.waitForFunction(() => document.querySelector('[data-testid="link-preview"] img')?.naturalWidth > 0);
  await w.shot(b, "link-preview");

  w.step("a preview that was removed is not sent");
  const reads = site.reads;
  await field.fill(`no preview ${site.url}/page`);
  await a.getByTestId("composed-preview").getByRole("button", { name: "Remove preview" }).click();
  await a.getByTestId("composed-preview").waitFor({ state: "hidden" });
  await field.press("Enter");
  await message(b, "no preview").waitFor();
  if ((await message(b, "no preview").getByTestId("link-preview").count()) > 0) throw new Error("the removed preview was sent");
  if (site.reads !== reads) throw new Error("the page was read again, or for those who read the message");

  w.step("an edit keeps the preview, while the link is in the text");
  await choose(a, message(a, "see"), "Edit");
  await a.getByTestId("editor").fill(`do see ${site.url}/page`);
  await a.keyboard.press("Enter");
  await message(b, "do see").getByTestId("link-preview").getByText("Fish & chips").waitFor();
  await choose(a, message(a, "do see"), "Edit");
  await a.getByTestId("editor").fill("do see it");
  await a.keyboard.press("Enter");
  await message(b, "do see it").waitFor();
  await message(b, "do see it").getByTestId("link-preview").waitFor({ state: "hidden" });

  w.step("whoever switches previews off gets none, and no page is read");
  await a.getByTestId("tab-settings").click();
  await a.getByRole("link", { name: "Privacy" }).click();
  await a.getByLabel("Add previews of links to my messages").uncheck();
  await a.waitForFunction(() => !document.querySelector('[role="alert"]'));
  await a.getByTestId("tab-chats").click();
  await row(a, "Bob").click();
  const before = site.reads;
  await field.fill(`nothing of ${site.url}/other`);
  const refused = await w.call("chat.v1.ChatService/PreviewLink", { url: `${site.url}/other` }, alice.token).catch((e) => e.message);
  if (!/previews_off/.test(refused)) throw new Error(`the server answers ${refused}`);
  await field.press("Enter");
  await message(b, "nothing of").waitFor();
  if (site.reads !== before) throw new Error("a page was read although previews are off");

  w.step("a place has a link to the operator's map service, from which nothing is loaded");
  const asked = [];
  await b.context().route("https://map.invalid/**", (r) => asked.push(r.request().url()) && r.fulfill({ contentType: "text/html", body: "a map" }));
  await w.call("chat.v1.ChatService/Send", { conversation, clientMsgId: "place", content: { location: { latitude: 45.438, longitude: 12.33585, label: "Rialto" } } }, alice.token);
  const map = b.getByTestId("place").getByRole("link", { name: "Open on the map" });
  await map.waitFor();
  assert.deepEqual(await map.evaluate((el) => [el.href, el.target, el.rel]), ["https://map.invalid/?lat=45.438&lon=12.33585", "_blank", "noopener noreferrer"]);
  await w.shot(b, "map-link");
  assert.deepEqual(asked, []);
  const [tab] = await Promise.all([b.context().waitForEvent("page"), map.click()]);
  await tab.getByText("a map").waitFor();
  assert.deepEqual(await tab.evaluate(() => [window.opener, document.referrer]), [null, ""]);
  await tab.close();

  w.step("100,000 brackets do not hang the page");
  await w.send(bob, conversation, ["[", "*", "> ", "`a"].map((piece) => piece.repeat(100_000 / piece.length)));
  await field.fill("still **here**");
  await field.press("Enter");
  await message(b, "still here").locator("strong").waitFor();
}

/** A site on this machine that counts how often its page is read. */
function openSite() {
  const site = { reads: 0, picture: undefined };
  const server = createServer((req, res) => {
    if (req.url === "/picture.png") return res.writeHead(200, { "Content-Type": "image/png" }).end(site.picture);
    site.reads++;
    res.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
    res.end(`<title>Plain</title><meta property="og:title" content="Fish &amp; chips"><meta property="og:description" content="Where to get them"><meta property="og:site_name" content="The Pier"><meta property="og:image" content="/picture.png">`);
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      site.host = `127.0.0.1:${server.address().port}`;
      site.url = `http://${site.host}`;
      site.close = () => server.close();
      resolve(site);
    }),
  );
}
