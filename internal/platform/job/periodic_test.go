package job_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/synclist"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// hourly are workers whose jobs run each hour, and a list of the attempts.
func hourly() (*job.Workers, *synclist.List[job.Job[work]]) {
	ran := &synclist.List[job.Job[work]]{}
	w := workers(1, func(_ context.Context, j job.Job[work]) error { ran.Add(j); return nil })
	job.Every(w, time.Hour, work{N: 7}, job.Options{Priority: job.High})
	return w, ran
}

// stored returns how many jobs there are, in any state.
func stored(t *testing.T, s *job.Service) (n int) {
	t.Helper()
	for _, state := range []job.State{job.Available, job.Running, job.Completed, job.Cancelled, job.Discarded} {
		list, err := s.List(t.Context(), state, job.DefaultQueue, 1000)
		must(t, err)
		n += len(list)
	}
	return n
}

// hour advances the clock to the middle of a later hour.
func (f *fleet) hour(n int) {
	f.clock.Set(time.UnixMilli(1_800_000_000_000).Truncate(time.Hour).Add(time.Duration(n)*time.Hour + 30*time.Minute))
}

// A periodic job runs once in each period, although each of three nodes inserts it.
func TestAPeriodicJobRunsOnceInEachPeriod(t *testing.T) {
	f := openFleet(t, 3)
	w, ran := hourly()
	round := func() {
		t.Helper()
		var group sync.WaitGroup
		for _, s := range f.nodes {
			group.Go(func() {
				if err := s.InsertPeriodic(t.Context(), w); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	for n := range 5 {
		f.hour(n)
		round()
		if got := stored(t, f.nodes[0]); got != n+1 {
			t.Fatalf("%d jobs after %d periods", got, n+1)
		}
		list, err := f.nodes[0].List(t.Context(), job.Available, job.DefaultQueue, 10)
		must(t, err)
		if i := list[0]; len(list) != 1 || string(i.Args) != `{"n":7}` || i.Priority != job.High || i.Kind != "work" || !i.Due.Equal(f.clock.Now()) {
			t.Errorf("jobs %+v, want one of the kind work that is due now", list)
		}
		f.clock.Advance(10 * time.Second) // any node may run it
		stop := start(t, f.nodes[n%3], w)
		reaches(t, f.nodes[0], list[0].ID, job.Completed)
		stop()
		round()
	}
	if n, all := stored(t, f.nodes[0]), ran.All(); n != 5 || len(all) != 5 {
		t.Errorf("%d jobs, which ran %d times; want 5 each", n, len(all))
	}
}

// Run inserts periodic jobs and runs them.
func TestANodeRunsItsPeriodicJobs(t *testing.T) {
	f := openFleet(t, 1)
	w, ran := hourly()
	start(t, f.nodes[0], w)
	eventually.True(t, "the job has run", func() bool { return len(ran.All()) == 1 })
}

// Periods that were missed while no node ran get one job together.
func TestMissedPeriodsGetOneJob(t *testing.T) {
	f := openFleet(t, 1)
	w, ran := hourly()
	for n, hour := range []int{0, 9, 10} {
		f.hour(hour)
		s := f.process(0)
		must(t, s.InsertPeriodic(t.Context(), w))
		must(t, s.InsertPeriodic(t.Context(), w))
		stop := start(t, s, w)
		eventually.True(t, "the job has run", func() bool { return len(ran.All()) > n })
		stop()
		must(t, s.InsertPeriodic(t.Context(), w))
		if got := stored(t, s); got != n+1 {
			t.Errorf("%d jobs by hour %d; want %d", got, hour, n+1)
		}
	}
}

// The job of a period waits for the one before: a kind whose jobs take longer than a period has one at a time, and no backlog.
func TestAPeriodicJobWaitsForTheLastOne(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	w, _ := hourly()
	insert := func(want int) {
		t.Helper()
		must(t, s.InsertPeriodic(t.Context(), w))
		if got := stored(t, s); got != want {
			t.Fatalf("%d jobs; want %d", got, want)
		}
	}
	insert(1)
	f.hour(1)
	insert(1) // the first waits
	ids, err := s.Claim(t.Context(), 1)
	must(t, err)
	f.hour(3)
	insert(1) // it is running
	must(t, f.process(0).Rescue(t.Context()))
	insert(1) // it has failed, and will be tried again
	if _, err := s.Discard(t.Context(), ids[0], nil); err != nil {
		t.Fatal(err)
	}
	insert(2)
	insert(2)
	f.hour(4)
	insert(2)
}

// A clock that is a little behind inserts no second job, and a clock that was far ahead does not end a schedule.
func TestPeriodsAfterAWrongClock(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	w, _ := hourly()
	for _, step := range []struct{ hour, want int }{{1, 1}, {0, 1}, {1000, 2}, {999, 2}, {2, 3}, {1, 3}, {3, 4}} {
		f.hour(step.hour)
		must(t, s.InsertPeriodic(t.Context(), w))
		if got := stored(t, s); got != step.want {
			t.Fatalf("%d jobs in hour %d; want %d", got, step.hour, step.want)
		}
		list, err := s.List(t.Context(), job.Available, job.DefaultQueue, 10)
		must(t, err)
		for _, i := range list {
			if _, err := s.Discard(t.Context(), i.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

type other struct{ work }

func (other) Kind() string { return "other" }

// Each kind has periods of its own.
func TestSchedulesAreIndependent(t *testing.T) {
	f := openFleet(t, 1)
	w, ran := hourly()
	var others synclist.List[int]
	job.Add(w, func(_ context.Context, j job.Job[other]) error { others.Add(j.Args.N); return nil })
	job.Every(w, 24*time.Hour, other{work{N: 9}}, job.Options{})
	start(t, f.nodes[0], w)
	eventually.True(t, "both have run", func() bool { return len(ran.All()) == 1 && slices.Equal(others.All(), []int{9}) })
	f.hour(1)
	must(t, f.nodes[0].InsertPeriodic(t.Context(), w))
	eventually.True(t, "the hourly one has run again", func() bool { return len(ran.All()) == 2 })
	if all := others.All(); len(all) != 1 {
		t.Errorf("the daily one ran %d times", len(all))
	}
}

func TestBadSchedulesAreRefused(t *testing.T) {
	for want, every := range map[string]func(w *job.Workers){
		"no worker for the periodic kind other":               func(w *job.Workers) { job.Every(w, time.Hour, other{}, job.Options{}) },
		"two schedules for the kind work":                     func(w *job.Workers) { job.Every(w, time.Hour, work{}, job.Options{}) },
		"the period of other is 59s; it must be at least 1m":  func(w *job.Workers) { addOther(w); job.Every(w, 59*time.Second, other{}, job.Options{}) },
		"other must not have the options At and Unique":       func(w *job.Workers) { addOther(w); job.Every(w, time.Hour, other{}, job.Options{Unique: "k"}) },
		"the priority of other is 9; it must be High, Normal": func(w *job.Workers) { addOther(w); job.Every(w, time.Hour, other{}, job.Options{Priority: 9}) },
	} {
		func() {
			w, _ := hourly()
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("%s; want %s", got, want)
				}
			}()
			every(w)
		}()
	}
}

func addOther(w *job.Workers) { job.Add(w, func(context.Context, job.Job[other]) error { return nil }) }
