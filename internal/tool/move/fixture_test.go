package move

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// directory creates a data directory with data of every kind.
func directory(t testing.TB, seed uint64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, lockFile), nil, 0o600))
	random := rand.New(rand.NewPCG(seed, 1))
	fillRecords(t, dir, random)
	fillTimelines(t, dir, random)
	store, err := diskblob.Open(filepath.Join(dir, filesDir))
	must(t, err)
	for i := range 40 {
		text := strings.Repeat(fmt.Sprint(random.Uint64()), random.IntN(50))
		must(t, store.Put(t.Context(), fmt.Sprintf("%02d/file-%d", i%3, i), strings.NewReader(text), int64(len(text))))
	}
	return dir
}

// fillRecords creates tables of every form that services use, and a pool of message ids.
func fillRecords(t testing.TB, dir string, random *rand.Rand) {
	db, err := sqldb.Open(t.Context(), filepath.Join(dir, recordsFile))
	must(t, err)
	must(t, db.Migrate(t.Context(), "component", []string{
		`CREATE TABLE secrets (name TEXT PRIMARY KEY, value {bytes} NOT NULL)`,
		`CREATE TABLE outbox (n {number}, owner BIGINT NOT NULL, body {bytes} NOT NULL)`,
		`CREATE TABLE things (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, open BOOLEAN NOT NULL DEFAULT FALSE, seen {bytes})`,
		`ALTER TABLE things ADD COLUMN late TEXT NOT NULL DEFAULT ''`,
		`CREATE INDEX things_open ON things (open, id) WHERE id > 5`,
		`CREATE UNIQUE INDEX things_late ON things (late, id)`,
		`CREATE TABLE pairs (a BIGINT NOT NULL, b BIGINT NOT NULL, PRIMARY KEY (a, b))`,
		`CREATE TABLE empty (a BIGINT PRIMARY KEY)`,
		`CREATE TABLE idgen_pools (pool TEXT PRIMARY KEY, size BIGINT NOT NULL)`,
		`CREATE TABLE idgen_leases (kind TEXT NOT NULL, number BIGINT NOT NULL, holder TEXT NOT NULL, token TEXT NOT NULL, term BIGINT NOT NULL, mark BIGINT NOT NULL, PRIMARY KEY (kind, number))`,
	}))
	must(t, db.Write(t.Context(), func(tx *sql.Tx) error {
		do := func(statement string, args ...any) {
			_, err := tx.Exec(statement, args...)
			must(t, err)
		}
		do(`INSERT INTO secrets VALUES ('media', $1)`, []byte(fmt.Sprint(random.Uint64())))
		do(`INSERT INTO idgen_pools VALUES ('message', 16), ('record', 1024)`)
		do(`INSERT INTO idgen_leases VALUES ('message', 3, 'here', 'x', 9, 1234567), ('record', 3, 'here', 'y', 2, 77)`)
		for i := range int64(100) {
			var seen []byte
			if i%3 == 0 {
				seen = []byte{byte(i), 0, 255}
			}
			do(`INSERT INTO things VALUES ($1, $2, $3, $4, $5)`, i*i-50, fmt.Sprintf("名 %d '\"\\ \t", i), i%2 == 0, seen, strings.Repeat("z", int(i%4)))
			do(`INSERT INTO pairs VALUES ($1, $2)`, i%7, random.Int64())
			do(`INSERT INTO outbox (owner, body) VALUES ($1, $2)`, i, []byte{})
		}
		do(`DELETE FROM outbox WHERE n < 90 OR n = 100`)
		return nil
	}))
	must(t, db.Close())
}

func conversation(id uint64) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: id}
}
func inbox(id uint64) timeline.Key { return timeline.Key{Kind: timeline.Inbox, ID: id} }

