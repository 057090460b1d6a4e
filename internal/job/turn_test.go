package job_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// sharers are nodes that share an outbox, and what they handed over.
type sharers struct {
	t     *testing.T
	names []string
	dbs   []*sqldb.DB
	boxes []*job.Outbox
	turns []*job.Turn

	dead sync.Map // of names

	under  atomic.Int32 // that carry just now
	mu     sync.Mutex   // guards events
	events map[id.User][]int
}

func share(t *testing.T, n int) *sharers {
	t.Helper()
	s := &sharers{t: t, events: map[id.User][]int{}}
	place := sqltest.Schema(t, sqltest.Postgres(t))
	for i := range n {
		db, err := sqldb.Open(t.Context(), place)
		must(t, err)
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		box, err := job.NewOutbox(t.Context(), db, slog.New(slog.DiscardHandler))
		must(t, err)
		s.names, s.dbs, s.boxes = append(s.names, "node-"+strconv.Itoa(i)), append(s.dbs, db), append(s.boxes, box)
		s.turns = append(s.turns, job.NewTurn(s.names[i], func(name string) bool {
			_, dead := s.dead.Load(name)
			return !dead
		}, func() {
			for _, turn := range s.turns {
				turn.Heard()
			}
		}))
	}
	return s
}

// run has a node carry until stop is called, by carry where it is given.
func (s *sharers) run(i int, carry func(context.Context, []job.Event) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	if carry == nil {
		carry = s.carry
	}
	var wait sync.WaitGroup
	wait.Go(func() { must(s.t, s.boxes[i].RunInTurn(ctx, s.turns[i], carry)) })
	return func() {
		cancel()
		wait.Wait()
	}
}

func (s *sharers) carry(_ context.Context, events []job.Event) error {
	if n := s.under.Add(1); n != 1 {
		s.t.Errorf("%d nodes carry at once", n)
	}
	defer s.under.Add(-1)
	for _, e := range events {
		n, err := strconv.Atoi(string(e.Body))
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.events[e.User] = append(s.events[e.User], n)
		s.mu.Unlock()
		runtime.Gosched()
	}
	return nil
}

// until a user has so many events.
func (s *sharers) until(u id.User, n int) {
	s.t.Helper()
	for {
		s.mu.Lock()
		got := len(s.events[u])
		s.mu.Unlock()
		if got >= n {
			return
		}
		if s.t.Context().Err() != nil {
			s.t.Fatalf("%d of %d events came", got, n)
		}
		runtime.Gosched()
	}
}

