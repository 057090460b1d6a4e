import { KeywordMatch, type OfficialAccount, type OfficialReplies as Replies } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText, type Key } from "../i18n.js";

/** A rule in the form. A reply that is no text stays as it is. */
interface Rule {
  match: KeywordMatch;
  keywords: string;
  text: string;
  reply?: Content | undefined;
}

type Content = NonNullable<Replies["welcome"]>;

const matches: [KeywordMatch, Key][] = [[KeywordMatch.CONTAINS, "matchContains"], [KeywordMatch.PREFIX, "matchPrefix"], [KeywordMatch.EXACT, "matchExact"]];
const mostRules = 100;

const textOf = (c: Content | undefined): string => (c?.kind.case === "text" ? c.kind.value : "");
const contentOf = (text: string) => ({ kind: { case: "text" as const, value: text.trim() } });
const isOther = (c: Content | undefined): c is Content => c !== undefined && c.kind.case !== "text";

/** The automatic replies of an account. */
export function OfficialReplies({ account }: { account: OfficialAccount }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const { replies, revision, user } = account;
  const [welcome, setWelcome] = useState(textOf(replies?.welcome));
  const [fallback, setFallback] = useState(textOf(replies?.fallback));
  const [rules, setRules] = useState<Rule[]>(() => (replies?.rules ?? []).map((r) => ({ match: r.match, keywords: r.keywords.join(", "), text: textOf(r.reply), reply: isOther(r.reply) ? r.reply : undefined })));
  const [saved, setSaved] = useState(false);
  const change = (n: number, part: Partial<Rule>) => {
    setSaved(false);
    setRules(rules.map((r, i) => (i === n ? { ...r, ...part } : r)));
  };
  const save = (e: FormEvent) => {
    e.preventDefault();
    const one = (text: string, before: Content | undefined) => (isOther(before) ? before : text.trim() ? contentOf(text) : undefined);
    const [first, last] = [one(welcome, replies?.welcome), one(fallback, replies?.fallback)];
    const list = rules.map((r) => ({ match: r.match, keywords: r.keywords.split(/[,，]/).map((k) => k.trim()).filter(Boolean), reply: r.reply ?? contentOf(r.text) }));
    void run(async () => {
      await client.official.update(user, { revision, replies: { rules: list, ...(first ? { welcome: first } : {}), ...(last ? { fallback: last } : {}) } });
      setSaved(true);
    });
  };
  const input = (set: (text: string) => void) => (e: { target: { value: string } }) => {
    setSaved(false);
    set(e.target.value);
  };
  return (
    <form className="stack" onSubmit={save}>
      {!isOther(replies?.welcome) && <label>{t("welcomeReply")}<textarea rows={2} maxLength={2000} value={welcome} onChange={input(setWelcome)} /></label>}
      {rules.map((r, n) => (
        <fieldset className="official-rule" key={n}>
          <legend className="sr-only">{t("ruleNumber", { n: n + 1 })}</legend>
          <label>{t("ruleMatch")}<select value={r.match} onChange={(e) => change(n, { match: Number(e.target.value) })}>{matches.map(([m, key]) => <option key={m} value={m}>{t(key)}</option>)}</select></label>
          <label>{t("ruleKeywords")}<input required value={r.keywords} onChange={(e) => change(n, { keywords: e.target.value })} /></label>
          {r.reply === undefined && <label>{t("ruleReply")}<textarea required rows={2} maxLength={2000} value={r.text} onChange={(e) => change(n, { text: e.target.value })} /></label>}
          <button type="button" onClick={() => { setSaved(false); setRules(rules.filter((_, i) => i !== n)); }}>{t("removeRule")}</button>
        </fieldset>
      ))}
      <button type="button" disabled={rules.length >= mostRules} onClick={() => { setSaved(false); setRules([...rules, { match: KeywordMatch.CONTAINS, keywords: "", text: "" }]); }}>{t("addRule")}</button>
      {!isOther(replies?.fallback) && <label>{t("fallbackReply")}<textarea rows={2} maxLength={2000} value={fallback} onChange={input(setFallback)} /></label>}
      {error && <p className="error" role="alert">{error}</p>}
      <button className="primary" disabled={busy || saved}>{t(saved ? "repliesSaved" : "save")}</button>
    </form>
  );
}
