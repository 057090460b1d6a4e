import { Audience, type Client, type Media, type NamedMention, type NewPost, type Post, type Upload } from "@rialto-im/client";
import { postPrefix } from "./drafts.js";
import { getLocale } from "./i18n.js";
import { isAddress } from "./links.js";
import { namesIn, postMentions } from "./mentions.js";
import { minorOf, typedPrice } from "./money.js";
import type { KeyValueStorage } from "./storage.js";

/** An image that was uploaded for a post. */
export interface PostImage {
  upload: string;
  name: string;
  mimeType: string;
  size: number;
  width: number;
  height: number;
}

/** Goods of a post that is being written. The price is as it is typed. */
export interface GoodsDraft {
  name: string;
  price: string;
  currency: string;
  link: string;
  picture?: PostImage;
}

/** A video that was made for a post. */
export interface DraftVideo {
  id: string;
  name: string;
}

/** A post that is being written. */
export interface PostDraft {
  /** What it is published with: the same for each try. */
  key: string;
  title: string;
  text: string;
  /** The names that were chosen in the text. */
  names?: readonly NamedMention[];
  link: string;
  cover?: PostImage;
  /** A video of the author, in any state, and the name of its file. */
  video?: DraftVideo;
  images: readonly PostImage[];
  goods: readonly GoodsDraft[];
  audience: Audience;
  users: readonly string[];
  /** What was sent and perhaps stored: the answer was lost. */
  tried?: NewPost;
}

/** Uploads an image that a post or a comment is to show. */
export async function uploadImage(client: Client, file: File): Promise<PostImage> {
  return imageOf(await client.upload(file, file.name));
}

export const mostImages = 18;
export const mostUsers = 500;
export const mostGoods = 10;

export function newGoods(currency: string = getLocale() === "zh" ? "CNY" : "USD"): GoodsDraft {
  return { name: "", price: "", currency, link: "" };
}

/** Whether goods have all that they need. */
export function isGoods(g: GoodsDraft): boolean {
  return g.name.trim() !== "" && minorOf(g.price, g.currency) !== undefined && /^https:/i.test(g.link.trim()) && isAddress(g.link.trim());
}

export function newDraft(): PostDraft {
  return { key: crypto.randomUUID(), title: "", text: "", link: "", images: [], goods: [], audience: Audience.EVERYONE, users: [] };
}

function imageOf({ upload, name, mimeType, size, width, height }: Media | Upload): PostImage {
  return { upload, name, mimeType, size: Number(size), width, height };
}

const sentImage = (image: PostImage) => ({ ...image, size: BigInt(image.size) });

/** The draft with which an edit begins. */
export function draftOf({ content: c }: Post): PostDraft {
  if (!c) return newDraft();
  const goods = c.goods.map(({ name, priceMinor, currency, link, picture }) => ({ name, price: typedPrice(priceMinor, currency), currency, link, ...(picture ? { picture: imageOf(picture) } : {}) }));
  return { ...newDraft(), title: c.title, text: c.text, names: namesIn(c.text, c), link: c.link, ...(c.cover ? { cover: imageOf(c.cover) } : {}), ...(c.video !== "0" ? { video: { id: c.video, name: "" } } : {}), images: c.images.map(imageOf), goods, audience: c.audience || Audience.EVERYONE, users: [...c.users] };
}

export function namesUsers(a: Audience): boolean {
  return a === Audience.CHOSEN || a === Audience.EXCEPT;
}

/** What is sent of a draft. */
export function contentOf(d: PostDraft, repostOf: string): NewPost {
  return {
    title: d.title.trim(),
    text: d.text.trim(),
    mentions: postMentions(d.text.trim(), d.names),
    link: d.link.trim(),
    ...(d.cover ? { cover: sentImage(d.cover) } : {}),
    ...(d.video ? { video: d.video.id } : {}),
    images: d.images.map(sentImage),
    goods: d.goods.map((g) => ({ name: g.name.trim(), priceMinor: BigInt(minorOf(g.price, g.currency) ?? 0), currency: g.currency, link: g.link.trim(), ...(g.picture ? { picture: sentImage(g.picture) } : {}) })),
    audience: d.audience,
    users: namesUsers(d.audience) ? [...d.users] : [],
    repostOf,
  };
}

/** Whether there is something to publish. */
export function isComplete(d: PostDraft, repostOf: string): boolean {
  const hasContent = repostOf !== "0" || d.title.trim() !== "" || d.text.trim() !== "" || d.link.trim() !== "" || d.images.length > 0 || d.cover !== undefined || d.video !== undefined || d.goods.length > 0;
  return hasContent && d.goods.every(isGoods) && (!namesUsers(d.audience) || d.users.length > 0);
}

/** Whether two posts say the same. A preview is made again each time, and is the same where its link is. */
export function isSame(a: NewPost, b: NewPost): boolean {
  const said = (c: NewPost) => write({ ...c, linkPreview: c.linkPreview?.url ?? "" });
  return said(a) === said(b);
}

/** Drafts of posts, which survive the page: one for a new post, and one for each post that is reposted. */
export class PostDrafts {
  constructor(
    private readonly storage: KeyValueStorage,
    private readonly me: () => string,
  ) {}

  load(slot: string): PostDraft | undefined {
    try {
      const stored = JSON.parse(this.storage.getItem(this.key(slot)) ?? "null", revive) as PostDraft | null;
      return stored && Array.isArray(stored.images) && Array.isArray(stored.users) ? { ...stored, goods: stored.goods ?? [] } : undefined;
    } catch {
      return undefined; // of an older version of the app
    }
  }

  store(slot: string, draft: PostDraft): void {
    try {
      this.storage.setItem(this.key(slot), write(draft));
    } catch {
      // A full or forbidden storage: the dialog has it while it is open.
    }
  }

  discard(slot: string): void {
    this.storage.removeItem(this.key(slot));
  }

  private key(slot: string): string {
    return `${postPrefix}${this.me()}/${slot}`;
  }
}

/** JSON with what JSON does not have: whole numbers of 64 bits, and bytes. */
function write(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) => (typeof v === "bigint" ? { whole: String(v) } : v instanceof Uint8Array ? { bytes: [...v] } : v));
}

function revive(_: string, v: unknown): unknown {
  if (typeof v !== "object" || v === null) return v;
  if ("whole" in v) return BigInt(v.whole as string);
  return "bytes" in v ? Uint8Array.from(v.bytes as number[]) : v;
}
