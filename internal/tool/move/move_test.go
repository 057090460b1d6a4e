package move

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

func completed(t *testing.T, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), o)
	must(t, err)
	if len(r.Differences) > 0 {
		t.Fatalf("got differences %q, want none", r.Differences)
	}
	return r
}

// The target has all data of the source, and new data gets later numbers.
func TestMovedDataIsEqual(t *testing.T) {
	ctx, dir, address := t.Context(), directory(t, 1), sqltest.Schema(t, sqltest.Postgres(t))
	want, before := ofDirectory(t, dir), fingerprint(t, dir)
	r := completed(t, Options{Data: dir, Postgres: address, Say: t.Logf})
	if r.Tables != 8 || r.Entries == 0 || r.Posts == 0 || r.Tokens == 0 || r.Records == 0 || len(r.Notes) != 1 {
		t.Errorf("the report is %+v, want 8 tables, a note, and some of each kind", r)
	}
	after := fingerprint(t, dir)
	delete(after, "/"+markerFile)
	if !maps.Equal(before, after) {
		t.Errorf("checksums of the source after the move: got %v, want %v as before", after, before)
	}
	log, err := pglog.Open(ctx, address, pglog.Options{})
	must(t, err)
	sameLines(t, shown(t, log), want)

	c := session(t, address)
	if got := lines(t, c, `SELECT id || ' ' || name || ' ' || open || ' ' || coalesce(seen::TEXT, 'none') || ' ' || late FROM things ORDER BY id LIMIT 2`); !slices.Equal(got, []string{"-50 名 0 '\"\\ \t true \\x0000ff ", "-49 名 1 '\"\\ \t false none z"}) {
		t.Errorf("the rows of things are %q", got)
	}
	if got := lines(t, c, `SELECT kind || ' ' || number || ' ' || mark FROM idgen_leases ORDER BY kind, number`); !slices.Equal(got, []string{"message 12 1234567", "message 13 1234567", "message 14 1234567", "message 15 1234567", "record 3 77"}) {
		t.Errorf("the leases are %q", got)
	}
	if got := lines(t, c, `SELECT indexname::TEXT FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'things' ORDER BY 1`); !slices.Equal(got, []string{"things_late", "things_name_key", "things_open", "things_pkey"}) {
		t.Errorf("the indexes of things are %q", got)
	}
	if got := lines(t, c, `INSERT INTO outbox (owner, body) VALUES (1, '') RETURNING n::TEXT`); got[0] != "101" {
		t.Errorf("got next number %s", got[0])
	}
	// The migration steps are recorded as done.
	db, err := sqldb.Open(ctx, address)
	must(t, err)
	must(t, CheckTarget(ctx, db.Read()))
	must(t, db.Migrate(ctx, "component", []string{`CREATE TABLE secrets (name TEXT PRIMARY KEY)`}))
	must(t, db.Close())

	a := &timeline.AppendRequest{Key: conversation(1), Payload: []byte("again"), Token: timeline.Token{Sender: 1, Device: 10, Counter: 1}}
	for k := uint64(1); k <= 20 && !a.Duplicate; k++ { // one of them has it
		a.Key = conversation(k)
		seqs, err := log.TokenSeqs(ctx, []timeline.TokenKey{{Key: a.Key, Token: a.Token}})
		must(t, err)
		if seqs[0] != 0 {
			timelinetest.Append(log, a)
			if a.Err != nil || !a.Duplicate || a.Seq != seqs[0] {
				t.Errorf("retry of a message: got %+v, want a duplicate", a)
			}
		}
	}
	if !a.Duplicate {
		t.Error("no token was moved")
	}
	for _, k := range []timeline.Key{inbox(1), inbox(3), inbox(20)} { // in use, fully trimmed, new
		tail, err := log.Tail(ctx, k)
		must(t, err)
		must(t, log.Acquire(ctx, k.Partition(), 1))
		post := []timeline.Post{{Key: k, Payload: []byte("new")}}
		must(t, log.Post(ctx, post))
		if post[0].Prev != tail.Seq || post[0].Seq != 3<<32+1 {
			t.Errorf("%v: got post %+v after the move; the tail was %d", k, post[0], tail.Seq)
		}
	}
	must(t, log.Close())
}

var errStopped = errors.New("stopped here")

