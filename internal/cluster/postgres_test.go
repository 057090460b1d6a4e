package cluster

import (
	"context"
	"database/sql"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, place string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), place)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	must(t, db.Migrate(t.Context(), "cluster", steps))
	return db
}

func session(t *testing.T, place string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), place)
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// eventually a question has to be answered with true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !is(); runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestWhoAgreesSeesWhoJoins: one agrees on a protocol while a node joins that does not speak it, and the other way round. The two are
// not serializable, and the later of them must still see the earlier.
func TestWhoAgreesSeesWhoJoins(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	joins, agrees, admin := open(t, place), records{open(t, place)}, session(t, place)
	ctx := t.Context()
	waits := func(pid int) func() bool {
		return func() (yes bool) {
			must(t, admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid)))`, pid).Scan(&yes))
			return yes
		}
	}
	for name, first := range map[string]bool{"old": true, "forgotten": false} {
		made := make(chan bool, 1)
		var got bool
		must(t, joins.WriteApart(ctx, func(tx *sql.Tx) error {
			must(t, put(ctx, tx, member{Node: Node{Name: name, Version: release(1)}, beat: 7}, first))
			var pid int
			must(t, tx.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid))
			go func() {
				yes, err := agrees.agree(ctx, 2)
				if err != nil {
					t.Error(err)
				}
				made <- yes
			}()
			ended := false
			eventually(t, "who agrees waits, or has ended", func() bool {
				select {
				case got = <-made:
					ended = true
				default:
				}
				return ended || waits(pid)()
			})
			if ended {
				made <- got
			}
			return nil
		}))
		if <-made {
			t.Errorf("2 was agreed on while %s joined, who speaks 1", name)
		}
		must(t, records{joins}.forget(ctx, []member{{Node: Node{Name: name}, beat: 7}}))
	}

	saw := make(chan int, 1)
	must(t, joins.WriteApart(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE cluster_agreed SET protocol = 2 WHERE id = 1`)
		must(t, err)
		var pid int
		must(t, tx.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid))
		go func() {
			s, err := agrees.beat(ctx, member{Node: Node{Name: "old", Version: release(1)}, beat: 1}, true)
			if err != nil {
				t.Error(err)
			}
			saw <- s.agreed
		}()
		eventually(t, "who joins waits, or has ended", func() bool { return len(saw) > 0 || waits(pid)() })
		return nil
	}))
	if n := <-saw; n != 2 {
		t.Errorf("who joined while 2 was agreed on sees %d", n)
	}
}

// house is nodes that share a database, and who has which part.
type house struct {
	mu    sync.Mutex // guards works
	works map[int]string
}

const parts = 4

func (h *house) node(t *testing.T, db *sqldb.DB, name string) *Service {
	t.Helper()
	s, err := New(t.Context(), Deps{DB: db, Logger: slog.New(slog.DiscardHandler), Work: []Work{{Kind: "carry", Parts: parts,
		Begin: func(p int) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if o := h.works[p]; o != "" {
				t.Errorf("%s began part %d while %s had it", name, p, o)
			}
			h.works[p] = name
		},
		End: func(p int) {
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.works, p)
		}}}}, Config{Node: name, Every: 250 * time.Millisecond, Patience: 5 * time.Second})
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// has counts the parts of a node.
func (h *house) has(name string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.works {
		if o == name {
			n++
		}
	}
	return n
}

// TestBeatsGoOnWhileNobodyCanWrite: neither a transaction of another room that does not end, nor one of another node that is alone, keeps a
// node from saying that it lives.
func TestBeatsGoOnWhileNobodyCanWrite(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	h, db, admin := &house{works: map[int]string{}}, open(t, place), session(t, place)
	s := h.node(t, db, "a")
	eventually(t, "a has all parts", func() bool { return h.has("a") == parts })
	in, out, wrote := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		wrote <- db.Write(context.Background(), func(*sql.Tx) error { close(in); <-out; return nil })
	}()
	<-in
	moved := func(times int) {
		var before, now int64
		question := `SELECT beat FROM cluster_nodes WHERE name = 'a'`
		must(t, admin.QueryRow(t.Context(), question).Scan(&before))
		eventually(t, "its row moves", func() bool {
			must(t, admin.QueryRow(t.Context(), question).Scan(&now))
			return now >= before+int64(times)
		})
	}
	moved(3)
	close(out)
	must(t, <-wrote)
	tx, err := admin.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `LOCK TABLE migrations IN EXCLUSIVE MODE`)
	must(t, err)
	admin = session(t, place)
	moved(3)
	must(t, tx.Rollback(t.Context()))
	if len(s.Nodes()) != 1 {
		t.Errorf("it sees %v", s.Nodes())
	}
}

// TestALeaseEndsInItsTime: a node whose row is locked cannot beat. It gives its parts up before another takes them, while its statement
// still waits.
func TestALeaseEndsInItsTime(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	h, admin := &house{works: map[int]string{}}, session(t, place)
	a, b := open(t, place), open(t, place)
	h.node(t, a, "a")
	eventually(t, "a has all parts", func() bool { return h.has("a") == parts })
	tx, err := admin.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM cluster_nodes WHERE name = 'a' FOR UPDATE`)
	must(t, err)
	h.node(t, b, "b")
	eventually(t, "b has all parts", func() bool { return h.has("b") == parts }) // house complains where a still has one
	must(t, tx.Rollback(t.Context()))
	eventually(t, "both have parts", func() bool { return h.has("a") == parts/2 && h.has("b") == parts/2 })
}
