package interest

import (
	"context"
	"encoding/hex"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
)

// node is a node of a test, and what it was told.
type node struct {
	*Service
	mu      sync.Mutex
	changes []Change
	missed  int
	end     func()
}

func (n *node) told() (changes []Change, missed int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changes, missed = n.changes, n.missed
	n.changes, n.missed = nil, 0
	return changes, missed
}

func start(t *testing.T, b bus.Bus, name string) *node {
	t.Helper()
	return startTopic(t, b, name, "")
}

func startTopic(t *testing.T, b bus.Bus, name, topic string) *node {
	t.Helper()
	n := &node{}
	n.Service = New(Deps{Bus: b, Topic: topic, Node: name, Nodes: func() []string { return []string{"a", "b", "c"} }, Logger: slog.New(slog.DiscardHandler),
		Changed: func(list []Change) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.changes = append(n.changes, list...)
		}, Missed: func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.missed++
		}})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	n.end = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(n.end)
	synctest.Wait()
	return n
}

// Changes reach the nodes that are interested, and no others. A node that restarted has forgotten, and says so; a node that is gone is forgotten.
func TestChangesReachInterestedNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		first, second := start(t, b, "a"), start(t, b, "b")
		check := func(what string, n *node, missed int, want ...Change) {
			t.Helper()
			synctest.Wait()
			if got, m := n.told(); !slices.Equal(got, want) || m != missed {
				t.Errorf("%s: told of %v, missed %d; want %v, missed %d", what, got, m, want, missed)
			}
		}
		one, other := Change{5, 1, 0, 7}, Change{6, 1, 0, 7}
		for range 2 {
			if !first.Add(t.Context(), 5) {
				t.Fatal("there is no room")
			}
		}
		second.Publish([]Change{one, other})
		check("interested", first, 0, one)
		check("the publisher itself", second, 0, one, other)
		time.Sleep(renewInterval + requestTime)
		check("a renewal that changes nothing", first, 0)

		second.end()
		second = start(t, b, "b") // forgot
		second.Publish([]Change{one})
		check("lost", first, 0)
		time.Sleep(renewInterval + requestTime)
		check("after the restart", first, 1)
		second.Publish([]Change{one})
		check("known again", first, 0, one)

		first.Remove(5)
		time.Sleep(renewInterval)
		second.Publish([]Change{one})
		check("one of two lists is open", first, 0, one)
		first.Remove(5)
		time.Sleep(keptFor + renewInterval)
		second.Publish([]Change{one})
		check("removed", first, 0)
		if n := second.others.Load(); n != 0 || len(second.of) != 0 {
			t.Errorf("%d interests of other nodes are left", n)
		}
		first.end()
		second.end()
	})
}

// slowBus answers requests only after it is released.
type slowBus struct {
	bus.Bus
	released chan struct{}
}

func (b slowBus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	select {
	case <-b.released:
		return appendAnswer(nil, false), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An Add of what another Add is telling other nodes returns when they were told, or when its caller has gone, even if the caller of the first has.
func TestLaterAddsWaitUntilNodesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := slowBus{released: make(chan struct{})}
		s := New(Deps{Bus: b, Node: "a", Nodes: func() []string { return []string{"a", "b"} }})
		returned := map[string]bool{}
		var mu sync.Mutex
		var group sync.WaitGroup
		add := func(ctx context.Context, name string) {
			group.Go(func() {
				if !s.Add(ctx, 5) {
					t.Errorf("%s: there is no room", name)
				}
				mu.Lock()
				returned[name] = true
				mu.Unlock()
			})
			synctest.Wait()
		}
		check := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := slices.Sorted(maps.Keys(returned)); !slices.Equal(got, want) {
				t.Errorf("%s: %q returned, want %q", what, got, want)
			}
		}
		first, cancelFirst := context.WithCancel(t.Context())
		defer cancelFirst()
		gone, cancelGone := context.WithCancel(t.Context())
		defer cancelGone()
		add(first, "first")
		add(t.Context(), "second")
		add(gone, "third")
		check("while a node is told")
		cancelGone()
		check("a caller has gone", "third")
		cancelFirst()
		s.Remove(5)
		check("the first caller has gone", "third")
		close(b.released)
		check("told", "first", "second", "third")
		add(t.Context(), "fourth")
		check("known", "first", "fourth", "second", "third")
		group.Wait()
		for range 3 {
			s.Remove(5)
		}
		if len(s.own) != 0 {
			t.Errorf("%d interests are left", len(s.own))
		}
	})
}

