// Package sqltest gives tests a records' database: SQLite, or PostgreSQL where the run is told so, so that a room's tests run
// unchanged on both. It also starts a private server of PostgreSQL. For tests only.
//
// StartPair starts a primary with the standby that its commits wait for, and needs no test around it: a program that does harm to a
// cluster uses it as well. Pair.URL names both servers and is what nodes are given; Primary().Kill (as kill -9, children and all), Pause,
// Resume and Restart (as what it was) are what happens to a server; Promote and Rejoin are what an operator does about it. With
// PairOptions.Listen both listen on a port, else on socket files alone. Stop ends and removes all; the servers end with the process that
// started them in any case, unless they are paused.
package sqltest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

const (
	// Records is the variable that names the server of PostgreSQL on which a run keeps its records; unset: in SQLite.
	Records = "TEST_RECORDS"
	// All is the variable that, set, makes a failure of a test that cannot run here.
	All = "TEST_ALL"
)

// Place is one for sqldb.Open, empty, and dropped after the test.
func Place(t testing.TB) string {
	t.Helper()
	if server := os.Getenv(Records); server != "" {
		return Schema(t, server)
	}
	return filepath.Join(t.TempDir(), "records.db")
}

// OnPostgres tells whether this run keeps its records in PostgreSQL.
func OnPostgres() bool { return os.Getenv(Records) != "" }

// Schema makes an empty schema on a server, and gives its URL.
func Schema(t testing.TB, server string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	do := func(statement string) {
		ctx := context.Background() // also when the test's own has ended
		c, err := pgx.Connect(ctx, server)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, statement); err != nil {
			t.Fatal(err)
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

// Postgres gives the URL of a server: the run's, or a private one for this test. Without PostgreSQL it names what is missing and
// skips the test, or fails it where All is set.
func Postgres(t testing.TB) string {
	t.Helper()
	if server := os.Getenv(Records); server != "" {
		return server
	}
	return Private(t).URL
}

// Private starts a server for this test alone, with further settings, as "fsync=on". Without PostgreSQL it does as Postgres.
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

// programs of PostgreSQL, where they are.
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

// Copy gives another place with the records of a place as they are now, as a backup has them.
func Copy(t testing.TB, place string) string {
	t.Helper()
	ctx := t.Context()
	if !OnPostgres() {
		to := filepath.Join(t.TempDir(), "records.db")
		db, err := sql.Open("sqlite", "file:"+place)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(ctx, `VACUUM INTO '`+to+`'`); err != nil {
			t.Fatal(err)
		}
		return to
	}
	to := Schema(t, os.Getenv(Records))
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
