// Makes the screenshots of the readmes, docs/images/, in English and Chinese: chats on a desktop and a phone, and what companies use. It uses what
// the browser tests use: `npm run screenshots`, after `make build`. Look at each picture before you commit it.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { browserPath } from "./browser.mjs";
import { sayInRoom, seedCompany } from "./gallery/company.mjs";
import { content } from "./gallery/content.mjs";
import { message, phone, row, say, Server, World } from "./harness.mjs";

const images = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const size = { width: 1080, height: 680 };

const scenes = {
  en: {
    locale: "en-GB",
    me: "Alice Martin",
    names: ["Bob Novak", "Chloé Dubois", "Dan O’Neill"],
    group: "Saturday hike",
    direct: ["The trail is dry again 🥾", "Shall we take the early train?", "I can bring croissants for everyone 🥐"],
    answer: "Early is good. Seven at the station?",
    said: ["Seven works for me 👍", "I have a map, and sun cream", "Rain only after five, says the forecast"],
    mine: "Then see you at the station. I’ll get the tickets!",
    others: ["Did you read chapter four?", "Photos from last week are up 📷"],
  },
  zh: {
    locale: "zh-CN",
    me: "林晓",
    names: ["陈宇", "王思琪", "李明轩"],
    group: "周六爬山",
    direct: ["山路已经干了 🥾", "要不要坐早班车？", "我给大家带面包 🥐"],
    answer: "早点好，七点车站见？",
    said: ["七点没问题 👍", "我带地图和防晒霜", "天气预报说五点以后才下雨"],
    mine: "那车站见，车票我来买！",
    others: ["第四章读完了吗？", "上周的照片传好了 📷"],
  },
};

/** Fills a deployment with people and chats, and photographs the first one's. */
async function photograph(w, lang, s) {
  const me = await w.person("alice", s.me, { locale: s.locale, viewport: size });
  const friends = [];
  for (const [n, name] of s.names.entries()) {
    const friend = await w.user(`friend${n}`, name);
    await w.befriend(me, friend);
    friends.push(friend);
  }
  const [bob, chloe, dan] = friends;
  const { page } = me;
  const group = (await w.call("chat.v1.ChatService/CreateGroup", { title: s.group, members: friends.map((f) => f.id), key: "hike" }, me.token)).id;
  await w.send(dan, await w.direct(dan, me), [s.others[1]]);
  await w.send(chloe, await w.direct(chloe, me), [s.others[0]]);
  for (const [n, text] of s.said.entries()) await w.send(friends[n], group, [text]);
  await w.send(bob, await w.direct(bob, me), s.direct);
  await row(page, bob.name).click();
  await message(page, s.direct[2]).waitFor();
  await say(page, s.answer);
  await message(page, s.answer).waitFor();
  await row(page, s.group).click();
  await message(page, s.said[2]).waitFor();
  await say(page, s.mine);
  await message(page, s.mine).waitFor();
  await page.mouse.move(size.width / 2, 100); // off the row that was clicked
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((a) => a.finished)));
  await page.screenshot({ path: `${images}desktop-${lang}.png` });
  await row(page, bob.name).click();
  await message(page, s.answer).waitFor();
  await page.setViewportSize(phone);
  await message(page, s.answer).waitFor();
  await page.screenshot({ path: `${images}phone-${lang}.png` });
}

/** Photographs help desks, an organization, an official account and a room. */
async function photographCompany(w, server, lang) {
  const c = content[lang];
  const me = await w.person("alice", c.me, { locale: c.locale, viewport: size });
  const { page } = me;
  const friends = [];
  for (const [handle, name] of Object.entries({ bob: c.friends[0], chloe: c.friends[1], dan: c.friends[2], eve: c.strangers[0] })) friends.push(await w.user(handle, name));
  for (const friend of friends) await w.befriend(me, friend);
  const { desk, ticket, organization, official, room } = await seedCompany(w, server.apiKey(), c.company, { me, friends });
  const at = (place) => page.goto(`${server.url}${place}`);
  const photograph = async (name) => {
    await page.evaluate(() => Promise.allSettled(document.getAnimations().map((a) => a.finished)));
    await page.screenshot({ path: `${images}${name}-${lang}.png` });
  };
  await at(`/desk/${desk}`);
  await page.getByTestId("ticket").nth(1).waitFor();
  await photograph("help-desk-agent");
  await at(`/org/${organization}`);
  for (const name of c.company.departments.slice(0, 2).reverse()) await page.getByRole("button", { name: new RegExp(`^${name}`) }).click();
  await page.getByTestId("member").nth(2).waitFor();
  await page.mouse.move(size.width - 1, size.height - 1); // off what was clicked
  await photograph("organization");
  await page.setViewportSize(phone);
  await at(`/c/${ticket}`);
  await message(page, c.company.ownAnswer).waitFor();
  await photograph("help-desk-customer");
  await at(`/c/${official}`);
  await message(page, c.company.menu[0][1]).waitFor();
  await photograph("official-account");
  await at(`/room/${room}`);
  const pages = [];
  for (const friend of friends.slice(0, 3)) {
    const other = await w.device(friend, { locale: c.locale });
    await other.getByTestId("tab-chats").waitFor();
    await other.goto(`${server.url}/room/${room}`);
    pages.push(other);
  }
  for (const p of [page, ...pages]) await p.locator(".room-foot input").waitFor();
  await sayInRoom([pages[0], pages[1], pages[2], pages[0], page], c.company.roomSaid);
  for (let i = 0; i < 7; i++) await pages[1].locator(".room-like").click();
  await page.getByTestId("likes").filter({ hasText: "7" }).waitFor();
  await page.getByTestId("viewers").filter({ hasText: "4" }).waitFor();
  await photograph("chat-room");
}

mkdirSync(images, { recursive: true });
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"] });
let failed = false;

/** Runs work on a server of its own. */
async function onServer(name, work) {
  const server = await Server.start();
  const w = new World(name, browser, server.url);
  try {
    await work(w, server);
    await w.close();
  } catch (err) {
    failed = true;
    console.error(err);
    await w.failed();
  }
  await server.remove();
}

for (const [lang, scene] of Object.entries(scenes)) await onServer(`shots${lang}`, (w) => photograph(w, lang, scene));
for (const lang of Object.keys(content)) await onServer("lamps", (w, server) => photographCompany(w, server, lang));
await browser.close();
if (failed) process.exit(1);
console.log("screenshots in docs/images/: look at them");
