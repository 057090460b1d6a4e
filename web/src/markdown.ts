import { parser as commonMark, Strikethrough, type Line, type MarkdownConfig } from "@lezer/markdown";
import { addresses, isAddress, type Range } from "./links.js";

/** A part of a line: the text of a range, or something around other parts. */
export type Inline =
  | ({ kind: "text" } & Range)
  | { kind: "strong" | "em" | "del"; children: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "link"; href: string; children: Inline[] };

export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "quote"; children: Block[] }
  | { kind: "list"; /** The first number; undefined for bullets. */ start: number | undefined; items: Block[][] }
  | { kind: "code"; text: string };

/** In how many blocks a line lies by its marks. The parser keeps that, and does not declare it. */
const depthOf = (line: Line) => (line as Line & { readonly depth: number }).depth;

/** Ends the paragraph of a quote or a list item at a line that does not belong to that by its marks. */
const endsWithItsMarks: MarkdownConfig = {
  parseBlock: [{
    name: "EndsWithItsMarks",
    // endLeaf would be shorter, and is not called for an indented line.
    leaf: () => ({
      nextLine: (cx, line, leaf) => {
        if (depthOf(line) === cx.depth) return false;
        cx.addLeafElement(leaf, cx.elt("Paragraph", leaf.start, cx.prevLineEnd(), cx.parser.parseInline(leaf.content, leaf.start)));
        return true;
      },
      finish: () => false,
    }),
  }],
};

// Chats have no headings, HTML or pictures, and what is indented is not code (docs/decisions/0078-markdown.md).
const markdown = commonMark.configure([
  Strikethrough,
  endsWithItsMarks,
  { remove: ["LinkReference", "IndentedCode", "SetextHeading", "ATXHeading", "HorizontalRule", "HTMLBlock", "HTMLTag", "Image", "Entity", "Autolink"] },
]);
type Tree = ReturnType<typeof markdown.parse>;
type Node = Tree["topNode"];

/** Beyond these a text is shown as it was typed: the work for some texts grows with the square of their marks. */
const mostCharacters = 20_000;
const mostMarks = 1_000;
/** What is nested deeper is shown as it was typed. */
const deepest = 8;

const anyMark = /[*_~`[>\\]|^[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]/m;
const marks = /[*_~`[\]>\\]|[-+.)](?=[ \t])/g;
/** CommonMark lets no bold text end with a full stop before a letter. Chinese has no spaces, so its punctuation counts as letters. */
const widePunctuation = /[\u3000-\u303f\uff00-\uffef]/g;
/** A letter to the parser, whatever it stands for. */
const letter = "\ue000";

/** The blocks of a text, in which the parser leaves some ranges as they are; undefined where it has no marks, or too many. */
export function parseMarkdown(text: string, opaque: readonly Range[]): Block[] | undefined {
  if (text.length > mostCharacters || !anyMark.test(text) || (text.match(marks)?.length ?? 0) > mostMarks) return undefined;
  let source = "";
  for (const { from, to } of opaque) source += text.slice(source.length, from) + letter.repeat(to - from);
  source = (source + text.slice(source.length)).replace(widePunctuation, letter);
  return new Reader(text).blocks(markdown.parse(source).topNode, 0);
}

class Reader {
  constructor(private readonly text: string) {}

  blocks(of: Node, depth: number): Block[] {
    const out: Block[] = [];
    for (let n = of.firstChild; n; n = n.nextSibling) {
      const block = this.block(n, depth);
      if (block) out.push(block);
    }
    return out;
  }

  private block(n: Node, depth: number): Block | undefined {
    if (n.name.endsWith("Mark")) return undefined;
    if (depth >= deepest) return { kind: "paragraph", children: [{ kind: "text", from: n.from, to: n.to }] };
    switch (n.name) {
      case "Blockquote":
        return { kind: "quote", children: this.blocks(n, depth + 1) };
      case "BulletList":
      case "OrderedList":
        return { kind: "list", start: n.name === "OrderedList" ? parseInt(this.text.slice(n.from), 10) : undefined, items: n.getChildren("ListItem").map((item) => this.blocks(item, depth + 1)) };
      case "FencedCode":
        return { kind: "code", text: n.getChildren("CodeText").map((c) => this.text.slice(c.from, c.to)).join("") };
      default:
        return { kind: "paragraph", children: this.inlines(n, depth, n.from, n.to) };
    }
  }

  /** What is between two places of a node: its children, and the text around them. */
  private inlines(of: Node, depth: number, from: number, to: number): Inline[] {
    const out: Inline[] = [];
    const addText = (end: number) => {
      if (end > from) out.push(...this.lines(from, end, depth > 0));
      from = Math.max(from, end);
    };
    for (let n = of.firstChild; n; n = n.nextSibling) {
      if (n.from < from || n.to > to) continue;
      addText(n.from);
      const inline = this.inline(n, depth + 1);
      if (inline) out.push(inline);
      from = n.to;
      if (n.name === "QuoteMark" && this.text[from] === " ") from++;
    }
    addText(to);
    return out;
  }

