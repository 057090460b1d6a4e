package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/rialto-im/rialto/internal/base/filecopy"
	"github.com/rialto-im/rialto/internal/engine/sqldb/checksumvfs"
	sqlite3 "modernc.org/sqlite/lib"
)

// StoreOptions are the options of a file of SQLite. With the zero value the file has nothing about a data directory.
type StoreOptions struct {
	// MustExist refuses to create the file. A new file in place of a lost one would hide the loss.
	MustExist bool
	// ID of the data directory, stored in the file. If it is empty, transactions are not counted either.
	ID string
	// OtherProcesses may write the file while it is open. It then has no snapshot caches.
	OtherProcesses bool
	// Committed is called with the number of each transaction after it is durable; may be nil. It must not block.
	Committed func(n uint64)
	// Release frees some of the reserved disk space for WriteOnFullDisk, and reports whether there was any; may be nil.
	Release func() bool
	// Damaged is called for the first page that does not match its checksum; may be nil. It must not use the database.
	Damaged func(error)
}

// StoreTable is a table of the data directory, not of a package. Only SQLite has it: see Meta.
const StoreTable = "store"

const storeTable = `CREATE TABLE IF NOT EXISTS store (one BIGINT PRIMARY KEY, id TEXT NOT NULL, commits BIGINT NOT NULL, epoch BIGINT NOT NULL)`

// Meta is what a file says about itself and its data directory.
type Meta struct {
	// ID of the data directory; empty in a file of an earlier release.
	ID string
	// Commits counts the transactions.
	Commits uint64
	// Epoch of the timelines at the last start.
	Epoch uint32
	// Tables of the file.
	Tables []string
	// Checksums reports whether the pages have checksums. In a file of an earlier build they have none.
	Checksums bool
}

// store is the part of a DB that is only for SQLite.
type store struct {
	options StoreOptions
	faults  *faults // nil for PostgreSQL
}

// createRow creates the table, and stores the data directory's id in it.
func (s *store) createRow(ctx context.Context, db *sql.DB) error {
	if s.options.ID == "" {
		return nil
	}
	_, err := db.ExecContext(ctx, storeTable+`; INSERT INTO store (one, id, commits, epoch) VALUES (1, $1, 1, 0) ON CONFLICT (one) DO UPDATE SET id = $1, commits = commits + 1`, s.options.ID)
	return err
}

// countCommit counts a transaction within it, and returns its number.
func (s *store) countCommit(ctx context.Context, tx *sql.Tx) (n uint64, err error) {
	if s.options.ID == "" {
		return 0, nil
	}
	err = tx.QueryRowContext(ctx, `UPDATE store SET commits = commits + 1 RETURNING commits`).Scan(&n)
	return n, err
}

func (s *store) committed(n uint64) {
	if s.options.Committed != nil {
		s.options.Committed(n)
	}
}

func (s *store) release() bool { return s.options.Release != nil && s.options.Release() }

// sparingJobs returns the jobs that may use the disk space that is kept in reserve.
func sparingJobs(jobs []*job) (list []*job) {
	for _, j := range jobs {
		if j.mayUseSpare {
			list = append(list, j)
		}
	}
	return list
}

func isFull(err error) bool {
	return sqliteCode(err)&0xff == sqlite3.SQLITE_FULL
}

// SetEpoch stores the epoch of the timelines.
func (d *DB) SetEpoch(ctx context.Context, epoch uint32) error {
	return d.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE store SET epoch = $1`, epoch)
		return err
	})
}

// OpenSnapshot opens a file of SQLite for reading. It changes nothing in the directory, which may be read-only. If a killed server left a
// write-ahead log, both files are copied to a temporary directory, which done removes.
func OpenSnapshot(path string) (db *sql.DB, done func() error, err error) {
	remove := func() error { return nil }
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		dir, err := os.MkdirTemp("", "rialto-records-")
		if err != nil {
			return nil, nil, err
		}
		remove = func() error { return os.RemoveAll(dir) }
		for _, suffix := range []string{"", "-wal"} {
			if err := filecopy.Copy(filepath.Join(dir, "records.db"+suffix), path+suffix); err != nil {
				return nil, nil, errors.Join(fmt.Errorf("%s has a write-ahead log and must be copied to be read: %w; set TMPDIR to a directory with enough space", path, err), remove())
			}
		}
		path = filepath.Join(dir, "records.db")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if db, err = OpenReadOnly(path); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return db, func() error { return errors.Join(db.Close(), remove()) }, nil
}

// OpenReadOnly opens a file of SQLite for reading. If there is no write-ahead log, no file is created beside it. Closing leaves a
// write-ahead log as it is.
func OpenReadOnly(path string) (*sql.DB, error) {
	if err := checksumvfs.Register(); err != nil {
		return nil, err
	}
	query := url.Values{"mode": {"ro"}, "_pragma": {"query_only(ON)", "busy_timeout(5000)"}}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		query.Set("immutable", "1")
	}
	return sql.Open("sqlite", fileURL(path, query))
}

// ReadMeta reads what a file says about itself and its data directory.
func ReadMeta(ctx context.Context, db *sql.DB) (Meta, error) {
	var m Meta
	if err := db.QueryRowContext(ctx, `SELECT substr(data, 21, 1) = x'08' FROM sqlite_dbpage WHERE pgno = 1`).Scan(&m.Checksums); err != nil {
		return m, err
	}
	rows, err := db.QueryContext(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
	if err != nil {
		return m, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return m, err
		}
		m.Tables = append(m.Tables, name)
	}
	if err := rows.Err(); err != nil || !slices.Contains(m.Tables, StoreTable) {
		return m, err
	}
	err = db.QueryRowContext(ctx, `SELECT id, commits, epoch FROM store`).Scan(&m.ID, &m.Commits, &m.Epoch)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return m, err
}
