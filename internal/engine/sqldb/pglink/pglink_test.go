package pglink_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
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
	f.Prepare(config, true)
	c, err := pgconn.ConnectConfig(t.Context(), config)
	if err == nil {
		t.Cleanup(func() { _ = c.Close(context.Background()) })
	}
	return c, err
}

// value returns the result of a query with one value.
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

// After a restart PostgreSQL shows commits that were waiting for the standby when it ended; a fence must not.
func TestUnreplicatedCommitsAreHiddenAfterARestart(t *testing.T) {
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
	eventually.True(t, "the commit waits for the standby", func() (waits bool) {
		must(t, admin.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&waits))
		return waits
	})
	must(t, p.Primary().Kill())
	if <-written == nil {
		t.Error("the commit was acknowledged without the standby")
	}
	must(t, p.Primary().Restart(ctx))
	var shown int
	must(t, session(t, p.Primary().URL).QueryRow(ctx, `SELECT count(*) FROM waiting`).Scan(&shown))
	if shown != 1 {
		t.Fatalf("precondition: got %d visible rows of PostgreSQL, want the unreplicated one", shown)
	}
	if _, err := connect(t, f, p.URL); err == nil || !strings.Contains(err.Error(), "its standby does not confirm commits") {
		t.Errorf("a connection to a server with unreplicated commits: got %v, want an error", err)
	}
	must(t, p.Standby().Resume())
	for c, err = connect(t, f, p.URL); err != nil; c, err = connect(t, f, p.URL) { // until the standby has found the primary
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	if n := value(t, c, `SELECT count(*) FROM waiting`); n != "1" {
		t.Errorf("got %s visible rows after replication", n)
	}
}

// If the address names only a standby, the error says so, whatever the session's settings.
func TestAnAddressOfOnlyAStandbyIsRefused(t *testing.T) {
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	for _, settings := range []string{"", "&default_transaction_isolation=serializable"} {
		address := p.Standby().URL + settings
		if _, err := connect(t, pglink.New(parse(t, address)), address); err == nil || !strings.Contains(err.Error(), "the server is a standby; the address must name") {
			t.Errorf("with settings %q: got %v", settings, err)
		}
	}
}

// The newer of two primaries is used. Connections to the older one are stale, and end even while a statement is running.
func TestTheNewerOfTwoPrimariesIsUsed(t *testing.T) {
	p := sqltest.PairOf(t, sqltest.PairOptions{Listen: "127.0.0.1"})
	f := pglink.New(parse(t, p.URL))
	old, err := connect(t, f, p.URL)
	must(t, err)
	under, err := connect(t, f, p.URL)
	must(t, err)
	if pglink.LinkOf(old).Stale() || pglink.LinkOf(old).NoStandby() {
		t.Error("the primary: got a stale connection, or one without a standby")
	}
	// The server applies the keepalive settings: if the network drops everything, it closes the connection, and releases its locks, long
	// before the default of hours.
	for name, want := range map[string]string{"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3", "tcp_user_timeout": "30000"} {
		if got := value(t, old, "SHOW "+name); got != want {
			t.Errorf("setting %s: got %s, want %s", name, got, want)
		}
	}
	must(t, p.Promote(t.Context()))
	pglink.LinkOf(under).Deadline(time.Hour)
	ended := make(chan error, 1)
	go func() {
		_, err := under.Exec(context.Background(), `SELECT pg_sleep(3600)`).ReadAll()
		ended <- err
	}()
	watching, stop := context.WithCancel(t.Context())
	watched, says := make(chan struct{}), make(errorLog, 1)
	go func() {
		f.Watch(watching, parse(t, p.URL), 10*time.Millisecond, slog.New(slog.NewTextHandler(says, nil)))
		close(watched)
	}()
	if err := <-ended; err == nil {
		t.Error("a running statement on the former primary continued")
	}
	if said := <-says; !strings.Contains(said, "is a former primary (timeline 1)") {
		t.Errorf("the log says %q, want that it is a former primary of timeline 1", said)
	}
	stop()
	<-watched
	if !pglink.LinkOf(old).Stale() {
		t.Error("the former primary: got a connection that is not stale")
	}
	c, err := connect(t, f, p.URL)
	must(t, err)
	if got := value(t, c, `SELECT current_setting('data_directory')`); !strings.HasSuffix(got, "/b/data") || !pglink.LinkOf(c).NoStandby() {
		t.Errorf("a new connection: got server %s", got)
	}
}

// A primary that is paused while another is promoted answers afterwards, both statements that were sent before and later ones. These answers are not used,
// although nothing has asked the servers since.
func TestAnswersAfterASilenceAreConfirmed(t *testing.T) {
	p := sqltest.PairOf(t, sqltest.PairOptions{Listen: "127.0.0.1"})
	f := pglink.New(parse(t, p.URL))
	f.SetMaxSilence(100 * time.Millisecond)
	before, err := connect(t, f, p.URL)
	must(t, err)
	after, err := connect(t, f, p.URL)
	must(t, err)
	old := p.Primary()
	must(t, old.Pause())
	answered := make(chan error, 1)
	go func() {
		_, err := before.Exec(context.Background(), `SELECT 1`).ReadAll()
		answered <- err
	}()
	must(t, p.Promote(t.Context())) // which takes longer than 100 ms
	must(t, old.Resume())
	if err := eventually.Receive(t, "the answer", answered); err == nil || !strings.Contains(err.Error(), "former primary (timeline 1)") {
		t.Errorf("a statement that was sent during the pause: got %v, want the error of a former primary", err)
	}
	if _, err := after.Exec(t.Context(), `SELECT 1`).ReadAll(); err == nil || !strings.Contains(err.Error(), "former primary (timeline 1)") {
		t.Errorf("a statement that was sent after the pause: got %v, want the error of a former primary", err)
	}
	c, err := connect(t, f, p.URL)
	must(t, err)
	if got := value(t, c, `SELECT current_setting('data_directory')`); !strings.HasSuffix(got, "/b/data") {
		t.Errorf("a new connection: got server %s", got)
	}
}

// A primary that was silent, and is still the only one, is used further.
func TestTheSamePrimaryIsUsedAfterASilence(t *testing.T) {
	p := sqltest.PairOf(t, sqltest.PairOptions{Listen: "127.0.0.1"})
	f := pglink.New(parse(t, p.URL))
	f.SetMaxSilence(0)
	c, err := connect(t, f, p.URL)
	must(t, err)
	for range 3 {
		if got := value(t, c, `SELECT 1`); got != "1" {
			t.Errorf("got %s, want 1", got)
		}
	}
}

// errorLog forwards the logger's errors to a channel.
type errorLog chan string

func (c errorLog) Write(b []byte) (int, error) {
	select {
	case c <- string(b):
	default:
	}
	return len(b), nil
}

// Another database at the same address is refused.
func TestAnotherDatabaseIsRefused(t *testing.T) {
	one, other := sqltest.Private(t), sqltest.Private(t)
	f := pglink.New(parse(t, one.URL))
	_, err := connect(t, f, one.URL)
	must(t, err)
	if _, err := connect(t, f, other.URL); err == nil || !strings.Contains(err.Error(), "is not the database that this node has used") {
		t.Errorf("another database: got %v, want an error", err)
	}
}
