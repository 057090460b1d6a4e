import { create } from "@bufbuild/protobuf";
import { MentionSchema, Role, type Content, type Mention as MentionPb } from "./gen/rialto/chat/v1/message_pb.js";

/** Whom a mention names: a member of the group, its admins, or everybody. Admins and the owner may mention everybody. */
export type Mentioned = { user: string } | { admins: true } | { everybody: true };

/** A part of a text that may name somebody. Joined again, the parts are the text. */
export interface MentionPart {
  text: string;
  mentioned?: Mentioned;
}

/** The most mentions of a message. */
export const mostMentions = 100;

/** What has mentions: the content of a message, a post or a comment. */
export type WithMentions = Content | { readonly mentions: readonly MentionPb[]; readonly kind?: undefined };

/** The content's mentions; those of the new content, in an edit. A message that an older version of this SDK stored has none. */
function mentionsOf(content: WithMentions): readonly MentionPb[] {
  const of: { readonly mentions?: readonly MentionPb[] } | undefined = content.kind?.case === "edit" ? content.kind.value.content : content;
  return of?.mentions ?? [];
}

/** Whether a content mentions a user. */
export function mentionsUser(content: Content, user: string): boolean {
  return mentionsOf(content).some((m) => m.everybody || m.user === user || m.users.includes(user));
}

/** Cuts the text of a content, or the caption of a file, at its mentions. */
export function splitMentions(text: string, content: WithMentions): MentionPart[] {
  const characters = [...text];
  const parts: MentionPart[] = [];
  let at = 0;
  const plain = (end: number) => end > at && parts.push({ text: characters.slice(at, end).join("") });
  for (const m of mentionsOf(content)) {
    const mentioned = whom(m);
    if (!mentioned || m.start < at || m.length === 0 || m.start + m.length > characters.length) continue; // of a later version
    plain(m.start);
    at = m.start + m.length;
    parts.push({ text: characters.slice(m.start, at).join(""), mentioned });
  }
  plain(characters.length);
  return parts;
}

/** The mentions of a text that consists of parts. */
export function joinMentions(parts: readonly MentionPart[]): { text: string; mentions: MentionPb[] } {
  const mentions: MentionPb[] = [];
  let start = 0;
  for (const { text, mentioned } of parts) {
    const { length } = [...text];
    if (mentioned && length > 0 && mentions.length < mostMentions) {
      const who = "user" in mentioned ? { user: mentioned.user } : "admins" in mentioned ? { role: Role.ADMIN } : { everybody: true };
      mentions.push(create(MentionSchema, { start, length, ...who }));
    }
    start += length;
  }
  return { text: parts.map((p) => p.text).join(""), mentions };
}

function whom(m: MentionPb): Mentioned | undefined {
  if (m.everybody) return { everybody: true };
  if (m.role !== Role.UNSPECIFIED) return { admins: true };
  return m.user !== "0" && m.user !== "" ? { user: m.user } : undefined;
}

/** A name that was chosen while writing, as "@Ann". */
export interface NamedMention {
  name: string;
  mentioned: Mentioned;
}

/** Finds names that were chosen in a text as it is now. Where one name begins another, the longer one counts. */
export function findMentions(text: string, chosen: readonly NamedMention[]): MentionPart[] {
  const names = [...chosen].sort((a, b) => b.name.length - a.name.length);
  const parts: MentionPart[] = [];
  let plain = "";
  for (let at = 0; at < text.length; ) {
    const found = names.find((n) => text.startsWith(n.name, at));
    if (!found) {
      plain += text.charAt(at++);
      continue;
    }
    if (plain) parts.push({ text: plain });
    plain = "";
    parts.push({ text: found.name, mentioned: found.mentioned });
    at += found.name.length;
  }
  if (plain) parts.push({ text: plain });
  return parts;
}
