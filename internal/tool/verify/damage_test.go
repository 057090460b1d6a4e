package verify_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/tool/verify"
)

// served creates a directory like a server's, with five conversations of large messages, each in its own blocks, as it is after a stop or
// a kill. mark is a part of the third conversation's message.
func served(t *testing.T, killed bool) (dir string, mark []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := datadir.Open(t.Context(), dir, datadir.Options{Logger: slog.New(slog.DiscardHandler), Spare: 1})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{})
	for n := uint64(1); n <= 5; n++ {
		text := make([]byte, 60<<10)
		random.Read(text)
		if n == 3 {
			mark = text[30<<10:][:64]
		}
		m := &message.Entry{ID: id.MessageOf(1_700_000_000_000+int64(n), 0, 2, id.Conversation(n)), Sender: id.User(n), Content: text}
		done := make(chan error, 1)
		s.Log.Append(&timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: n}, Author: n, Payload: m.Append(nil), Counts: true, Done: func(a *timeline.AppendRequest) { done <- a.Err }})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DB.Migrate(t.Context(), "test", []string{`CREATE TABLE names (n BIGINT PRIMARY KEY, name TEXT)`}); err != nil {
		t.Fatal(err)
	}
	if err := s.DB.Write(t.Context(), func(tx *sql.Tx) error {
		for n := range 100 {
			if _, err := tx.Exec(`INSERT INTO names VALUES ($1, $2)`, n, strings.Repeat("x", 1000)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if killed {
		to := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		defer func() { dir = to }()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, mark
}

// about counts the violations of a rule whose texts contain all words.
func about(r *verify.Report, rule string, words ...string) (n int) {
	for _, v := range r.Violations {
		ok := v.Rule == rule
		for _, w := range words {
			ok = ok && strings.Contains(v.Where+": "+v.What, w)
		}
		if ok {
			n++
		}
	}
	return n
}

// Unreadable data is reported with its file, table and conversation, and the rest is checked: the messages of the other conversations are
// by users who were not members, which is found in each readable one.
func TestDamageDoesNotEndTheCheck(t *testing.T) {
	t.Parallel()
	dir, mark := served(t, false)
	flip(t, filepath.Join(dir, "timeline", "*.sst"), mark)
	records := filepath.Join(dir, "records.db")
	b, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[len(b)/4096/2*4096:][:4096])
	if err := os.WriteFile(records, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, dir)
	if about(r, "damaged", "conversation 3:", ".sst", "checksum") == 0 {
		t.Errorf("got %v, want the conversation and its file", r.Violations)
	}
	if about(r, "records", "table names") == 0 {
		t.Errorf("got %v, want the table", r.Violations)
	}
	for _, n := range []int{1, 5} {
		if about(r, "access", fmt.Sprintf("conversation %d", n)) != 1 {
			t.Errorf("got no violation in conversation %d: %v", n, r.Violations)
		}
	}
	if r.Conversations != 5 {
		t.Errorf("got %d conversations", r.Conversations)
	}
}

// A damaged table is found although no row of it is read: later ones replace them.
func TestADamagedTableIsFoundWithoutItsRows(t *testing.T) {
	t.Parallel()
	dir, killed := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for starts := range 2 {
		s, err := datadir.Open(t.Context(), dir, datadir.Options{Logger: slog.New(slog.DiscardHandler), Spare: 1})
		if err != nil {
			t.Fatal(err)
		}
		if starts == 1 {
			// The store deletes files of the first start meanwhile, one of which may have been listed.
			for err = os.CopyFS(killed, os.DirFS(dir)); errors.Is(err, fs.ErrNotExist); err = os.CopyFS(killed, os.DirFS(dir)) {
				if err := os.RemoveAll(killed); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if r := run(t, killed); len(r.Violations) != 0 {
		t.Fatalf("before the damage: got %v", r.Violations)
	}
	tables, err := filepath.Glob(filepath.Join(killed, "timeline", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("got tables %v, %v", tables, err)
	}
	for _, table := range tables {
		intact, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		b := bytes.Clone(intact)
		b[len(b)-20] ^= 4
		if err := os.WriteFile(table, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := run(t, killed); about(r, "damaged", filepath.Base(table), "checksum") == 0 {
			t.Errorf("got %v, want %s", r.Violations, table)
		}
		if err := os.WriteFile(table, intact, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A changed byte within a value is found with its file, table and page, even if no index has the value.
func TestAChangedByteOfARowIsFound(t *testing.T) {
	t.Parallel()
	dir, _ := served(t, false)
	flip(t, filepath.Join(dir, "records.db"), bytes.Repeat([]byte("x"), 900))
	r := run(t, dir)
	if about(r, "records", "the SQL database", "table names", "page", "does not match its checksum") != 1 || about(r, "access") == 0 {
		t.Errorf("got %+v, want one checksum violation", r)
	}
	if len(r.Notes) != 0 {
		t.Errorf("got notes %q, want none", r.Notes)
	}
}

// flip changes a bit of the given bytes in the file that contains them.
func flip(t *testing.T, pattern string, of []byte) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(b, of); at >= 0 {
			b[at] ^= 4
			if err := os.WriteFile(p, b, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no file contains the bytes")
}

// A missing or truncated store is reported, even if the rest is consistent.
func TestMissingStoresAreReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		killed        bool
		remove, names string
	}{
		{false, "records.db", "records.db is missing"},
		{false, "timeline", "timeline is missing"},
		{false, "STORE", "STORE is missing"},
		{false, "timeline/marker.manifest.*", "marker.manifest.* is missing"},
		{true, "timeline/*.log", ".log is missing"},
		{true, "records.db-wal", "records.db-wal"},
	} {
		dir, _ := served(t, c.killed)
		paths, err := filepath.Glob(filepath.Join(dir, c.remove))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d paths, want at least one; error %v", c.remove, len(paths), err)
		}
		if err := os.RemoveAll(paths[len(paths)-1]); err != nil {
			t.Fatal(err)
		}
		if r := run(t, dir); about(r, "directory", c.names) != 1 {
			t.Errorf("after removing %s: got %v", c.remove, r.Violations)
		}
	}
}

// A check writes nothing: it takes no lock, and does not replay a write-ahead log.
func TestAReadOnlyCopyIsChecked(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		dir, _ := served(t, killed)
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, "LOCK")), os.RemoveAll(filepath.Join(dir, "timeline", "LOCK"))); err != nil {
			t.Fatal(err)
		}
		before := contents(t, dir)
		if r := run(t, dir); r.Conversations != 5 || about(r, "damaged")+about(r, "directory") != 0 {
			t.Errorf("got %+v, want a check without violations", r)
		}
		if after := contents(t, dir); after != before {
			t.Errorf("the directory changed: before\n%safter\n%s", before, after)
		}
	}
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, pattern := range []string{"*", "timeline/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			info, err := os.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, p, info.Size(), info.ModTime())
		}
	}
	return b.String()
}
