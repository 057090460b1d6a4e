package sqldb

import (
	"context"
	"database/sql"
	"time"
)

// WriteApart runs fn in a transaction that waits for no other writer of this process, nor for what other nodes' writers hold: on a
// connection of its own, one at a time. It is for what has to be done in time, as saying that this node lives. It returns within a
// second of the end of ctx, whatever the database does, and then nobody knows whether it is stored.
//
// Unlike Write, a transaction sees one moment, and of two that change one row the later runs again; what is only read may change
// before it commits. With SQLite, where there is one process, it is Write.
func (d *DB) WriteApart(ctx context.Context, fn func(tx *sql.Tx) error) error {
	if d.apart == nil {
		return d.Write(ctx, fn)
	}
	ctx, cancel := context.WithTimeout(ctx, d.dialect.limit)
	defer cancel()
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.stop:
		return errClosed
	}
	defer func() { <-d.turn }()
	for met := 0; ; met++ {
		err := d.transactApart(ctx, fn)
		if !isConflict(err) || met == tries || ctx.Err() != nil {
			return classify(err)
		}
	}
}

func (d *DB) transactApart(ctx context.Context, fn func(tx *sql.Tx) error) error {
	conn, err := d.apart.Conn(ctx)
	if err != nil {
		return d.unreached(err)
	}
	link, err := d.dialect.hold(conn)
	defer func() { leave(conn, link) }()
	if err != nil {
		return err
	}
	over, _ := ctx.Deadline()
	left := func() time.Duration { return max(time.Until(over), 1) } // 0 would be none
	link.Deadline(left())
	tx, err := conn.BeginTx(context.Background(), nil) // its commit has this context
	if err != nil {
		return orLost(link, err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	if err := fn(tx); err != nil {
		return orLost(link, err)
	}
	return d.end(tx, link, left())
}