  /** A text, in a quote or list without the spaces that begin its further lines. */
  private lines(from: number, to: number, nested: boolean): Inline[] {
    if (!nested) return [{ kind: "text", from, to }];
    const out: Inline[] = [];
    let at = from;
    for (const { 0: indent, index } of this.text.slice(from, to).matchAll(/(?<=\n)[ \t]+/g)) {
      out.push({ kind: "text", from: at, to: from + index });
      at = from + index + indent.length;
    }
    if (at < to) out.push({ kind: "text", from: at, to });
    return out;
  }

  private inline(n: Node, depth: number): Inline | undefined {
    const raw: Inline = { kind: "text", from: n.from, to: n.to };
    if (n.name.endsWith("Mark")) return undefined;
    if (depth >= deepest) return raw;
    switch (n.name) {
      case "StrongEmphasis":
        return { kind: "strong", children: this.inlines(n, depth, n.from, n.to) };
      case "Emphasis":
        return { kind: "em", children: this.inlines(n, depth, n.from, n.to) };
      case "Strikethrough":
        return { kind: "del", children: this.inlines(n, depth, n.from, n.to) };
      case "InlineCode":
        return { kind: "code", text: this.code(n) };
      case "Escape":
        return { kind: "text", from: n.from + 1, to: n.to };
      case "HardBreak":
        return { kind: "text", from: n.to - 1, to: n.to };
      case "Link":
        return this.link(n, depth) ?? raw;
      default:
        return raw;
    }
  }

  private code(n: Node): string {
    const [begin, end] = n.getChildren("CodeMark");
    const text = this.text.slice(begin?.to ?? n.from, end?.from ?? n.to).replace(/\n/g, " ");
    return /^ .*\S.* $/.test(text) ? text.slice(1, -1) : text;
  }

  /** A link to a web page; undefined for any other, and for one whose label is another address. */
  private link(n: Node, depth: number): Inline | undefined {
    const [begin, end] = n.getChildren("LinkMark");
    const url = n.getChild("URL");
    if (!begin || !end || !url) return undefined;
    const href = this.text.slice(url.from, url.to);
    if (!/^https?:\/\//i.test(href) || !isAddress(href)) return undefined;
    const children = this.inlines(n, depth, begin.to, end.from);
    if (pretends(children.map((c) => inlineText(c, this.text)).join(""), href)) return undefined;
    return { kind: "link", href, children };
  }
}

/** What stands between the words of a label that may be addresses. A second address begins where its scheme does. */
const betweenAddresses = /[^\p{L}\p{N}\p{M}\p{Cf}.\u3002\uff0e\uff61\-/:@]+|(?=https?:\/\/)/iu;
/** Whether a label, as it is shown, names a site other than that of its link. */
function pretends(label: string, href: string): boolean {
  const linked = bareHost(href);
  return label.split(betweenAddresses).some((word) => hostsIn(word).some((host) => bareHost(`https://${host}`) !== linked));
}

/** The hosts that a word names. What follows them is a path, which may look like a host. */
function hostsIn(word: string): string[] {
  for (const segment of word.split("/")) {
    const hosts = segment.split(/[:@]/).flatMap(hostOf);
    if (hosts.length > 0) return hosts;
  }
  return [];
}

/** A text as a host, where it ends with a dot and something like a top-level domain. */
function hostOf(text: string): string[] {
  const labels = text.split(/[.\u3002\uff0e\uff61]/).filter((l) => l !== "");
  return labels.length > 1 && /^\p{L}./u.test(labels.at(-1)!) ? [labels.join(".")] : [];
}

/** The host of an address without "www."; undefined where it has none. */
function bareHost(address: string): string | undefined {
  try {
    return new URL(address).hostname.replace(/^www\./, "");
  } catch {
    return undefined;
  }
}

/** A text without its marks, for lists and quotes. Some ranges, such as mentions, stay as they are. */
export function withoutMarks(text: string, opaque: readonly Range[] = addresses(text)): string {
  const blocks = parseMarkdown(text, opaque);
  return blocks ? blocks.map((b) => blockText(b, text)).join("\n") : text;
}

function blockText(b: Block, text: string): string {
  switch (b.kind) {
    case "code":
      return b.text;
    case "paragraph":
      return b.children.map((c) => inlineText(c, text)).join("");
    case "quote":
      return b.children.map((c) => blockText(c, text)).join("\n");
    case "list":
      return b.items.map((item) => item.map((c) => blockText(c, text)).join("\n")).join("\n");
  }
}

function inlineText(c: Inline, text: string): string {
  switch (c.kind) {
    case "text":
      return text.slice(c.from, c.to);
    case "code":
      return c.text;
    default:
      return c.children.map((child) => inlineText(child, text)).join("");
  }
}
