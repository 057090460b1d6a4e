import type { Content, OfficialAccount, OfficialMenuItem } from "@rialto-im/client";
import { useRef, useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText, type Key } from "../i18n.js";
import { otherThanText, sameParts, textContent, textOf } from "../officialContent.js";

const kinds = { url: "menuUrl", text: "menuText", reply: "menuReply", items: "menuItems" } satisfies Record<string, Key>;
type Kind = keyof typeof kinds;

/** An item in the form. A reply that is no text stays as it is. */
interface Item {
  title: string;
  kind: Kind;
  value: string;
  reply?: Content | undefined;
  items: Item[];
}

const mostEntries = 3;
const mostItems = 5;
const newItem: Item = { title: "", kind: "reply", value: "", items: [] };

function toItem({ title, action }: OfficialMenuItem, items: readonly OfficialMenuItem[] = []): Item {
  if (items.length > 0) return { title, kind: "items", value: "", items: items.map((i) => toItem(i)) };
  if (action.case !== "reply") return { title, kind: action.case ?? "text", value: action.value ?? "", items: [] };
  return { title, kind: "reply", value: textOf(action.value), reply: otherThanText(action.value), items: [] };
}

function actionOf({ kind, value, reply }: Item) {
  if (kind === "url") return { case: "url" as const, value: value.trim() };
  if (kind === "text") return { case: "text" as const, value: value.trim() };
  return { case: "reply" as const, value: reply ?? textContent(value) };
}

/** The menu of an account: at most three entries, each with an action or at most five items. */
export function OfficialMenuEditor({ account }: { account: OfficialAccount }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const [entries, setEntries] = useState(() => account.menu.map((e) => toItem(e.item!, e.items)));
  const [saved, setSaved] = useState(false);
  /** What the form was filled from. A later revision is fine if the menu is the same in it. */
  const base = useRef(account);
  const change = (list: Item[]) => {
    setSaved(false);
    setEntries(list);
  };
  const save = (e: FormEvent) => {
    e.preventDefault();
    const menu = {
      entries: entries.map((entry) =>
        entry.kind === "items"
          ? { item: { title: entry.title.trim() }, items: entry.items.map((i) => ({ title: i.title.trim(), action: actionOf(i) })) }
          : { item: { title: entry.title.trim(), action: actionOf(entry) } }),
    };
    const { revision } = sameParts(base.current.menu, account.menu) ? account : base.current;
    void run(async () => {
      base.current = await client.official.update(account.user, { revision, menu });
      setSaved(true);
    });
  };
  return (
    <form className="stack" onSubmit={save}>
      <Items top list={entries} onChange={change} />
      {error && <p className="error" role="alert">{error}</p>}
      <button className="primary" disabled={busy || saved}>{t(saved ? "menuSaved" : "saveMenu")}</button>
    </form>
  );
}

/** The entries of the menu, at its top, or the items of one entry. */
function Items({ list, top = false, onChange }: { list: Item[]; top?: boolean; onChange: (list: Item[]) => void }) {
  const t = useText();
  const set = (n: number, part: Partial<Item>) => onChange(list.map((item, i) => (i === n ? { ...item, ...part } : item)));
  const kindsHere = (Object.keys(kinds) as Kind[]).filter((k) => top || k !== "items");
  return (
    <>
      {list.map((item, n) => (
        <fieldset className="official-part" key={n}>
          <legend>{t(top ? "entryNumber" : "itemNumber", { n: n + 1 })}</legend>
          <label>{t("menuTitle")}<input required maxLength={24} value={item.title} onChange={(e) => set(n, { title: e.target.value })} /></label>
          <label>{t("menuAction")}<select value={item.kind} onChange={(e) => set(n, { kind: e.target.value as Kind, reply: undefined, items: e.target.value === "items" ? [newItem] : [] })}>{kindsHere.map((k) => <option key={k} value={k}>{t(kinds[k])}</option>)}</select></label>
          {item.kind !== "items" && item.reply === undefined && <label>{t(kinds[item.kind])}<input required maxLength={item.kind === "text" ? 200 : 2000} inputMode={item.kind === "url" ? "url" : "text"} value={item.value} onChange={(e) => set(n, { value: e.target.value })} /></label>}
          {item.kind === "items" && <div className="official-items"><Items list={item.items} onChange={(items) => set(n, { items })} /></div>}
          <button type="button" disabled={!top && list.length === 1} onClick={() => onChange(list.filter((_, i) => i !== n))}>{t("removeEntry")}</button>
        </fieldset>
      ))}
      <button type="button" disabled={list.length >= (top ? mostEntries : mostItems)} onClick={() => onChange([...list, newItem])}>{t(top ? "addEntry" : "addItem")}</button>
    </>
  );
}
