package cluster

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// release returns a version that speaks a protocol and understands the previous one.
func release(speaks int) Version {
	return Version{Release: fmt.Sprintf("v%d", speaks), Speaks: speaks, Understands: max(1, speaks-1)}
}

// bubble runs a test in simulated time with a world, and stops the world's nodes at the end.
func bubble(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*testNode{}, owners: map[int]string{}, terms: map[int]uint64{}}
		test(w)
		w.end()
	})
}

// mustJoin starts a node and returns its name.
func (w *world) mustJoin(v Version) string {
	w.t.Helper()
	if err := w.joinAs(v); err != nil {
		w.t.Fatal(err)
	}
	w.advance()
	return fmt.Sprintf("node-%d", w.named)
}

// advance lets some heartbeats pass.
func (w *world) advance() {
	time.Sleep(5*time.Second + time.Millisecond)
	synctest.Wait()
}

// checkProtocol checks which protocol all nodes use.
func (w *world) checkProtocol(want int) {
	w.t.Helper()
	for name, n := range w.nodes {
		if got := n.Protocol(); got != want {
			w.t.Errorf("%s uses protocol %d; want %d", name, got, want)
		}
	}
}

// During a rolling upgrade all nodes use the old protocol until the last node of the old release has stopped. Then they use the new one,
// and the old release cannot join any more.
func TestARollingUpgradeRaisesTheProtocol(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.mustJoin(release(1)), w.mustJoin(release(1)), w.mustJoin(release(1))
		w.checkProtocol(1)
		for _, old := range []string{a, b, c} {
			w.stop(old)
			w.advance()
			if old == c { // the last node of the old release
				w.checkProtocol(2)
			} else {
				w.checkProtocol(1)
			}
			w.mustJoin(release(2))
		}
		w.checkSettled()
		w.checkProtocol(2)
		if err := w.joinAs(release(1)); !errors.Is(err, errVersion) || !strings.Contains(err.Error(), `uses protocol 2, and this release "v1" speaks 1`) {
			t.Errorf("the old release joined: %v", err)
		}
		w.mustJoin(release(3))
		w.checkProtocol(2)
	})
}

// A live node keeps an incompatible one from starting, and the error says which one to upgrade. The row of a dead node keeps nobody from
// starting.
func TestIncompatibleReleasesDoNotJoin(t *testing.T) {
	bubble(t, func(w *world) {
		old := w.mustJoin(release(1))
		err := w.joinAs(release(3))
		if !errors.Is(err, errVersion) || !strings.Contains(err.Error(), "Upgrade node-1 first, to a release with protocol 2 or the next") {
			t.Errorf("a release two later joined: %v", err)
		}
		w.setReachable(old, false) // like a killed node: its row stays
		w.mustJoin(release(3))
		w.checkProtocol(1) // node-1 may come back
		w.setReachable(old, true)
		w.advance()
		// Of two incompatible nodes the newer one stops.
		if n := w.nodes["node-3"]; !errors.Is(n.err, errVersion) || !strings.Contains(n.err.Error(), "Upgrade node-1 first") {
			t.Errorf("the newer node did not stop beside the older one: %v", n.err)
		}
		delete(w.nodes, "node-3")
		w.checkSettled()
	})
	bubble(t, func(w *world) {
		other := member{Node: Node{Name: "other", Version: Version{"v9", 9, 8}}}
		must(t, answerOf(w.table.Tables.heartbeat(other, true)).err)
		stop := make(chan struct{})
		go func() { // it sends heartbeats
			for n := uint64(1); ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(900 * time.Millisecond):
				}
				w.table.mu.Lock()
				other.heartbeat = n
				_, err := w.table.Tables.heartbeat(other, false)
				w.table.mu.Unlock()
				if err != nil {
					t.Error(err)
				}
			}
		}()
		if err := w.joinAs(release(2)); !errors.Is(err, errVersion) || !strings.Contains(err.Error(), `Upgrade this node to "v9"`) {
			t.Errorf("a release that is too old joined: %v", err)
		}
		close(stop)
	})
}

// A node of an old release that was cut off stops when it sees that the others use a newer protocol.
func TestAnOldNodeStopsWhenItComesBack(t *testing.T) {
	bubble(t, func(w *world) {
		old := w.mustJoin(release(1))
		w.setReachable(old, false)
		w.mustJoin(release(2))
		w.checkProtocol(1)
		time.Sleep(2 * time.Minute) // its row is deleted
		synctest.Wait()
		if n := w.nodes["node-2"].Protocol(); n != 2 {
			t.Errorf("protocol %d is used; want 2, which all remaining nodes speak", n)
		}
		w.setReachable(old, true)
		w.advance()
		if n := w.nodes[old]; !errors.Is(n.err, errVersion) {
			t.Errorf("Run returned %v; want errVersion", n.err)
		}
		delete(w.nodes, old)
		w.checkSettled()
	})
}

