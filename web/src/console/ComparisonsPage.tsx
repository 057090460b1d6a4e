import { useCallback, useState } from "react";
import type { Comparison, StoreDifference } from "./calls.js";
import type { PageProps } from "./pageProps.js";
import { describeDifference } from "./differenceText.js";
import { count, moment } from "./formats.js";
import { ReasonDialog } from "./ReasonDialog.js";
import { useText, type Key } from "./text.js";
import { usePolled } from "./usePolled.js";

const everyMs = 5000;

const hints: Record<string, Key> = { files: "filesHint", quotas: "quotasHint", unreferenced_files: "unreferencedFilesHint", video_files: "videoFilesHint", segments: "segmentsHint", counts: "countsHint", inboxes: "inboxesHint", search: "searchHint", search_posts: "searchPostsHint", search_messages: "searchMessagesHint" };

/** The stores that are compared in the background, what differs, and repairs. */
export function ComparisonsPage({ calls, fail, mayChange }: PageProps) {
  const t = useText();
  const [asked, setAsked] = useState<StoreDifference>();
  const load = useCallback(
    async (signal: AbortSignal) => {
      const { comparisons } = await calls.operation.listComparisons({}, { signal });
      const found = await Promise.all(comparisons.filter((c) => c.differences + c.corrected > 0).map((c) => calls.operation.listDifferences({ comparison: c.name, limit: 100 }, { signal })));
      return { comparisons, differences: found.flatMap((f) => f.differences) };
    },
    [calls],
  );
  const { value, error, reload } = usePolled(load, everyMs, fail);
  const act = async (d: StoreDifference, reason: string): Promise<string | undefined> => {
    try {
      await calls.operation.repairDifference({ comparison: d.comparison, subject: d.subject, reason });
      return undefined;
    } catch (err) {
      return fail(err);
    }
  };
  return (
    <>
      {error && <p className="error" role="status">{value ? t("stale", { error }) : error}</p>}
      {!value && !error && <p className="muted">{t("loading")}</p>}
      {value && <Comparisons list={value.comparisons} />}
      {value?.differences.length === 0 && <p className="muted">{t("noDifferences")}</p>}
      <ul className="rows">
        {value?.differences.map((d) => (
          <li key={`${d.comparison} ${d.subject}`} data-testid="difference">
            <strong><bdi>{d.comparison}</bdi></strong> <bdi>{d.subject}</bdi>
            <p className={d.corrected ? "" : "error"}><bdi>{describeDifference(d, t)}</bdi></p>
            <p className="muted">{moment(d.foundMs)}</p>
            {d.corrected && <p className="muted">{t("corrected")}</p>}
            {d.repairing && <p className="muted">{t("repairing")}</p>}
            {mayChange && !d.repairing && <button onClick={() => setAsked(d)}>{t(d.corrected ? "dismiss" : "repair")}</button>}
          </li>
        ))}
      </ul>
      {asked && (
        <ReasonDialog
          question={t(asked.corrected ? "dismissQuestion" : asked.comparison === "unreferenced_files" ? "deleteFileQuestion" : "repairQuestion", { what: asked.subject })}
          label={t(asked.corrected ? "dismiss" : "repair")}
          danger={!asked.corrected}
          act={(reason) => act(asked, reason)}
          onClose={() => setAsked(undefined)}
          onDone={() => {
            setAsked(undefined);
            reload();
          }}
        />
      )}
    </>
  );
}

function Comparisons({ list }: { list: readonly Comparison[] }) {
  const t = useText();
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={t("comparison")}>
      <table>
        <thead>
          <tr>
            {(["comparison", "differences", "correctedCount", "items", "lastRound"] as const).map((k) => (
              <th key={k} scope="col">{t(k)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {list.map((c) => (
            <tr key={c.name} data-testid="comparison">
              <th scope="row">
                <bdi>{c.name}</bdi>
                {hints[c.name] && <small className="muted hint"> {t(hints[c.name]!)}</small>}
              </th>
              <td className={c.differences > 0 ? "error" : ""}>{count(c.differences)}</td>
              <td>{count(c.corrected)}</td>
              <td>{count(Number(c.compared))}</td>
              <td>{c.endedMs > 0 ? moment(c.endedMs) : t("none")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
