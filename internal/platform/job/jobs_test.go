package job_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/base/synclist"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
)

func TestAJobRunsWithItsArguments(t *testing.T) {
	f := openFleet(t, 1)
	s, got := f.nodes[0], make(chan job.Job[work], 2)
	start(t, s, workers(2, func(_ context.Context, j job.Job[work]) error {
		got <- j
		return nil
	}))
	done, err := s.Insert(t.Context(), work{N: 7, Text: "seven"}, job.Options{})
	must(t, err)
	j := eventually.Receive(t, "the job", got)
	if j.ID != done.ID || j.Args != (work{N: 7, Text: "seven"}) || j.Attempt != 1 || j.Failures != 0 || !j.Created.Equal(f.clock.Now()) {
		t.Errorf("the job that ran is %+v, want the first attempt with its arguments", j)
	}
	if i := reaches(t, s, done.ID, job.Completed); string(i.Args) != `{"n":7,"text":"seven"}` || i.Attempt != 1 || i.AttemptedBy != "node-a" || i.Finished.IsZero() || len(got) != 0 {
		t.Errorf("the completed job is %+v, want one attempt by node-a", i)
	}
}

// A job exists if and only if the transaction that inserts it is committed.
func TestARolledBackJobDoesNotExist(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	var rolledBack, kept job.Inserted
	err := f.dbs[0].Write(t.Context(), func(tx *sql.Tx) (err error) {
		if rolledBack, err = s.InsertTx(t.Context(), tx, work{N: 1}, job.Options{Unique: "key"}); err != nil {
			return err
		}
		return errBroken
	})
	if !errors.Is(err, errBroken) {
		t.Fatalf("error %v, want %v", err, errBroken)
	}
	must(t, f.dbs[0].Write(t.Context(), func(tx *sql.Tx) (err error) {
		kept, err = s.InsertTx(t.Context(), tx, work{N: 2}, job.Options{Unique: "key"})
		return err
	}))
	if kept.Duplicate || rolledBack.Duplicate {
		t.Errorf("the inserts of the rolled-back and the kept transaction returned %+v, %+v, want no duplicates", rolledBack, kept)
	}
	var ran synclist.List[int]
	start(t, s, workers(1, func(_ context.Context, j job.Job[work]) error { ran.Add(j.Args.N); return nil }))
	reaches(t, s, kept.ID, job.Completed)
	if all := ran.All(); !slices.Equal(all, []int{2}) {
		t.Errorf("%v ran", all)
	}
}

// A unique key inserts one job, until the job is cancelled or deleted.
func TestAUniqueKeyInsertsOnce(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	try := func(wantDuplicate bool) int64 {
		t.Helper()
		done, err := s.Insert(t.Context(), work{}, job.Options{Unique: "key"})
		must(t, err)
		if done.Duplicate != wantDuplicate {
			t.Errorf("%+v; want a duplicate: %v", done, wantDuplicate)
		}
		return done.ID
	}
	first := try(false)
	if second := try(true); second != first {
		t.Errorf("the key is of %d; want %d", second, first)
	}
	if state, err := s.Cancel(t.Context(), first); err != nil || state != job.Cancelled {
		t.Fatalf("state %v, want %v; error %v", state, job.Cancelled, err)
	}
	third := try(false)
	stop := start(t, s, workers(1, func(context.Context, job.Job[work]) error { return nil }))
	reaches(t, s, third, job.Completed)
	try(true)
	f.clock.Advance(time.Hour + time.Second)
	must(t, s.CleanUp(t.Context()))
	stop()
	try(false)
}

func TestPrioritiesAreInOrder(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	for n, p := range []job.Priority{job.Low, 0, job.High, job.Low, job.Normal, job.High} {
		insert(t, s, n, job.Options{Priority: p})
		f.clock.Advance(time.Millisecond)
	}
	var ran synclist.List[int]
	start(t, s, workers(1, func(_ context.Context, j job.Job[work]) error { ran.Add(j.Args.N); return nil }))
	eventually.True(t, "all have run", func() bool { return len(ran.All()) == 6 })
	if all := ran.All(); !slices.Equal(all, []int{2, 5, 1, 4, 0, 3}) {
		t.Errorf("the order is %v", all)
	}
}

