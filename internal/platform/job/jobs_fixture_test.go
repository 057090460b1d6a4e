package job_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/job"
)

type work struct {
	N    int    `json:"n"`
	Text string `json:"text,omitempty"`
}

func (work) Kind() string { return "work" }

// fleet is a group of nodes that run the jobs of one database.
type fleet struct {
	t     testing.TB
	clock *clocktest.Manual
	place string
	names []string
	dbs   []*sqldb.DB
	nodes []*job.Service
	dead  sync.Map // names of nodes that the others consider dead
	blind sync.Map // names of nodes that see no node yet, not even themselves
}

// openFleet opens n nodes. In SQLite, which one process uses, they share its connections.
func openFleet(t testing.TB, n int) *fleet {
	t.Helper()
	f := &fleet{t: t, clock: clocktest.NewManual(), place: sqltest.Place(t)}
	for i := range n {
		f.names = append(f.names, "node-"+string(rune('a'+i)))
	}
	for i := range n {
		if i == 0 || sqltest.OnPostgres() {
			db, err := sqldb.Open(context.Background(), f.place)
			must(t, err)
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			f.dbs = append(f.dbs, db)
		}
		f.nodes = append(f.nodes, f.process(i))
	}
	return f
}

// process is a new process of a node.
func (f *fleet) process(i int) *job.Service {
	f.t.Helper()
	s, err := job.New(context.Background(), job.Deps{DB: f.dbs[i%len(f.dbs)], Clock: f.clock, Logger: slog.New(slog.DiscardHandler), Node: f.names[i],
		WorkerNodes: func() (live []string) {
			if _, blind := f.blind.Load(f.names[i]); blind {
				return nil
			}
			return slices.DeleteFunc(slices.Clone(f.names), func(name string) bool { return !f.alive(name) })
		},
		Alive: f.alive,
		NotifyPeers: func() {
			for _, n := range f.nodes {
				n.HandleWake()
			}
		}}, job.Config{})
	must(f.t, err)
	return s
}

func (f *fleet) alive(name string) bool {
	_, dead := f.dead.Load(name)
	return !dead
}

// passDelays advances the clock by more than the time for which a job waits for the node that it prefers, and by more than the delay after ten
// failures.
func (f *fleet) passDelays() { f.clock.Advance(30 * time.Minute) }

// workers has one worker for jobs of kind work.
func workers(n int, do func(context.Context, job.Job[work]) error) *job.Workers {
	w := job.NewWorkers(map[string]int{job.DefaultQueue: n})
	job.Add(w, do)
	return w
}

// start runs a node until stop is called, or the test ends.
func start(t testing.TB, s *job.Service, w *job.Workers) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := s.Run(ctx, w); err != nil {
			t.Error(err)
		}
	})
	stop = func() {
		cancel()
		group.Wait()
	}
	t.Cleanup(stop)
	return stop
}

func insert(t testing.TB, s *job.Service, n int, o job.Options) int64 {
	t.Helper()
	done, err := s.Insert(context.Background(), work{N: n}, o)
	must(t, err)
	return done.ID
}

func get(t testing.TB, s *job.Service, id int64) job.Info {
	t.Helper()
	i, err := s.Get(context.Background(), id)
	must(t, err)
	return i
}

func reaches(t testing.TB, s *job.Service, id int64, state job.State) job.Info {
	t.Helper()
	var i job.Info
	eventually.True(t, "the job is "+string(state), func() bool {
		i = get(t, s, id)
		return i.State == state
	})
	return i
}

var errWork = errors.New("it does not work")
