// Package auditlog records what operators change: who, when, what, and its state before and after. An entry is committed with the change, so that there is
// neither a change without an entry nor an entry without a change. Entries are kept forever, because there are few.
//
// It may use sqldb. All methods are safe for concurrent use.
package auditlog

import (
	"context"
	"database/sql"
	"strings"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Entry is a change.
type Entry struct {
	// ID rises with each entry. The log sets it.
	ID int64
	// TimeMs is when it was made, in milliseconds since 1970. The log sets it.
	TimeMs int64
	// Who made it: the name of a key, or who ran a command on a machine (SystemPrefix).
	Who string
	// Action such as job.retry.
	Action string
	// Subject of the action, such as the id of a job.
	Subject string
	// Before and After are its states. Of each, maxText bytes are kept.
	Before, After string
	Reason        string
}

// SystemPrefix begins the names of those whom only the operating system of a machine knows, as they run a command there: os:USER@HOST, or NAME (os:USER@HOST).
const SystemPrefix = "os:"

// ImitatesSystem reports whether a name that somebody chose could be read as that of a user of an operating system. Such names are refused.
func ImitatesSystem(name string) bool { return strings.Contains(name, SystemPrefix) }

// maxText is how much of a state is kept, in bytes.
const maxText = 4000

var migrations = []string{
	`CREATE TABLE audit_entries (n {number}, time_ms BIGINT NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL, state_before TEXT NOT NULL, state_after TEXT NOT NULL, reason TEXT NOT NULL)`,
}

// Log has the entries of all nodes.
type Log struct {
	db    *sqldb.DB
	clock clock.Clock
}

// New creates the table if it is missing.
func New(ctx context.Context, db *sqldb.DB, now clock.Clock) (*Log, error) {
	return &Log{db, now}, db.Migrate(ctx, "audit_entries", migrations)
}

// Add adds an entry in the transaction of the change.
func (l *Log) Add(ctx context.Context, tx *sql.Tx, e Entry) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO audit_entries (time_ms, who, action, subject, state_before, state_after, reason) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		l.clock.Now().UnixMilli(), e.Who, e.Action, e.Subject, excerpt.Bytes(e.Before, maxText), excerpt.Bytes(e.After, maxText), e.Reason)
	return err
}

// Record adds an entry of what is no change of the database, in a transaction of its own.
func (l *Log) Record(ctx context.Context, e Entry) error {
	return l.db.Write(ctx, func(tx *sql.Tx) error { return l.Add(ctx, tx, e) })
}

// Recorder adds an entry in the transaction of a change, with who made it and why. If it fails, the change must not be made. It is called again if the transaction is
// repeated. A nil Recorder records nothing.
type Recorder func(ctx context.Context, tx *sql.Tx, e Entry) error

// Record adds an entry.
func (r Recorder) Record(ctx context.Context, tx *sql.Tx, e Entry) error {
	if r == nil {
		return nil
	}
	return r(ctx, tx, e)
}

// By returns a Recorder of what somebody changes for a reason.
func (l *Log) By(who, reason string) Recorder {
	return func(ctx context.Context, tx *sql.Tx, e Entry) error {
		e.Who, e.Reason = who, reason
		return l.Add(ctx, tx, e)
	}
}

// List returns at most limit entries, the newest first: those whose ids are below before.
func (l *Log) List(ctx context.Context, before int64, limit int) (list []Entry, err error) {
	rows, err := l.db.Read().QueryContext(ctx, `SELECT n, time_ms, who, action, subject, state_before, state_after, reason FROM audit_entries WHERE n < $1 ORDER BY n DESC LIMIT $2`, before, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var e Entry
		err := rows.Scan(&e.ID, &e.TimeMs, &e.Who, &e.Action, &e.Subject, &e.Before, &e.After, &e.Reason)
		list = append(list, e)
		return err
	})
	return list, err
}