// A move that is interrupted before or after any commit resumes there, and has the same result.
func TestInterruptedMoveResumes(t *testing.T) {
	server, dir := sqltest.Postgres(t), directory(t, 2)
	want := ofDirectory(t, dir)
	s3 := s3test.Start(t)
	for _, step := range []int64{9, 31} {
		address := sqltest.Schema(t, server)
		o := Options{Data: dir, Postgres: address, Batch: 40, S3: &s3blob.Config{Endpoint: s3.Endpoint, AccessKey: s3.AccessKey, SecretKey: s3.SecretKey, Bucket: s3.Bucket(t)}}
		stops := 0
		for n, ended := 1, false; !ended; n++ {
			var left atomic.Int64
			left.Store(step)
			o.interrupt = func(point string) error {
				if left.Add(-1) < 0 || point == "end" && stops%2 == 0 {
					return errStopped
				}
				return nil
			}
			r, err := Run(t.Context(), o)
			switch {
			case errors.Is(err, errStopped):
				stops++
				db, err := sqldb.Open(t.Context(), address)
				must(t, err)
				if err := CheckTarget(t.Context(), db.Read()); err == nil || !strings.Contains(err.Error(), "not complete") {
					t.Fatalf("server on an incomplete move: got error %v", err)
				}
				must(t, db.Close())
			case err != nil:
				t.Fatal(err)
			default:
				if len(r.Differences) > 0 || r.Files != 40 {
					t.Fatalf("the report is %+v, want no difference and 40 files", r)
				}
				ended = true
			}
			if n > 1000 {
				t.Fatal("the move did not finish")
			}
		}
		if stops < 2 {
			t.Errorf("the move was interrupted %d times, too few to test all commits", stops)
		}
		log, err := pglog.Open(t.Context(), address, pglog.Options{})
		must(t, err)
		sameLines(t, shown(t, log), want)
		must(t, log.Close())
		must(t, Undo(dir))
	}
}

// Each difference is reported, and the move stays incomplete.
func TestDifferencesAreReported(t *testing.T) {
	server, dir := sqltest.Postgres(t), directory(t, 3)
	s3 := s3test.Start(t)
	address := sqltest.Schema(t, server)
	o := Options{Data: dir, Postgres: address, S3: &s3blob.Config{Endpoint: s3.Endpoint, AccessKey: s3.AccessKey, SecretKey: s3.SecretKey, Bucket: s3.Bucket(t)}}
	completed(t, o)
	o.VerifyOnly = true
	completed(t, o)
	store, err := s3blob.Open(t.Context(), *o.S3)
	must(t, err)
	c := session(t, address)
	for _, damage := range []struct{ statement, named string }{
		{`DELETE FROM things WHERE id = 14`, "table things"},
		{`UPDATE things SET open = NOT open WHERE id = 14`, "table things"},
		{`UPDATE things SET seen = '' WHERE id = -49`, "table things"},
		{`INSERT INTO pairs VALUES (1, 1)`, "table pairs"},
		{`DELETE FROM log_entries WHERE id = 1 AND seq = 1`, "conversation 1:"},
		{`UPDATE log_entries SET payload = 'x' WHERE id = 1 AND seq = 2`, "conversation 1:"},
		{`UPDATE log_entries SET counted = counted + 1 WHERE id = 4 AND seq = 2`, "conversation 4:"},
		{`INSERT INTO log_entries SELECT 999, 1, 0, ''; INSERT INTO log_tails VALUES (999, 1, 0, 0, 0)`, "conversation 999 is in the target only"},
		{`DELETE FROM log_entries WHERE id = 5`, "conversation 5"},
		{`UPDATE log_tails SET access = access + 1 WHERE id = 6`, "conversation 6:"},
		{`DELETE FROM log_heads WHERE kind = 99 AND id = 3`, "conversation 3:"},
		{`DELETE FROM log_posts WHERE id = 1 AND seq = (SELECT max(seq) FROM log_posts WHERE id = 1)`, "user 1"},
		{`UPDATE log_inboxes SET seq = seq + 1 WHERE id = 3`, "user 3"},
		{`DELETE FROM log_tokens WHERE sender = 2 AND counter = 3`, "a token of user 2"},
		{`DELETE FROM log_sums WHERE ctid = (SELECT min(ctid) FROM log_sums)`, "a token"},
		{`INSERT INTO log_tokens VALUES (77, 1, 1, 1, 1, 0)`, "tokens"},
		{`UPDATE log_authors SET seq = seq + 1 WHERE author = 4`, "latest entry of user 4"},
		{`UPDATE log_checkpoints SET record = record + 1 WHERE record > 0`, "checkpoint"},
		{`DELETE FROM log_records`, "records above"},
	} {
		_, err := c.Exec(t.Context(), `BEGIN`)
		must(t, err)
		_, err = c.Exec(t.Context(), damage.statement)
		must(t, err)
		_, err = c.Exec(t.Context(), `COMMIT`)
		must(t, err)
		r, err := Run(t.Context(), o)
		must(t, err)
		if found := strings.Join(r.Differences, "\n"); !strings.Contains(found, damage.named) {
			t.Errorf("after %s: got differences %q", damage.statement, found)
		}
	}
	must(t, store.Delete(t.Context(), "00/file-0"))
	must(t, store.Put(t.Context(), "01/file-1", strings.NewReader("other"), 5))
	r, err := Run(t.Context(), o)
	must(t, err)
	found := strings.Join(r.Differences, "\n")
	if !strings.Contains(found, "00/file-0 is missing") || !strings.Contains(found, "01/file-1 has") {
		t.Errorf("files: got differences %q", found)
	}
	// An incomplete move with a difference stays incomplete.
	_, err = c.Exec(t.Context(), `UPDATE moves SET ended = NULL`)
	must(t, err)
	must(t, Undo(dir))
	o.VerifyOnly = false
	if r, err := Run(t.Context(), o); err != nil || len(r.Differences) == 0 || CheckSource(dir) != nil {
		t.Errorf("the report is %+v, error %v; want differences, and a directory that is not marked: %v", r, err, CheckSource(dir))
	}
}

