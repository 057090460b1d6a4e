import type { Content } from "@rialto-im/client";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { useText } from "../i18n.js";
import { parseMarkdown, type Block, type Inline } from "../markdown.js";
import { linkedParts } from "../mentions.js";
import { IconButton } from "../ui/IconButton.js";
import { CheckIcon, CopyIcon } from "./icons.js";
import "./markdown.css";
import { LinkedText, type Source } from "./MentionText.js";

/** The text of a message as Markdown. */
export function MarkdownText({ text, content }: { text: string; content: Content }) {
  const { parts, blocks } = useMemo(() => {
    const parts = linkedParts(text, content);
    return { parts, blocks: parseMarkdown(text, parts) };
  }, [text, content]);
  if (!blocks) return <p className="text" dir="auto"><LinkedText text={text} parts={parts} from={0} to={text.length} /></p>;
  return <div className="text markdown" dir="auto"><Blocks blocks={blocks} text={text} parts={parts} /></div>;
}

function Blocks({ blocks, ...of }: { blocks: readonly Block[] } & Source): ReactNode {
  return blocks.map((b, i) => {
    switch (b.kind) {
      case "paragraph":
        return <p key={i} dir="auto"><Inlines inlines={b.children} {...of} /></p>;
      case "quote":
        return <blockquote key={i}><Blocks blocks={b.children} {...of} /></blockquote>;
      case "code":
        return <Code key={i} text={b.text} />;
      case "list": {
        const items = b.items.map((item, n) => <li key={n}><Blocks blocks={item} {...of} /></li>);
        return b.start === undefined ? <ul key={i}>{items}</ul> : <ol key={i} start={b.start}>{items}</ol>;
      }
    }
  });
}

function Inlines({ inlines, ...of }: { inlines: readonly Inline[] } & Source): ReactNode {
  return inlines.map((c, i) => {
    switch (c.kind) {
      case "text":
        return <LinkedText key={i} from={c.from} to={c.to} {...of} />;
      case "code":
        return <code key={i}>{c.text}</code>;
      case "link":
        return <a key={i} href={c.href} title={c.href} target="_blank" rel="noopener noreferrer nofollow"><Inlines inlines={c.children} text={of.text} parts={[]} /></a>;
      default: {
        const Mark = c.kind;
        return <Mark key={i}><Inlines inlines={c.children} {...of} /></Mark>;
      }
    }
  });
}

const copiedMs = 2_000;

/** Code, with a button that copies it. */
function Code({ text }: { text: string }) {
  const t = useText();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), copiedMs);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <div className="code" data-testid="code">
      <pre dir="ltr" tabIndex={0}><code>{text}</code></pre>
      <IconButton label={t(copied ? "copied" : "copyCode")} side="top" onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true), () => {})}>{copied ? <CheckIcon /> : <CopyIcon />}</IconButton>
    </div>
  );
}
