package account_test

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// manualClock is set by the test.
type manualClock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is an account service with its engines.
type fixture struct {
	*account.Service
	t     testing.TB
	db    *sqldb.DB
	deps  account.Deps
	clock *manualClock

	mu    sync.Mutex // guards ended
	ended []account.Ended
}

func open(t testing.TB, config account.Config) *fixture {
	t.Helper()
	return openOn(t, sqltest.Place(t), 1, config, nil)
}

// openSingleNode opens a service whose database no other node uses.
func openSingleNode(t testing.TB, config account.Config) *fixture {
	t.Helper()
	return openOn(t, sqltest.Place(t), 1, config, func(d *account.Deps) { d.SingleNode = true })
}

// openOn opens a service on a database that other services may use too, each as another worker.
func openOn(t testing.TB, place string, worker uint64, config account.Config, change func(*account.Deps)) *fixture {
	t.Helper()
	db, err := sqldb.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	logger := slog.New(slog.DiscardHandler)
	outbox, err := job.NewOutbox(t.Context(), db, logger)
	if err != nil {
		t.Fatal(err)
	}
	r := &fixture{t: t, db: db, clock: &manualClock{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}}
	ids, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(r.clock, worker), idgen.SnowflakeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	r.deps = account.Deps{DB: db, Outbox: outbox, IDs: ids, Clock: r.clock, Logger: logger,
		SessionEnded: func(e account.Ended) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ended = append(r.ended, e)
		}}
	if change != nil {
		change(&r.deps)
	}
	config.PasswordCost = cmp.Or(config.PasswordCost, auth.Cost{Memory: 64, Time: 1, Threads: 1})
	if r.Service, err = account.New(t.Context(), r.deps, config); err != nil {
		t.Fatal(err)
	}
	return r
}

// endedSessions drops and returns the sessions reported as ended.
func (r *fixture) endedSessions() []account.Ended {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.ended
	r.ended = nil
	return list
}

const password = "a good password"

func (r *fixture) register(handle string) (*accountv1.Session, id.Caller) {
	r.t.Helper()
	s, err := r.Register(r.t.Context(), &accountv1.RegisterRequest{Handle: handle, Password: password, Client: &accountv1.Client{Type: "web"}})
	if err != nil {
		r.t.Fatal(err)
	}
	return s, callerOf(s)
}

func callerOf(s *accountv1.Session) id.Caller {
	return id.Caller{User: id.User(s.User), Device: id.Device(s.Device), Session: id.Session(s.Session)}
}

func (r *fixture) login(handle string, c *accountv1.Client) *accountv1.Session {
	r.t.Helper()
	s, err := r.Login(r.t.Context(), &accountv1.LoginRequest{Handle: handle, Password: password, Client: c})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// count runs a query that returns one number.
func (r *fixture) count(query string, args ...any) (n int) {
	r.t.Helper()
	if err := r.db.Read().QueryRowContext(r.t.Context(), query, args...).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// wantError fails unless err has a kind and a reason.
func wantError(t *testing.T, what string, err error, kind errs.Kind, reason string) {
	t.Helper()
	if e := errs.Of(err); e == nil || e.Kind != kind || e.Reason != reason {
		t.Errorf("%s: got %v, want %s %s", what, err, kind, reason)
	}
}

// events drops and returns the events in the outbox.
func (r *fixture) events() (list []job.Event) {
	r.t.Helper()
	rows, err := r.db.Read().QueryContext(r.t.Context(), `SELECT owner, body FROM outbox ORDER BY n`)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var e job.Event
		if err := rows.Scan(&e.User, &e.Body); err != nil {
			r.t.Fatal(err)
		}
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.db.Write(r.t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(context.Background(), `DELETE FROM outbox`)
		return err
	}); err != nil {
		r.t.Fatal(err)
	}
	return list
}