// fillTimelines appends, posts, trims, expires and moves checkpoints, in two runs of the engine.
func fillTimelines(t testing.TB, dir string, random *rand.Rand) {
	ctx := t.Context()
	counters := map[uint64]uint64{}
	for range 2 {
		log, err := pebblelog.Open(filepath.Join(dir, timelinesDir), pebblelog.Options{})
		must(t, err)
		for i := range 300 {
			k, sender := conversation(1+random.Uint64N(20)), 1+random.Uint64N(5)
			a := &timeline.AppendRequest{Key: k, Payload: fmt.Append(nil, "entry ", i, " ", random.Uint64()), Counts: i%5 > 0, NeedsFanout: i%4 > 0}
			switch i % 5 {
			case 0:
				a.SetAccess = true
			case 1:
				a.Author, a.Token = sender, timeline.Token{Sum: [16]byte{byte(i), byte(i >> 8), byte(random.Uint64())}}
			default:
				counters[sender]++
				a.Author, a.Token = sender, timeline.Token{Sender: sender, Device: sender * 10, Counter: counters[sender]}
			}
			must(t, timelinetest.Append(log, a).Err)
			must(t, log.Post(ctx, []timeline.Post{{Key: inbox(1 + random.Uint64N(8)), Payload: []byte(fmt.Sprint("post ", i))}}))
		}
		for p := range uint16(timeline.Partitions) {
			list, err := log.FanoutRecords(ctx, p, 0, 1000)
			must(t, err)
			if len(list) > 2 {
				must(t, log.PutCheckpoint(ctx, p, list[len(list)-2].Seq))
			}
		}
		must(t, log.Expire(ctx, conversation(2), 5, []uint64{1, 3}))
		must(t, log.Expire(ctx, conversation(3), 1<<40, nil))
		tail, err := log.Tail(ctx, inbox(2))
		must(t, err)
		must(t, log.Trim(ctx, inbox(2), tail.Seq-2))
		if tail, err = log.Tail(ctx, inbox(3)); err == nil {
			err = log.Trim(ctx, inbox(3), tail.Seq+1)
		}
		must(t, err)
		must(t, log.Close())
	}
}

// shown returns everything that a log returns for the keys of the fixture.
func shown(t testing.TB, log timeline.Log) (lines []string) {
	t.Helper()
	ctx := context.Background()
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, kind := range []timeline.Kind{timeline.Conversation, timeline.Inbox} {
		keys, err := log.Keys(ctx, kind, 0, 1000)
		must(t, err)
		say("%c %v", kind, keys)
		for id := range uint64(22) {
			k := timeline.Key{Kind: kind, ID: id}
			tail, err := log.Tail(ctx, k)
			must(t, err)
			entries, err := log.Read(ctx, k, 0, 1000)
			must(t, err)
			say("%v %+v %+v", k, tail, entries)
			for author := range uint64(6) {
				if kind == timeline.Inbox {
					break
				}
				seq, counted, err := log.LatestByAuthor(ctx, k, author)
				must(t, err)
				say("last of %d: %d %d", author, seq, counted)
			}
		}
	}
	for sender := range uint64(6) {
		highest, err := log.HighestCounter(ctx, sender, sender*10)
		must(t, err)
		say("highest of %d: %d", sender, highest)
	}
	for p := range uint16(timeline.Partitions) {
		at, err := log.Checkpoint(ctx, p)
		must(t, err)
		list, err := log.FanoutRecords(ctx, p, at, 1000)
		must(t, err)
		say("partition %d: %d %v", p, at, list)
	}
	return lines
}

// ofDirectory returns what a directory's log shows.
func ofDirectory(t testing.TB, dir string) []string {
	t.Helper()
	log, err := pebblelog.Open(filepath.Join(dir, timelinesDir), pebblelog.Options{ReadOnly: true})
	must(t, err)
	defer log.Close()
	return shown(t, log)
}

func sameLines(t testing.TB, got, want []string) {
	t.Helper()
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("line %d:\n%s\nwant\n%s", i, slices.Concat(got, make([]string, len(want)))[i], want[i])
		}
	}
}

// fingerprint returns the checksums of all files of a directory.
func fingerprint(t testing.TB, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		sum := sha256.Sum256(b)
		sums[strings.TrimPrefix(path, dir)] = hex.EncodeToString(sum[:])
		return err
	}))
	maps.DeleteFunc(sums, func(name, _ string) bool { return strings.HasPrefix(name, "/"+recordsFile+"-") }) // empty files of SQLite
	return sums
}

func session(t testing.TB, address string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// lines returns the rows of a query.
func lines(t testing.TB, c *pgx.Conn, query string) []string {
	t.Helper()
	rows, err := c.Query(t.Context(), query)
	must(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return list
}
