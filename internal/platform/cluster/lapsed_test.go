package cluster

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// lateTable stores heartbeats at once, and answers them late.
type lateTable struct {
	nodeTable
	late *atomic.Int64 // a time.Duration
}

func (l lateTable) heartbeat(ctx context.Context, m member, first bool) (state, error) {
	s, err := l.nodeTable.heartbeat(ctx, m, first)
	time.Sleep(time.Duration(l.late.Load()))
	return s, err
}

// The heartbeats of a node are stored, but answered after their deadline, so it holds no grants. The others take over its parts, and it gets its share back
// when it is answered in time.
func TestANodeThatIsAnsweredTooLateOwnsNoParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*testNode{}, owners: map[int]string{}, terms: map[int]uint64{}}
		var late atomic.Int64
		w.wrap = func(a nodeTable) store {
			if a.node == "node-2" {
				return lateTable{a, &late}
			}
			return a
		}
		for range 3 {
			w.join()
		}
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		pass(10 * time.Second)
		w.checkSettled()
		late.Store(int64(3 * time.Second))
		pass(15 * time.Second)
		w.mu.Lock()
		for p := range testParts {
			if o := w.owners[p]; o == "" || o == "node-2" {
				t.Errorf("%q owns part %d while the heartbeats of node-2 fail", o, p)
			}
		}
		w.mu.Unlock()
		w.table.mu.Lock()
		if row := w.table.row("node-2"); !row.lapsed() {
			t.Errorf("node-2 says that it reaches all but %q", row.unreachable)
		}
		w.table.mu.Unlock()
		late.Store(0)
		pass(10 * time.Second)
		w.checkSettled()
		w.end()
	})
}

// A heartbeat that has lapsed does not prolong grants: the next one does, and it says so.
func TestTheHeartbeatAfterALapsedOneCounts(t *testing.T) {
	now := time.Hour
	n := NewSimulated(Config{Node: "n", HeartbeatInterval: time.Second, NodeTimeout: 5 * time.Second, Version: Version{Speaks: Speaks, Understands: Understands}}, []Work{{Kind: "k", Parts: 2}}, 1,
		func() (time.Duration, time.Time) { return now, time.Unix(0, int64(now)) })
	tables := NewTables(Speaks)
	beat := func(when string, answered, lapsed bool, holds int) {
		t.Helper()
		now += time.Second
		if n.Remaining() <= 0 {
			n.Expire()
		}
		h := n.Begin([]string{"m"}, "")
		if err := h.Write(tables); err != nil {
			t.Fatal(err)
		}
		if answered {
			changes, err := h.Read()
			if err != nil {
				t.Fatal(err)
			}
			if changes {
				h.Apply(tables)
				h.Applied()
			}
		}
		if row := findMember(tables.members, "n"); row.lapsed() != lapsed || n.Holds() != holds || !slices.Contains([]string{"m", "n m"}, row.unreachable) {
			t.Errorf("%s: the row has lapsed: %v, it holds %d grants, and reaches all but %q", when, row.lapsed(), n.Holds(), row.unreachable)
		}
	}
	beat("at first", true, false, 2)
	for range 3 {
		beat("without answers", false, false, 2)
	}
	beat("when the grants have ended", false, true, 0)
	beat("later", false, true, 0)
	beat("with an answer", true, true, 0)
	beat("after it", true, false, 2)
	for range 3 {
		beat("without answers again", false, false, 2)
	}
	beat("when the grants have ended again", true, true, 0)
	beat("after the answer, without another", false, false, 0)
	beat("then", false, true, 0)
}