// A job that is due later does not run before, and runs when its time has come.
func TestAScheduledJobWaits(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	var ran synclist.List[int]
	start(t, s, workers(1, func(_ context.Context, j job.Job[work]) error { ran.Add(j.Args.N); return nil }))
	later := insert(t, s, 1, job.Options{At: f.clock.Now().Add(time.Hour), Priority: job.High})
	past := insert(t, s, 2, job.Options{At: f.clock.Now().Add(-time.Hour), Priority: job.Low})
	reaches(t, s, past, job.Completed)
	f.clock.Advance(time.Hour - time.Millisecond)
	reaches(t, s, insert(t, s, 3, job.Options{Priority: job.Low}), job.Completed)
	if i := get(t, s, later); i.State != job.Available || i.Attempt != 0 {
		t.Errorf("a millisecond before it is due the job is %+v, want it available and not attempted", i)
	}
	f.clock.Advance(time.Millisecond)
	s.Wake()
	reaches(t, s, later, job.Completed)
	if all := ran.All(); !slices.Equal(all, []int{2, 3, 1}) {
		t.Errorf("the jobs ran in the order %v, want 2, 3, 1", all)
	}
}

// The delays between attempts double, up to an hour, and are random.
func TestDelaysBetweenAttemptsGrow(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	start(t, s, workers(1, func(context.Context, job.Job[work]) error { return errWork }))
	id := insert(t, s, 1, job.Options{MaxFailures: 15})
	ceiling := time.Second
	for n := 1; n < 15; n++ {
		var i job.Info
		eventually.True(t, "the attempt has failed", func() bool { i = get(t, s, id); return i.Failures == n })
		if delay := i.Due.Sub(f.clock.Now()); i.State != job.Available || i.Error != errWork.Error() || delay < ceiling/2-time.Millisecond || delay > ceiling {
			t.Fatalf("after %d failures the delay is %v; want up to %v: %+v", n, delay, ceiling, i)
		}
		ceiling = min(2*ceiling, time.Hour)
		f.clock.Advance(i.Due.Sub(f.clock.Now()))
		s.Wake()
	}
	if i := reaches(t, s, id, job.Discarded); i.Attempt != 15 {
		t.Errorf("the discarded job is %+v, want 15 attempts", i)
	}
}

// A job that always fails becomes a dead letter, with the reason, while others run. An operator retries it once it can succeed.
func TestAPoisonJobBecomesADeadLetter(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	repaired := make(chan struct{})
	start(t, s, workers(2, func(_ context.Context, j job.Job[work]) error {
		select {
		case <-repaired:
		default:
			if j.Args.N < 0 {
				panic("poison")
			}
		}
		return nil
	}))
	poison := insert(t, s, -1, job.Options{MaxFailures: 3, Unique: "poison"})
	for n := 1; n <= 3; n++ {
		eventually.True(t, "the attempt has failed", func() bool { return get(t, s, poison).Failures == n })
		if n < 3 {
			f.clock.Advance(time.Minute)
			s.Wake()
		}
	}
	if i := get(t, s, poison); i.State != job.Discarded || i.Failures != 3 || !strings.Contains(i.Error, "poison") {
		t.Fatalf("after its last failure it is %+v", i)
	}
	if err := s.Retry(t.Context(), insert(t, s, 5, job.Options{At: f.clock.Now().Add(time.Hour)}), nil); err == nil {
		t.Error("a waiting job was retried")
	}
	reaches(t, s, insert(t, s, 1, job.Options{}), job.Completed)
	list, err := s.List(t.Context(), job.Discarded, "", 10)
	must(t, err)
	if len(list) != 1 || list[0].ID != poison {
		t.Fatalf("the dead letters are %+v", list)
	}
	close(repaired)
	must(t, s.Retry(t.Context(), poison, nil))
	if i := reaches(t, s, poison, job.Completed); i.Failures != 0 || i.Attempt != 4 {
		t.Errorf("the retried job is %+v, want it completed in the 4th attempt, without failures", i)
	}
}

