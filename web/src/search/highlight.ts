import type { Highlight } from "@rialto-im/client";

export interface MarkedPart {
  readonly text: string;
  readonly marked: boolean;
}

/** Cuts a text at its highlights, which count characters. Joined again, the parts are the text, also where ranges are wrong. */
export function markedParts(text: string, highlights: readonly Pick<Highlight, "start" | "length">[]): MarkedPart[] {
  const characters = [...text];
  const out: MarkedPart[] = [];
  let at = 0;
  const add = (to: number, marked: boolean) => {
    if (to > at) out.push({ text: characters.slice(at, to).join(""), marked });
    at = Math.max(at, to);
  };
  for (const { start, length } of highlights) {
    add(Math.min(start, characters.length), false);
    add(Math.min(start + length, characters.length), true);
  }
  add(characters.length, false);
  return out;
}
