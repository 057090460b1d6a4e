import { useState } from "react";
import { useText } from "../i18n.js";
import { addresses } from "../links.js";
import { LinkedText } from "./MentionText.js";

/** Texts that are longer, or have more lines, are folded in a list. */
const longText = 600;
const longLines = 12;

/** The text of a post, with its links. In a list, a long one is folded. */
export function PostText({ text, folded }: { text: string; folded: boolean }) {
  const t = useText();
  const [open, setOpen] = useState(false);
  const isLong = folded && (text.length > longText || text.split("\n", longLines + 1).length > longLines);
  return (
    <>
      <p className={isLong && !open ? "post-text folded" : "post-text"} dir="auto"><LinkedText text={text} parts={addresses(text)} from={0} to={text.length} /></p>
      {isLong && !open && <button type="button" className="link" onClick={() => setOpen(true)}>{t("showAll")}</button>}
    </>
  );
}
