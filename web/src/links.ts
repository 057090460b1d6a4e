export interface Part {
  text: string;
  href?: string;
}

const address = /https?:\/\/[^\s<>"'`\u201c\u201d\u2018\u2019\u3000-\u303f\uff00-\uffef]+/giu;
const trailing = ".,:;!?)]}*_~";
const longestHost = 253; // of DNS

/** Cuts a text into plain parts and web addresses. Joined again, the parts are the text. */
export function parts(text: string): Part[] {
  const out: Part[] = [];
  let at = 0;
  for (const found of text.matchAll(address)) {
    const href = trim(found[0]);
    if (!isAddress(href)) continue;
    if (found.index > at) out.push({ text: text.slice(at, found.index) });
    out.push({ text: href, href });
    at = found.index + href.length;
  }
  if (at < text.length) out.push({ text: text.slice(at) });
  return out;
}

/** The full stop that ends a sentence is not of the address; a bracket is, where the address opened it. */
function trim(s: string): string {
  let at = s.length; // a loop, since a regular expression would try again from each of many full stops
  while (at > 0 && trailing.includes(s.charAt(at - 1))) at--;
  const bare = s.slice(0, at);
  return s.charAt(at) === ")" && bare.includes("(") ? `${bare})` : bare;
}

/** Whether a text is an address of a web page or the like, with a host. */
export function isAddress(s: string): boolean {
  try {
    const host = new URL(s).hostname;
    return host !== "" && host.length <= longestHost;
  } catch {
    return false;
  }
}

/** A range of a text. */
export interface Range {
  from: number;
  to: number;
}

/** The ranges of the web addresses in a text. */
export function addresses(text: string): (Range & { href: string })[] {
  let at = 0;
  return parts(text).flatMap((p) => {
    const from = at;
    at += p.text.length;
    return p.href ? [{ from, to: at, href: p.href }] : [];
  });
}
