package job_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// Without a fault, each of 10,000 jobs of two nodes runs once, and both nodes run some.
func TestTwoNodesRunEachJobOnce(t *testing.T) {
	const each = 5000
	f := openFleet(t, 2)
	var ran [2 * each]atomic.Int32
	var total atomic.Int32
	var byNode [2]atomic.Int32
	for i, s := range f.nodes {
		start(t, s, workers(64, func(_ context.Context, j job.Job[work]) error {
			ran[j.Args.N].Add(1)
			byNode[i].Add(1)
			total.Add(1)
			return nil
		}))
	}
	var inserting sync.WaitGroup
	for i, s := range f.nodes {
		inserting.Go(func() {
			for n := 0; n < each; n += 100 {
				if err := f.dbs[i%len(f.dbs)].Write(context.Background(), func(tx *sql.Tx) error {
					for k := range 100 {
						if _, err := s.InsertTx(context.Background(), tx, work{N: i*each + n + k}, job.Options{}); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
				s.Wake()
			}
		})
	}
	inserting.Wait()
	eventually.True(t, "all jobs have run", func() bool { return total.Load() >= 2*each })
	for _, s := range f.nodes {
		eventually.True(t, "no attempt is in progress", func() bool {
			list, err := s.List(t.Context(), job.Running, "", 1)
			return err == nil && len(list) == 0
		})
	}
	for n := range ran {
		if got := ran[n].Load(); got != 1 {
			t.Fatalf("job %d ran %d times", n, got)
		}
	}
	if total.Load() != 2*each || byNode[0].Load() == 0 || byNode[1].Load() == 0 {
		t.Errorf("the nodes ran %d and %d jobs", byNode[0].Load(), byNode[1].Load())
	}
}

// A node is paused in an attempt and declared dead. Another node runs the job again; when the first comes back, its outcome changes nothing.
func TestAPausedNodeCannotCompleteAnothersAttempt(t *testing.T) {
	f := openFleet(t, 2)
	paused, resume, second, fail := make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	f.dead.Store(f.names[0], true) // the second node takes the job; the first one rescues
	dropped := make(chan struct{}, 1)
	job.SetInterrupt(f.nodes[1], func(point string) error {
		if point == "after-finish" {
			dropped <- struct{}{}
		}
		return nil
	})
	start(t, f.nodes[1], workers(1, func(context.Context, job.Job[work]) error {
		paused <- struct{}{}
		<-resume
		return nil
	}))
	id := insert(t, f.nodes[1], 1, job.Options{MaxFailures: 2})
	eventually.Receive(t, "the first attempt", paused)
	f.dead.Delete(f.names[0])
	must(t, f.nodes[0].Rescue(t.Context()))
	if i := get(t, f.nodes[0], id); i.State != job.Running || i.AttemptedBy != f.names[1] {
		t.Fatalf("the job of a live node was rescued: %+v", i)
	}
	f.dead.Store(f.names[1], true)
	must(t, f.nodes[0].Rescue(t.Context()))
	must(t, f.nodes[0].Rescue(t.Context()))
	if i := get(t, f.nodes[0], id); i.State != job.Available || i.Failures != 1 {
		t.Fatalf("the job of a dead process is %+v after two rescues, want it available with one failure", i)
	}
	f.passDelays()
	start(t, f.nodes[0], workers(1, func(context.Context, job.Job[work]) error {
		second <- struct{}{}
		<-fail
		return errWork
	}))
	eventually.Receive(t, "the second attempt", second)
	close(resume)
	eventually.Receive(t, "the end of the first attempt", dropped)
	if i := get(t, f.nodes[0], id); i.State != job.Running || i.Attempt != 2 || i.AttemptedBy != f.names[0] {
		close(fail)
		t.Fatalf("after the first attempt has ended: %+v", i)
	}
	close(fail)
	if i := reaches(t, f.nodes[0], id, job.Discarded); i.Error != errWork.Error() || i.Attempt != 2 {
		t.Errorf("the rescued job is %+v, want it discarded with its error in the second attempt", i)
	}
}

// Two nodes read that a job is due. Only the one whose claim comes first runs it.
func TestAJobIsClaimedOnce(t *testing.T) {
	f := openFleet(t, 2)
	id := insert(t, f.nodes[0], 1, job.Options{})
	f.passDelays() // both may claim it
	atClaim, goOn := make(chan struct{}), make(chan struct{})
	job.SetInterrupt(f.nodes[1], func(point string) error {
		if point == "before-claim" {
			select {
			case atClaim <- struct{}{}:
			case <-goOn: // closed: the test is over
			}
			<-goOn
		}
		return nil
	})
	start(t, f.nodes[1], workers(2, func(context.Context, job.Job[work]) error { return nil }))
	eventually.Receive(t, "the second node's claim", atClaim)
	began, end := make(chan struct{}, 1), make(chan struct{})
	start(t, f.nodes[0], workers(1, func(context.Context, job.Job[work]) error {
		began <- struct{}{}
		<-end
		return nil
	}))
	eventually.Receive(t, "the first node's attempt", began)
	goOn <- struct{}{}
	next := insert(t, f.nodes[1], 2, job.Options{})
	f.passDelays()
	f.nodes[1].Wake()
	eventually.Receive(t, "the second node's next claim", atClaim)
	if i := get(t, f.nodes[1], id); i.State != job.Running || i.Attempt != 1 || i.AttemptedBy != f.names[0] {
		t.Errorf("the claimed job is %+v, want the first attempt still running on the first node", i)
	}
	close(end)
	close(goOn)
	reaches(t, f.nodes[1], next, job.Completed)
}

// An attempt that the stop of its node interrupts is no failure, and the next process of the node runs the job again.
func TestAStoppedNodesAttemptIsNoFailure(t *testing.T) {
	f := openFleet(t, 1)
	began := make(chan struct{}, 1)
	stop := start(t, f.nodes[0], workers(1, func(ctx context.Context, _ job.Job[work]) error {
		began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}))
	id := insert(t, f.nodes[0], 1, job.Options{MaxFailures: 1})
	eventually.Receive(t, "the attempt", began)
	stop()
	if i := get(t, f.nodes[0], id); i.State != job.Available || i.Failures != 0 {
		t.Fatalf("the job of a stopped node is %+v, want it available without failures", i)
	}
	start(t, f.process(0), workers(1, func(context.Context, job.Job[work]) error { return nil }))
	reaches(t, f.nodes[0], id, job.Completed)
}

// A claim whose answer was lost leaves a running job without an attempt. Its own process, which lives, makes it available again.
func TestALostClaimIsRepeated(t *testing.T) {
	f := openFleet(t, 1)
	lost := false
	job.SetInterrupt(f.nodes[0], func(point string) error {
		if point == "after-claim" && !lost {
			lost = true
			return errBroken
		}
		return nil
	})
	start(t, f.nodes[0], workers(1, func(context.Context, job.Job[work]) error { return nil }))
	if i := reaches(t, f.nodes[0], insert(t, f.nodes[0], 1, job.Options{MaxFailures: 1}), job.Completed); i.Attempt != 2 || i.Failures != 0 {
		t.Errorf("the job is %+v, want it completed in the second attempt, without failures", i)
	}
}

// A node that does not know a kind, because its release is older, leaves the job to others.
func TestAnUnknownKindWaits(t *testing.T) {
	f := openFleet(t, 1)
	stop := start(t, f.nodes[0], job.NewWorkers(map[string]int{job.DefaultQueue: 1}))
	id := insert(t, f.nodes[0], 1, job.Options{MaxFailures: 1})
	var i job.Info
	eventually.True(t, "the job was tried", func() bool { i = get(t, f.nodes[0], id); return i.Attempt == 1 && i.State == job.Available })
	if i.Failures != 0 || !i.Due.After(f.clock.Now()) {
		t.Errorf("the job that was tried is %+v, want it due later, without failures", i)
	}
	stop()
	f.passDelays()
	start(t, f.process(0), workers(1, func(context.Context, job.Job[work]) error { return nil }))
	reaches(t, f.nodes[0], id, job.Completed)
}

// Environment of the process that TestAKilledProcessLosesNoJob kills.
const (
	killedPlace = "TEST_JOB_PLACE"
	killedPoint = "TEST_JOB_POINT"
)

// The process is killed between each two steps of an attempt. Every job runs to its end, and at most once more for each kill and worker.
func TestAKilledProcessLosesNoJob(t *testing.T) {
	if place := os.Getenv(killedPlace); place != "" {
		runUntilKilled(t, place, os.Getenv(killedPoint))
		return
	}
	const jobs, parallel = 40, 4
	f := &fleet{t: t, clock: clocktest.NewManual(), place: sqltest.Place(t), names: []string{"node-a"}}
	with := func(do func(db *sqldb.DB, s *job.Service)) {
		db, err := sqldb.Open(t.Context(), f.place)
		must(t, err)
		f.dbs = []*sqldb.DB{db}
		do(db, f.process(0))
		must(t, db.Close())
	}
	with(func(db *sqldb.DB, s *job.Service) {
		must(t, db.Migrate(t.Context(), "test", []string{`CREATE TABLE ran (job BIGINT NOT NULL, attempt BIGINT NOT NULL)`}))
		for n := range jobs {
			insert(t, s, n, job.Options{})
		}
	})
	points := []string{"after-claim", "before-finish", "after-finish", "before-finish", "after-claim"}
	for _, point := range points {
		c := exec.Command(os.Args[0], "-test.run=^TestAKilledProcessLosesNoJob$", "-test.count=1")
		c.Env = append(os.Environ(), killedPlace+"="+f.place, killedPoint+"="+point)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("at %s the process ended with %v\n%s", point, err, out)
		}
	}
	with(func(db *sqldb.DB, s *job.Service) {
		must(t, s.Rescue(t.Context()))
		f.passDelays() // of the jobs that were rescued in the processes
		f.passDelays() // and now
		stop := start(t, s, workers(parallel, recordRun(db)))
		eventually.True(t, "all jobs are completed", func() bool {
			list, err := s.List(t.Context(), job.Completed, "", 1000)
			return err == nil && len(list) == jobs
		})
		stop()
		var distinct, total, again int
		must(t, db.Read().QueryRow(`SELECT COUNT(DISTINCT job), COUNT(*) FROM ran`).Scan(&distinct, &total))
		must(t, db.Read().QueryRow(`SELECT COUNT(*) FROM (SELECT job, attempt FROM ran GROUP BY job, attempt HAVING COUNT(*) > 1) AS twice`).Scan(&again))
		if distinct != jobs || total > jobs+parallel*len(points) || again != 0 {
			t.Errorf("%d of %d jobs ran, %d times in all; %d attempts ran twice", distinct, jobs, total, again)
		}
	})
}

func recordRun(db *sqldb.DB) func(context.Context, job.Job[work]) error {
	return func(ctx context.Context, j job.Job[work]) error {
		return db.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO ran (job, attempt) VALUES ($1, $2)`, j.ID, j.Attempt)
			return err
		})
	}
}

// runUntilKilled runs jobs until this process kills itself at the fifth time that it reaches a point.
func runUntilKilled(t *testing.T, place, at string) {
	db, err := sqldb.Open(t.Context(), place)
	must(t, err)
	f := &fleet{t: t, clock: clocktest.NewManual(), names: []string{"node-a"}, dbs: []*sqldb.DB{db}}
	f.passDelays()
	s := f.process(0)
	var hits atomic.Int32
	job.SetInterrupt(s, func(point string) error {
		if point == at && hits.Add(1) == 5 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
	must(t, s.Run(t.Context(), workers(4, recordRun(db))))
}
