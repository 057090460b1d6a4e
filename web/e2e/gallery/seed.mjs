// Fills a deployment with what a person has after some weeks.
import { picture } from "../harness.mjs";

const chat = "chat.v1.ChatService";
const graph = "account.v1.GraphService";

/** The users, chats and messages that the pictures show. */
export async function seed(w, c) {
  const register = (handle, name) => w.user(handle, name);
  const me = await register("me", c.me);
  const friends = [];
  for (const [n, name] of c.friends.entries()) friends.push(await register(`f${n}`, name));
  const strangers = [];
  for (const [n, name] of c.strangers.entries()) strangers.push(await register(`s${n}`, name));
  for (const f of friends) await w.befriend(me, f);
  const [eve, farid, grace, hugo] = strangers;
  await w.befriend(friends[0], farid); // whom one may know, then
  await w.call(`${graph}/RequestFriend`, { user: me.id, message: c.asks }, eve.token);
  await w.call(`${graph}/Block`, { user: grace.id }, me.token);
  await w.call("account.v1.AccountService/UpdateProfile", { bio: c.bio }, friends[1].token);
  const chats = await seedChats(w, c, { me, friends });
  const blockedBy = await w.direct(me, hugo);
  await w.call(`${graph}/Block`, { user: me.id }, hugo.token);
  const open = (await w.call(`${chat}/CreateGroup`, { title: c.newGroup, joinPolicy: "JOIN_POLICY_APPROVAL", key: "open" }, farid.token)).id;
  return { me, friends, strangers, blockedBy, open, ...chats };
}

async function seedChats(w, c, { me, friends }) {
  const [bob, chloe, dan, max] = friends;
  const group = async (title, key, members = friends) => (await w.call(`${chat}/CreateGroup`, { title, members: members.map((f) => f.id), key }, me.token)).id;
  const long = await group(c.longGroup, "long");
  await w.send(max, long, [c.said[2]]);
  await w.call(`${chat}/Configure`, { conversation: long, muted: true }, me.token);
  const empty = await group(c.emptyGroup, "empty", [bob]);
  const left = await group(`${c.emptyGroup} 2`, "left", [bob]);
  await w.call(`${chat}/Dissolve`, { conversation: left }, me.token);
  const silent = await w.direct(me, dan); // nobody has written
  const away = (await w.call(`${chat}/CreateGroup`, { title: c.newGroup, members: [me.id], key: "away" }, bob.token)).id;
  await w.send(bob, away, Array.from({ length: 3 }, () => c.said[0]));
  await w.call(`${chat}/Configure`, { conversation: away, archived: true }, me.token);
  const unread = await w.direct(chloe, me);
  await w.send(me, unread, [c.answer]);
  await w.send(chloe, unread, Array.from({ length: 14 }, (_, n) => c.said[n % c.said.length]));
  const direct = await w.direct(bob, me);
  await w.send(bob, direct, c.direct.slice(0, 2));
  await w.send(me, direct, [c.answer]);
  await w.send(bob, direct, [c.direct[2]]);
  await w.call(`${chat}/Configure`, { conversation: long, draft: c.draft }, me.token);
  const hike = await group(c.group, "hike");
  await w.call(`${chat}/UpdateGroup`, { conversation: hike, announcement: c.announcement }, me.token);
  await w.call(`${chat}/Configure`, { conversation: hike, pinned: true }, me.token);
  await w.send(bob, hike, c.said.slice(0, 2));
  await w.send(me, hike, c.mine.slice(0, 2));
  await w.send(chloe, hike, [c.said[2]]);
  await w.send(dan, hike, c.said.slice(3, 5));
  await w.send(max, hike, [c.said[5]]);
  return { long, empty, left, silent, unread, direct, hike };
}

/** Uploads a file, as a program would. */
export async function upload(w, user, name, mimeType, data) {
  const slot = await w.call("chat.v1.MediaService/CreateUpload", { name, mimeType, size: String(data.length) }, user.token);
  await fetch(new URL(slot.url, w.url), { method: "PUT", headers: { "Content-Type": mimeType }, body: data });
  await w.call("chat.v1.MediaService/CompleteUpload", { upload: slot.upload }, user.token);
  return slot.upload;
}

