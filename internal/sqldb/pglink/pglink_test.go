package pglink_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, address string) *pgconn.Config {
	t.Helper()
	c, err := pgconn.ParseConfig(address)
	must(t, err)
	return c
}

func connect(t *testing.T, f *pglink.Fence, address string) (*pgconn.PgConn, error) {
	t.Helper()
	config := parse(t, address)
	f.Ready(config, true)
	c, err := pgconn.ConnectConfig(t.Context(), config)
	if err == nil {
		t.Cleanup(func() { _ = c.Close(context.Background()) })
	}
	return c, err
}

// value of a question with one answer.
func value(t *testing.T, c *pgconn.PgConn, question string) string {
	t.Helper()
	rows, err := c.Exec(t.Context(), question).ReadAll()
	must(t, err)
	return string(rows[0].Rows[0][0])
}

func session(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// TestWhatWaitedIsNotShownAfterAStart: PostgreSQL that starts again shows commits that were waiting for the standby when it ended.
func TestWhatWaitedIsNotShownAfterAStart(t *testing.T) {
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx, f := t.Context(), pglink.New(parse(t, p.URL))
	must(t, p.Primary().Exec(ctx, `CREATE TABLE waiting (n BIGINT)`))
	c, err := connect(t, f, p.URL)
	must(t, err)
	must(t, c.Close(ctx))
	must(t, p.Standby().Pause())
	writer, admin := session(t, p.Primary().URL), session(t, p.Primary().URL)
	written := make(chan error, 1)
	go func() {
		_, err := writer.Exec(context.Background(), `INSERT INTO waiting VALUES (1)`)
		written <- err
	}()
	for waits := false; !waits; runtime.Gosched() {
		must(t, admin.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&waits))
	}
	must(t, p.Primary().Kill())
	if <-written == nil {
		t.Error("it was acknowledged")
	}
	must(t, p.Primary().Restart(ctx))
	var shown int
	must(t, session(t, p.Primary().URL).QueryRow(ctx, `SELECT count(*) FROM waiting`).Scan(&shown))
	if shown != 1 {
		t.Fatalf("PostgreSQL shows %d rows: this test shows nothing", shown)
	}
	if _, err := connect(t, f, p.URL); err == nil || !strings.Contains(err.Error(), "its standby does not take what it commits") {
		t.Errorf("a connection that shows what the standby does not have: %v", err)
	}
	must(t, p.Standby().Resume())
	for c, err = connect(t, f, p.URL); err != nil; c, err = connect(t, f, p.URL) { // until the standby has found the primary
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	if n := value(t, c, `SELECT count(*) FROM waiting`); n != "1" {
		t.Errorf("%s rows are shown when the standby has them", n)
	}
}

// TestAStandbyAlone: where the address names no server that takes writes, that is what is said, whatever the session is to be.
func TestAStandbyAlone(t *testing.T) {
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	for _, settings := range []string{"", "&default_transaction_isolation=serializable"} {
		address := p.Standby().URL + settings
		if _, err := connect(t, pglink.New(parse(t, address)), address); err == nil || !strings.Contains(err.Error(), "it is a standby; the address must name") {
			t.Errorf("with %q: %v", settings, err)
		}
	}
}

// TestTwoPrimaries: the newer one is taken, and connections to the older one are known to be stale, and end where something is under way.
func TestTwoPrimaries(t *testing.T) {
	p := sqltest.PairOf(t, sqltest.PairOptions{Listen: "127.0.0.1"})
	f := pglink.New(parse(t, p.URL))
	old, err := connect(t, f, p.URL)
	must(t, err)
	under, err := connect(t, f, p.URL)
	must(t, err)
	if pglink.Of(old).Stale() || pglink.Of(old).Alone() {
		t.Error("the primary is stale, or its commits wait for nobody")
	}
	// The server tells what its socket has: should the network drop all, it ends a connection, with its locks, before hours have passed.
	for name, want := range map[string]string{"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3", "tcp_user_timeout": "30000"} {
		if got := value(t, old, "SHOW "+name); got != want {
			t.Errorf("%s is %s, and must be %s", name, got, want)
		}
	}
	must(t, p.Promote(t.Context()))
	pglink.Of(under).Deadline(time.Hour)
	ended := make(chan error, 1)
	go func() {
		_, err := under.Exec(context.Background(), `SELECT pg_sleep(3600)`).ReadAll()
		ended <- err
	}()
	watching, stop := context.WithCancel(t.Context())
	watched, says := make(chan struct{}), make(told, 1)
	go func() {
		f.Watch(watching, parse(t, p.URL), 10*time.Millisecond, slog.New(slog.NewTextHandler(says, nil)))
		close(watched)
	}()
	if err := <-ended; err == nil {
		t.Error("what was under way went on")
	}
	if said := <-says; !strings.Contains(said, "was the primary once (timeline 1)") {
		t.Error(said)
	}
	stop()
	<-watched
	if !pglink.Of(old).Stale() {
		t.Error("the primary that was followed is not stale")
	}
	c, err := connect(t, f, p.URL)
	must(t, err)
	if got := value(t, c, `SELECT current_setting('data_directory')`); !strings.HasSuffix(got, "/b/data") || !pglink.Of(c).Alone() {
		t.Errorf("a connection leads to %s", got)
	}
}

// told sends on what a logger is told of errors.
type told chan string

func (c told) Write(b []byte) (int, error) {
	select {
	case c <- string(b):
	default:
	}
	return len(b), nil
}

// TestAnotherDatabase with the same address is not taken for the one that was used.
func TestAnotherDatabase(t *testing.T) {
	one, other := sqltest.Private(t), sqltest.Private(t)
	f := pglink.New(parse(t, one.URL))
	_, err := connect(t, f, one.URL)
	must(t, err)
	if _, err := connect(t, f, other.URL); err == nil || !strings.Contains(err.Error(), "is not the database that this node has used") {
		t.Errorf("%v", err)
	}
}