// Nodes of four releases join, leave and lose the store at random. No node ever uses a protocol that another node with access to the store
// does not speak.
func TestNoNodeUsesAProtocolThatOthersDoNotSpeak(t *testing.T) {
	joined, refused, risen := 0, 0, 0
	for seed := range uint64(60) {
		bubble(t, func(w *world) {
			r := rand.New(rand.NewPCG(seed, 2))
			highest := 0
			for range 40 {
				names := slices.Sorted(maps.Keys(w.nodes))
				switch n := r.IntN(10); {
				case n < 5 && len(names) < 4:
					v := release(1 + r.IntN(4))
					if err := w.joinAs(v); err == nil {
						joined++
					} else if errors.Is(err, errVersion) {
						refused++
					} else {
						w.t.Fatal(err)
					}
				case n < 7 && len(names) > 0:
					w.stop(names[r.IntN(len(names))])
				case n < 8 && len(names) > 0:
					w.setReachable(names[r.IntN(len(names))], false)
				default:
					for _, n := range names {
						w.setReachable(n, true)
					}
				}
				time.Sleep(time.Duration(3000+r.IntN(30_000)) * time.Millisecond)
				synctest.Wait()
				used := w.running()
				if used < highest {
					w.t.Errorf("seed %d: protocol %d after %d", seed, used, highest)
				} else if used > max(highest, 1) {
					risen++
				}
				highest = max(used, highest)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if joined < 100 || refused < 100 || risen < 20 {
		t.Errorf("%d joined, %d were refused, the protocol rose %d times", joined, refused, risen)
	}
}

// running removes nodes that have stopped, and checks the others that reach the store. It returns the newest protocol in use so far.
func (w *world) running() int {
	used := 0
	for name, n := range w.nodes {
		select {
		case <-n.done:
			delete(w.nodes, name)
		default:
			used = max(used, n.Protocol())
		}
	}
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	for name, n := range w.nodes {
		if !w.table.disconnected[name] && n.me.Speaks < used {
			w.t.Errorf("%s speaks protocol %d, and another node uses %d", name, n.me.Speaks, used)
		}
	}
	return max(used, w.table.protocol)
}

// olderBuildStatements were executed by builds without versions and addresses. They must keep working on today's tables.
var olderBuildStatements = []string{
	`INSERT INTO cluster_nodes (name, incarnation, heartbeat, since) VALUES ('old', 1, 1, 1) ON CONFLICT (name) DO UPDATE SET incarnation = 1, heartbeat = 1, since = 1`,
	`INSERT INTO cluster_nodes (name, incarnation, heartbeat, since) VALUES ('old', 1, 2, 1) ON CONFLICT (name) DO UPDATE SET heartbeat = 2 WHERE cluster_nodes.incarnation = 1`,
	`INSERT INTO cluster_leases (kind, number, holder, token, term, mark) VALUES ('fanout', 1, 'old', '', 1, 0) ON CONFLICT (kind, number) DO UPDATE SET holder = 'old', term = 1 WHERE cluster_leases.term = 0`,
}

// An older build keeps running beside this one, on each database: its rows are read as protocol 1, and keep incompatible builds out.
func TestAnOlderBuildKeepsRunning(t *testing.T) {
	onEachDatabase(t, func(ctx context.Context, t *testing.T, db *sqldb.DB) {
		beats := func(ctx context.Context, statements ...string) {
			err := db.Write(ctx, func(tx *sql.Tx) error {
				for _, statement := range statements {
					if _, err := tx.ExecContext(ctx, statement); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
		beats(ctx, olderBuildStatements...)
		deps := Deps{DB: db, Logger: slog.New(slog.DiscardHandler)}
		config := Config{Node: "new", HeartbeatInterval: 10 * time.Millisecond, NodeTimeout: time.Minute, Version: release(2)}
		s, err := New(ctx, deps, config)
		if err != nil {
			t.Fatal(err)
		}
		now, err := s.store.heartbeat(ctx, s.me, true)
		if err != nil {
			t.Fatal(err)
		}
		if old := now.member("old"); old.Speaks != 1 || old.Understands != 1 || old.heartbeat != 2 || now.parts[part{"fanout", 1}].node != "old" {
			t.Errorf("the older build's rows are read as %+v, %+v", old, now.parts)
		}
		if made, err := s.store.raiseProtocol(ctx, 2); made || err != nil {
			t.Errorf("the protocol was raised to 2 beside the older build: %v", err)
		}
		if made, err := s.store.raiseProtocol(ctx, 1); !made || err != nil {
			t.Errorf("the protocol was not raised to 1: %v", err)
		}
		// A build that is incompatible with it is refused as soon as the older build is seen to be alive.
		beating, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for beating.Err() == nil {
				beats(beating, `UPDATE cluster_nodes SET heartbeat = heartbeat + 1 WHERE name = 'old'`)
			}
		}()
		config.Node, config.Version = "newer", release(3)
		_, err = New(ctx, deps, config)
		stop()
		<-done
		if !errors.Is(err, errVersion) || !strings.Contains(err.Error(), "Upgrade old first") {
			t.Errorf("New returned %v; want errVersion that names the older node", err)
		}
	})
}

// This build has a name, and is compatible with the release before.
func TestThisBuildHasAVersion(t *testing.T) {
	v := thisBuild()
	if v.Release == "" || v.Speaks != Speaks || v.Understands > max(1, Speaks-1) || v.Understands < 1 {
		t.Errorf("this build has the version %+v, want a release, and protocols from 1 on", v)
	}
	var log bytes.Buffer
	s, err := New(t.Context(), Deps{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Config{Node: "only"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Protocol() != 0 {
		t.Errorf("the protocol is %d before the first heartbeat; want 0", s.Protocol())
	}
	if err := s.heartbeat(t.Context(), true); err != nil || s.Protocol() != Speaks || s.Nodes()[0].Version != v {
		t.Errorf("a single node uses protocol %d of %d, and sees %+v (%v)", s.Protocol(), Speaks, s.Nodes(), err)
	}
	if strings.Contains(log.String(), "newer protocol") {
		t.Errorf("the first protocol was logged as a newer one: %s", &log)
	}
	s.me.Speaks++ // as the build after this one
	if err := s.heartbeat(t.Context(), true); err != nil || s.Protocol() != Speaks+1 || !strings.Contains(log.String(), fmt.Sprintf("before=%d now=%d", Speaks, Speaks+1)) {
		t.Errorf("the protocol rose to %d without a log line: %s (%v)", s.Protocol(), &log, err)
	}
}
