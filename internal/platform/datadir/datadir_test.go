package datadir

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func small() Options { return Options{Logger: quiet(), Spare: 1 << 20} }

func serve(dir string) (*Stores, error) {
	return Open(context.Background(), dir, small())
}

// fill writes to both stores. Each write is durable when fill returns.
func fill(t *testing.T, s *Stores, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := s.DB.Write(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO people (n, name) VALUES ($1, $2)`, n, strings.Repeat("x", 500))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		s.Log.Append(&timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: 1}, Payload: bytes.Repeat([]byte{byte(n)}, 2000), Counts: true, Done: func(a *timeline.AppendRequest) { done <- a.Err }})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

const rowCount = 60

// served prepares a directory with data as it is after a stop or after a kill.
func served(t *testing.T, killed bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DB.Migrate(t.Context(), "people", []string{`CREATE TABLE people (n BIGINT PRIMARY KEY, name TEXT NOT NULL)`}); err != nil {
		t.Fatal(err)
	}
	fill(t, s, 0, rowCount)
	if !killed {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	to := copyOf(t, dir) // a copy of the files, as a kill would leave them
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	// While the stores are open, Pebble may remove a table during the copy. Then everything is copied again.
	for range 10 {
		to := filepath.Join(t.TempDir(), "data")
		err := os.CopyFS(to, os.DirFS(dir))
		if err == nil {
			return to
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("error %v, want %v", err, fs.ErrNotExist)
		}
	}
	t.Fatalf("%s could not be copied: files were removed each time", dir)
	return ""
}

// change applies a function to the file that matches a pattern, or to the last of several.
func change(pattern string, do func(b []byte) []byte) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		path := only(t, dir, pattern)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, do(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(pattern string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		if err := os.RemoveAll(only(t, dir, pattern)); err != nil {
			t.Fatal(err)
		}
	}
}

func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no %s (%v)", pattern, err)
	}
	return paths[len(paths)-1]
}

// onlyFilesRemain removes the stores and the marker and leaves a user's file.
func onlyFilesRemain(t *testing.T, dir string) {
	for _, name := range []string{"STORE", "records.db*", "timeline"} {
		paths, err := filepath.Glob(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if err := os.RemoveAll(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	sent := filepath.Join(dir, FilesDir, "7", "1")
	if err := errors.Join(os.MkdirAll(filepath.Dir(sent), 0o700), os.WriteFile(sent, []byte("sent"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// emptyTimelines leaves the directory of the timelines, without files.
func emptyTimelines(t *testing.T, dir string) {
	remove(TimelinesDir)(t, dir)
	if err := os.Mkdir(filepath.Join(dir, TimelinesDir), 0o700); err != nil {
		t.Fatal(err)
	}
}

func emptied([]byte) []byte { return nil }

// flipped flips one bit, at a given fraction of the non-zero bytes.
func flipped(part float64) func(b []byte) []byte {
	return func(b []byte) []byte {
		used := len(bytes.TrimRight(b, "\x00"))
		b[int(float64(used)*part)] ^= 4
		return b
	}
}

func zeroed(page int) func(b []byte) []byte {
	return func(b []byte) []byte { clear(b[page*4096 : min(len(b), (page+1)*4096)]); return b }
}

// changeRow changes a byte within a value, which leaves the page structure valid.
func changeRow(t *testing.T, dir string) {
	t.Helper()
	change("records.db", func(b []byte) []byte {
		b[bytes.Index(b, bytes.Repeat([]byte("x"), 400))+200] ^= 4
		return b
	})(t, dir)
}

// checkpoint copies the write-ahead log into the database file, as a running server does from time to time.
func checkpoint(t *testing.T, dir string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), filepath.Join(dir, DatabaseFile))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A file of an earlier build has no checksums. It is served as it is, and a warning is logged.
func TestAFileWithoutChecksumsIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`PRAGMA journal_mode=WAL; CREATE TABLE migrations (component TEXT NOT NULL, step BIGINT NOT NULL, PRIMARY KEY (component, step))`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for range 2 {
		s, err := Open(t.Context(), dir, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Spare: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DB.Migrate(t.Context(), "people", []string{`CREATE TABLE people (n BIGINT PRIMARY KEY, name TEXT NOT NULL)`}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "have no checksums"); n != 2 {
		t.Errorf("the warning was logged %d times:\n%s", n, &log)
	}
}

// Whatever a served directory has lost, the error names it and says what to do. Nothing is created or removed.
func TestDamagedDirectoriesAreRefused(t *testing.T) {
	t.Parallel()
	dirs := map[bool]string{false: served(t, false), true: served(t, true)}
	for _, c := range []struct {
		name   string
		killed bool
		damage func(t *testing.T, dir string)
		want   string
		repair bool   // the loss can be accepted
		unseen string // the reason why Check does not find it, as it reads no table
	}{
		{"Pebble's marker", false, remove("timeline/marker.manifest.*"), "marker.manifest.* is missing", false, ""},
		{"Pebble's marker, after a kill", true, remove("timeline/marker.manifest.*"), "marker.manifest.* is missing", false, ""},
		{"Pebble's format", false, remove("timeline/marker.format-version.*"), "marker.format-version.* is missing", false, ""},
		{"manifest", false, remove("timeline/MANIFEST-*"), "MANIFEST-", false, ""},
		{"manifest emptied", false, change("timeline/MANIFEST-*", emptied), "MANIFEST-000001, which lists the tables, is empty", false, ""},
		{"manifest flipped at its first byte", false, change("timeline/MANIFEST-*", flipped(0)), "MANIFEST-000001, which lists the tables, is damaged", false, ""},
		{"manifest flipped early", true, change("timeline/MANIFEST-*", flipped(0.1)), "MANIFEST-000001, which lists the tables, is damaged", false, ""},
		{"manifest flipped in the middle", false, change("timeline/MANIFEST-*", flipped(0.5)), "MANIFEST-000001, which lists the tables, is damaged", false, ""},
		{"manifest flipped late", false, change("timeline/MANIFEST-*", flipped(0.99)), "MANIFEST-000001, which lists the tables, is damaged", false, ""},
		{"table", false, remove("timeline/*.sst"), "sstable", false, "tables"},
		{"table cut short", false, change("timeline/*.sst", func(b []byte) []byte { return b[:len(b)/2] }), "size mismatch", false, "tables"},
		{"table emptied", false, change("timeline/*.sst", emptied), "size mismatch", false, "tables"},
		{"timelines", false, remove("timeline"), "timeline is missing: all messages", false, ""},
		{"timelines' contents", false, emptyTimelines, "marker.manifest.* is missing", false, ""},
		{"timelines' contents, after a kill", true, emptyTimelines, "marker.manifest.* is missing", false, ""},
		{"last log", true, remove("timeline/*.log"), ".log is missing", true, ""},
		{"last log emptied", true, change("timeline/*.log", emptied), ".log is truncated or corrupt", true, ""},
		{"last log cut", true, change("timeline/*.log", func(b []byte) []byte { return b[:len(bytes.TrimRight(b, "\x00"))-3000] }), ".log is truncated or corrupt", true, ""},
		{"last log flipped early", true, change("timeline/*.log", flipped(0.1)), ".log is truncated or corrupt", true, ""},
		{"last log flipped late", true, change("timeline/*.log", flipped(0.99)), ".log is truncated or corrupt", true, ""},
		{"options", false, change("timeline/OPTIONS-*", zeroed(0)), ", and nothing needs it: remove this file", false, ""},
		{"options of another merger", true, change("timeline/OPTIONS-*", func(b []byte) []byte { return bytes.Replace(b, []byte("concat"), []byte("\x91oncat"), 1) }), "OPTIONS-", false, ""},
		{"records", false, remove("records.db"), "records.db is missing", false, ""},
		{"records, after a kill", true, remove("records.db"), "records.db is missing", false, ""},
		{"records emptied", false, change("records.db", emptied), "records.db is empty", false, ""},
		{"records' first page", false, change("records.db", zeroed(0)), "records.db cannot be read", false, ""},
		{"records' page", false, change("records.db", func(b []byte) []byte { return zeroed(len(b) / 4096 / 2)(b) }), "table people", false, "pages"},
		{"a byte of a row", false, changeRow, "table people: Tree", false, "pages"},
		{"a byte of a row, after a kill", true, func(t *testing.T, dir string) {
			checkpoint(t, dir)
			changeRow(t, dir)
		}, "does not match its checksum", false, "pages"},
		{"records' header", false, change("records.db", func(b []byte) []byte { b[20] = 0; return b }), "page 1 of", false, ""},
		{"records' write-ahead log", true, remove("records.db-wal"), "records.db-wal", false, ""},
		{"records' write-ahead log emptied", true, change("records.db-wal", emptied), "records.db-wal", false, ""},
		{"records' write-ahead log flipped", true, change("records.db-wal", flipped(0.5)), "acknowledged transactions", true, ""},
		{"records' write-ahead log, its last page", true, change("records.db-wal", flipped(0.999)), "lacks the last 1 acknowledged transactions", true, ""},
		{"all but the files", false, onlyFilesRemain, "records.db and {dir}/timeline are missing", false, ""},
		{"marker", false, remove("STORE"), "STORE is missing", true, ""},
		{"marker emptied", false, change("STORE", emptied), "STORE is damaged", true, ""},
		{"marker of another", false, func(t *testing.T, dir string) { exchange(t, dir, served(t, false), "STORE") }, "of another data directory", true, ""},
		{"timelines of another", false, func(t *testing.T, dir string) {
			exchange(t, dir, served(t, false), "timeline")
		}, "of another data directory", true, "the log's own id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyOf(t, dirs[c.killed])
			c.damage(t, dir)
			before := listing(t, dir)
			var refused *DamagedError
			s, err := serve(dir)
			if !errors.As(err, &refused) {
				if err == nil {
					_ = s.Close()
				}
				t.Fatalf("it was opened, or the error is %v", err)
			}
			if want := strings.ReplaceAll(c.want, "{dir}", dir); !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %q, want it to contain %q", err, want)
			}
			if !strings.Contains(err.Error(), "Put back what is missing") || strings.Contains(err.Error(), "--accept-loss") != c.repair {
				t.Errorf("the error does not say what to do: %v", err)
			}
			if err := Check(t.Context(), dir); err == nil && c.unseen == "" {
				t.Error("Check finds nothing")
			}
			if after := listing(t, dir); c.name != "timelines of another" && after != before {
				t.Errorf("the directory had\n%s\nand has\n%s", before, after)
			}
			if c.repair {
				repaired(t, dir)
				return
			}
			if _, err := Repair(t.Context(), dir, small()); !errors.As(err, &refused) {
				t.Errorf("repair of a missing store returned %v", err)
			}
		})
	}
}

// repaired accepts the loss. Earlier data is still there, in a new epoch, and the directory is sound from then on.
func repaired(t *testing.T, dir string) {
	t.Helper()
	f := &findings{dir: dir}
	if err := f.checkDatabase(t.Context(), nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(t.Context(), dir, small()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Check(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		s, err := serve(dir)
		if err != nil {
			t.Fatal(err)
		}
		if s.Log.Epoch() <= f.database.Epoch+1 {
			t.Errorf("epoch %d is not above %d, which the database knows", s.Log.Epoch(), f.database.Epoch)
		}
		key := timeline.Key{Kind: timeline.Conversation, ID: 1}
		tail, err := s.Log.Tail(t.Context(), key)
		if err != nil {
			t.Error(err)
		}
		entries, err := s.Log.Read(t.Context(), key, 0, 2*rowCount)
		if err != nil || uint64(len(entries)) != tail.Seq || tail.Seq > rowCount {
			t.Errorf("%d entries, and the tail is %d (%v)", len(entries), tail.Seq, err)
		}
		for i, e := range entries {
			if e.Payload[0] != byte(i) {
				t.Errorf("entry %d has %d", e.Seq, e.Payload[0])
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func exchange(t *testing.T, dir, with, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(with, name), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// listing of the files that hold data, with their sizes.
func listing(t *testing.T, dir string) string {
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
			if !info.IsDir() && !strings.HasSuffix(p, "-shm") && !strings.HasSuffix(p, SpareFile) {
				fmt.Fprintln(&b, filepath.Base(p), info.Size())
			}
		}
	}
	return b.String()
}

// A sound directory is opened with all its data and accepts more: after a stop, a kill, and several of them in a row.
func TestSoundDirectoriesAreOpened(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		dir := served(t, killed)
		for round := range 3 {
			if err := Check(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			s, err := serve(dir)
			if err != nil {
				t.Fatal(err)
			}
			var people int
			if err := s.DB.Read().QueryRow(`SELECT count(*) FROM people`).Scan(&people); err != nil || people != rowCount+round {
				t.Errorf("%d people (%v)", people, err)
			}
			tail, err := s.Log.Tail(t.Context(), timeline.Key{Kind: timeline.Conversation, ID: 1})
			if err != nil || tail.Seq != uint64(rowCount+round) {
				t.Errorf("the tail is %d (%v)", tail.Seq, err)
			}
			fill(t, s, rowCount+round, rowCount+round+1)
			if killed {
				dir = copyOf(t, dir)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The database may be used before a server's first start, which then creates the timelines. A first start that was interrupted anywhere is
// repeated.
func TestAnInterruptedFirstStartIsRepeated(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T, dir string){
		"nothing": func(*testing.T, string) {},
		"an empty folder for files": func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, FilesDir, ".part"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"ids": func(t *testing.T, dir string) {
			s, err := OpenDatabase(t.Context(), dir, quiet())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"ids of an earlier release": func(t *testing.T, dir string) { earlier(t, dir, "ids", false) },
		"an earlier release":        func(t *testing.T, dir string) { earlier(t, dir, "conversations", true) },
		"interrupted after the marker": func(t *testing.T, dir string) {
			m, err := createMarker(dir, Creating)
			if err := errors.Join(err, m.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"interrupted after the records": func(t *testing.T, dir string) {
			m, err := createMarker(dir, Creating)
			if err != nil {
				t.Fatal(err)
			}
			db, err := sqldb.OpenWith(t.Context(), filepath.Join(dir, DatabaseFile), sqldb.Options{Store: sqldb.StoreOptions{ID: m.Identity().ID}})
			if err := errors.Join(err, db.Close(), m.Close()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			begin(t, dir)
			for range 2 {
				s, err := serve(dir)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := Check(t.Context(), dir); err != nil {
				t.Error(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, TimelinesDir)); err != nil {
				t.Fatal(err)
			}
			if s, err := serve(dir); err == nil {
				t.Errorf("opened without its timelines (%v)", s.Close())
			}
		})
	}
	t.Run("half of an earlier release", func(t *testing.T) {
		dir := t.TempDir()
		earlier(t, dir, "conversations", false)
		if s, err := serve(dir); err == nil || !strings.Contains(err.Error(), "timeline is missing") {
			t.Errorf("it was opened, or the error is %v", errors.Join(err, s.Close()))
		}
		if exists(filepath.Join(dir, MarkerFile)) {
			t.Error("a marker was created")
		}
	})
}

// earlier creates the stores of a release without markers.
func earlier(t *testing.T, dir, table string, timelines bool) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), filepath.Join(dir, DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Migrate(t.Context(), "component", []string{`CREATE TABLE ` + table + ` (n BIGINT)`}), db.Close()); err != nil {
		t.Fatal(err)
	}
	if !timelines {
		return
	}
	log, err := pebblelog.Open(filepath.Join(dir, TimelinesDir), pebblelog.Options{})
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
}
