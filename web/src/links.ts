export interface Part {
  text: string;
  href?: string;
}

const address = /https?:\/\/[^\s<>"'`\u201c\u201d\u2018\u2019\u3000-\u303f\uff00-\uffef]+/giu;
const trailing = /[.,:;!?)\]}*_~]+$/;

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
  const end = trailing.exec(s)?.[0] ?? "";
  const bare = s.slice(0, s.length - end.length);
  return end.startsWith(")") && bare.includes("(") ? `${bare})` : bare;
}

function isAddress(s: string): boolean {
  try {
    return new URL(s).hostname !== "";
  } catch {
    return false;
  }
}
