// A help desk: a customer opens a ticket on a phone, in Chinese; agents are notified, one takes it, another one resolves it, and the customer rates it.
import assert from "node:assert/strict";
import { Crowd } from "../crowd.mjs";
import { notesOf, stub } from "../notes.mjs";
import { confirm, desktop, dialog, log, message, openPanel, panel, phone, row, say, texts } from "../harness.mjs";

export default async function helpdesk(w) {
  const server = await w.ownServer();
  const c = new Crowd(server.url, server.apiKey());
  const carl = await w.person("carl", "Carl", { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true });
  const ann = await w.person("ann", "Ann Agent");
  const ben = await w.person("ben", "Ben Agent", { colorScheme: "dark" });
  const [p, a, b] = [carl.page, ann.page, ben.page];
  await b.context().addInitScript(stub);
  await b.evaluate(() => {
    localStorage.setItem("test-permission", "granted");
    localStorage.setItem("notifications", JSON.stringify({ on: true }));
  });
  await b.reload();
  await b.getByTestId("tab-chats").waitFor();
  await b.evaluate(() => window.look(false));
  const { news } = notesOf(b);
  const work = (page) => page.getByTestId("tab-people").locator(".badge");
  const put = (desk) => c.as(undefined, "chat.v1.HelpDeskService/PutHelpDesk", { desk });
  const desk = await put({ key: "support", name: "Support", greeting: "We answer within ten minutes.", agents: [ann.id, ben.id] });
  const inTwoDays = ((new Date().getUTCDay() + 1) % 7) + 1; // 1 is Monday
  const billing = await put({ key: "billing", name: "Billing", awayMessage: "Back soon.", hours: [{ weekday: inTwoDays, fromMinute: 540, toMinute: 1020 }] });

  w.step("the customer finds the desks, and opens a ticket");
  await p.goto(`${server.url}/people`);
  await p.getByTestId("help-desk").filter({ hasText: "Billing" }).getByText(/^星期.*09:00开始营业$/).waitFor();
  await w.shot(p, "93-help-desks");
  await p.getByTestId("help-desk").filter({ hasText: "Support" }).click();
  await p.getByRole("main").getByText("营业中").waitFor();
  await p.getByLabel("你想咨询什么？").fill("The kettle does not boil");
  await w.shot(p, "94-help-desk-customer");
  await p.getByRole("button", { name: "提交工单" }).click();
  const state = (page) => page.getByTestId("ticket-bar").getByRole("status");
  await state(p).getByText("你排在第 1 位。").waitFor();
  await log(p).getByText("客服留言：We answer within ten minutes.").waitFor();
  await p.getByTestId("composer").fill("it stays cold");
  await p.getByRole("button", { name: "发送", exact: true }).click(); // on a phone, Enter begins a new line
  await message(p, "it stays cold").waitFor();
  await w.shot(p, "95-ticket-waiting");

  w.step("an agent who does not look is notified; the other one sees it by the badge");
  assert.deepEqual(await news(1), [["shown", "New ticket · Support", "The kettle does not boil"]]);
  for (const page of [a, b]) await work(page).getByText("1", { exact: true }).waitFor();

  w.step("an agent sees it in the queue, takes it, and both write");
  await a.getByTestId("tab-people").click();
  await a.getByTestId("help-desk").filter({ hasText: "Support" }).getByLabel("1 ticket waits for you").waitFor();
  await w.shot(a, "95-help-desks-agent");
  await a.getByTestId("help-desk").filter({ hasText: "Support" }).click();
  const first = a.getByTestId("ticket").filter({ hasText: "The kettle does not boil" });
  await first.getByText("No. 1").waitFor();
  await w.shot(a, "96-help-desk-queue");
  await first.getByRole("button", { name: "Take: Carl" }).click();
  await message(a, "it stays cold").waitFor();
  await log(a).getByText("You took the ticket").waitFor();
  assert.deepEqual(await news(1), [["closed", "The kettle does not boil"]]);
  await b.evaluate(() => window.look(true));
  for (const page of [a, b]) await work(page).waitFor({ state: "detached" });
  await a.getByRole("heading", { name: "Carl · Support" }).waitFor();
  await say(a, "is it plugged in?");
  await state(p).getByText("Ann Agent正在处理此工单。").waitFor();
  await message(p, "is it plugged in?").waitFor();
  await openPanel(a);
  await panel(a).getByText("The kettle does not boil").waitFor();
  assert.equal(await panel(a).getByRole("button", { name: "Leave group" }).count(), 0);
  await a.keyboard.press("Escape");

  w.step("the ticket is transferred: the next agent reads it from the beginning");
  await a.getByTestId("ticket-bar").getByRole("button", { name: "Transfer" }).click();
  await w.shot(a, "97-ticket-transfer");
  await a.keyboard.press("Escape"); // it closes the dialog, and not the chat
  await dialog(a).waitFor({ state: "hidden" });
  await a.getByTestId("ticket-bar").getByRole("button", { name: "Transfer" }).click();
  await dialog(a).getByRole("button", { name: "Ben Agent" }).click();
  await a.getByText("You no longer serve this ticket.").waitFor();
  await work(b).getByText("1", { exact: true }).waitFor(); // of a ticket that one serves, what was not read
  await b.getByTestId("tab-chats").click();
  await row(b, "Carl · Support").click();
  await message(b, "is it plugged in?").waitFor();
  assert.deepEqual(await texts(b), ["it stays cold", "is it plugged in?"]);
  await state(b).getByText("You serve this ticket.").waitFor();
  await work(b).waitFor({ state: "detached" });
  await say(b, "now it boils");
  await message(p, "now it boils").waitFor();
  await w.shot(b, "98-ticket-agent-dark");
  await b.setViewportSize(phone);
  await w.shot(b, "98-ticket-agent-phone-dark");
  await b.setViewportSize(desktop);

  w.step("the agent resolves it, and the customer rates it");
  await b.getByTestId("ticket-bar").getByRole("button", { name: "Resolve" }).click();
  await confirm(b, "Resolve");
  await p.getByText("工单已解决。如需继续").waitFor();
  await p.getByRole("button", { name: "评价" }).click();
  await dialog(p).getByRole("radio", { name: "5 星" }).check({ force: true });
  await dialog(p).getByLabel("评语").fill("quick");
  await w.shot(p, "99-ticket-rating");
  await dialog(p).getByRole("button", { name: "提交评价" }).click();
  await p.getByText("你的评分：5/5。").waitFor();
  await b.getByText("Rated 5 of 5: quick").waitFor();
  await log(b).getByText("Carl rated the ticket").waitFor();
  assert.equal(await log(b).getByText("resolved the ticket").count(), 1);
  await w.shot(p, "99-ticket-rated");

  w.step("the figures of the desk");
  await b.getByTestId("ticket-bar").getByRole("link", { name: "Help desk: Support" }).click();
  await b.getByRole("tab", { name: "Figures" }).click();
  await b.getByRole("row", { name: /Ben Agent 1 .* 5 \(1\)|You 1 .* 5 \(1\)/ }).waitFor();
  await w.shot(b, "99-help-desk-figures-dark");
  await b.setViewportSize(phone);
  await b.getByRole("tab", { name: "Resolved" }).click();
  await b.getByTestId("ticket").getByText(/rated 5 of 5/).waitFor();
  await w.shot(b, "99-help-desk-resolved-phone-dark");
  await b.setViewportSize(desktop);

  w.step("reopened, it is at the head of the queue; another desk gets it");
  await p.getByRole("button", { name: "重新打开" }).click();
  await state(p).getByText("你排在第 1 位。").waitFor();
  await a.goto(`${server.url}/desk/${desk.id}`);
  await a.getByTestId("ticket").getByText("No. 1").waitFor();
  await a.getByRole("button", { name: "Take next" }).click();
  await state(a).getByText("You serve this ticket.").waitFor();
  await a.getByTestId("ticket-bar").getByRole("button", { name: "Transfer" }).click();
  await dialog(a).getByRole("button", { name: /Billing/ }).click();
  await state(p).getByText(/客服星期.*09:00开始营业。/).waitFor();
  await p.getByTestId("ticket-bar").getByText("Back soon.").waitFor();
  await log(p).getByText("你重新打开了工单").waitFor();
  await log(p).getByText("工单现由“Billing”受理").waitFor();
  await w.shot(p, "99-ticket-moved");

  await p.goto(`${server.url}/desk/${billing.id}`);
  await p.getByText("营业时间").click();
  await p.getByText("09:00–17:00").waitFor();
  await p.getByTestId("ticket").getByText("The kettle does not boil").waitFor();
  await w.shot(p, "99-help-desk-closed");
  await p.getByRole("link", { name: "继续该工单" }).click();
  await message(p, "it stays cold").waitFor();

  w.step("nobody else takes it: the queue of the first desk is empty");
  await a.goto(`${server.url}/desk/${desk.id}`);
  await a.getByText("No ticket waits.").waitFor();
  await a.getByRole("button", { name: "Take next" }).click();
  await a.getByRole("alert").getByText("No ticket waits.").waitFor();

  w.step("a long queue is read in pages, and follows what happens to it");
  const users = await c.users(55);
  for (const user of users) await c.as(user, "chat.v1.HelpDeskService/OpenTicket", { desk: desk.id, subject: `question of ${user}` });
  await a.reload();
  await a.getByRole("tab", { name: "Queue (50+)" }).waitFor();
  await a.getByRole("button", { name: "Show more" }).click();
  await a.getByRole("tab", { name: "Queue (55)" }).waitFor();
  await c.as(users[0], "chat.v1.HelpDeskService/ResolveTicket", { ticket: (await c.as(users[0], "chat.v1.HelpDeskService/ListTickets", {})).tickets[0].id });
  await a.getByRole("tab", { name: "Queue (54)" }).waitFor();
  await a.getByTestId("ticket").first().getByText(`question of ${users[1]}`).waitFor();
}
