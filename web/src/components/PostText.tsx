import type { WithMentions } from "@rialto-im/client";
import { useState } from "react";
import { useText } from "../i18n.js";
import { MentionText } from "./MentionText.js";

/** Texts that are longer, or have more lines, are folded in a list. */
const longText = 600;
const longLines = 12;

/** The text of a post or a comment, with its links and mentions. In a list, a long one is folded. */
export function PostText({ of, folded }: { of: WithMentions & { readonly text: string }; folded: boolean }) {
  const t = useText();
  const { text } = of;
  const [open, setOpen] = useState(false);
  const isLong = folded && (text.length > longText || text.split("\n", longLines + 1).length > longLines);
  return (
    <>
      <p className={isLong && !open ? "post-text folded" : "post-text"} dir="auto"><MentionText text={text} content={of} /></p>
      {isLong && !open && <button type="button" className="link" onClick={() => setOpen(true)}>{t("showAll")}</button>}
    </>
  );
}
