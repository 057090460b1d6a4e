// Package sqltest gives tests a SQL database: SQLite, or PostgreSQL if the run is configured for it, so that a package's tests run
// unchanged on both. It can also start a private PostgreSQL server. It is for tests only.
//
// StartPair starts a primary with a synchronous standby, and can be used outside of tests, for example by the chaos runner. Pair.URL
// names both servers and is the address for nodes. Primary().Kill, Pause, Resume and Restart simulate failures of a server; Promote and
// Rejoin are the operator's reactions. With PairOptions.Listen both listen on TCP ports, otherwise on Unix sockets only. Stop ends the
// servers and removes their files; unless they are paused, they also end with the process that started them.
package sqltest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// Shared is the environment variable with the address of this run's PostgreSQL server. If it is unset, each test that needs one starts its own.
	Shared = "TEST_POSTGRES"
	// Records is the environment variable that says where this run's databases are: "postgres", on the shared server; or "sqlite", also if it is unset.
	Records = "TEST_RECORDS"
	// All is the environment variable that turns a skipped test into a failure.
	All = "TEST_ALL"

	deadlock = "40P01" // PostgreSQL's SQLSTATE of a transaction that it ended because another waited for it, and it for the other
)

// Place returns the address of a new, empty database for sqldb.Open, which is dropped after the test.
func Place(t testing.TB) string {
	t.Helper()
	if OnPostgres() {
		return Schema(t, Postgres(t))
	}
	return filepath.Join(t.TempDir(), "records.db")
}

// OnPostgres reports whether this run uses PostgreSQL.
func OnPostgres() bool { return os.Getenv(Records) == "postgres" }

// Schema creates an empty schema on a server, and returns its URL.
func Schema(t testing.TB, server string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	do := func(statement string) {
		ctx := context.Background() // valid after the test's context has ended
		c, err := pgx.Connect(ctx, server)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		for attempt := 1; ; attempt++ {
			_, err := c.Exec(ctx, statement)
			var code *pgconn.PgError
			if errors.As(err, &code) && code.Code == deadlock && attempt < 10 {
				continue // with a transaction of a program that still runs, or that was killed a moment ago
			}
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	do("CREATE SCHEMA " + name)
	t.Cleanup(func() { do("DROP SCHEMA " + name + " CASCADE") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", name)
	u.RawQuery = query.Encode()
	return u.String()
}

// Postgres returns the URL of a server: the shared one, or a private one for this test. Without PostgreSQL it skips the test and says what is
// missing, or fails it if All is set.
func Postgres(t testing.TB) string {
	t.Helper()
	if server := os.Getenv(Shared); server != "" {
		return server
	}
	return Private(t).URL
}

// Private starts a server for one test, with additional settings, such as "fsync=on". Without PostgreSQL it behaves like Postgres.
func Private(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := programs(t).Start(t.Context(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// programs returns PostgreSQL's programs.
func programs(t testing.TB) *Programs {
	t.Helper()
	p, err := Find()
	if err != nil {
		if os.Getenv(All) != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return p
}

// Copy returns another database with the current content of one, like a restored backup.
func Copy(t testing.TB, place string) string {
	t.Helper()
	ctx := t.Context()
	if !OnPostgres() {
		to := filepath.Join(t.TempDir(), "records.db")
		db, err := sql.Open("sqlite", "file:"+place+"?vfs=rialto-checksum") // sqldb/checksumvfs, which is in a higher layer
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(ctx, `VACUUM INTO '`+to+`'`); err != nil {
			t.Fatal(err)
		}
		return to
	}
	to := Schema(t, os.Getenv(Shared))
	c, err := pgx.Connect(ctx, to)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	from, err := url.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, `DO $$ DECLARE t text; BEGIN FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '`+from.Query().Get("search_path")+`' LOOP
		EXECUTE format('CREATE TABLE %1$I (LIKE %2$I.%1$I INCLUDING ALL)', t, '`+from.Query().Get("search_path")+`');
		EXECUTE format('INSERT INTO %1$I SELECT * FROM %2$I.%1$I', t, '`+from.Query().Get("search_path")+`');
	END LOOP; END $$`); err != nil {
		t.Fatal(err)
	}
	return to
}