// A move that would lose or mix data is refused, with an error that says what to do.
func TestUnsafeMovesAreRefused(t *testing.T) {
	server, dir := sqltest.Postgres(t), directory(t, 4)
	address := sqltest.Schema(t, server)
	refused := func(what string, o Options, named string) {
		t.Helper()
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), named) {
			t.Errorf("%s: error %v, want one that contains %q", what, err, named)
		}
	}
	o := Options{Data: dir, Postgres: address}
	refused("no directory", Options{Data: t.TempDir(), Postgres: address}, "not a data directory")
	lock, err := lockDir(dir)
	must(t, err)
	refused("a server runs", o, "stop the server")
	must(t, lock.Close())
	if err := Undo(dir); err == nil || !strings.Contains(err.Error(), "was not moved") {
		t.Errorf("undo: got error %v", err)
	}

	used := sqltest.Schema(t, server)
	log, err := pglog.Open(t.Context(), used, pglog.Options{})
	must(t, err)
	must(t, log.Close())
	refused("a target in use", Options{Data: dir, Postgres: used}, "not empty")

	half := o
	half.interrupt = func(point string) error {
		if point == "after" {
			return errStopped
		}
		return nil
	}
	refused("half of it", half, errStopped.Error())
	refused("verifying half", Options{Data: dir, Postgres: address, VerifyOnly: true}, "not complete")
	refused("another directory", Options{Data: directory(t, 5), Postgres: address}, "another directory")
	s3 := s3test.Start(t)
	refused("other engines", Options{Data: dir, Postgres: address, S3: &s3blob.Config{Endpoint: s3.Endpoint, AccessKey: s3.AccessKey, SecretKey: s3.SecretKey, Bucket: s3.Bucket(t)}}, "the move began with")
	completed(t, o)
	refused("again", o, "was moved to this target")
	if err := CheckSource(dir); err == nil || !strings.Contains(err.Error(), "was moved to") || !strings.Contains(err.Error(), "--undo") {
		t.Errorf("server on the source: got error %v", err)
	}
	must(t, Undo(dir))
	must(t, CheckSource(dir))

	// A server ran on the source during the move.
	second := sqltest.Schema(t, server)
	half.Postgres = second
	refused("half of it", half, errStopped.Error())
	served, err := pebblelog.Open(filepath.Join(dir, timelinesDir), pebblelog.Options{})
	must(t, err)
	must(t, served.Close())
	refused("a source that was served since", Options{Data: dir, Postgres: second}, "a server has run")
	must(t, os.Remove(filepath.Join(dir, lockFile)))
}

// Of several servers, the move uses the primary, even if the standby is listed first.
func TestMoveWithTheStandbyFirst(t *testing.T) {
	dir, pair := directory(t, 1), sqltest.PairOf(t, sqltest.PairOptions{})
	completed(t, Options{Data: dir, Postgres: pair.StandbyFirst(), Say: t.Logf})
}
