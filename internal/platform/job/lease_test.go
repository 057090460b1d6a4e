package job_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/lease"
)

// sharers is a group of nodes that share an outbox, with the events that they dispatched.
type sharers struct {
	t      *testing.T
	names  []string
	dbs    []*sqldb.DB
	boxes  []*job.Outbox
	leases []*job.OutboxLease

	term  uint64               // of the last grant
	ends  []context.CancelFunc // of the nodes' grants
	dead  sync.Map             // of names
	asked []*atomic.Int32      // how often each node checked whether another is alive

	under  atomic.Int32 // calls in progress
	mu     sync.Mutex   // guards events
	events map[id.User][]int
}

func share(t *testing.T, n int) *sharers {
	t.Helper()
	s := &sharers{t: t, events: map[id.User][]int{}, ends: make([]context.CancelFunc, n)}
	url := sqltest.Schema(t, sqltest.Postgres(t))
	for i := range n {
		db, err := sqldb.Open(t.Context(), url)
		must(t, err)
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		box, err := job.NewOutbox(t.Context(), db, slog.New(slog.DiscardHandler))
		must(t, err)
		s.names, s.dbs, s.boxes = append(s.names, "node-"+strconv.Itoa(i)), append(s.dbs, db), append(s.boxes, box)
		asked := &atomic.Int32{}
		s.asked = append(s.asked, asked)
		s.leases = append(s.leases, job.NewOutboxLease(s.names[i], func(name string) bool {
			asked.Add(1)
			_, dead := s.dead.Load(name)
			return !dead
		}, func() {
			for _, lease := range s.leases {
				lease.Wake()
			}
		}))
	}
	return s
}

// holder is the node that the lease's row names.
func holder(t *testing.T, db *sqldb.DB) string {
	t.Helper()
	row, err := lease.Table("outbox_leases").Get(t.Context(), db.Read(), lease.Key{Kind: "outbox"})
	must(t, err)
	return row.Holder
}

// assign gives a node the outbox, in a new term. The node that had it may still believe that it has it.
func (s *sharers) assign(i int) {
	s.term++
	ctx, cancel := context.WithCancel(context.Background())
	s.ends[i] = cancel
	s.leases[i].Assigned(cluster.NewGrant(ctx, 0, s.term))
}

func (s *sharers) revoke(i int) {
	s.ends[i]()
	s.leases[i].Revoked(0)
}

// run makes a node dispatch events until stop is called, with the given dispatch function unless it is nil.
func (s *sharers) run(i int, dispatch func(context.Context, []job.Event) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	if dispatch == nil {
		dispatch = s.dispatch
	}
	var wait sync.WaitGroup
	wait.Go(func() { must(s.t, s.boxes[i].RunLeased(ctx, s.leases[i], dispatch)) })
	return func() {
		cancel()
		wait.Wait()
	}
}

func (s *sharers) dispatch(_ context.Context, events []job.Event) error {
	if n := s.under.Add(1); n != 1 {
		s.t.Errorf("%d nodes dispatch at once", n)
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

// until waits until a user has n events.
func (s *sharers) until(u id.User, n int) {
	s.t.Helper()
	eventually.True(s.t, fmt.Sprintf("user %d has %[1]d events", n, u), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.events[u]) >= n
	})
}

// The lease moves from node to node while all nodes write. No two nodes dispatch at once, and each user gets the events once, in order.
func TestEventsStayInOrderWhenTheLeaseMoves(t *testing.T) {
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
				i := n % len(s.dbs) // each on another node than the previous one
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
	s.assign(0)
	random := rand.New(rand.NewPCG(1, 2))
	for moving := true; moving; {
		select {
		case <-done:
			moving = false
		default:
			s.revoke(holder)
			holder = random.IntN(len(s.leases))
			s.assign(holder)
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
				t.Fatalf("user %d got %v", u, list)
			}
		}
	}
	if n := waiting(t, s.dbs[0]); n != 0 {
		t.Errorf("%d events remain", n)
	}
}

