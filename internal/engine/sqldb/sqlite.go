package sqldb

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/checksumvfs"
	"modernc.org/sqlite" // the driver's name is "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// How long a transaction waits while another process writes. A command beside a busy server finds the file free for moments only, and looks for one ten times a second.
const (
	lockWait              = 5 * time.Second
	lockWaitBesideAnother = time.Minute
)

// readerIdle is how long a connection remains open that nobody reads by. Each has a copy of the schema, of a megabyte.
const readerIdle = 30 * time.Second

func openSQLite(ctx context.Context, path string, o StoreOptions) (_ *DB, err error) {
	if err := createIfAbsent(path, o); err != nil {
		return nil, fmt.Errorf("the database %s: %w", path, explain(err))
	}
	wait := lockWait
	if o.OtherProcesses {
		wait = lockWaitBesideAnother
	}
	query := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "cache_size(-4000)", "secure_delete(ON)"}, "_txlock": {"immediate"}}
	if o.MustExist {
		query.Set("mode", "rw")
	}
	dsn := fileURL(path, query)
	var tracker *commitTracker // nil if others write as well
	if !o.OtherProcesses {
		tracker = newCommitTracker()
	}
	writer, err := openCached(dsn, tracker.listen)
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	faults := watchFile(path, o.Damaged)
	defer func() {
		if err != nil {
			_ = faults.stop()
		}
	}()
	d := &DB{writer: writer, tracker: tracker, store: store{options: o, faults: faults}, closers: []func() error{faults.stop}, dialect: dialect{typeNames: strings.NewReplacer("{bytes}", "BLOB", "{number}", "INTEGER PRIMARY KEY AUTOINCREMENT"), squash: squashMigrations}}
	if _, err = writer.ExecContext(ctx, createMigrations); err == nil {
		err = d.store.createRow(ctx, writer)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the database %s: %w", path, explain(faults.explain(err))), writer.Close())
	}
	if d.reader, err = openCached(dsn+"&_pragma=query_only(ON)", nil); err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	d.reader.SetMaxOpenConns(8)
	d.reader.SetMaxIdleConns(8)
	d.reader.SetConnMaxIdleTime(readerIdle)
	return d, nil
}

// createIfAbsent creates the file with page checksums if there is none, or an empty one.
func createIfAbsent(path string, o StoreOptions) error {
	if err := checksumvfs.Register(); err != nil || o.MustExist {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	}
	return checksumvfs.Create(path)
}

// fileURL returns the name by which the driver opens a file and checks its pages.
func fileURL(path string, query url.Values) string {
	query.Set("vfs", checksumvfs.Name)
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

// explain adds to an error at the start what the operator can do, if that is known.
func explain(err error) error {
	if errs.Of(classify(err)).Reason == "storage_full" {
		return fmt.Errorf("the disk is full: free some space, and start again (%w)", err)
	}
	return err
}

// classify turns the database's own failures into errors that tell a caller what to do.
func (d *DB) classify(err error) error {
	if d.store.faults != nil {
		err = d.store.faults.explain(err)
	}
	return classify(err)
}

func classify(err error) error {
	switch code := sqliteCode(err); {
	case code == sqlite3.SQLITE_IOERR_DATA:
		return errs.Wrap(errs.Internal, "corrupt", "the server's store is corrupt; its operator must run rialto verify", err)
	case code&0xff == sqlite3.SQLITE_FULL:
		return errs.StorageFull(err)
	case code&0xff == sqlite3.SQLITE_IOERR:
		return storageFailed(err)
	case code&0xff == sqlite3.SQLITE_BUSY:
		return &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "another process has kept the database locked for longer than this one waits; try again", Retry: 1e9, Cause: err}
	}
	return classifyPostgres(err)
}

// sqliteCode returns SQLite's extended code of an error; 0 of another's.
func sqliteCode(err error) int {
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		return e.Code()
	}
	if e := (*checksumvfs.Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// faults are the mismatched pages that were found while a file was watched.
type faults struct {
	first atomic.Pointer[checksumvfs.Fault]
	last  atomic.Pointer[checksumvfs.Fault]
	end   func()
}

// watchFile records pages that do not match their checksums. It calls damaged, which may be nil, for the first.
func watchFile(path string, damaged func(error)) *faults {
	f := &faults{}
	f.end = checksumvfs.Watch(path, func(fault checksumvfs.Fault) {
		f.last.Store(&fault)
		if f.first.CompareAndSwap(nil, &fault) && damaged != nil {
			damaged(&fault)
		}
	})
	return f
}

func (f *faults) stop() error {
	f.end()
	return nil
}

// explain adds the page to an error of SQLite that says only that a page does not match.
func (f *faults) explain(err error) error {
	if fault := f.last.Load(); fault != nil && isMismatch(err) {
		return fmt.Errorf("%w (%w)", fault, err)
	}
	return err
}

func isMismatch(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_IOERR_DATA }

// IsCorruption reports whether SQLite failed because of what it read from a file, rather than because it could not read.
func IsCorruption(err error) bool { return isCorruption(sqliteCode(err)) }

func isCorruption(code int) bool {
	return code == sqlite3.SQLITE_IOERR_DATA || code&0xff == sqlite3.SQLITE_CORRUPT || code&0xff == sqlite3.SQLITE_NOTADB
}

func storageFailed(err error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server could not store this; try again", Retry: 1e9, Cause: err}
}

// IsUnique reports whether err is the violation of a unique key.
func IsUnique(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY) || sqlState(err) == uniqueViolation
}
