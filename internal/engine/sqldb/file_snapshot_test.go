package sqldb_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// snapshotRows opens a file with a table, and returns it with functions that insert a row of some KB, and write a snapshot to a file and count its rows.
func snapshotRows(t *testing.T) (db *sqldb.DB, insert func(n int) error, rowsOf func(s *sqldb.FileSnapshot) int) {
	t.Helper()
	ctx := t.Context()
	db, err := sqldb.OpenWith(ctx, filepath.Join(t.TempDir(), "records.db"), sqldb.Options{Store: sqldb.StoreOptions{ID: "id"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(ctx, "rows", []string{`CREATE TABLE some_rows (n BIGINT PRIMARY KEY, text TEXT NOT NULL)`}); err != nil {
		t.Fatal(err)
	}
	insert = func(n int) error {
		return db.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO some_rows (n, text) VALUES ($1, $2)`, n, strings.Repeat("x", 3000))
			return err
		})
	}
	rowsOf = func(s *sqldb.FileSnapshot) (rows int) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "copy.db")
		var b bytes.Buffer
		if err := s.Pages(ctx, func(page []byte) error { _, err := b.Write(page); return err }); err != nil {
			t.Fatal(err)
		}
		if int64(b.Len()) != s.Size() {
			t.Errorf("a snapshot of %d bytes has %d", s.Size(), b.Len())
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		meta, damage, checked, err := sqldb.InspectFile(ctx, path, 1<<40)
		if err != nil || !checked || len(damage) > 0 || meta.ID != "id" || !meta.Checksums {
			t.Fatalf("the copy says %+v, damage %v, checked %v, %v", meta, damage, checked, err)
		}
		file, err := sqldb.OpenReadOnly(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := file.QueryRowContext(ctx, `SELECT count(*) FROM some_rows`).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	return db, insert, rowsOf
}

// A snapshot has what was written before, and nothing of what is written later, also where both are only in the write-ahead log. All pages of the copy
// match their checksums.
func TestASnapshotOfAFileIsOneMoment(t *testing.T) {
	db, insert, rowsOf := snapshotRows(t)
	rows := 0
	for range 3 {
		for range 400 { // more than SQLite keeps in the log before it copies it to the file
			if err := insert(rows); err != nil {
				t.Fatal(err)
			}
			rows++
		}
		s, err := db.SnapshotFile(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := insert(rows); err != nil {
			t.Fatal(err)
		}
		if n := rowsOf(s); n != rows {
			t.Errorf("a snapshot after %d rows has %d", rows, n)
		}
		rows++
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// While frozen runs, nothing is committed: what is written then waits, and is not in the snapshot.
func TestNothingIsCommittedWhileASnapshotBegins(t *testing.T) {
	db, insert, rowsOf := snapshotRows(t)
	ctx := t.Context()
	if err := insert(0); err != nil {
		t.Fatal(err)
	}
	written, waiting := make(chan error, 1), make(chan struct{})
	s, err := db.SnapshotFile(ctx, func() error {
		go func() {
			close(waiting)
			written <- insert(1)
		}()
		<-waiting
		var n int
		for range 100 {
			if err := db.Read().QueryRowContext(ctx, `SELECT count(*) FROM some_rows`).Scan(&n); err != nil || n != 1 {
				t.Errorf("%d rows are committed while the snapshot begins (%v)", n, err)
			}
		}
		select {
		case err := <-written:
			t.Errorf("a write returned %v while the snapshot begins", err)
			written <- err
		default:
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	if n := rowsOf(s); n != 1 {
		t.Errorf("the snapshot has %d rows, want the one from before", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// If frozen fails, there is no snapshot, and writes go on.
func TestASnapshotThatFails(t *testing.T) {
	db, insert, _ := snapshotRows(t)
	failed := errors.New("failed")
	for range 20 { // more than there are connections: none is kept
		if s, err := db.SnapshotFile(t.Context(), func() error { return failed }); s != nil || !errors.Is(err, failed) {
			t.Fatalf("a snapshot that fails returned %v, %v", s, err)
		}
		if n := db.Read().Stats().InUse; n != 0 {
			t.Fatalf("after a snapshot that failed %d connections are in use", n)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := db.SnapshotFile(ended, nil); s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("a snapshot whose context has ended returned %v, %v", s, err)
	}
	if err := insert(1); err != nil {
		t.Error(err)
	}
}