func TestInterestsAreBounded(t *testing.T) {
	s := New(Deps{Nodes: func() []string { return nil }})
	for c := range Key(maxKeys) {
		if !s.Add(t.Context(), c+1) {
			t.Fatalf("key %d is refused", c+1)
		}
	}
	if s.Add(t.Context(), maxKeys+1) || !s.Add(t.Context(), 1) {
		t.Error("a key more is accepted, or one that is known is refused")
	}
}

// The encoding of messages does not change, so that two releases understand each other.
func TestGoldenWire(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		value       any
		append      func(v any) []byte
		read        func(b []byte) (any, error)
	}{
		{"request", "01036e2d31" + "0000000000000005" + "000000000000012c", []Key{5, 300},
			func(v any) []byte { return appendRequest(nil, "n-1", v.([]Key)) },
			func(b []byte) (any, error) {
				node, list, err := readRequest(b)
				if err == nil && node != "n-1" {
					t.Errorf("the node is %q", node)
				}
				return list, err
			}},
		{"answer", "0201", true, func(v any) []byte { return appendAnswer(nil, v.(bool)) }, func(b []byte) (any, error) { return knewAll(b), nil }},
		{"changes", "03" + "0000000000000005" + "0000000000000009" + "0000000000000001" + "0000000000000007", []Change{{5, 9, 1, 7}},
			func(v any) []byte { return appendChanges(nil, v.([]Change)) }, func(b []byte) (any, error) { return readChanges(b) }},
	} {
		want, err := hex.DecodeString(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.append(c.value); hex.EncodeToString(got) != c.bytes {
			t.Errorf("%s is encoded as %x, want %s", c.name, got, c.bytes)
		}
		if got, err := c.read(want); err != nil || !reflect.DeepEqual(got, c.value) {
			t.Errorf("%s is decoded as %v (%v)", c.name, got, err)
		}
		if got, err := c.read(want[:len(want)-1]); c.name != "answer" && err == nil {
			t.Errorf("%s is decoded without its last byte, as %v", c.name, got)
		}
	}
}

// Several interests are added together, or none where there is no room, and topics on one bus do not mix.
func TestInterestsAreAddedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		a, other := start(t, b, "a"), start(t, b, "b")
		posts := startTopic(t, b, "b", "posts")
		if !a.AddAll(t.Context(), []Key{1, 2, 3}) {
			t.Fatal("there is no room")
		}
		posts.Publish([]Change{{Key: 2}})
		other.Publish([]Change{{Key: 2}, {Key: 4}, {Key: 3}})
		synctest.Wait()
		if changes, _ := a.told(); !reflect.DeepEqual(changes, []Change{{Key: 2}, {Key: 3}}) {
			t.Errorf("the node is told of %v", changes)
		}
		var many []Key
		for i := range maxKeys - 2 {
			many = append(many, Key(10+i))
		}
		if a.AddAll(t.Context(), append(many, 1)) {
			t.Error("more than the limit are added")
		}
		if len(a.own) != 3 || a.own[1].count != 1 {
			t.Errorf("a refusal leaves %d interests", len(a.own))
		}
		if !a.AddAll(t.Context(), append(many[:maxKeys-3], 1)) || a.own[1].count != 2 {
			t.Error("those within the limit are refused")
		}
	})
}
