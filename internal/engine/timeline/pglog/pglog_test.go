package pglog_test

import (
	"errors"
	"flag"
	"strconv"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

func TestLog(t *testing.T) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given { // each operation is some round trips
		must(t, flag.Set("rapid.checks", strconv.Itoa(40*scaled(t))))
	}
	server := sqltest.Postgres(t)
	timelinetest.Run(t, func(t testing.TB, listener timeline.Listener) timeline.Log {
		return open(t, sqltest.Schema(t, server), pglog.Options{Listener: listener, Readers: 1, Writers: 1})
	})
}

// TestCorruptionIsReported: rows that PostgreSQL cannot read give ErrCorrupt, not an error that asks for a retry.
func TestCorruptionIsReported(t *testing.T) {
	address, _ := place(t)
	l := open(t, address, pglog.Options{})
	k := conversation(1)
	if a := timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("one")}); a.Err != nil {
		t.Fatal(a.Err)
	}
	_, err := writerSession(t, address).Exec(t.Context(), `CREATE FUNCTION unreadable() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'invalid page' USING ERRCODE = 'data_corrupted'; END $$;
		ALTER TABLE log_entries RENAME TO page; CREATE VIEW log_entries AS SELECT * FROM page WHERE unreadable()`)
	must(t, err)
	if entries, err := l.Read(t.Context(), k, 0, 10); !errors.Is(err, timeline.ErrCorrupt) {
		t.Errorf("a read of a corrupt page returned %v, %v, want ErrCorrupt", entries, err)
	}
	must(t, l.Close())
}
