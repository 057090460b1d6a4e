// The places of the app, in the order in which they are shown. Each brings its page there, and waits until all of it is shown.
import { sayInRoom } from "./company.mjs";
import { dialog, log, message, picture, row } from "../harness.mjs";

const at = (g, path) => g.page.goto(`${g.w.url}${path}`);
const button = (g, key) => g.page.getByRole("button", { name: g.t[key], exact: true });

async function open(g, id, text) {
  await at(g, `/c/${id}`);
  await message(g.page, text).first().waitFor();
}

async function closeDialog(g) {
  await g.page.keyboard.press("Escape");
  await dialog(g.page).waitFor({ state: "detached" });
}

const lastText = (g) => g.c.mine[2].split("\n")[0];
const openGroup = (g) => open(g, g.hike, lastText(g));

/** Before one signs in. */
export const outside = {
  "sign-in": (g) => button(g, "signIn").waitFor(),
  "sign-in-refused": async (g) => {
    await g.page.locator("input[name=handle]").fill("nobody");
    await g.page.locator("input[name=password]").fill("wrong password");
    await button(g, "signIn").click();
    await g.page.getByText(g.t.errLogin).waitFor();
  },
  register: async (g) => {
    await button(g, "signUpInstead").click();
    await g.page.locator("input[name=name]").waitFor();
  },
  code: async (g) => {
    await button(g, "signInInstead").click();
    await button(g, "codeInstead").click();
    await button(g, "sendCode").waitFor();
  },
};

/** Of somebody who has just signed up. */
export const empty = {
  "empty-list": (g) => g.page.getByText(g.t.noChats).waitFor(),
  "empty-people": async (g) => {
    await g.page.getByTestId("tab-people").click();
    await g.page.getByText(g.t.howToFind).waitFor();
  },
};

const chats = {
  list: async (g) => {
    await row(g.page, g.c.group).waitFor();
    await g.page.mouse.move(0, 0);
  },
  unread: (g) => open(g, g.unread, g.c.said[0]),
  group: async (g) => {
    await openGroup(g);
    await g.page.getByTestId("image").last().waitFor();
  },
  "group-above": async (g) => {
    await log(g.page).evaluate((e) => e.scrollBy(0, -e.clientHeight * 0.9));
    await message(g.page, g.c.said[2]).waitFor();
  },
  direct: (g) => open(g, g.direct, g.c.direct[2]),
  typing: async (g) => {
    await g.bob.getByTestId("composer").pressSequentially("…");
    await g.page.locator(".chat-title .is-typing").waitFor();
  },
  "list-menu": async (g) => {
    if (g.phone) await g.page.getByRole("button", { name: g.t.back }).click();
    await row(g.page, g.c.group).click({ button: "right" });
    await g.page.getByRole("menu").waitFor();
  },
  search: async (g) => {
    await g.page.keyboard.press("Escape");
    await g.page.getByRole("menu").waitFor({ state: "detached" });
    await g.page.getByRole("searchbox").fill(g.c.query);
    await row(g.page, g.c.longGroup).waitFor({ state: "detached" });
  },
  "search-nothing": async (g) => {
    await g.page.getByRole("searchbox").fill(g.c.nothing);
    await g.page.getByText(g.t.noMatch).waitFor();
  },
  archived: async (g) => {
    await at(g, "/");
    await g.page.locator(".fold").click();
    await row(g.page, g.c.newGroup).waitFor();
  },
  "empty-chat": async (g) => {
    await at(g, `/c/${g.silent}`);
    await g.page.locator(".empty-chat").waitFor();
  },
  dissolved: async (g) => {
    await at(g, `/c/${g.left}`);
    await g.page.locator(".closed-note").waitFor();
  },
  "search-everything": async (g) => {
    await at(g, "/search");
    await g.page.getByTestId("search-input").fill(g.c.query);
    await g.page.getByTestId("search-option").first().waitFor();
  },
  "search-everything-nothing": async (g) => {
    await g.page.getByTestId("search-input").fill(g.c.nothing);
    await g.page.locator(".search-hint").waitFor();
  },
};

const overlays = {
  "picture-large": async (g) => {
    await openGroup(g);
    await g.page.locator(".picture").last().click();
    await dialog(g.page).locator("img").waitFor();
  },
  readers: async (g) => {
    await closeDialog(g);
    await g.page.getByRole("button", { name: g.t.whoRead }).last().click();
    await dialog(g.page).getByRole("tab").first().waitFor();
  },
  emoji: async (g) => {
    await closeDialog(g);
    await button(g, "emoji").click();
    await g.page.locator(".emoji-one").nth(20).waitFor();
  },
  "send-files": async (g) => {
    await button(g, "emoji").click();
    const image = { name: "sunset.png", mimeType: "image/png", buffer: await picture(g.page) };
    await g.page.getByTestId("file").setInputFiles([image, { name: g.c.file, mimeType: "application/pdf", buffer: Buffer.alloc(184_320) }]);
    await dialog(g.page).locator("img").waitFor();
  },
  "group-panel": async (g) => {
    await closeDialog(g);
    await at(g, `/c/${g.hike}/info`);
    await g.page.locator(".info .person").nth(4).waitFor();
  },
  "member-menu": async (g) => {
    await g.page.locator(".info .person").nth(1).getByRole("button").click();
    await g.page.getByRole("menu").waitFor();
  },
  "group-manage": async (g) => {
    await g.page.keyboard.press("Escape");
    await g.page.getByRole("tab", { name: g.t.manage }).click();
    await g.page.getByTestId("retention").waitFor();
  },
  question: async (g) => {
    await button(g, "dissolve").click();
    await dialog(g.page).waitFor();
  },
  "direct-panel": async (g) => {
    await closeDialog(g);
    await at(g, `/c/${g.direct}/info`);
    await button(g, "block").waitFor();
  },
  "new-group": async (g) => {
    await at(g, "/");
    await button(g, "newConversation").click();
    await dialog(g.page).locator(".pick-row").nth(3).waitFor();
  },
  join: async (g) => {
    await closeDialog(g);
    await at(g, `/g/${g.open}`);
    await g.page.getByTestId("join-preview").waitFor();
  },
};

