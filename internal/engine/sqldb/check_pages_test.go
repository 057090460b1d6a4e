package sqldb

import (
	"errors"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb/checksumvfs"
	sqlite3 "modernc.org/sqlite/lib"
)

// TestUnreadPagesAreNoDamage: what SQLite says of a page that it could not read tells damage from failures that may pass.
func TestUnreadPagesAreNoDamage(t *testing.T) {
	for _, test := range []struct {
		line     string
		mismatch bool
		want     bool
	}{
		{"Tree 5 page 7: unable to get the page. error code=266", false, true}, // SQLITE_IOERR_READ
		{"Tree 5 page 7: unable to get the page. error code=266", true, true},
		{"Tree 5 page 7: unable to get the page. error code=8202", true, false},
		{"Tree 5 page 7: unable to get the page. error code=11", false, false},
		{"Tree 5 page 7: unable to get the page. error code=?", false, false},
		{"Tree 5 page 7 cell 1: failed to get page 9", false, true},
		{"Tree 5 page 7 cell 1: failed to get page 9", true, false},
		{"Tree 5 page 7: btreeInitPage() returns error code 11", false, false},
		{"row 3 missing from index people", false, false},
		{"ok", false, false},
	} {
		if got := isUnread(test.line, test.mismatch); got != test.want {
			t.Errorf("%q with a mismatch %v: %v", test.line, test.mismatch, got)
		}
	}
}

func TestCorruptionIsToldFromFailuresToRead(t *testing.T) {
	for code, want := range map[int]bool{sqlite3.SQLITE_IOERR_DATA: true, sqlite3.SQLITE_CORRUPT: true, sqlite3.SQLITE_CORRUPT_INDEX: true, sqlite3.SQLITE_NOTADB: true,
		sqlite3.SQLITE_IOERR_READ: false, sqlite3.SQLITE_IOERR: false, sqlite3.SQLITE_BUSY: false, sqlite3.SQLITE_CANTOPEN: false, sqlite3.SQLITE_INTERRUPT: false, sqlite3.SQLITE_NOMEM: false} {
		if got := IsCorruption(&checksumvfs.Error{Code: code}); got != want {
			t.Errorf("code %d: %v", code, got)
		}
	}
	if IsCorruption(nil) || IsCorruption(errors.New("sql: database is closed")) {
		t.Error("other errors are corruption")
	}
}
