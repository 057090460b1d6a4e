package pglog

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// writerSession is a committer's connection and its row in log_writers.
type writerSession struct {
	conn        *connection
	lock        int64 // advisory lock that admits one new writer at a time
	writer      int64 // 0: none
	batch       int64 // number of the last batch that was sent
	unavailable bool  // the database did not answer within Options.Timeout

	unresolved *commitBatch  // was sent; it is unknown whether it is stored
	recovered  *savedResults // the saved results of unresolved, once it is known to be stored

	arguments arguments
	parts     []byte
}

// savedResults are the results that a transaction stored in its writer's row.
type savedResults struct{ seqs, records []uint64 }

// connection never sends cancel requests: a cancelled commit would stop waiting for the standby and count as done.
type connection struct {
	*pgconn.PgConn
	link *pglink.Link
}

var binaryFormat = []int16{1}

const connectTime = 5 * time.Second // in all; with several servers each gets a part

func (c *committer) connect() error {
	config := c.log.config.Config.Copy()
	c.log.fence.Prepare(config, false)
	config.ConnectTimeout = min(cmp.Or(config.ConnectTimeout, connectTime), connectTime)
	conn, err := pgconn.ConnectConfig(context.Background(), config)
	if err != nil {
		return err
	}
	c.conn = &connection{conn, pglink.LinkOf(conn)}
	c.conn.link.Deadline(connectTime)
	if err := c.startWriter(context.Background()); err != nil {
		c.conn.discard()
		return err
	}
	return nil
}

// makeWriter waits for a running makeWriter of this committer. If a connection is closed while its statement waits for the standby, the next
// connection does not add another one. Batches and the statement that ends a writer wait for the writer's row in the same way.
const makeWriter = `INSERT INTO log_writers (batch, used, seqs, records) SELECT $1::BIGINT, now(), '{}', '{}' FROM pg_advisory_xact_lock($2::BIGINT) RETURNING writer`

// startWriter ends the last writer and creates a new one. After that the last batch is stored, or never will be. The saved results are valid only
// after the commit is confirmed: then the standby has the batch too. Until then the last writer stays for the next connection, which may
// lead to another primary.
func (c *committer) startWriter(ctx context.Context) error {
	stored := c.recovered // confirmed and not yet reported
	if c.writer != 0 {
		// The row stays, to be read again if this answer is lost too. Open removes old rows.
		r := c.conn.ExecParams(ctx, `UPDATE log_writers SET ended = true WHERE writer = $1::BIGINT RETURNING batch, seqs, records`, [][]byte{int8Value(c.writer)}, []uint32{typeInt8}, binaryFormat, binaryFormat).Read()
		if r.Err != nil {
			return r.Err
		}
		if len(r.Rows) > 0 && c.unresolved != nil && stored == nil && string(r.Rows[0][0]) == string(int8Value(c.batch)) {
			stored = &savedResults{numbers(r.Rows[0][1]), numbers(r.Rows[0][2])}
		}
	}
	// Batch numbers start at random: if a row was lost with a primary, another writer's row must not match its batch.
	from := rand.Int64N(1 << 62)
	made := c.conn.ExecParams(ctx, makeWriter, [][]byte{int8Value(from), int8Value(c.lock)}, []uint32{typeInt8, typeInt8}, binaryFormat, binaryFormat).Read()
	switch {
	case made.Err != nil:
		return made.Err
	case c.conn.link.Unconfirmed():
		return errUnconfirmed
	}
	for name, statement := range map[string]string{"writer": lockWriter, "tails": lockTails, "store": storeBatch, "run": runStored} {
		if _, err := c.conn.Prepare(ctx, name, statement, nil); err != nil {
			return err
		}
	}
	c.recovered, c.writer, c.batch = stored, int64(be(made.Rows[0][0])), from
	return nil
}

// removeWriter deletes the writer's row when the log closes.
func (c *committer) removeWriter() {
	if c.conn == nil || c.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	r := c.conn.ExecParams(ctx, `DELETE FROM log_writers WHERE writer = $1::BIGINT`, [][]byte{int8Value(c.writer)}, []uint32{typeInt8}, binaryFormat, nil).Read()
	if err := errors.Join(r.Err, c.conn.Close(ctx)); err != nil {
		c.log.options.Logger.Debug("a writer's row was not deleted", "error", err)
	}
}

// discard closes a connection without waiting for an answer.
func (c *connection) discard() {
	c.link.Deadline(0)
	_ = c.Conn().Close() // it may have ended by itself
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

// rolledBack reports whether PostgreSQL answered with an error that ended the transaction and not the connection.
func rolledBack(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.SeverityUnlocalized == "ERROR" || e.Severity == "ERROR")
}

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Error codes of PostgreSQL.
const (
	divisionByZero = "22012" // the writer has ended, or another log has acquired the partition
	diskFull       = "53100"
	frozen         = "RLMVE" // Freeze: nobody may write
	undefinedTable = "42P01" // perhaps Retire has renamed it
)

// isTransient reports whether a retry of the batch may succeed.
func isTransient(err error) bool {
	switch c := code(err); {
	case c == "", c == divisionByZero:
		return true
	case c == frozen, strings.HasPrefix(c, "42"), strings.HasPrefix(c, "22"), strings.HasPrefix(c, "23"), c == diskFull:
		return false
	}
	return true // locks, connections, a server that starts or stops
}

// storageError returns the error for callers. They must retry: the message may already be stored.
func (s reader) storageError(ctx context.Context, err error) error {
	switch c := code(err); {
	case c == diskFull:
		return timeline.ErrStorageFull
	case c == frozen, c == undefinedTable && s.wasRetired(ctx):
		return timeline.ErrMoving
	}
	return unknownOutcome(err)
}

// wasRetired reports whether Retire has renamed the tables. Otherwise somebody has dropped or renamed what is missing, or the address leads to another schema.
func (s reader) wasRetired(ctx context.Context) bool {
	var is bool
	err := s.db.QueryRow(ctx, `SELECT to_regclass('moved_log_entries') IS NOT NULL`).Scan(&is)
	return err == nil && is
}

// unknownOutcome is the error of a write that may be stored.
func unknownOutcome(err error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server cannot reach its database; try again", Retry: time.Second, Cause: err}
}

func be(b []byte) uint64 { return binary.BigEndian.Uint64(b) }
