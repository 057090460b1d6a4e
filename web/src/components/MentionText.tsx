import type { WithMentions } from "@rialto-im/client";
import { Fragment, type ReactNode } from "react";
import { Link } from "wouter";
import type { Range } from "../links.js";
import { linkedParts, type LinkedPart } from "../mentions.js";
import { inside, path } from "../routes.js";

/** The text of a message, or its caption: with links to addresses, and to the people that it mentions. */
export function MentionText({ text, content }: { text: string; content: WithMentions }) {
  return <LinkedText text={text} parts={linkedParts(text, content)} from={0} to={text.length} />;
}

/** A text with its links. */
export interface Source {
  text: string;
  parts: readonly LinkedPart[];
}

/** The text of a range, with its links. */
export function LinkedText({ text, parts, from, to }: Source & Range): ReactNode {
  const out: ReactNode[] = [];
  let at = from;
  for (const p of parts) {
    if (p.from < at || p.to > to) continue;
    out.push(text.slice(at, p.from), <Fragment key={p.from}>{linkOf(text.slice(p.from, p.to), p)}</Fragment>);
    at = p.to;
  }
  return [...out, text.slice(at, to)];
}

function linkOf(text: string, p: LinkedPart): ReactNode {
  const within = "href" in p ? inside(p.href) : undefined;
  if (within) return <Link href={within}>{text}</Link>;
  if ("href" in p) return <a href={p.href} target="_blank" rel="noopener noreferrer nofollow">{text}</a>;
  return "user" in p.mentioned ? <Link className="mention" href={path.user(p.mentioned.user)}>{text}</Link> : <span className="mention">{text}</span>;
}
