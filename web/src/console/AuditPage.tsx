import { useCallback, useEffect, useState } from "react";
import type { AuditEntry } from "./calls.js";
import type { PageProps } from "./pageProps.js";
import { moment } from "./formats.js";
import { switchNamed } from "./switches.js";
import { useText } from "./text.js";

/** What was changed, by whom, the newest first. */
export function AuditPage({ calls, fail }: PageProps) {
  const t = useText();
  const [entries, setEntries] = useState<readonly AuditEntry[]>();
  const [more, setMore] = useState(false);
  const [error, setError] = useState("");
  const load = useCallback(
    async (before: string, signal?: AbortSignal) => {
      try {
        const page = await calls.operation.listAuditEntries({ before }, { signal });
        setEntries((list) => (before === "0" ? page.entries : [...(list ?? []), ...page.entries]));
        setMore(page.more);
        setError("");
      } catch (err) {
        if (!signal?.aborted) setError(fail(err));
      }
    },
    [calls, fail],
  );
  /** A switch such as feed.likes_off is on while the feature is off: what is said is that of the feature. */
  const stateOf = (e: AuditEntry, k: "before" | "after") => {
    const feature = switchNamed(e.subject);
    if (e.action !== "switch.set" || !feature || !e[k]) return <code>{e[k] || t("none")}</code>;
    return `${t(feature)}: ${t(e[k] === "on" ? "isOff" : "isOn")}`;
  };
  useEffect(() => {
    const ended = new AbortController();
    void load("0", ended.signal);
    return () => ended.abort();
  }, [load]);
  return (
    <>
      {error && <p className="error" role="status">{error}</p>}
      {!entries && !error && <p className="muted">{t("loading")}</p>}
      {entries?.length === 0 && <p className="muted">{t("noEntries")}</p>}
      <ul className="rows">
        {entries?.map((e) => (
          <li key={e.id} data-testid="audit-entry">
            <strong>{e.action}</strong> <bdi>{e.subject}</bdi>
            <p className="muted">
              {moment(e.timeMs)} · <bdi>{e.who}</bdi>
              {e.reason && <> · {e.reason}</>}
            </p>
            <dl className="states">
              {(["before", "after"] as const).map((k) => (
                <div key={k}>
                  <dt>{t(k)}</dt>
                  <dd>{stateOf(e, k)}</dd>
                </div>
              ))}
            </dl>
          </li>
        ))}
      </ul>
      {more && <button onClick={() => void load(entries?.at(-1)?.id ?? "0")}>{t("more")}</button>}
    </>
  );
}