func TestDeadLettersOfAKindAreRetriedTogether(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	for n := range 250 {
		if state, err := s.Discard(t.Context(), insert(t, s, n, job.Options{}), nil); err != nil || state != job.Discarded {
			t.Fatalf("state %v, want %v; error %v", state, job.Discarded, err)
		}
	}
	if n, err := s.RetryDiscarded(t.Context(), "other", nil); n != 0 || err != nil {
		t.Errorf("%d jobs of another kind are retried, want 0; error %v", n, err)
	}
	if n, err := s.RetryDiscarded(t.Context(), "work", nil); n != 250 || err != nil {
		t.Errorf("%d jobs are retried, want 250; error %v", n, err)
	}
	if list, err := s.List(t.Context(), job.Available, job.DefaultQueue, 1000); err != nil || len(list) != 250 {
		t.Errorf("%d jobs are available, want 250; error %v", len(list), err)
	}
}

// A worker may ask for another attempt, which is no failure, or end its job.
func TestAWorkerDecidesAboutItsJob(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	start(t, s, workers(1, func(_ context.Context, j job.Job[work]) error {
		switch {
		case j.Args.N == 1 && j.Attempt == 1:
			return fmt.Errorf("later: %w", job.Snooze(time.Hour))
		case j.Args.N == 2:
			return job.Cancel(errWork)
		case j.Args.N == 3:
			return job.Discard(errWork)
		}
		return nil
	}))
	ids := []int64{0, insert(t, s, 1, job.Options{MaxFailures: 1}), insert(t, s, 2, job.Options{}), insert(t, s, 3, job.Options{})}
	if i := reaches(t, s, ids[2], job.Cancelled); i.Error != errWork.Error() {
		t.Errorf("the job that cancels itself is %+v, want its error", i)
	}
	if i := reaches(t, s, ids[3], job.Discarded); i.Error != errWork.Error() || i.Attempt != 1 {
		t.Errorf("the job with a final error is %+v, want it discarded in its first attempt", i)
	}
	if i := get(t, s, ids[1]); i.State != job.Available || i.Failures != 0 || !i.Due.Equal(f.clock.Now().Add(time.Hour).UTC()) {
		t.Errorf("the snoozed job is %+v, want it available in an hour, without failures", i)
	}
	f.clock.Advance(time.Hour)
	s.Wake()
	if i := reaches(t, s, ids[1], job.Completed); i.Attempt != 2 || i.Failures != 0 {
		t.Errorf("the snoozed job is %+v at its end, want 2 attempts without failures", i)
	}
}

