package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/sqldb/pglink"
)

const (
	together = 128 // bounds the writers that share a transaction
	tries    = 20  // of a transaction that met another node's
)

func (d *DB) run() {
	defer close(d.ended)
	for {
		var jobs []*job
		select {
		case j := <-d.jobs:
			jobs = append(jobs, j)
		case <-d.stop:
			for {
				select {
				case j := <-d.jobs:
					j.err = errClosed
					close(j.done)
				default:
					return
				}
			}
		}
	more:
		for len(jobs) < together {
			select {
			case j := <-d.jobs:
				jobs = append(jobs, j)
			default:
				break more
			}
		}
		d.commit(jobs)
		for _, j := range jobs {
			close(j.done)
		}
	}
}

func (d *DB) commit(jobs []*job) {
	must := slices.ContainsFunc(jobs, func(j *job) bool { return j.alone })
	alone, crowded := must, false
	for met := 0; len(jobs) > 0; {
		broke, err := d.transact(jobs, alone)
		if err == nil {
			return
		}
		if again := isConflict(err) || alone && broke == nil && isCrowded(err); again && met < tries {
			// Nothing of it is stored: all go again, and see what the other has stored.
			met++
			crowded = crowded || !isConflict(err)
			// Alone, or another that is faster could be first again and again. Where one of the others does not end, as a node that is
			// paused, nobody could write while this one waits for it: so it tries its luck beside them.
			if alone = must || !crowded; crowded {
				time.Sleep(rand.N(time.Duration(met) * 10 * time.Millisecond)) // so that those who meet do not meet again
			}
			continue
		}
		// One whose own time is over is no sign of a database that is away, though it looks like one.
		if failure := classify(err); broke == nil || errs.Is(failure, errs.Unavailable) && broke.ctx.Err() == nil {
			for _, j := range jobs {
				// Also who was refused: by what another of them wrote, it may be, which is not stored.
				if j.ctx.Err() == nil || j.err == nil {
					j.err = failure
				}
			}
			return
		}
		// After some failures (a statement that is cancelled is one) the database undoes the whole transaction: the others go again.
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j == broke })
	}
}

// transact runs jobs in one transaction, and sets the error of each. It names the one whose failure ended the transaction.
func (d *DB) transact(jobs []*job, alone bool) (broke *job, err error) {
	ctx, begin := context.Background(), d.dialect.beside
	if alone {
		begin = d.dialect.alone
	}
	if d.dialect.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.dialect.limit)
		defer cancel()
	}
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return nil, d.unreached(err)
	}
	var link *pglink.Link
	defer func() { leave(conn, link) }()
	if d.dialect.hold != nil {
		if link, err = d.dialect.hold(conn); err != nil {
			return nil, err
		}
		link.Deadline(d.dialect.limit)
	}
	tx, err := conn.BeginTx(context.Background(), nil) // its commit has this context
	if err != nil {
		return nil, orLost(link, err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	for _, j := range jobs {
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		if _, err := tx.ExecContext(ctx, begin+"SAVEPOINT writer"); err != nil {
			return nil, orLost(link, err)
		}
		begin = ""
		failure := j.run(tx)
		if j.ctx.Err() == nil {
			failure = orLost(link, failure)
		}
		if isConflict(failure) {
			return nil, failure
		}
		end := "RELEASE writer"
		if failure != nil {
			end = "ROLLBACK TO writer; RELEASE writer"
		}
		_, err := tx.ExecContext(ctx, end)
		err = orLost(link, err)
		if j.err = classify(failure); err == nil {
			continue
		}
		var gone *lost
		if j.ctx.Err() == nil && errors.As(err, &gone) {
			return nil, err // no fault of its own
		}
		if failure == nil {
			failure, j.err = err, classify(err)
		}
		return j, failure
	}
	return nil, d.end(tx, link, d.patience)
}

// leave gives a connection back, or ends one that cannot be trusted further.
func leave(conn *sql.Conn, link *pglink.Link) {
	if link != nil {
		link.Deadline(0)
		if link.Unconfirmed() {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which ends it
		}
	}
	_ = conn.Close() // one that has ended is not given back
}
