import { useEffect, useRef, useState } from "react";
import { JobState, type Job } from "./calls.js";
import type { PageProps } from "./pageProps.js";
import { moment } from "./formats.js";
import { ReasonDialog } from "./ReasonDialog.js";
import { useText, type Key } from "./text.js";

type Change = "retry" | "drop" | "discard";

/** What can be done with a job. */
export function changesOf(state: JobState): Change[] {
  if (state === JobState.DISCARDED) return ["retry", "drop"];
  if (state === JobState.CANCELLED) return ["retry"];
  return state === JobState.AVAILABLE || state === JobState.RUNNING ? ["discard"] : [];
}

const stateNames: Record<JobState, Key> = {
  [JobState.UNSPECIFIED]: "none",
  [JobState.AVAILABLE]: "stateAvailable",
  [JobState.RUNNING]: "stateRunning",
  [JobState.COMPLETED]: "stateCompleted",
  [JobState.CANCELLED]: "stateCancelled",
  [JobState.DISCARDED]: "deadLetter",
};

/** The arguments of a job with line breaks, if they are JSON. */
export function readable(args: string): string {
  try {
    return JSON.stringify(JSON.parse(args), null, 2);
  } catch {
    return args;
  }
}

/** One job with its arguments and its error, and what an operator may do with it. */
export function JobDetails({ calls, fail, mayChange, id, onClose }: PageProps & { id: string; onClose: () => void }) {
  const t = useText();
  const dialog = useRef<HTMLDialogElement>(null);
  const [job, setJob] = useState<Job>();
  const [error, setError] = useState("");
  const [asked, setAsked] = useState<Change>();
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    const ended = new AbortController();
    calls.operation.getJob({ id }, { signal: ended.signal }).then(setJob, (err: unknown) => !ended.signal.aborted && setError(fail(err)));
    return () => ended.abort();
  }, [calls, fail, id]);
  const act = async (change: Change, reason: string): Promise<string | undefined> => {
    try {
      if (change === "retry") setJob(await calls.operation.retryJob({ id, reason }));
      else if (change === "discard") setJob(await calls.operation.discardJob({ id, reason }));
      else await calls.operation.dropJob({ id, reason });
      return undefined;
    } catch (err) {
      return fail(err);
    }
  };
  return (
    <dialog ref={dialog} className="wide" aria-label={t("jobOf", { kind: job?.kind ?? "", id })} onClose={(e) => e.target === dialog.current && onClose()}>
      <div className="stack">
        <h2>{t("jobOf", { kind: job?.kind ?? "", id })}</h2>
        {error && <p className="error" role="alert">{error}</p>}
        {job && <Facts job={job} />}
        <div className="buttons end">
          {job && mayChange && changesOf(job.state).map((c) => (
            <button key={c} className={c === "retry" ? "" : "danger"} onClick={() => setAsked(c)}>{t(c)}</button>
          ))}
          <button className="primary small" onClick={onClose}>{t("close")}</button>
        </div>
      </div>
      {asked && (
        <ReasonDialog
          question={t(`${asked}Question`)}
          label={t(asked)}
          danger={asked !== "retry"}
          act={(reason) => act(asked, reason)}
          onClose={() => setAsked(undefined)}
          onDone={asked === "drop" ? onClose : undefined}
        />
      )}
    </dialog>
  );
}

function Facts({ job }: { job: Job }) {
  const t = useText();
  const attempted = job.attemptedMs > 0 ? t("attemptedBy", { when: moment(job.attemptedMs), node: job.attemptedBy }) : t("none");
  return (
    <>
      <dl>
        {(
          [
            ["state", t(stateNames[job.state])],
            ["queue", job.queue],
            ["created", moment(job.createdMs)],
            ["due", job.dueMs > 0 ? moment(job.dueMs) : t("none")],
            ["attempted", `${attempted} · ${t("failures", { n: job.failures, most: job.maxFailures })}`],
            ["finished", job.finishedMs > 0 ? moment(job.finishedMs) : t("none")],
          ] as [Key, string][]
        ).map(([name, value]) => (
          <div key={name}>
            <dt>{t(name)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {job.error && (
        <>
          <h3>{t("error")}</h3>
          <pre className="error" tabIndex={0}>{job.error}</pre>
        </>
      )}
      <h3>{t("arguments")}</h3>
      <pre tabIndex={0}>{readable(job.arguments)}</pre>
    </>
  );
}