// A cancelled job does not run. One that runs is told so, on whichever node, and has no further attempt.
func TestACancelledJobEnds(t *testing.T) {
	f := openFleet(t, 2)
	began := make(chan int64, 1)
	stop := start(t, f.nodes[1], workers(1, func(ctx context.Context, j job.Job[work]) error {
		began <- j.ID
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	f.dead.Store(f.names[0], true) // so that node 1 takes each job at once
	running := insert(t, f.nodes[0], 1, job.Options{Unique: "key"})
	eventually.Receive(t, "the attempt", began)
	waiting := insert(t, f.nodes[0], 2, job.Options{})
	if state, err := f.nodes[0].Cancel(t.Context(), waiting); err != nil || state != job.Cancelled {
		t.Fatalf("state %v, want %v; error %v", state, job.Cancelled, err)
	}
	if state, err := f.nodes[0].Cancel(t.Context(), running); err != nil || state != job.Running {
		t.Fatalf("state %v, want %v; error %v", state, job.Running, err)
	}
	eventually.True(t, "the attempt has ended", func() bool { return get(t, f.nodes[0], running).State != job.Running })
	if i := get(t, f.nodes[0], running); i.State != job.Cancelled || i.Attempt != 1 || i.Cancelling || i.Unique != "" {
		t.Fatalf("the running job that was cancelled is %+v, want one attempt and no unique key", i)
	}
	if state, err := f.nodes[0].Cancel(t.Context(), running); err != nil || state != job.Cancelled {
		t.Errorf("state %v, want %v; error %v", state, job.Cancelled, err)
	}
	if _, err := f.nodes[0].Cancel(t.Context(), running+1000); !errors.Is(err, job.ErrNoJob) {
		t.Errorf("error %v, want %v", err, job.ErrNoJob)
	}
	stop()
	if i := get(t, f.nodes[0], waiting); i.State != job.Cancelled || i.Attempt != 0 || len(began) != 0 {
		t.Errorf("the waiting job that was cancelled is %+v, want no attempt", i)
	}
}

func TestAnAttemptHasADeadline(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	start(t, s, workers(1, func(ctx context.Context, j job.Job[work]) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	if i := reaches(t, s, insert(t, s, 1, job.Options{Timeout: time.Millisecond, MaxFailures: 1}), job.Discarded); i.Error != context.DeadlineExceeded.Error() {
		t.Errorf("the job beyond its timeout is %+v, want the error of its deadline", i)
	}
}

// The attempt of a worker that ignores its deadline fails. Its worker runs no other job before it returns, and its late result is dropped.
func TestAWorkerMayIgnoreItsDeadline(t *testing.T) {
	s := openFleet(t, 1).nodes[0]
	job.SetStuckGrace(s, time.Millisecond)
	w, release := job.NewWorkers(map[string]int{job.DefaultQueue: 1, "other": 1}), make(chan struct{})
	job.Add(w, func(_ context.Context, j job.Job[work]) error {
		if j.Args.N == 1 {
			<-release
		}
		return nil
	})
	start(t, s, w)
	t.Cleanup(func() { close(release) })
	stuck := insert(t, s, 1, job.Options{Timeout: time.Millisecond, MaxFailures: 1})
	if i := reaches(t, s, stuck, job.Discarded); !strings.Contains(i.Error, "did not return after its deadline") {
		t.Errorf("the job that ignores its deadline is %+v, want an error that says so", i)
	}
	next := insert(t, s, 2, job.Options{})
	for range 2 { // the second one is claimed in a round that began after next was inserted
		reaches(t, s, insert(t, s, 3, job.Options{Queue: "other"}), job.Completed)
	}
	if i := get(t, s, next); i.State != job.Available || i.Attempt != 0 {
		t.Errorf("a job runs on a worker that has not returned: %+v", i)
	}
	release <- struct{}{}
	reaches(t, s, next, job.Completed)
	if i := get(t, s, stuck); i.State != job.Discarded || i.Attempt != 1 || i.Failures != 1 {
		t.Errorf("the stuck job is %+v after its return, want it still discarded after one attempt", i)
	}
}

// Old finished jobs are deleted, dead letters later than others, and jobs that have not ended never.
func TestOldFinishedJobsAreDeleted(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	waiting, cancelled, discarded := insert(t, s, 1, job.Options{}), insert(t, s, 2, job.Options{}), insert(t, s, 3, job.Options{})
	if _, err := s.Cancel(t.Context(), cancelled); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Discard(t.Context(), discarded, nil); err != nil {
		t.Fatal(err)
	}
	left := func(want ...int64) {
		t.Helper()
		must(t, s.CleanUp(t.Context()))
		var found []int64
		for _, id := range []int64{waiting, cancelled, discarded} {
			if _, err := s.Get(t.Context(), id); err == nil {
				found = append(found, id)
			}
		}
		if !slices.Equal(found, want) {
			t.Errorf("%v are left; want %v", found, want)
		}
	}
	f.clock.Advance(time.Hour)
	left(waiting, cancelled, discarded)
	f.clock.Advance(time.Millisecond)
	left(waiting, discarded)
	f.clock.Advance(30 * 24 * time.Hour)
	left(waiting)
}

func TestBadJobsAreRefused(t *testing.T) {
	s := openFleet(t, 1).nodes[0]
	text := strings.Repeat("x", 65536-len(`{"n":0,"text":""}`))
	q, k := strings.Repeat("q", 100), strings.Repeat("k", 200)
	for _, try := range []struct {
		args work
		o    job.Options
		want string
	}{
		{work{Text: text}, job.Options{Queue: q, Unique: k, Priority: job.Low, Timeout: 24 * time.Hour, MaxFailures: 1}, ""}, // each at its limit
		{work{Text: text + "x"}, job.Options{}, "the arguments of work have 65537 bytes; they must have at most 65536: store the data elsewhere and name it"},
		{work{}, job.Options{Priority: 4}, "the priority of work is 4; it must be High, Normal or Low"},
		{work{}, job.Options{Priority: -1}, "the priority of work is -1; it must be High, Normal or Low"},
		{work{}, job.Options{Queue: q + "q"}, `the queue "` + q + `q" must have at most 100 bytes`},
		{work{}, job.Options{Unique: k + "k"}, "the unique key of work must have at most 200 bytes"},
		{work{}, job.Options{Timeout: 24*time.Hour + 1}, "the timeout of work is 24h0m0.000000001s; it must be 1ms to 24h0m0s"},
		{work{}, job.Options{Timeout: -1}, "the timeout of work is -1ns; it must be 1ms to 24h0m0s"},
		{work{}, job.Options{MaxFailures: -1}, "MaxFailures of work is -1; it must not be negative"},
	} {
		got := ""
		if _, err := s.Insert(t.Context(), try.args, try.o); err != nil {
			got = strings.TrimPrefix(err.Error(), "job: ")
		}
		if got != try.want {
			t.Errorf("%q; want %q", got, try.want)
		}
	}
}

// The queries of a poll read an index of the jobs that they are about.
func TestPollsDoNotReadFinishedOrFutureJobs(t *testing.T) {
	db, err := sqldb.Open(t.Context(), t.TempDir()+"/records.db") // also in runs on PostgreSQL, whose plans depend on statistics
	must(t, err)
	defer db.Close()
	_, err = job.New(t.Context(), job.Deps{DB: db, Clock: clocktest.NewManual(), Node: "a"}, job.Config{})
	must(t, err)
	for statement, index := range job.PollStatements() {
		rows, err := db.Read().QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+statement, 1, 1, 1, 1)
		var plan []string
		must(t, sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		}))
		if text := strings.Join(plan, "; "); !strings.Contains(text, index) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s\nhas the plan %s; want the index %s", statement, text, index)
		}
	}
}

// A job whose call was refused is tried again, although one failure would make it a dead letter.
func TestRefusedCallsAreNoFailures(t *testing.T) {
	f := openFleet(t, 1)
	calls := outgoingtest.New()
	outgoingtest.Open(t, calls, outgoing.SMTP, "smtp.example.com:587")
	var attempts atomic.Int64
	start(t, f.nodes[0], workers(1, func(ctx context.Context, _ job.Job[work]) error {
		attempts.Add(1)
		return calls.Do(ctx, outgoing.SMTP, "smtp.example.com:587", time.Second, func(context.Context) outgoing.Outcome { return outgoing.Outcome{} })
	}))
	n := insert(t, f.nodes[0], 1, job.Options{MaxFailures: 1})
	for i := range int64(3) {
		eventually.True(t, "the call is refused", func() bool { return attempts.Load() > i && get(t, f.nodes[0], n).State == job.Available })
		if got := get(t, f.nodes[0], n); got.Failures != 0 || !strings.Contains(got.Error, "is not called for") {
			t.Errorf("a refused call: %+v", got)
		}
		if i == 2 {
			outgoingtest.Forget(t, calls, outgoing.SMTP)
		}
		f.clock.Advance(2 * outgoingtest.OpenFor)
		f.nodes[0].Wake()
	}
	reaches(t, f.nodes[0], n, job.Completed)
}