// The turn goes from node to node in the middle of everything, and all write: no two carry at once, and each user's events come once, in
// order.
func TestTheTurnMoves(t *testing.T) {
	const each, users = 60, 6
	s := share(t, 3)
	var stops []func()
	for i := range s.names {
		stops = append(stops, s.run(i, nil))
	}
	var writing sync.WaitGroup
	for u := range id.User(users) {
		writing.Go(func() {
			for n := range each {
				i := n % len(s.dbs) // each through another node than the one before
				put(t, s.dbs[i], s.boxes[i], event(u+1, n))
				s.boxes[i].Wake()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		writing.Wait()
		close(done)
	}()
	holder := 0
	s.turns[0].Begin(0)
	random := rand.New(rand.NewPCG(1, 2))
	for moving := true; moving; {
		select {
		case <-done:
			moving = false
		default:
			s.turns[holder].End(0)
			holder = random.IntN(len(s.turns))
			s.turns[holder].Begin(0)
			for range random.IntN(2000) {
				runtime.Gosched()
			}
		}
	}
	for u := range id.User(users) {
		s.until(u+1, each)
	}
	for _, stop := range stops {
		stop()
	}
	for u, list := range s.events {
		for n, got := range list {
			if got != n {
				t.Fatalf("user %d was told %v", u, list)
			}
		}
	}
	if n := waiting(t, s.dbs[0]); n != 0 {
		t.Errorf("%d events are left", n)
	}
}

// A node that is in a step keeps the others waiting while it lives. When it does not, they go on, with what it may have handed over or not;
// and should it only have been paused, it hands over nothing more.
func TestANodeDiesInAStep(t *testing.T) {
	s := share(t, 2)
	held, let := make(chan struct{}), make(chan struct{})
	calls := 0
	stop := s.run(0, func(ctx context.Context, events []job.Event) error {
		if calls++; calls > 1 {
			t.Errorf("one whose row is another's carries %v", events)
			return errors.New("not its turn")
		}
		close(held)
		<-let
		return nil
	})
	s.turns[0].Begin(0)
	put(t, s.dbs[0], s.boxes[0], event(1, 0))
	s.boxes[0].Wake()
	<-held
	s.turns[1].Begin(0) // the other was not told that its turn is over: it is paused
	looked := make(chan struct{})
	stop1 := s.run(1, func(ctx context.Context, events []job.Event) error {
		if _, dead := s.dead.Load(s.names[0]); !dead {
			t.Error("two carry at once")
		}
		return s.carry(ctx, events)
	})
	go func() { // some looks of the second at the row
		for range 3 {
			put(t, s.dbs[1], s.boxes[1], event(2, 0))
		}
		close(looked)
	}()
	<-looked
	s.dead.Store(s.names[0], true)
	s.until(1, 1)
	s.until(2, 3)
	close(let)
	put(t, s.dbs[0], s.boxes[0], event(1, 1))
	s.boxes[0].Wake()
	s.until(1, 2)
	stop()
	stop1()
}

// A node that was paused in a step, and goes on when another has the turn, forgets nothing: the other is still at it.
func TestAPausedNodeForgetsNothing(t *testing.T) {
	s := share(t, 2)
	turns, held, let := make(chan string, 1), make(chan struct{}), make(chan struct{})
	stop := s.run(0, func(_ context.Context, events []job.Event) error {
		turns <- events[0].Turn
		<-let
		return nil
	})
	s.turns[0].Begin(0)
	put(t, s.dbs[0], s.boxes[0], event(1, 0))
	s.boxes[0].Wake()
	first := <-turns
	lasts := func(turn string, want bool) {
		t.Helper()
		for _, box := range s.boxes {
			if lasts, err := box.Lasts(t.Context(), turn); err != nil || lasts != want {
				t.Errorf("turn %q lasts: %v, %v", turn, lasts, err)
			}
		}
	}
	lasts(first, true)
	s.dead.Store(s.names[0], true)
	s.turns[1].Begin(0)
	second := ""
	let1 := make(chan struct{})
	stop1 := s.run(1, func(_ context.Context, events []job.Event) error {
		second = events[0].Turn
		close(held)
		<-let1
		return nil
	})
	<-held
	lasts(first, false)
	lasts(second, true)
	lasts("", false)
	close(let)
	stop()
	if n := waiting(t, s.dbs[0]); n != 1 {
		t.Errorf("%d events wait while they are handed over", n)
	}
	lasts(second, true)
	close(let1)
	stop1()
	if n := waiting(t, s.dbs[0]); n != 0 {
		t.Errorf("%d events wait when they were handed over", n)
	}
	lasts(second, false)
}

// Each step has a turn of its own: what lingers of one that failed, or has ended, is not of the next.
func TestEachStepHasATurn(t *testing.T) {
	s := share(t, 1)
	seen := map[string]bool{}
	calls := 0
	stop := s.run(0, func(ctx context.Context, events []job.Event) error {
		turn := events[0].Turn
		if lasts, err := s.boxes[0].Lasts(ctx, turn); err != nil || !lasts || seen[turn] {
			t.Errorf("step %d in turn %q: it lasts: %v, %v; seen: %v", calls, turn, lasts, err, seen)
		}
		seen[turn] = true
		if calls++; calls == 2 {
			return errBroken
		}
		return s.carry(ctx, events)
	})
	s.turns[0].Begin(0)
	for n := range 4 {
		put(t, s.dbs[0], s.boxes[0], event(1, n))
		s.boxes[0].Wake()
		s.until(1, n+1)
	}
	stop()
}

// A node that stops in a step ends it, and the next one goes on at once, though the first is not known to be gone.
func TestANodeStops(t *testing.T) {
	s := share(t, 2)
	held, let := make(chan struct{}), make(chan struct{})
	stop := s.run(0, func(ctx context.Context, events []job.Event) error {
		if ctx.Err() != nil {
			t.Error("a step begins that is to end")
		}
		close(held)
		<-let
		return s.carry(ctx, events)
	})
	s.turns[0].Begin(0)
	put(t, s.dbs[0], s.boxes[0], event(1, 0))
	s.boxes[0].Wake()
	<-held
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	s.turns[1].Begin(0)
	defer s.run(1, nil)()
	close(let)
	<-stopped
	put(t, s.dbs[1], s.boxes[1], event(1, 1))
	s.boxes[1].Wake()
	s.until(1, 2)
	if got := s.events[1]; got[0] != 0 || got[1] != 1 {
		t.Errorf("told %v", got)
	}
}

// warned is a log that tells of each warning.
type warned struct {
	slog.Handler
	told chan string
}

func (w warned) Enabled(context.Context, slog.Level) bool { return true }

func (w warned) Handle(_ context.Context, r slog.Record) error {
	select {
	case w.told <- r.Message:
	default:
	}
	return nil
}

// A node that cannot say that its turn has ended says it as soon as it can: the next one waits for that as long as the first lives.
func TestATurnThatCannotBeGivenUp(t *testing.T) {
	s := share(t, 2)
	log := warned{slog.DiscardHandler, make(chan string, 1)}
	var err error
	s.boxes[0], err = job.NewOutbox(t.Context(), s.dbs[0], slog.New(log))
	must(t, err)
	change := func(statement string) {
		must(t, s.dbs[1].Write(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), statement)
			return err
		}))
	}
	change(`ALTER TABLE outbox_turn ADD CONSTRAINT held CHECK (node <> '')`)
	defer s.run(0, nil)()
	defer s.run(1, nil)()
	s.turns[0].Begin(0)
	put(t, s.dbs[0], s.boxes[0], event(1, 0))
	s.boxes[0].Wake()
	s.until(1, 1)
	s.turns[0].End(0)
	<-log.told
	s.turns[1].Begin(0)
	change(`ALTER TABLE outbox_turn DROP CONSTRAINT held`)
	put(t, s.dbs[1], s.boxes[1], event(1, 1))
	s.boxes[1].Wake()
	s.until(1, 2)
}
