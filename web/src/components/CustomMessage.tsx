import { rendererOf, type ChatMessage, type Custom } from "@rialto-im/client";
import { useEffect, useRef } from "react";
import { preview } from "../format.js";
import { useText } from "../i18n.js";
import { useLocale } from "../locale.js";

/** A message of a kind that an extension registered as that shows it, or else its text. */
export function CustomMessage({ m, custom }: { m: ChatMessage; custom: Custom }) {
  const t = useText();
  const locale = useLocale();
  const ref = useRef<HTMLDivElement>(null);
  const present = useRef(m); // changes of what is around the content, such as reactions, do not render it again
  useEffect(() => void (present.current = m));
  const isRendered = rendererOf(custom) !== undefined;
  useEffect(() => {
    const element = ref.current;
    const render = rendererOf(custom);
    if (!element || !render) return;
    try {
      const end = render(element, present.current);
      return () => {
        try {
          end?.();
        } catch (err) {
          console.error(`A message of the kind ${custom.type} cannot be removed:`, err);
        }
        element.replaceChildren();
      };
    } catch (err) {
      console.error(`A message of the kind ${custom.type} cannot be shown:`, err);
      element.textContent = preview(present.current, (u) => u, t);
    }
  }, [custom, locale]); // the locale stands for t
  return isRendered ? <div className="text" dir="auto" data-testid="custom" ref={ref} /> : <p className="text" dir="auto">{preview(m, (u) => u, t)}</p>;
}