// The other nodes wait while a live node is in a step. When it is dead, they dispatch its events again. If it was only paused, it
// dispatches nothing more.
func TestADeadNodesStepIsRepeated(t *testing.T) {
	s := share(t, 2)
	held, let := make(chan struct{}), make(chan struct{})
	calls := 0
	stop := s.run(0, func(ctx context.Context, events []job.Event) error {
		if calls++; calls > 1 {
			t.Errorf("a node without the lease dispatches %v", events)
			return errors.New("another node holds the lease")
		}
		close(held)
		<-let
		return nil
	})
	s.assign(0)
	put(t, s.dbs[0], s.boxes[0], event(1, 0))
	s.boxes[0].Wake()
	<-held
	s.assign(1) // the first node does not know that its lease has ended: it is paused
	checked := make(chan struct{})
	stop1 := s.run(1, func(ctx context.Context, events []job.Event) error {
		if _, dead := s.dead.Load(s.names[0]); !dead {
			t.Error("two nodes dispatch at once")
		}
		return s.dispatch(ctx, events)
	})
	go func() { // the second node checks the row several times
		for range 3 {
			put(t, s.dbs[1], s.boxes[1], event(2, 0))
		}
		close(checked)
	}()
	<-checked
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

// A node that was paused in a step and resumes after another acquired the lease deletes no events: the other still dispatches them.
func TestAPausedNodeDeletesNoEvents(t *testing.T) {
	s := share(t, 2)
	fences, held, let := make(chan string, 1), make(chan struct{}), make(chan struct{})
	stop := s.run(0, func(_ context.Context, events []job.Event) error {
		fences <- events[0].Fence
		<-let
		return nil
	})
	s.assign(0)
	put(t, s.dbs[0], s.boxes[0], event(1, 0))
	s.boxes[0].Wake()
	first := <-fences
	isCurrent := func(fence string, want bool) {
		t.Helper()
		for _, box := range s.boxes {
			if isCurrent, err := box.IsCurrent(t.Context(), fence); err != nil || isCurrent != want {
				t.Errorf("IsCurrent(%q) = %v, %v", fence, isCurrent, err)
			}
		}
	}
	isCurrent(first, true)
	s.dead.Store(s.names[0], true)
	s.assign(1)
	second := ""
	let1 := make(chan struct{})
	stop1 := s.run(1, func(_ context.Context, events []job.Event) error {
		second = events[0].Fence
		close(held)
		<-let1
		return nil
	})
	<-held
	isCurrent(first, false)
	isCurrent(second, true)
	isCurrent("", false)
	close(let)
	stop()
	if n := waiting(t, s.dbs[0]); n != 1 {
		t.Errorf("%d events wait during dispatch", n)
	}
	isCurrent(second, true)
	close(let1)
	stop1()
	if n := waiting(t, s.dbs[0]); n != 0 {
		t.Errorf("%d events wait after dispatch", n)
	}
	isCurrent(second, false)
}

// A node that was paused between two steps and resumes after another acquired the lease dispatches nothing: it notices the lost lease
// before its next step.
func TestAPausedNodeDispatchesNothing(t *testing.T) {
	s := share(t, 2)
	stop := s.run(0, func(ctx context.Context, events []job.Event) error {
		if _, dead := s.dead.Load(s.names[0]); dead {
			t.Errorf("a node whose lease has ended dispatches %v", events)
		}
		return s.dispatch(ctx, events)
	})
	defer stop()
	s.assign(0)
	put(t, s.dbs[0], s.boxes[0], event(1, 0))
	s.boxes[0].Wake()
	s.until(1, 1)
	eventually.True(t, "the first node has ended its step", func() bool { return waiting(t, s.dbs[0]) == 0 })

	s.dead.Store(s.names[0], true) // to the other one, which acquires the lease
	held, let := make(chan struct{}), make(chan struct{})
	stop1 := s.run(1, func(ctx context.Context, events []job.Event) error {
		close(held)
		<-let
		return s.dispatch(ctx, events)
	})
	defer stop1()
	release := sync.OnceFunc(func() { close(let) })
	defer release()
	s.assign(1)
	eventually.True(t, "the second node has the lease", func() bool { return holder(t, s.dbs[1]) == s.names[1] })
	put(t, s.dbs[1], s.boxes[1], event(1, 1)) // not earlier: the first node, which polls, has the lease until then
	s.boxes[1].Wake()
	eventually.Receive(t, "the second node dispatches", held)
	before := s.asked[0].Load()
	s.boxes[0].Wake()
	eventually.True(t, "the first node sees that another has the lease", func() bool { return s.asked[0].Load() > before })
	release()
	s.until(1, 2)
	if got := fmt.Sprint(s.events[1]); got != "[0 1]" {
		t.Errorf("dispatched %s", got)
	}
}

// A node that resumes under an earlier grant does not get the lease, even if its holder is gone, and reports the later term to the cluster.
func TestAnEarlierGrantDoesNotGetTheLease(t *testing.T) {
	s := share(t, 2)
	s.assign(0)
	earlier := cluster.NewGrant(t.Context(), 0, s.term)
	s.assign(1)
	stop1 := s.run(1, nil)
	put(t, s.dbs[1], s.boxes[1], event(1, 0))
	s.boxes[1].Wake()
	s.until(1, 1)
	stop1()
	s.leases[0].Assigned(earlier)
	put(t, s.dbs[0], s.boxes[0], event(1, 1))
	stop := s.run(0, nil)
	eventually.True(t, "the grant has seen the later term", func() bool { return earlier.Latest() == s.term })
	if n := len(s.events[1]); n != 1 {
		t.Errorf("%d events were dispatched; want only the first", n)
	}
	s.assign(0)
	s.until(1, 2)
	stop()
}

// Each step has its own fencing token: late calls of a failed or ended step are not accepted in the next.
func TestEachStepHasAFencingTokenOfItsOwn(t *testing.T) {
	s := share(t, 1)
	seen := map[string]bool{}
	calls := 0
	stop := s.run(0, func(ctx context.Context, events []job.Event) error {
		fence := events[0].Fence
		if isCurrent, err := s.boxes[0].IsCurrent(ctx, fence); err != nil || !isCurrent || seen[fence] {
			t.Errorf("step %d with fence %q: current: %v, %v; seen: %v", calls, fence, isCurrent, err, seen)
		}
		seen[fence] = true
		if calls++; calls == 2 {
			return errBroken
		}
		return s.dispatch(ctx, events)
	})
	s.assign(0)
	for n := range 4 {
		put(t, s.dbs[0], s.boxes[0], event(1, n))
		s.boxes[0].Wake()
		s.until(1, n+1)
	}
	stop()
}

// A node that stops in a step completes it. The next node continues at once, although the first still counts as alive.
func TestAStoppingNodeCompletesItsStep(t *testing.T) {
	s := share(t, 2)
	held, let := make(chan struct{}), make(chan struct{})
	stop := s.run(0, func(ctx context.Context, events []job.Event) error {
		if ctx.Err() != nil {
			t.Error("a step begins with a cancelled context")
		}
		close(held)
		<-let
		return s.dispatch(ctx, events)
	})
	s.assign(0)
	put(t, s.dbs[0], s.boxes[0], event(1, 0))
	s.boxes[0].Wake()
	<-held
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	s.assign(1)
	defer s.run(1, nil)()
	close(let)
	<-stopped
	put(t, s.dbs[1], s.boxes[1], event(1, 1))
	s.boxes[1].Wake()
	s.until(1, 2)
	if got := s.events[1]; got[0] != 0 || got[1] != 1 {
		t.Errorf("dispatched %v", got)
	}
}

// warned is a log handler that sends each message on a channel.
type warned struct {
	slog.Handler
	messages chan string
}

func (w warned) Enabled(context.Context, slog.Level) bool { return true }

func (w warned) Handle(_ context.Context, r slog.Record) error {
	select {
	case w.messages <- r.Message:
	default:
	}
	return nil
}

// A node that fails to release its lease retries: the next node waits for the release while the first is alive.
func TestAFailedReleaseIsRetried(t *testing.T) {
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
	change(`ALTER TABLE outbox_leases ADD CONSTRAINT held CHECK (holder <> '')`)
	defer s.run(0, nil)()
	defer s.run(1, nil)()
	s.assign(0)
	put(t, s.dbs[0], s.boxes[0], event(1, 0))
	s.boxes[0].Wake()
	s.until(1, 1)
	s.revoke(0)
	<-log.messages
	s.assign(1)
	change(`ALTER TABLE outbox_leases DROP CONSTRAINT held`)
	put(t, s.dbs[1], s.boxes[1], event(1, 1))
	s.boxes[1].Wake()
	s.until(1, 2)
}
