import { KeywordMatch, type Content, type OfficialAccount } from "@rialto-im/client";
import { useRef, useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText, type Key } from "../i18n.js";
import { otherThanText, sameParts, textContent, textOf } from "../officialContent.js";

/** A rule in the form. A reply that is no text stays as it is. */
interface Rule {
  match: KeywordMatch;
  keywords: string;
  text: string;
  reply?: Content | undefined;
}

const matches: [KeywordMatch, Key][] = [[KeywordMatch.CONTAINS, "matchContains"], [KeywordMatch.PREFIX, "matchPrefix"], [KeywordMatch.EXACT, "matchExact"]];
const mostRules = 100;
const newRule: Rule = { match: KeywordMatch.CONTAINS, keywords: "", text: "" };

/** The words between commas, of either script. */
const keywordsOf = (text: string): string[] => text.split(/[,，]/).map((k) => k.trim()).filter(Boolean);

/** The automatic replies of an account. */
export function OfficialReplies({ account }: { account: OfficialAccount }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const { replies, user } = account;
  /** What the form was filled from. A later revision is fine if the replies are the same in it. */
  const base = useRef(account);
  const [welcome, setWelcome] = useState(textOf(replies?.welcome));
  const [fallback, setFallback] = useState(textOf(replies?.fallback));
  const [rules, setRules] = useState<Rule[]>(() => (replies?.rules ?? []).map((r) => ({ match: r.match, keywords: r.keywords.join(", "), text: textOf(r.reply), reply: otherThanText(r.reply) })));
  const [saved, setSaved] = useState(false);
  const setList = (list: Rule[]) => {
    setSaved(false);
    setRules(list);
  };
  const change = (n: number, part: Partial<Rule>) => setList(rules.map((r, i) => (i === n ? { ...r, ...part } : r)));
  const save = (e: FormEvent) => {
    e.preventDefault();
    const replyOf = (text: string, before: Content | undefined) => otherThanText(before) ?? (text.trim() ? textContent(text) : undefined);
    const [newWelcome, newFallback] = [replyOf(welcome, replies?.welcome), replyOf(fallback, replies?.fallback)];
    const newRules = rules.map((r) => ({ match: r.match, keywords: keywordsOf(r.keywords), reply: r.reply ?? textContent(r.text) }));
    const { revision } = sameParts(base.current.replies, replies) ? account : base.current;
    void run(async () => {
      base.current = await client.official.update(user, { revision, replies: { rules: newRules, ...(newWelcome ? { welcome: newWelcome } : {}), ...(newFallback ? { fallback: newFallback } : {}) } });
      setSaved(true);
    });
  };
  const input = (set: (text: string) => void) => (e: { target: { value: string } }) => {
    setSaved(false);
    set(e.target.value);
  };
  return (
    <form className="stack" onSubmit={save}>
      {!otherThanText(replies?.welcome) && <label>{t("welcomeReply")}<textarea rows={2} maxLength={2000} value={welcome} onChange={input(setWelcome)} /></label>}
      {rules.map((r, n) => (
        <fieldset className="official-part" key={n}>
          <legend>{t("ruleNumber", { n: n + 1 })}</legend>
          <label>{t("ruleMatch")}<select value={r.match} onChange={(e) => change(n, { match: Number(e.target.value) })}>{matches.map(([m, key]) => <option key={m} value={m}>{t(key)}</option>)}</select></label>
          <label>{t("ruleKeywords")}<input required value={r.keywords} onChange={(e) => change(n, { keywords: e.target.value })} /></label>
          {r.reply === undefined && <label>{t("ruleReply")}<textarea required rows={2} maxLength={2000} value={r.text} onChange={(e) => change(n, { text: e.target.value })} /></label>}
          <button type="button" onClick={() => setList(rules.filter((_, i) => i !== n))}>{t("removeRule")}</button>
        </fieldset>
      ))}
      <button type="button" disabled={rules.length >= mostRules} onClick={() => setList([...rules, newRule])}>{t("addRule")}</button>
      {!otherThanText(replies?.fallback) && <label>{t("fallbackReply")}<textarea rows={2} maxLength={2000} value={fallback} onChange={input(setFallback)} /></label>}
      {error && <p className="error" role="alert">{error}</p>}
      <button className="primary" disabled={busy || saved}>{t(saved ? "repliesSaved" : "save")}</button>
    </form>
  );
}