/** Posts of one's friends, whom one follows, and of one's own. A page draws their pictures. */
export async function seedPosts(w, c, { me, friends }, page) {
  const data = await picture(page);
  const publish = (user, content) => w.call("feed.v1.FeedService/Publish", { clientPostId: crypto.randomUUID(), content }, user.token);
  for (const f of friends) await w.call(`${graph}/Follow`, { user: f.id }, me.token);
  const [bob, chloe, dan, max] = friends;
  const images = async (user, n) => {
    const list = [];
    for (let i = 0; i < n; i++) list.push({ upload: await upload(w, user, `${i}.png`, "image/png", data), name: `${i}.png`, mimeType: "image/png", size: String(data.length), width: 480, height: 300 });
    return list;
  };
  await publish(max, { text: c.said.join("\n\n"), link: "https://trails.example.org/upper-valley" });
  await publish(dan, { text: c.said[4] });
  await publish(chloe, { title: c.caption, images: await images(chloe, 11) });
  const shared = await publish(bob, { title: c.group, text: c.announcement, images: await images(bob, 1) });
  const post = await publish(me, { text: c.mine[2], repostOf: shared.id });
  for (const f of [bob, dan, chloe]) await w.call("comment.v1.CommentService/CreateComment", { clientCommentId: crypto.randomUUID(), subjectKind: "SUBJECT_KIND_POST", subject: post.id, content: { text: c.said[4] } }, f.token);
  await publish(me, { text: c.unsent, audience: "AUDIENCE_FRIENDS" });
  const [cover, lamp] = await images(max, 2);
  const link = "https://shop.example.org/map";
  const offer = await publish(max, { title: c.caption, cover, goods: [{ name: c.file, priceMinor: "1290", currency: "EUR", link, picture: lamp }, { name: c.group, priceMinor: "24900", currency: "CNY", link }] });
  const comment = (user, text, replyTo = "0") =>
    w.call("comment.v1.CommentService/CreateComment", { clientCommentId: crypto.randomUUID(), subjectKind: "SUBJECT_KIND_POST", subject: post.id, replyTo, content: { text } }, user.token);
  const first = await comment(chloe, c.said[0]);
  const answer = await comment(me, c.answer, first.id);
  await comment(chloe, c.said[2], answer.id);
  await comment(dan, c.said[4]);
  const like = (user, kind, subject) => w.call("engagement.v1.EngagementService/Like", { kind, subject }, user.token);
  for (const user of [me, bob, chloe]) await like(user, "LIKE_KIND_POST", shared.id);
  for (const user of [bob, dan]) await like(user, "LIKE_KIND_POST", post.id);
  for (const user of [me, dan]) await like(user, "LIKE_KIND_COMMENT", first.id);
  return { post: post.id, offer: offer.id };
}

/** A picture and a file in the group, a profile picture, and a picture of the group. A page draws them. */
export async function seedFiles(w, c, { me, friends, hike }, page) {
  const data = await picture(page);
  const [image, file] = [{ name: "sunset.png", mimeType: "image/png" }, { name: c.file, mimeType: "application/pdf" }];
  const paper = Buffer.from("%PDF-1.4\n".padEnd(184_320, " "));
  const send = async (user, kind, media, bytes) => {
    const id = await upload(w, user, media.name, media.mimeType, bytes);
    user.sent = (user.sent ?? 1_000_000) + 1;
    await w.call(`${chat}/Send`, { conversation: hike, clientSeq: user.sent, content: { [kind]: { ...media, upload: id, size: String(bytes.length) } } }, user.token);
  };
  await send(friends[1], "image", { ...image, width: 480, height: 300, caption: c.caption }, data);
  await send(me, "image", { ...image, width: 480, height: 300 }, data);
  await send(me, "file", file, paper);
  await w.send(me, hike, [c.mine[2]]);
  const face = await upload(w, friends[2], "face.png", "image/png", data);
  await w.call("account.v1.AccountService/UpdateProfile", { avatar: face }, friends[2].token);
}
