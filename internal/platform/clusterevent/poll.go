package clusterevent

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
)

// poll reads new and missing events, and delivers them.
func (s *Service) poll(ctx context.Context, deliver func(Event)) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	began := time.Now()
	// Other nodes may have deleted rows while this one could not read, such as while its machine was suspended.
	if !s.lastRead.IsZero() && clock.Elapsed(s.lastRead, began) > retention/2 {
		s.reportMissed("this node could not read for too long")
	}
	// Before the missing numbers are queried: all that was stored by now is found then.
	ended, err := s.barrierPassed(ctx)
	if err != nil {
		return err
	}
	if err := s.readGaps(ctx, deliver); err != nil {
		return err
	}
	if ended {
		s.dropGaps()
	}
	for {
		n, err := s.readNew(ctx, began, deliver)
		if err != nil {
			return err
		}
		if n < pageSize {
			break
		}
	}
	s.lastRead = began
	if began.Before(s.nextTrim) {
		return nil
	}
	s.nextTrim = began.Add(trimInterval)
	return errors.Join(s.openBarrier(ctx, began), s.trim(ctx, began))
}

func (s *Service) reportMissed(reason string) {
	s.deps.Logger.Warn("this node missed events of other nodes", "reason", reason)
	if s.deps.Missed != nil {
		s.deps.Missed()
	}
}

const columns = `SELECT n, kind, owner, other, body FROM cluster_events WHERE `

// readNew delivers a page of rows above the highest number seen, and records the missing numbers among them.
func (s *Service) readNew(ctx context.Context, at time.Time, deliver func(Event)) (int, error) {
	return s.rows(ctx, columns+`n > $1 ORDER BY n LIMIT `+strconv.Itoa(pageSize), []any{s.last}, func(n int64, e Event) {
		from := s.last + 1
		if s.last == 0 {
			from = n - initialGap
		}
		if n-from > maxGaps {
			s.reportMissed("too many numbers are missing at once")
			from = n - maxGaps
		}
		for missing := max(from, 1); missing < n; missing++ {
			s.gaps[missing] = at
		}
		s.last = n
		deliver(e)
	})
}

// readGaps delivers rows whose numbers were missing before.
func (s *Service) readGaps(ctx context.Context, deliver func(Event)) error {
	if len(s.gaps) == 0 {
		return nil
	}
	missing := make([]int64, 0, len(s.gaps))
	for n := range s.gaps {
		missing = append(missing, n)
	}
	slices.Sort(missing)
	for some := range slices.Chunk(missing, gapsPerQuery) {
		marks, args := make([]string, len(some)), make([]any, len(some))
		for i, n := range some {
			marks[i], args[i] = "$"+strconv.Itoa(i+1), n
		}
		if _, err := s.rows(ctx, columns+`n IN (`+strings.Join(marks, ",")+`) ORDER BY n`, args, func(n int64, e Event) {
			delete(s.gaps, n)
			deliver(e)
		}); err != nil {
			return err
		}
	}
	if len(s.gaps) > maxGaps {
		s.reportMissed("too many numbers are missing")
		clear(s.gaps)
	}
	return nil
}

func (s *Service) rows(ctx context.Context, query string, args []any, each func(n int64, e Event)) (count int, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		var e Event
		if err := rows.Scan(&n, &e.Kind, &e.User, &e.Other, &e.Detail); err != nil {
			return count, err
		}
		each(n, e)
		count++
	}
	return count, rows.Err()
}

// barrier is a transaction that started after some numbers were found missing. Once all transactions that started before it have ended,
// the numbers that are still missing belong to none. A transaction takes its transaction id with its first change, before it draws a
// row number.
type barrier struct {
	transaction int64     // its id; 0 if there is none
	at          time.Time // start of the poll that found the numbers missing
}

// openBarrier starts a barrier if numbers have been missing for long: forever after a rollback, and while commits wait for an absent
// standby. SQLite lacks these statements, but a single node does not poll.
func (s *Service) openBarrier(ctx context.Context, now time.Time) error {
	old := false
	for _, since := range s.gaps {
		old = old || now.Sub(since) > maxTransactionAge
	}
	if !old || s.barrier.transaction != 0 {
		return nil
	}
	var begun int64
	if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `/* PostgreSQL */ SELECT txid_current()`).Scan(&begun)
	}); err != nil {
		return err
	}
	s.barrier = barrier{begun, now}
	return nil
}

// barrierPassed reports whether all transactions that started before the barrier have ended.
func (s *Service) barrierPassed(ctx context.Context) (bool, error) {
	if s.barrier.transaction == 0 {
		return false, nil
	}
	var oldest int64
	err := s.deps.DB.Read().QueryRowContext(ctx, `/* PostgreSQL */ SELECT txid_snapshot_xmin(txid_current_snapshot())`).Scan(&oldest)
	return oldest >= s.barrier.transaction, err
}

// dropGaps forgets the numbers that were missing when the barrier started.
func (s *Service) dropGaps() {
	for n, since := range s.gaps {
		if !since.After(s.barrier.at) {
			delete(s.gaps, n)
		}
	}
	s.barrier = barrier{}
}

// contiguous returns the number up to which none is missing.
func (s *Service) contiguous() int64 {
	n := s.last
	for missing := range s.gaps {
		n = min(n, missing-1)
	}
	return n
}

// trim deletes rows that this node read long enough ago. A row that was committed late is kept as long as any other, and so are the rows
// above it.
func (s *Service) trim(ctx context.Context, now time.Time) error {
	s.checkpoints = append(s.checkpoints, checkpoint{s.contiguous(), now})
	old := int64(0)
	for len(s.checkpoints) > 0 && now.Sub(s.checkpoints[0].at) >= retention {
		old, s.checkpoints = s.checkpoints[0].last, s.checkpoints[1:]
	}
	if old == 0 {
		return nil
	}
	var some bool // usually another node has deleted them already
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM cluster_events WHERE n <= $1)`, old).Scan(&some); err != nil || !some {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM cluster_events WHERE n <= $1`, old)
		return err
	})
}
