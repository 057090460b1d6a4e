import type { Client } from "@rialto-im/client";
import { useClient } from "../client.js";
import { useText, type Key, type Translate } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { isSame, kindNames, typeNames, withFilter, withoutFilter, type Filter, type Typed } from "../search/filters.js";
import { CloseIcon } from "./icons.js";
import { dayText, kindTexts, typeTexts } from "./useCompletions.js";

const added: [Key, Key][] = [["addFrom", "tokenFrom"], ["addIn", "tokenIn"], ["addBefore", "tokenBefore"], ["addAfter", "tokenAfter"]];

/** The filters of a search: those that were chosen, which a press removes; those that are on or off; and those that are to be completed. */
export function SearchFilters({ typed, onChange, onBegin }: { typed: Typed; onChange: (typed: Typed) => void; onBegin: (token: string) => void }) {
  const client = useClient();
  const t = useText();
  const { text, filters } = typed;
  const forFiles = filters.some((f) => f.name === "type" || (f.name === "kind" && f.kind === "file"));
  const types = forFiles ? typeNames.map((type): Filter => ({ name: "type", type })) : [];
  const switches: Filter[] = [...kindNames.map((kind): Filter => ({ name: "kind", kind })), ...types, { name: "has", what: "link" }];
  const chosen = filters.filter((f) => !switches.some((s) => isSame(s, f)));
  const toggle = (f: Filter, on: boolean) => onChange({ text, filters: on ? withoutFilter(filters, f) : withFilter(filters, f) });
  return (
    <div className="search-filters" role="group" aria-label={t("searchFilters")}>
      {chosen.map((f) => {
        const label = filterText(f, client, t);
        return <button key={JSON.stringify(f)} type="button" className="chip chosen" aria-label={t("removeFilter", { filter: label })} onClick={() => toggle(f, true)} data-testid="search-filter"><bdi>{label}</bdi><CloseIcon /></button>;
      })}
      {switches.map((f) => {
        const on = filters.some((one) => isSame(one, f));
        return <button key={JSON.stringify(f)} type="button" className="chip" aria-pressed={on} onClick={() => toggle(f, on)}>{filterText(f, client, t)}</button>;
      })}
      {added.map(([label, token]) => <button key={label} type="button" className="chip" onClick={() => onBegin(t(token))}>{t(label)}</button>)}
    </div>
  );
}

/** A filter in words. */
export function filterText(f: Filter, client: Client, t: Translate): string {
  switch (f.name) {
    case "from":
      return t("filterFrom", { what: nameOf(client, f.user, t) });
    case "in": {
      const c = client.conversation(f.conversation);
      return t("filterIn", { what: c ? titleOf(c) : "…" });
    }
    case "kind":
      return t(kindTexts[f.kind]);
    case "type":
      return t(typeTexts[f.type]);
    case "before":
      return t("filterBefore", { what: dayText(f.day) });
    case "after":
      return t("filterAfter", { what: dayText(f.day) });
    case "has":
      return t("hasLink");
  }
}
