package cluster

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, url string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	must(t, db.Migrate(t.Context(), "cluster", migrations))
	return db
}

func session(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// A node raises the protocol while another one joins that does not speak it, and the other way round. The transactions are not
// serializable; the later one must still see the earlier one.
func TestRaisingTheProtocolSeesAJoiningNode(t *testing.T) {
	url := sqltest.Schema(t, sqltest.Postgres(t))
	joins, agrees, admin := open(t, url), sqlStore{open(t, url)}, session(t, url)
	ctx := t.Context()
	waits := func(pid int) func() bool {
		return func() (yes bool) {
			must(t, admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid)))`, pid).Scan(&yes))
			return yes
		}
	}
	for name, first := range map[string]bool{"old": true, "forgotten": false} {
		made := make(chan answer[bool], 1)
		must(t, joins.WriteDedicated(ctx, func(tx *sql.Tx) error {
			must(t, upsertMember(ctx, tx, member{Node: Node{Name: name, Version: release(1)}, heartbeat: 7}, first))
			var pid int
			must(t, tx.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid))
			go func() { made <- answerOf(agrees.raiseProtocol(ctx, 2)) }()
			eventually.True(t, "raiseProtocol waits or has returned", func() bool { return len(made) > 0 || waits(pid)() })
			return nil
		}))
		got := eventually.Receive(t, "raiseProtocol returns", made)
		must(t, got.err)
		if got.is {
			t.Errorf("the protocol was raised to 2 while %s joined, which speaks 1", name)
		}
		must(t, sqlStore{joins}.removeDead(ctx, []*member{{Node: Node{Name: name}, heartbeat: 7}}))
	}

	saw := make(chan answer[state], 1)
	must(t, joins.WriteDedicated(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE cluster_protocol SET protocol = 2 WHERE id = 1`)
		must(t, err)
		var pid int
		must(t, tx.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid))
		go func() {
			saw <- answerOf(agrees.heartbeat(ctx, member{Node: Node{Name: "old", Version: release(1)}, heartbeat: 1}, true))
		}()
		eventually.True(t, "the joining node waits or has joined", func() bool { return len(saw) > 0 || waits(pid)() })
		return nil
	}))
	got := eventually.Receive(t, "the joining node has joined", saw)
	must(t, got.err)
	if n := got.is.protocol; n != 2 {
		t.Errorf("a node that joined while the protocol was raised to 2 sees %d", n)
	}
}

// answer is the result of a call in another goroutine. The test's own goroutine checks it, unless the test has ended.
type answer[T any] struct {
	is  T
	err error
}

func answerOf[T any](is T, err error) answer[T] { return answer[T]{is, err} }

// nodeGroup is a group of nodes that share a database; it records the owner of each part.
type nodeGroup struct {
	mu     sync.Mutex // guards works
	owners map[int]string
}

const parts = 4

func (h *nodeGroup) node(t *testing.T, db *sqldb.DB, name string) *Service {
	t.Helper()
	s, err := New(t.Context(), Deps{DB: db, Logger: slog.New(slog.DiscardHandler), Work: []Work{{Kind: "fanout", Parts: parts,
		Assigned: func(g Grant) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if o := h.owners[g.Part]; o != "" {
				t.Errorf("part %d was assigned to %s while %s owned it", g.Part, name, o)
			}
			h.owners[g.Part] = name
		},
		Revoked: func(p int) {
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.owners, p)
		}}}}, Config{Node: name, HeartbeatInterval: 250 * time.Millisecond, NodeTimeout: 5 * time.Second})
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

// count returns how many parts a node owns.
func (h *nodeGroup) count(name string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.owners {
		if o == name {
			n++
		}
	}
	return n
}

// Neither a long transaction of another package nor another node's exclusive lock delays heartbeats.
func TestHeartbeatsContinueWhileWritesAreBlocked(t *testing.T) {
	url := sqltest.Schema(t, sqltest.Postgres(t))
	h, db, admin := &nodeGroup{owners: map[int]string{}}, open(t, url), session(t, url)
	s := h.node(t, db, "a")
	eventually.True(t, "a owns all parts", func() bool { return h.count("a") == parts })
	in, out, wrote := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	end := sync.OnceFunc(func() { close(out) })
	t.Cleanup(end) // also if the test fails: the database is closed later
	go func() {
		wrote <- db.Write(context.Background(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`SET LOCAL idle_in_transaction_session_timeout = 0`) // else the server ends it if the heartbeats take seconds
			close(in)
			<-out
			return err
		})
	}()
	<-in
	moved := func(times int) {
		var before, now int64
		question := `SELECT heartbeat FROM cluster_nodes WHERE name = 'a'`
		must(t, admin.QueryRow(t.Context(), question).Scan(&before))
		eventually.True(t, "its heartbeat rises", func() bool {
			must(t, admin.QueryRow(t.Context(), question).Scan(&now))
			return now >= before+int64(times)
		})
	}
	moved(3)
	end()
	must(t, eventually.Receive(t, "the transaction ends", wrote))
	tx, err := admin.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `LOCK TABLE migrations IN EXCLUSIVE MODE`)
	must(t, err)
	admin = session(t, url)
	moved(3)
	must(t, tx.Rollback(t.Context()))
	if len(s.Nodes()) != 1 {
		t.Errorf("it sees %v", s.Nodes())
	}
}

// A node whose row is locked cannot send heartbeats. It gives up its parts before another node takes them over, while its statement is
// still waiting.
func TestALeaseEndsWhileTheHeartbeatHangs(t *testing.T) {
	url := sqltest.Schema(t, sqltest.Postgres(t))
	h, admin := &nodeGroup{owners: map[int]string{}}, session(t, url)
	a, b := open(t, url), open(t, url)
	h.node(t, a, "a")
	eventually.True(t, "a owns all parts", func() bool { return h.count("a") == parts })
	tx, err := admin.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM cluster_nodes WHERE name = 'a' FOR UPDATE`)
	must(t, err)
	h.node(t, b, "b")
	eventually.True(t, "b owns all parts", func() bool { return h.count("b") == parts }) // nodeGroup reports an error if a still owns one
	must(t, tx.Rollback(t.Context()))
	eventually.True(t, "both nodes own parts", func() bool { return h.count("a") == parts/2 && h.count("b") == parts/2 })
}
