package nodecall_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func subject(node string) string { return bus.NodeSubject(node, "test") }

// responder answers requests to a node, and counts them.
func responder(t *testing.T, b bus.Bus, node string, answer func(n int64) []byte) *atomic.Int64 {
	t.Helper()
	var n atomic.Int64
	cancel, err := b.Respond(subject(node), func([]byte) []byte { return answer(n.Add(1)) })
	must(t, err)
	t.Cleanup(cancel)
	return &n
}

func says(text string) func(int64) []byte { return func(int64) []byte { return []byte(text) } }

// A call that fails fast is made once, whatever becomes of it.
func TestFailFast(t *testing.T) {
	b := membus.New()
	n := responder(t, b, "a", says("yes"))
	p := nodecall.FailFast{Timeout: time.Minute}
	if answer, err := p.Ask(t.Context(), b, subject("a"), nil); err != nil || string(answer) != "yes" || n.Load() != 1 {
		t.Errorf("the answer is %q (%v) after %d requests", answer, err, n.Load())
	}
	if _, err := p.Ask(t.Context(), b, subject("gone"), nil); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("a node that is gone gives %v", err)
	}
	stop := make(chan struct{})
	slow := responder(t, b, "slow", func(int64) []byte { <-stop; return nil })
	if _, err := (nodecall.FailFast{Timeout: time.Millisecond}).Ask(t.Context(), b, subject("slow"), nil); !errors.Is(err, bus.ErrNoAnswer) || slow.Load() > 1 {
		t.Errorf("a slow node gives %v after %d requests", err, slow.Load())
	}
	close(stop)
}

// A call that fails safe reaches all others once, although some fail, and not this node.
func TestFailSafe(t *testing.T) {
	b := membus.New()
	counts := []*atomic.Int64{responder(t, b, "a", says("a")), responder(t, b, "c", says("c")), responder(t, b, "own", says("own"))}
	var answers []string // each is called one at a time
	nodes := nodecall.Nodes{Own: "own", Live: func() []string { return []string{"a", "gone", "c", "own"} }}
	nodecall.FailSafe{Timeout: time.Minute}.Tell(t.Context(), b, nodes, subject, nil, func(node string, answer []byte, err error) {
		if (err != nil) != (node == "gone") || err == nil && node != string(answer) {
			t.Errorf("node %q: %q, %v", node, answer, err)
		}
		if err == nil {
			answers = append(answers, string(answer))
		}
	})
	slices.Sort(answers)
	if !slices.Equal(answers, []string{"a", "c"}) || counts[0].Load() != 1 || counts[1].Load() != 1 || counts[2].Load() != 0 {
		t.Errorf("the answers are %q, after %d, %d and %d requests", answers, counts[0].Load(), counts[1].Load(), counts[2].Load())
	}
}

// A call that fails back is repeated until its answer is accepted, until the node is no longer the target, or until its context ends.
func TestFailBack(t *testing.T) {
	b := membus.New()
	n := responder(t, b, "a", func(n int64) []byte {
		if n < 3 {
			return []byte("not yet")
		}
		return []byte("stored")
	})
	failed, asked := 0, 0
	p := nodecall.FailBack{Timeout: time.Minute, First: time.Millisecond, Longest: 2 * time.Millisecond}
	r := nodecall.Repeated{IsTarget: func() bool { asked++; return true }, Accept: func(a []byte) bool { return string(a) == "stored" }, Failed: func(error) { failed++ }}
	answer, moved, err := p.Repeat(t.Context(), b, subject("a"), nil, r)
	if string(answer) != "stored" || moved || err != nil || n.Load() != 3 || failed != 2 || asked != 3 {
		t.Errorf("got %q, moved %v (%v) after %d requests, %d failures and %d questions for the target", answer, moved, err, n.Load(), failed, asked)
	}
	failed = 0
	within, stop := context.WithCancel(t.Context())
	defer stop()
	r.IsTarget, r.Failed = func() bool { return failed < 2 }, func(error) {
		if failed++; failed > 2 {
			stop() // it would be repeated for ever
		}
	}
	if answer, moved, err := p.Repeat(within, b, subject("gone"), nil, r); answer != nil || !moved || err != nil || failed != 2 {
		t.Errorf("of a node that is no longer the target we got %q, moved %v (%v) after %d failures", answer, moved, err, failed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.IsTarget, r.Failed = func() bool { return true }, func(error) { cancel() }
	if _, moved, err := p.Repeat(ctx, b, subject("gone"), nil, r); moved || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context the call says moved %v (%v)", moved, err)
	}
}

// failures counts the heartbeats that failed, as logged.
type failures struct {
	slog.Handler
	n *atomic.Int64
}

func (f failures) Enabled(context.Context, slog.Level) bool { return true }

func (f failures) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "a heartbeat failed") {
		f.n.Add(1)
	}
	return nil
}

// The known nodes outlive the registry: while the database with the members is away, calls reach them.
func TestTargetsOutliveTheRegistry(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	var failed atomic.Int64
	config := cluster.Config{HeartbeatInterval: 10 * time.Millisecond, NodeTimeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	var first *cluster.Service
	for _, name := range []string{"a", "b"} {
		config.Node = name
		s, err := cluster.New(t.Context(), cluster.Deps{DB: db, Logger: slog.New(failures{slog.DiscardHandler, &failed})}, config)
		must(t, err)
		if first == nil {
			first = s
		}
		group.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	live := func() (names []string) {
		for _, n := range first.Nodes() {
			names = append(names, n.Name)
		}
		return names
	}
	eventually.True(t, "a knows b", func() bool { return slices.Equal(live(), []string{"a", "b"}) })
	must(t, db.Close())
	before := failed.Load()
	eventually.True(t, "the registry is away", func() bool { return failed.Load() > before+4 })
	b := membus.New()
	n := responder(t, b, "b", says("yes"))
	nodecall.FailSafe{Timeout: time.Minute}.Tell(t.Context(), b, nodecall.Nodes{Own: "a", Live: live}, subject, nil, nil)
	if n.Load() != 1 {
		t.Errorf("b got %d requests, and a knows %q", n.Load(), live())
	}
}