const company = {
  "help-desk": async (g) => {
    await at(g, `/desk/${g.desk}`);
    await g.page.getByTestId("ticket").nth(1).waitFor();
  },
  "ticket-customer": (g) => open(g, g.ticket, g.c.company.ownAnswer),
  organization: async (g) => {
    await at(g, `/org/${g.organization}`);
    await g.page.getByRole("button", { name: new RegExp(`^${g.c.company.departments[0]}`) }).click();
    await g.page.getByTestId("member").first().waitFor();
  },
  "official-account": (g) => open(g, g.official, g.c.company.menu[0][1]),
  room: async (g) => {
    await at(g, `/room/${g.room}`);
    await g.bob.goto(`${g.w.url}/room/${g.room}`);
    for (const p of [g.page, g.bob]) await p.locator(".room-foot input").waitFor();
    await sayInRoom([g.bob, g.page], g.c.company.roomSaid.slice(0, 2));
  },
};

const posts = (g) => g.page.locator('section.feed [data-testid="post"]');

const feed = {
  feed: async (g) => {
    await at(g, "/feed");
    await posts(g).nth(2).waitFor();
  },
  "post-menu": async (g) => {
    await posts(g).first().getByRole("button", { name: g.t.options }).click();
    await g.page.getByRole("menu").waitFor();
  },
  "new-post": async (g) => {
    await g.page.keyboard.press("Escape");
    await button(g, "newPost").click();
    await dialog(g.page).locator("textarea").fill(g.c.announcement);
    await dialog(g.page).locator("select").selectOption(g.t.audienceExcept);
    await dialog(g.page).locator(".pick-row").nth(1).waitFor();
  },
  post: async (g) => {
    await closeDialog(g);
    await at(g, `/feed/${g.post}`);
    await g.page.locator(".post-page").getByTestId("reposted").locator("img").waitFor();
  },
  comments: async (g) => {
    await g.page.locator("main").getByRole("button", { name: new RegExp(g.t.showReplies.replace("{n}", "2")) }).click();
    await g.page.locator("main .replies article").nth(1).waitFor();
    await g.page.locator("main .post-page").evaluate((e) => e.scrollTo(0, e.scrollHeight));
  },
  likers: async (g) => {
    await g.page.locator("main").getByTestId("likers").click();
    await dialog(g.page).getByRole("link").nth(1).waitFor();
  },
  "post-goods": async (g) => {
    await closeDialog(g);
    await at(g, `/feed/${g.offer}`);
    await g.page.locator("main .goods-picture img").waitFor();
  },
  "feed-for-you": async (g) => {
    await at(g, "/feed/foryou");
    await g.page.getByTestId("post-why").nth(1).waitFor();
  },
  "feed-hot": async (g) => {
    await at(g, "/feed/hot");
    await posts(g).nth(1).waitFor();
  },
  posts: async (g) => {
    await at(g, `/feed/u/${g.friends[1].handle}`);
    await g.page.locator("main .post-image img").first().waitFor();
  },
  notifications: async (g) => {
    await at(g, "/notifications");
    await g.page.getByTestId("notification").first().waitFor();
  },
};

const pages = {
  people: async (g) => {
    await at(g, "/people");
    await g.page.getByTestId("person").nth(5).waitFor();
  },
  "people-search": async (g) => {
    await g.page.getByRole("searchbox").fill(g.w.handle("s1"));
    await g.page.getByRole("heading", { name: g.t.results }).waitFor();
  },
  person: async (g) => {
    await at(g, `/u/${g.friends[1].handle}`);
    await button(g, "block").waitFor();
  },
  ...Object.fromEntries(
    ["profile", "appearance", "notifications", "privacy", "password", "sessions"].map((section) => [
      `settings-${section}`,
      async (g) => {
        await at(g, `/settings/${section}`);
        await g.page.locator(section === "sessions" ? "main .person" : "main input:not([hidden]), main select").first().waitFor();
      },
    ]),
  ),
  settings: async (g) => {
    await at(g, "/settings");
    await g.page.getByTestId("sign-out").waitFor();
  },
  "no-page": async (g) => {
    await at(g, "/nothing/here");
    await g.page.getByText(g.t.noPage).waitFor();
  },
  "no-chat": async (g) => {
    await at(g, "/c/1");
    await g.page.getByText(g.t.errGone).waitFor();
  },
  refused: async (g) => {
    await at(g, `/c/${g.blockedBy}`);
    await g.page.getByTestId("composer").fill(g.c.mine[0]);
    await button(g, "send").click();
    await g.page.locator(".failed").waitFor();
  },
  offline: async (g) => {
    await open(g, g.direct, g.c.direct[2]);
    await g.disconnect();
    await g.page.getByTestId("banner").filter({ hasText: g.t.offlineBanner }).waitFor();
    await g.page.getByTestId("composer").fill(g.c.unsent);
    await button(g, "send").click();
    await g.page.getByTestId("outgoing").waitFor();
  },
};

/** Of somebody with chats and friends. The last one ends the connection. */
export const inside = { ...chats, ...overlays, ...company, ...feed, ...pages };

