// What a company has: help desks, an organization, an official account and a chat room. It needs an API key.
import assert from "node:assert/strict";
import { call } from "../harness.mjs";

const text = (value) => ({ text: value });

/** Help desks with tickets: one whose agent the user is, and one in which the user asks. */
async function seedDesks(w, admin, c, { me, friends }) {
  const put = (key, name, agents) => admin("chat.v1.HelpDeskService/PutHelpDesk", { desk: { key: `${w.name}-${key}`, name, greeting: c.greeting, agents: agents.map((u) => u.id) } });
  const [bob, ...customers] = friends;
  const desk = (await put("care", c.desk, [me, bob])).id;
  const open = async (user, at, subject) => (await w.call("chat.v1.HelpDeskService/OpenTicket", { desk: at, subject }, user.token)).id;
  const take = (agent, ticket) => w.call("chat.v1.HelpDeskService/TakeTicket", { ticket }, agent.token);
  const served = await open(customers[0], desk, c.subjects[0]);
  await take(me, served);
  await w.send(customers[0], served, [c.asked]);
  for (const [n, user] of customers.slice(1).entries()) await open(user, desk, c.subjects[n + 1]);
  const other = (await put("shop", c.otherDesk, [bob])).id;
  const ticket = await open(me, other, c.ownSubject);
  await w.send(me, ticket, [c.ownQuestion]);
  await take(bob, ticket);
  await w.send(bob, ticket, [c.ownAnswer]);
  return { desk, ticket };
}

async function seedOrganization(w, key, c, me, people) {
  const { id } = await call(w.url, "chat.v1.OrganizationService/CreateOrganization", { name: c.organization, owner: me.id }, key, me.id);
  const lines = [me, ...people].map((p, n) => `${p.id},"${c.titles[n % c.titles.length]}",${c.departments[n % c.departments.length]}`);
  const { wrong = 0 } = await call(w.url, "chat.v1.OrganizationService/ImportOrganizationMembers", { organization: id, csv: ["user,title,departments", ...lines].join("\n") }, key, me.id);
  assert.equal(wrong, 0);
  return id;
}

/** An official account that the user follows, and the chat with it. */
async function seedOfficial(w, admin, c, me) {
  const account = await w.user("bakery", c.official);
  const { channel } = await admin("account.v1.AdminService/PutOfficialAccount", { user: account.id, handle: account.handle });
  const official = "chat.v1.OfficialAccountService";
  const { revision } = await w.call(`${official}/GetOfficialAccount`, { user: account.id }, account.token);
  const item = ([title, reply]) => ({ title, reply: text(reply) });
  const menu = { entries: [...c.menu.map((i) => ({ item: item(i) })), { item: { title: c.more[0] }, items: c.more.slice(1).map(item) }] };
  await w.call(`${official}/UpdateOfficialAccount`, { user: account.id, revision, menu, replies: { welcome: text(c.welcome) } }, account.token);
  await w.call("chat.v1.ChatService/Join", { conversation: channel }, me.token);
  const chat = await w.direct(me, account);
  await w.call(`${official}/TapOfficialMenu`, { user: account.id, entry: 0, key: "1" }, me.token);
  return chat;
}

/** All of it. admin makes a call with the API key. */
export async function seedCompany(w, key, c, { me, friends, strangers = [] }) {
  const admin = (method, body) => call(w.url, method, body, key);
  const desks = await seedDesks(w, admin, c, { me, friends });
  const organization = await seedOrganization(w, key, c, me, [...friends, ...strangers]);
  const official = await seedOfficial(w, admin, c, me);
  const room = (await w.call("chat.v1.RoomService/CreateRoom", { title: c.room }, friends[0].token)).id;
  await w.call("chat.v1.RoomService/UpdateRoom", { room, announcement: c.roomAnnouncement }, friends[0].token);
  return { ...desks, organization, official, room };
}

/** Says something in a room, in which nothing is stored: by pages of people who are in it, in turns. */
export async function sayInRoom(pages, texts) {
  for (const [n, said] of texts.entries()) {
    const page = pages[n % pages.length];
    await page.locator(".room-foot input").fill(said);
    await page.keyboard.press("Enter");
    for (const p of pages) await p.getByTestId("room-message").filter({ hasText: said }).waitFor();
  }
}
