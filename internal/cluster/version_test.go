package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// release that speaks a protocol, and understands the one before.
func release(speaks int) Version {
	return Version{Release: fmt.Sprintf("v%d", speaks), Speaks: speaks, Understands: max(1, speaks-1)}
}

// bubble runs a test with a world in it, whose nodes are stopped at the end.
func bubble(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*actor{}, works: map[int]string{}}
		test(w)
		w.end()
	})
}

// must join, and give its name.
func (w *world) must(v Version) string {
	w.t.Helper()
	if err := w.joinAs(v); err != nil {
		w.t.Fatal(err)
	}
	w.quiet()
	return fmt.Sprintf("node-%d", w.named)
}

// quiet lets some beats pass.
func (w *world) quiet() {
	time.Sleep(5*time.Second + time.Millisecond)
	synctest.Wait()
}

// speaks wants all nodes to use one protocol.
func (w *world) speaks(want int) {
	w.t.Helper()
	for name, n := range w.nodes {
		if got := n.Protocol(); got != want {
			w.t.Errorf("%s may use protocol %d; want %d", name, got, want)
		}
	}
}

// TestARollingUpgrade: while one node of the old release is left all use its protocol; then the new one, and the old release can
// come back no more.
func TestARollingUpgrade(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.must(release(1)), w.must(release(1)), w.must(release(1))
		w.speaks(1)
		for _, old := range []string{a, b, c} {
			w.stop(old)
			w.quiet()
			if old == c { // nobody of it is left
				w.speaks(2)
			} else {
				w.speaks(1)
			}
			w.must(release(2))
		}
		w.settled()
		w.speaks(2)
		if err := w.joinAs(release(1)); !errors.Is(err, errVersion) || !strings.Contains(err.Error(), `gone on to protocol 2, and this release "v1" speaks 1`) {
			t.Errorf("the old release joined: %v", err)
		}
		w.must(release(3))
		w.speaks(2)
	})
}

// TestReleasesTooFarApart: a node that lives keeps another from starting that cannot work with it, and the error says which to
// upgrade. A row of one that has died keeps nobody.
func TestReleasesTooFarApart(t *testing.T) {
	bubble(t, func(w *world) {
		old := w.must(release(1))
		err := w.joinAs(release(3))
		if !errors.Is(err, errVersion) || !strings.Contains(err.Error(), "Upgrade node-1 first, to a release whose protocol is 2 or the next") {
			t.Errorf("a release two later joined: %v", err)
		}
		w.reach(old, false) // as one that was killed: its row stays
		w.must(release(3))
		w.speaks(1) // it may come back
		w.reach(old, true)
		w.quiet()
		// The newer of two gives way.
		if n := w.nodes["node-3"]; !errors.Is(n.err, errVersion) || !strings.Contains(n.err.Error(), "Upgrade node-1 first") {
			t.Errorf("the newer went on beside the older: %v", n.err)
		}
		delete(w.nodes, "node-3")
		w.settled()
	})
	bubble(t, func(w *world) {
		w.table.members["other"] = member{Node: Node{Name: "other", Version: Version{"v9", 9, 8}}}
		stop := make(chan struct{})
		go func() { // it beats
			for n := uint64(1); ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(900 * time.Millisecond):
				}
				w.table.mu.Lock()
				m := w.table.members["other"]
				m.beat = n
				w.table.members["other"] = m
				w.table.mu.Unlock()
			}
		}()
		if err := w.joinAs(release(2)); !errors.Is(err, errVersion) || !strings.Contains(err.Error(), `Upgrade this node to "v9"`) {
			t.Errorf("a release that is too old joined: %v", err)
		}
		close(stop)
	})
}

// TestAnOldNodeThatWasAwayEnds when it sees that the others have gone on without it.
func TestAnOldNodeThatWasAwayEnds(t *testing.T) {
	bubble(t, func(w *world) {
		old := w.must(release(1))
		w.reach(old, false)
		w.must(release(2))
		w.speaks(1)
		time.Sleep(2 * time.Minute) // its row is forgotten
		synctest.Wait()
		if n := w.nodes["node-2"].Protocol(); n != 2 {
			t.Errorf("protocol %d is used; nobody is left who does not speak 2", n)
		}
		w.reach(old, true)
		w.quiet()
		if n := w.nodes[old]; !errors.Is(n.err, errVersion) {
			t.Errorf("it went on: %v", n.err)
		}
		delete(w.nodes, old)
		w.settled()
	})
}

