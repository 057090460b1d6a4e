package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
)

const (
	maxBatch   = 128 // writers that share a transaction
	maxRetries = 20  // of a transaction that conflicts with another node's
	// Delays between these attempts.
	conflictFirst = 10 * time.Millisecond
	conflictMost  = 200 * time.Millisecond
)

// runWriter commits what writers submit until the database closes. Writers that wait at the same time share a transaction.
func (d *DB) runWriter() {
	defer close(d.writerEnded)
	for {
		select {
		case j := <-d.jobs:
			jobs := d.takeWaiting(j)
			d.commit(jobs)
			for _, j := range jobs {
				close(j.done)
			}
		case <-d.stop:
			d.rejectWaiting()
			return
		}
	}
}

// takeWaiting returns a batch: the first job, and those that wait behind it.
func (d *DB) takeWaiting(first *job) []*job {
	jobs := []*job{first}
	for len(jobs) < maxBatch {
		select {
		case j := <-d.jobs:
			jobs = append(jobs, j)
		default:
			return jobs
		}
	}
	return jobs
}

func (d *DB) rejectWaiting() {
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

// commit runs jobs until each is stored or has an error.
func (d *DB) commit(jobs []*job) {
	mustBeExclusive := slices.ContainsFunc(jobs, func(j *job) bool { return j.exclusive })
	exclusive, lockTimedOut := mustBeExclusive, false
	retry := backoff.New(conflictFirst, conflictMost)
	for retries := 0; len(jobs) > 0; {
		failed, err := d.transact(jobs, exclusive)
		if err == nil {
			return
		}
		retryable := isConflict(err) || exclusive && failed == nil && isLockTimeout(err)
		if retryable && retries < maxRetries {
			// Nothing is stored. All jobs run again and see what the other node has stored.
			retries++
			lockTimedOut = lockTimedOut || !isConflict(err)
			// Retry exclusively: a faster node could win every shared attempt. If a peer holds its lock, for example because it is
			// paused, retry shared, so that it cannot block all writers.
			if exclusive = mustBeExclusive || !lockTimedOut; lockTimedOut {
				_ = backoff.SleepOrWake(context.Background(), retry.Next(), d.stop) // random, so that writers that collide do not collide again
			}
			continue
		}
		if spare := sparingJobs(jobs); isFull(err) && len(spare) > 0 && d.store.release() {
			for _, j := range jobs {
				if !j.mayUseSpare {
					j.err = d.classify(err)
				}
			}
			jobs = spare
			continue
		}
		// A job whose own deadline has passed looks like a database that does not answer. It fails alone.
		if failure := d.classify(err); failed == nil || errs.Is(failure, errs.Unavailable) && failed.ctx.Err() == nil {
			failAll(jobs, failure)
			return
		}
		// The failure, such as a cancelled statement, made the database undo the whole transaction. The other jobs run again.
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j == failed })
	}
}

// failAll gives all jobs an error, also those that were rejected: what they were rejected for may be a row of this transaction, which is
// not stored.
func failAll(jobs []*job, err error) {
	for _, j := range jobs {
		if j.ctx.Err() == nil || j.err == nil {
			j.err = err
		}
	}
}

// transact runs jobs in one transaction and sets the error of each. failed is the job whose failure ended the transaction; nil if none did.
func (d *DB) transact(jobs []*job, exclusive bool) (failed *job, err error) {
	ctx, begin := context.Background(), d.dialect.beginShared
	if exclusive {
		begin = d.dialect.beginExclusive
	}
	if d.dialect.txLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.dialect.txLimit)
		defer cancel()
	}
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return nil, d.noConnection(err)
	}
	var link *pglink.Link
	defer func() { releaseConn(conn, link) }()
	if d.dialect.linkOf != nil {
		if link, err = d.dialect.linkOf(conn); err != nil {
			return nil, err
		}
		link.Deadline(d.dialect.txLimit)
	}
	tx, err := conn.BeginTx(context.Background(), nil) // the context is also that of the commit, which nothing may cancel
	if err != nil {
		return nil, wrapIfLost(link, err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	d.tracker.begin()
	for _, j := range jobs {
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		if fatal, err := d.runJob(ctx, tx, link, j, begin); err != nil {
			if fatal {
				return j, err
			}
			return nil, err
		}
		begin = ""
	}
	n, err := d.store.countCommit(ctx, tx)
	if err != nil {
		return nil, err
	}
	if err := d.tracker.commit(func() error { return d.commitTx(tx, link, d.commitTimeout) }); err != nil {
		return nil, err
	}
	d.store.committed(n)
	return nil, nil
}

// runJob runs a job in a savepoint and sets its error. err is a failure that ended the transaction; byJob reports whether the job caused it.
func (d *DB) runJob(ctx context.Context, tx *sql.Tx, link *pglink.Link, j *job, begin string) (byJob bool, err error) {
	if _, err := tx.ExecContext(ctx, begin+"SAVEPOINT writer"); err != nil {
		return false, wrapIfLost(link, err)
	}
	failure := j.run(tx)
	if j.ctx.Err() == nil {
		failure = wrapIfLost(link, failure)
	}
	if isConflict(failure) || j.mayUseSpare && isFull(failure) {
		return false, failure
	}
	end := "RELEASE writer"
	if failure != nil {
		end = "ROLLBACK TO writer; RELEASE writer"
	}
	_, err = tx.ExecContext(ctx, end)
	err = wrapIfLost(link, err)
	if j.err = d.classify(failure); err == nil {
		return false, nil
	}
	var lost *connectionLost
	if j.ctx.Err() == nil && errors.As(err, &lost) {
		return false, err
	}
	if failure == nil {
		failure, j.err = err, d.classify(err)
	}
	return true, failure
}

// releaseConn returns a connection to its pool, or closes one whose state is unknown.
func releaseConn(conn *sql.Conn, link *pglink.Link) {
	if link != nil {
		link.Deadline(0)
		if link.Unconfirmed() {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // database/sql then closes it
		}
	}
	_ = conn.Close() // a connection that was closed is not returned to the pool
}
