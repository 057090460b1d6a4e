// Two people find each other, become friends, and chat in both scripts, with emoji, read marks and a picture.
import { dialog, log, message, person, picture, row, say, sendFile } from "../harness.mjs";

export default async function chat(w) {
  const visitor = await w.page();
  await visitor.getByRole("button", { name: "Sign in", exact: true }).waitFor();
  await w.shot(visitor, "01-sign-in");

  w.step("sign up, find each other, become friends");
  const { page: alice } = await w.person("alice", "Alice 爱丽丝");
  const { page: bob, handle } = await w.person("bob", "Bob", { colorScheme: "dark" });
  await alice.getByTestId("tab-people").click();
  await alice.getByRole("searchbox").fill(handle);
  await person(alice, "Bob").getByRole("button", { name: "Add friend" }).click();
  await bob.getByTestId("tab-people").click();
  await person(bob, "Alice").getByRole("button", { name: "Accept" }).click();
  await person(alice, "Bob").getByRole("button", { name: "Add friend" }).waitFor({ state: "hidden" });
  await w.shot(bob, "02-people-dark");

  w.step("chat both ways, with read marks");
  await person(alice, "Bob").getByRole("button", { name: "Message" }).click();
  await say(alice, "Hello Bob! 你好，周末一起吃饭吗？🍜");
  await bob.getByTestId("tab-chats").click();
  await row(bob, "Alice").getByTestId("unread").filter({ hasText: "1" }).waitFor();
  await row(alice, "Bob").getByText("You: Hello Bob!").waitFor();
  await row(bob, "Alice").click();
  await bob.getByRole("article", { name: /^Alice 爱丽丝, \d\d:\d\d$/ }).filter({ hasText: "周末一起吃饭吗" }).waitFor(); // its name, for screen readers
  // That somebody types is told once, and a connection that lags behind is not told: he types until she sees it.
  let seen = false;
  const typing = alice.locator(".chat-title").filter({ hasText: "Bob is typing" }).waitFor().finally(() => (seen = true));
  while (!seen) await bob.getByTestId("composer").pressSequentially("Yes!", { delay: 20 });
  await typing;
  await say(bob, "Yes! Где встречаемся? 👋🏽 https://example.com/карта");
  await message(alice, "Где встречаемся").waitFor();
  await bob.locator('.text a[href^="https://example.com/"]').waitFor();
  await alice.getByTestId("announcer").filter({ hasText: "Где встречаемся" }).waitFor({ state: "attached" });
  await message(alice, "周末一起吃饭吗").locator(".state.read").waitFor();
  await row(alice, "Bob").locator(".dot.online").waitFor();

  w.step("which devices have a message, and which of one's own are up to date");
  await message(alice, "周末一起吃饭吗").getByRole("button", { name: "Delivery by device" }).click();
  await dialog(alice).getByTestId("deliveries").locator("li").filter({ hasText: "Browser" }).getByText("Delivered", { exact: true }).waitFor();
  await w.shot(alice, "53-deliveries");
  await alice.keyboard.press("Escape");
  await dialog(alice).waitFor({ state: "detached" });

  w.step("a picture, which is shown before it is sent, with a caption");
  const sunset = { name: "sunset.png", mimeType: "image/png", buffer: await picture(alice) };
  await alice.getByTestId("file").setInputFiles(sunset);
  await alice.waitForFunction(() => document.querySelector('[data-testid="send-files"] img')?.naturalWidth > 0);
  await w.shot(alice, "43-before-sending");
  await alice.keyboard.press("Escape"); // not sent
  await sendFile(alice, sunset, "Tonight at the lake 🌅");
  await log(bob).getByText("Tonight at the lake").waitFor();
  await bob.getByTestId("image").waitFor();
  await bob.waitForFunction(() => document.querySelector('[data-testid="image"]').naturalWidth > 0);
  await w.shot(alice, "03-chat-light");
  await w.shot(bob, "04-chat-dark");
}
