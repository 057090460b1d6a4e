// Threads: one starts at a message, is read and answered beside the chat, counts as unread for who follows it, and goes with the group.
import { message, phone, row, say } from "../harness.mjs";

const thread = (page) => page.getByTestId("thread");
const reply = async (page, text) => {
  await thread(page).getByTestId("composer").fill(text);
  await thread(page).getByTestId("composer").press("Enter");
};

export default async function threads(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob", { viewport: phone });
  const carol = await w.person("carol", "Carol");
  await w.befriend(alice, bob);
  await w.befriend(alice, carol);
  await w.call("chat.v1.ChatService/CreateGroup", { title: "Trip", members: [bob.id, carol.id] }, alice.token);
  const { page: a } = alice;
  const { page: b } = bob;
  await b.getByTestId("tab-chats").click();
  await row(b, "Trip").click();
  await say(b, "Where do we go?");
  await b.getByRole("button", { name: "Back" }).click();
  await row(a, "Trip").click();

  w.step("a thread starts at a message, from its menu");
  await message(a, "Where do we go?").click({ button: "right" });
  await a.getByRole("menuitem", { name: "Reply in thread" }).click();
  await thread(a).getByText("Where do we go?").waitFor();
  await reply(a, "To the sea");
  await reply(a, "Or to the mountains");
  await thread(a).getByTestId("message").filter({ hasText: "mountains" }).waitFor();
  await message(a, "Where do we go?").getByRole("button", { name: "2 replies" }).waitFor();
  await w.shot(a, "110-thread");

  w.step("its followers have it in a list of its own, with what is unread");
  await b.getByRole("button", { name: /^Threads/ }).click();
  await row(b, "Thread in Trip").getByTestId("unread").filter({ hasText: "2" }).waitFor();
  await w.shot(b, "111-threads-phone");
  await row(b, "Thread in Trip").click();
  await thread(b).getByTestId("message").filter({ hasText: "To the sea" }).waitFor();
  await reply(b, "The sea!");
  await thread(a).getByTestId("message").filter({ hasText: "The sea!" }).waitFor();
  await w.shot(b, "112-thread-phone");

  w.step("closing it leads to the chat, whose message has the number of replies");
  await thread(b).getByRole("button", { name: "Close" }).click();
  await message(b, "Where do we go?").getByRole("button", { name: "3 replies" }).waitFor();

  w.step("it can be opened from there, and is not followed any more when one wishes");
  await message(b, "Where do we go?").getByTestId("thread-link").click();
  await thread(b).getByRole("button", { name: "Stop following thread" }).click();
  await thread(b).getByRole("button", { name: "Follow thread" }).waitFor();
  await thread(b).getByTestId("message").filter({ hasText: "To the sea" }).waitFor();
  await reply(a, "In June");
  await thread(b).getByTestId("message").filter({ hasText: "In June" }).waitFor();

  w.step("a file that is dropped on the thread is sent to the thread");
  const dropped = await a.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(["Bring water"], "list.txt", { type: "text/plain" }));
    return data;
  });
  await thread(a).dispatchEvent("drop", { dataTransfer: dropped });
  await a.getByRole("dialog").getByRole("button", { name: "Send", exact: true }).click();
  await thread(a).getByTestId("message").filter({ hasText: "list.txt" }).waitFor();

  w.step("who does not follow it opens it by its address");
  const address = new URL(a.url()).pathname;
  await carol.page.goto(new URL(address, carol.page.url()).href);
  await thread(carol.page).getByTestId("message").filter({ hasText: "To the sea" }).waitFor();
}
