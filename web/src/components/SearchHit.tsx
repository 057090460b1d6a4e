import { ConversationKind, type Hit } from "@rialto-im/client";
import type { ReactNode } from "react";
import { useClient } from "../client.js";
import { when } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { useNow } from "../now.js";
import { markedParts } from "../search/highlight.js";
import { GroupAvatar, UserAvatar } from "./Avatar.js";
import { directWith } from "../search/options.js";
import { VerifiedMark } from "./VerifiedMark.js";

/** The text of a hit with what the query matches. */
export function Marked({ hit }: { hit: Hit }): ReactNode {
  return <bdi>{markedParts(hit.text, hit.highlights).map((p, i) => (p.marked ? <mark key={i}>{p.text}</mark> : p.text))}</bdi>;
}

/** What was found, as one line or two. */
export function SearchHit({ hit }: { hit: Hit }): ReactNode {
  if (hit.user) return <UserHit hit={hit} user={hit.user} />;
  if (hit.conversation) return <ConversationHit hit={hit} conversation={hit.conversation} />;
  if (hit.message) return <MessageHit hit={hit} message={hit.message} />;
  return hit.post ? <PostHit hit={hit} post={hit.post} /> : null;
}

function UserHit({ hit, user }: { hit: Hit; user: NonNullable<Hit["user"]> }) {
  const client = useClient();
  const t = useText();
  const remark = client.nameOf(user.id);
  return (
    <>
      <UserAvatar user={user.id} size={36} presence />
      <span className="search-text">
        <span className="search-line"><Marked hit={hit} /><VerifiedMark user={user.id} /></span>
        {remark !== "" && remark !== user.displayName && <small><bdi>{remark}</bdi></small>}
      </span>
      <small>{t(directWith(user.id, client) === undefined ? "openProfileOf" : "openChatOf")}</small>
    </>
  );
}

function ConversationHit({ hit, conversation: c }: { hit: Hit; conversation: NonNullable<Hit["conversation"]> }) {
  const t = useText();
  return (
    <>
      <GroupAvatar c={c} size={36} />
      <span className="search-text">
        <span className="search-line"><Marked hit={hit} /></span>
        {c.kind === ConversationKind.GROUP && <small>{t(c.channel ? "followers" : "members", { n: c.memberCount })}</small>}
      </span>
    </>
  );
}

function MessageHit({ hit, message: m }: { hit: Hit; message: NonNullable<Hit["message"]> }) {
  const client = useClient();
  const t = useText();
  const c = client.conversation(m.conversation);
  const sender = nameOf(client, m.sender, t);
  const title = c ? titleOf(c) : "";
  const isTold = title === "" || (c?.peer === m.sender && client.nameOf(m.sender) === title);
  return (
    <>
      <UserAvatar user={m.sender} size={36} />
      <span className="search-text">
        <small className="search-where"><bdi>{isTold ? sender : t("foundIn", { who: sender, where: title })}</bdi><Time ms={Number(m.timeMs)} /></small>
        <span className="search-excerpt"><Marked hit={hit} /></span>
      </span>
    </>
  );
}

function PostHit({ hit, post }: { hit: Hit; post: NonNullable<Hit["post"]> }) {
  const client = useClient();
  const t = useText();
  return (
    <>
      <UserAvatar user={post.author} size={36} />
      <span className="search-text">
        <small className="search-where"><bdi>{nameOf(client, post.author, t)}</bdi><Time ms={Number(post.createdMs)} /></small>
        <span className="search-excerpt"><Marked hit={hit} /></span>
      </span>
    </>
  );
}

function Time({ ms }: { ms: number }) {
  const now = useNow();
  return <time dateTime={new Date(ms).toISOString()}>{when(ms, getLocale(), now)}</time>;
}
