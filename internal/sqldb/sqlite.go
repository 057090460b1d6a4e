package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/rialto-im/rialto/internal/errs"
	"modernc.org/sqlite" // the driver's name is "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func openSQLite(ctx context.Context, path string) (*DB, error) {
	pragmas := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "busy_timeout(5000)", "cache_size(-4000)"}, "_txlock": {"immediate"}}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + pragmas.Encode()
	writer, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	if _, err := writer.ExecContext(ctx, migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("records in %s: %w", path, err), writer.Close())
	}
	reader, err := sql.Open("sqlite", dsn+"&_pragma=query_only(ON)")
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reader.SetMaxOpenConns(8)
	reader.SetMaxIdleConns(4)
	return &DB{writer: writer, reader: reader, dialect: dialect{words: strings.NewReplacer("{bytes}", "BLOB", "{number}", "INTEGER PRIMARY KEY")}}, nil
}

// classify says of a database's own failures what a caller can do.
func classify(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return full(err)
		case sqlite3.SQLITE_IOERR:
			return failing(err)
		}
	}
	return classifyPostgres(err)
}

func full(err error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage_full", Message: "the server's disk is full; nothing was stored; the operator must free space", Retry: 30e9, Cause: err}
}

func failing(err error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server could not store; try again", Retry: 1e9, Cause: err}
}

// IsUnique tells whether err says that a row with such a key exists.
func IsUnique(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY) || code(err) == uniqueViolation
}
