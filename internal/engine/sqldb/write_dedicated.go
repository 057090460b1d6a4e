package sqldb

import (
	"context"
	"database/sql"
	"time"
)

// WriteDedicated runs fn in a transaction on a dedicated connection. It waits neither for other writers of this process nor for their locks
// on other nodes. It is for what must happen in time, such as a node's heartbeat. It returns within a second of the end of ctx, whatever the
// database does; the outcome is then unknown.
//
// Unlike Write, the isolation is snapshot isolation: of two transactions that change the same row the later runs again, but a row that was
// only read may change before the commit. One transaction runs at a time. With SQLite, which one process uses, it is Write.
func (d *DB) WriteDedicated(ctx context.Context, fn func(tx *sql.Tx) error) error {
	if d.dedicated == nil {
		return d.Write(ctx, fn)
	}
	ctx, cancel := context.WithTimeout(ctx, d.dialect.txLimit)
	defer cancel()
	select {
	case d.dedicatedSlot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.stop:
		return errClosed
	}
	defer func() { <-d.dedicatedSlot }()
	for retries := 0; ; retries++ {
		err := d.transactDedicated(ctx, fn)
		if !isConflict(err) || retries == maxRetries || ctx.Err() != nil {
			return d.classify(err)
		}
	}
}

func (d *DB) transactDedicated(ctx context.Context, fn func(tx *sql.Tx) error) error {
	conn, err := d.dedicated.Conn(ctx)
	if err != nil {
		return d.noConnection(err)
	}
	link, err := d.dialect.linkOf(conn)
	defer func() { releaseConn(conn, link) }()
	if err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	remaining := func() time.Duration { return max(time.Until(deadline), 1) } // 0 would be no deadline
	link.Deadline(remaining())
	tx, err := conn.BeginTx(context.Background(), nil) // the context is also that of the commit, which nothing may cancel
	if err != nil {
		return wrapIfLost(link, err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	if err := fn(tx); err != nil {
		return wrapIfLost(link, err)
	}
	return d.commitTx(tx, link, remaining())
}
