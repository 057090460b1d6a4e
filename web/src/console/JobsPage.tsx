import { useCallback, useState } from "react";
import { JobState, type Job, type JobQueue } from "./calls.js";
import type { PageProps } from "./pageProps.js";
import { count, duration, moment } from "./formats.js";
import { JobDetails } from "./JobDetails.js";
import { useText, type Key } from "./text.js";
import { usePolled } from "./usePolled.js";

const everyMs = 5000;

const states: [JobState, Key][] = [
  [JobState.DISCARDED, "stateDiscarded"],
  [JobState.AVAILABLE, "stateAvailable"],
  [JobState.RUNNING, "stateRunning"],
  [JobState.COMPLETED, "stateCompleted"],
  [JobState.CANCELLED, "stateCancelled"],
];

/** Background jobs: the queues, and the jobs in a state, which can be read, retried and dropped. */
export function JobsPage(props: PageProps) {
  const { calls, fail } = props;
  const t = useText();
  const [state, setState] = useState(JobState.DISCARDED);
  const [queue, setQueue] = useState("default");
  const [shown, setShown] = useState<string>();
  const load = useCallback(
    async (signal: AbortSignal) => {
      const [queues, jobs] = await Promise.all([calls.operation.listQueues({}, { signal }), calls.operation.listJobs({ state, queue, limit: 100 }, { signal })]);
      return { queues: queues.queues, jobs: jobs.jobs, state, queue };
    },
    [calls, state, queue],
  );
  const { value, error, reload } = usePolled(load, everyMs, fail);
  return (
    <>
      {error && <p className="error" role="status">{value ? t("stale", { error }) : error}</p>}
      {!value && !error && <p className="muted">{t("loading")}</p>}
      {value && <Queues queues={value.queues} />}
      <div className="filters">
        <label>
          {t("state")}
          <select value={state} onChange={(e) => setState(Number(e.target.value))}>
            {states.map(([s, key]) => (
              <option key={s} value={s}>{t(key)}</option>
            ))}
          </select>
        </label>
        {state === JobState.AVAILABLE && (
          <label>
            {t("queue")}
            <select value={queue} onChange={(e) => setQueue(e.target.value)}>
              {value?.queues.map((q) => <option key={q.name}>{q.name}</option>)}
            </select>
          </label>
        )}
      </div>
      {value && value.state === state && value.queue === queue && <JobRows jobs={value.jobs} onShow={setShown} />}
      {shown !== undefined && (
        <JobDetails
          {...props}
          id={shown}
          onClose={() => {
            setShown(undefined);
            reload();
          }}
        />
      )}
    </>
  );
}

function Queues({ queues }: { queues: readonly JobQueue[] }) {
  const t = useText();
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={t("queue")}>
      <table>
        <thead>
          <tr>
            {(["queue", "due", "scheduled", "running", "retrying", "deadLetters", "oldest"] as const).map((k) => (
              <th key={k} scope="col">{t(k)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {queues.map((q) => (
            <tr key={q.name} data-testid="queue">
              <th scope="row"><bdi>{q.name}</bdi></th>
              <td>{count(q.due)}</td>
              <td>{count(q.scheduled)}</td>
              <td>{count(q.running)}</td>
              <td>{count(q.retrying)}</td>
              <td className={q.discarded > 0 ? "error" : ""}>{count(q.discarded)}</td>
              <td>{q.oldestMs > 0 ? duration(Number(q.oldestMs), t) : t("none")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function JobRows({ jobs, onShow }: { jobs: readonly Job[]; onShow: (id: string) => void }) {
  const t = useText();
  if (jobs.length === 0) return <p className="muted">{t("noJobs")}</p>;
  return (
    <ul className="rows">
      {jobs.map((j) => (
        <li key={j.id}>
          <button data-testid="job" onClick={() => onShow(j.id)}>
            <strong><bdi>{j.kind}</bdi></strong>
            <span className="muted">
              {j.queue} · {moment(j.finishedMs || j.attemptedMs || j.dueMs)}
              {j.attemptedBy && ` · ${j.attemptedBy}`} · {t("failures", { n: j.failures, most: j.maxFailures })}
            </span>
            {j.error && <span className="error">{j.error.split("\n", 1)[0]}</span>}
          </button>
        </li>
      ))}
    </ul>
  );
}
