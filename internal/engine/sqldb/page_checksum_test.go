package sqldb_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/checksumvfs"
	"pgregory.net/rapid"
)

const pageSize = 4096

// filledFile creates and closes a database with leaf, interior, index, overflow and free pages, and returns the file.
func filledFile(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "records.db")
	db, err := sqldb.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	steps := []string{`CREATE TABLE people (n BIGINT PRIMARY KEY, name TEXT)`, `CREATE TABLE pictures (n BIGINT PRIMARY KEY, picture {bytes})`, `CREATE TABLE gone (n BIGINT PRIMARY KEY, name TEXT)`}
	if err := db.Migrate(t.Context(), "test", steps); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(tx *sql.Tx) error {
		for n := range 200 {
			for _, table := range []string{"people", "gone"} {
				if _, err := tx.Exec(`INSERT INTO `+table+` VALUES ($1, $2)`, n, strings.Repeat("x", 100)); err != nil {
					return err
				}
			}
		}
		_, err := tx.Exec(`INSERT INTO pictures VALUES (1, $1)`, make([]byte, 5*pageSize))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`DELETE FROM gone`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// The pages of a file after a stop have the checksums that docs/formats/datadir.md describes.
func TestEachPageHasItsChecksum(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filledFile(t))
	if err != nil {
		t.Fatal(err)
	}
	if b[20] != checksumvfs.Size || len(b)%pageSize != 0 || len(b) < 20*pageSize {
		t.Fatalf("%d reserved bytes, %d bytes", b[20], len(b))
	}
	for n := 1; n <= len(b)/pageSize; n++ {
		page := b[(n-1)*pageSize:][:pageSize]
		var stored uint64
		for _, c := range page[pageSize-8:] {
			stored = stored<<8 | uint64(c)
		}
		if want := checksumvfs.Sum(uint32(n), page[:pageSize-8]); stored != want {
			t.Errorf("page %d has checksum %x, want %x", n, stored, want)
		}
	}
}

// A changed byte in any page is found when the pages are checked, and only that page is reported.
func TestAChangedByteOfEachPageIsFound(t *testing.T) {
	t.Parallel()
	path := filledFile(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(good)/pageSize; n++ {
		offsets := []int{1, 60, 2000, pageSize - 9, pageSize - 1}
		if n == 1 {
			for at := range 108 { // the headers of the file and of the page
				offsets = append(offsets, at)
			}
		}
		for _, at := range offsets {
			bad := append([]byte(nil), good...)
			bad[(n-1)*pageSize+at] ^= 8
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			_, damage, _, err := sqldb.InspectFile(t.Context(), path, 1<<30)
			if n == 1 && err != nil {
				continue // it is no database any more
			}
			if err != nil || len(damage) == 0 {
				t.Fatalf("byte %d of page %d: %q, %v", at, n, damage, err)
			}
			if !strings.Contains(damage[0], "page "+strconv.Itoa(n)) {
				t.Errorf("byte %d of page %d: %q", at, n, damage)
			}
		}
	}
}

// A page that a disk wrote to the wrong offset, or did not write, is found although its bytes are consistent.
func TestExchangedPagesAreFound(t *testing.T) {
	t.Parallel()
	path := filledFile(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 2; n < len(good)/pageSize; n++ {
		bad := append([]byte(nil), good...)
		copy(bad[(n-1)*pageSize:], good[n*pageSize:][:pageSize])
		copy(bad[n*pageSize:], good[(n-1)*pageSize:][:pageSize])
		clear(bad[pageSize:][:pageSize])
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		_, damage, _, err := sqldb.InspectFile(t.Context(), path, 1<<30)
		all := strings.Join(damage, "\n")
		for _, page := range []int{2, n, n + 1} {
			if err != nil || !regexp.MustCompile(`page `+strconv.Itoa(page)+`\b`).MatchString(all) {
				t.Errorf("exchanged or zeroed page %d: %q, %v", page, damage, err)
			}
		}
	}
}

// Whatever bytes of the file change, readers get the stored rows or an error.
func TestChangedBytesNeverGiveOtherRows(t *testing.T) {
	t.Parallel()
	path := filledFile(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		bad := append([]byte(nil), good...)
		for _, at := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(bad)-1), 1, 20, rapid.ID[int]).Draw(r, "at") {
			bad[at] ^= rapid.ByteRange(1, 255).Draw(r, "change")
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			r.Fatal(err)
		}
		db, closeDB, err := sqldb.OpenSnapshot(path)
		if err != nil {
			return
		}
		defer closeDB() //nolint:errcheck // nothing was written
		var n, sum, wrong int
		if err := db.QueryRow(`SELECT count(*), sum(n), sum(name <> $1) FROM people`, strings.Repeat("x", 100)).Scan(&n, &sum, &wrong); err == nil && (n != 200 || sum != 199*100 || wrong != 0) {
			r.Errorf("%d people, %d, %d wrong", n, sum, wrong)
		}
		if err := db.QueryRow(`SELECT count(*), sum(picture <> zeroblob(length(picture)) OR length(picture) <> $1) FROM pictures`, 5*pageSize).Scan(&n, &wrong); err == nil && (n != 1 || wrong != 0) {
			r.Errorf("%d pictures, %d wrong", n, wrong)
		}
	})
}

// A running server that reads a corrupt page fails the request, names the page, and returns no partial result.
func TestADamagedPageIsNamedToTheWriter(t *testing.T) {
	t.Parallel()
	path := filledFile(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(b), strings.Repeat("x", 90))
	b[at] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	reports := make(chan error, 10)
	db, err := sqldb.OpenWith(t.Context(), path, sqldb.Options{Store: sqldb.StoreOptions{MustExist: true, Damaged: func(err error) { reports <- err }}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Write(t.Context(), func(tx *sql.Tx) error {
		for _, table := range []string{"people", "gone"} {
			if _, err := tx.Exec(`UPDATE ` + table + ` SET name = name || 'y'`); err != nil {
				return err
			}
		}
		return nil
	})
	page := "page " + strconv.Itoa(at/pageSize+1) + " of " + path
	var wrapped *errs.Error
	if !errors.As(err, &wrapped) || wrapped.Reason != "corrupt" || wrapped.Cause == nil || !strings.Contains(wrapped.Cause.Error(), page) {
		t.Errorf("the writer got %v (%v), want it to name %s", err, errors.Unwrap(err), page)
	}
	select {
	case err := <-reports:
		if !strings.Contains(err.Error(), page) {
			t.Errorf("the reported fault is %v", err)
		}
	default:
		t.Error("no fault was reported")
	}
}
