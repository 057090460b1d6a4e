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
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/timeline"
)

// session is a committer's connection, and its row among the writers.
type session struct {
	conn   *connection
	lock   int64 // number of the lock that makes one writer at a time
	writer int64 // 0: none
	batch  int64 // the last that was sent
	down   bool  // the database did not answer for as long as our patience

	doubt  *group // was sent, and whether it is stored is open
	stored *left  // what is known of it, now that it is known to be stored

	arguments arguments
	parts     []byte
}

// left are the results that a transaction left in its writer's row.
type left struct{ seqs, records []uint64 }

// connection to the database that never asks it to cancel anything: a commit that waits for a standby would end its wait, and
// count as done.
type connection struct {
	*pgconn.PgConn
	link *pglink.Link
}

var binaryFormat = []int16{1}

const connectTime = 5 * time.Second // with one server; with each of several it is less

func (c *committer) connect() error {
	config := c.log.config.Config.Copy()
	c.log.fence.Ready(config, false)
	config.ConnectTimeout = min(cmp.Or(config.ConnectTimeout, connectTime), connectTime)
	conn, err := pgconn.ConnectConfig(context.Background(), config)
	if err != nil {
		return err
	}
	c.conn = &connection{conn, pglink.Of(conn)}
	c.conn.link.Deadline(connectTime)
	if err := c.begin(context.Background()); err != nil {
		c.conn.drop()
		return err
	}
	return nil
}

// makeWriter waits for one of this committer that is under way: where the connection is given up while that waits for the standby, the next
// one is not one more that waits there. Batches, and what ends a writer, wait in the same way for its row.
const makeWriter = `INSERT INTO log_writers (batch, used, seqs, records) SELECT $1::BIGINT, now(), '{}', '{}' FROM pg_advisory_xact_lock($2::BIGINT) RETURNING writer`

// begin ends the last writer, after which its batch is stored or will never be, and makes another. What it found counts when that is
// confirmed: the standby then has the batch as well. Until then the last writer stays, for the next connection to ask, which may lead to
// another primary.
func (c *committer) begin(ctx context.Context) error {
	stored := c.stored // confirmed, and not told yet
	if c.writer != 0 {
		// The row stays: should this answer be lost as well, it is asked again. Open removes rows that are old.
		r := c.conn.ExecParams(ctx, `UPDATE log_writers SET ended = true WHERE writer = $1::BIGINT RETURNING batch, seqs, records`, [][]byte{int8Value(c.writer)}, []uint32{typeInt8}, binaryFormat, binaryFormat).Read()
		if r.Err != nil {
			return r.Err
		}
		if len(r.Rows) > 0 && c.doubt != nil && stored == nil && string(r.Rows[0][0]) == string(int8Value(c.batch)) {
			stored = &left{numbers(r.Rows[0][1]), numbers(r.Rows[0][2])}
		}
	}
	// Batches are counted from anywhere: should a row have been lost with a primary, another's of the same number tells nothing of them.
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
	c.stored, c.writer, c.batch = stored, int64(be(made.Rows[0][0])), from
	return nil
}

// leave takes the writer's row away at the end.
func (c *committer) leave() {
	if c.conn == nil || c.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	r := c.conn.ExecParams(ctx, `DELETE FROM log_writers WHERE writer = $1::BIGINT`, [][]byte{int8Value(c.writer)}, []uint32{typeInt8}, binaryFormat, nil).Read()
	if err := errors.Join(r.Err, c.conn.Close(ctx)); err != nil {
		c.log.options.Logger.Debug("a writer's row was left", "error", err)
	}
}

// drop ends a connection of which nothing more is to be expected.
func (c *connection) drop() {
	c.link.Deadline(0)
	_ = c.Conn().Close() // it may have ended by itself
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

// undone tells that PostgreSQL itself said so: an error that ended the transaction, and not the connection.
func undone(err error) bool {
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

// Codes that PostgreSQL gives its errors.
const (
	divisionByZero = "22012" // the writer has ended, or the partition is taken
	diskFull       = "53100"
)

// again tells that a batch may go well at another try.
func again(err error) bool {
	switch c := code(err); {
	case c == "", c == divisionByZero:
		return true
	case strings.HasPrefix(c, "42"), strings.HasPrefix(c, "22"), strings.HasPrefix(c, "23"), c == diskFull:
		return false
	}
	return true // locks, connections, a server that starts or stops
}

// refusal is what callers are told. They are to try again: a message may be stored already, whose sender was not told.
func refusal(err error) error {
	if code(err) == diskFull {
		return timeline.ErrStorageFull
	}
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server cannot reach its database; try again", Retry: time.Second, Cause: err}
}

func be(b []byte) uint64 { return binary.BigEndian.Uint64(b) }