// TestNobodyIsSpokenToInWhatItDoesNotKnow has nodes of four releases come, go and lose sight of the store at random: no node uses
// a protocol that another that sees the store does not speak.
func TestNobodyIsSpokenToInWhatItDoesNotKnow(t *testing.T) {
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
					w.reach(names[r.IntN(len(names))], false)
				default:
					for _, n := range names {
						w.reach(n, true)
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

// running drops the nodes that have ended, and compares the others that see the store. It gives the protocol that is used, or was.
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
		if !w.table.away[name] && n.me.Speaks < used {
			w.t.Errorf("%s speaks %d, and another uses %d", name, n.me.Speaks, used)
		}
	}
	return max(used, w.table.agreed)
}

// before is what builds wrote that knew neither versions nor addresses. It must go on working on the tables of today.
var before = []string{
	`INSERT INTO cluster_nodes (name, incarnation, beat, since) VALUES ('old', 1, 1, 1) ON CONFLICT (name) DO UPDATE SET incarnation = 1, beat = 1, since = 1`,
	`INSERT INTO cluster_nodes (name, incarnation, beat, since) VALUES ('old', 1, 2, 1) ON CONFLICT (name) DO UPDATE SET beat = 2 WHERE cluster_nodes.incarnation = 1`,
	`INSERT INTO cluster_parts (kind, number, node, term) VALUES ('carry', 1, 'old', 1) ON CONFLICT (kind, number) DO UPDATE SET node = 'old', term = 1 WHERE cluster_parts.term = 0`,
}

// TestTheBuildBeforeGoesOn beside this one, on each database: what it writes is read as protocol 1, and keeps out whom it must.
func TestTheBuildBeforeGoesOn(t *testing.T) {
	for name, place := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "records.db") },
		"PostgreSQL": func(t *testing.T) string { return sqltest.Schema(t, sqltest.Postgres(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			db, err := sqldb.Open(ctx, place(t))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.Migrate(ctx, "cluster", steps); err != nil {
				t.Fatal(err)
			}
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
			beats(ctx, before...)
			deps := Deps{DB: db, Logger: slog.New(slog.DiscardHandler)}
			config := Config{Node: "new", Every: 10 * time.Millisecond, Patience: time.Minute, Version: release(2)}
			s, err := New(ctx, deps, config)
			if err != nil {
				t.Fatal(err)
			}
			now, err := s.store.beat(ctx, s.me, true)
			if err != nil {
				t.Fatal(err)
			}
			if old := now.members["old"]; old.Speaks != 1 || old.Understands != 1 || old.beat != 2 || now.parts[part{"carry", 1}].node != "old" {
				t.Errorf("it is read as %+v, %+v", old, now.parts)
			}
			if made, err := s.store.agree(ctx, 2); made || err != nil {
				t.Errorf("2 was agreed on beside it: %v", err)
			}
			if made, err := s.store.agree(ctx, 1); !made || err != nil {
				t.Errorf("1 was not agreed on: %v", err)
			}
			// One that does not understand it is kept out as soon as it is seen to beat.
			beating, stop := context.WithCancel(ctx)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for beating.Err() == nil {
					beats(beating, `UPDATE cluster_nodes SET beat = beat + 1 WHERE name = 'old'`)
				}
			}()
			config.Node, config.Version = "newer", release(3)
			_, err = New(ctx, deps, config)
			stop()
			<-done
			if !errors.Is(err, errVersion) || !strings.Contains(err.Error(), "Upgrade old first") {
				t.Errorf("it joined: %v", err)
			}
		})
	}
}

// TestThisBuild is one that the release before can serve beside, and has a name.
func TestThisBuild(t *testing.T) {
	v := thisBuild()
	if v.Release == "" || v.Speaks != Speaks || v.Understands > max(1, Speaks-1) || v.Understands < 1 {
		t.Errorf("%+v", v)
	}
	s, err := New(t.Context(), Deps{Logger: slog.New(slog.DiscardHandler)}, Config{Node: "only"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Protocol() != 0 {
		t.Errorf("%d is agreed on by nobody", s.Protocol())
	}
	if err := s.round(t.Context(), true); err != nil || s.Protocol() != Speaks || s.Nodes()[0].Version != v {
		t.Errorf("a node alone uses %d of %d, %+v (%v)", s.Protocol(), Speaks, s.Nodes(), err)
	}
}
