package counter

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const (
	// reconcileRows is how many rows of members, or of sizes, one query compares. A larger set is one query.
	reconcileRows = 10_000
	// keepRemovedMs is how long a removed member stays as a row. Its deletion is for space only.
	keepRemovedMs = 3_600_000
	removedBatch  = 1000
)

// Repair is a size that was wrong, and by how much it was corrected.
type Repair struct {
	Kind    Kind
	Subject uint64
	// Members is the number of members, and Counted the size that was stored.
	Members, Counted int64
}

// Reconcile compares all sizes with their sets, repairs the wrong ones, and deletes removed members. It returns what it repaired, and goes
// on after a failure.
//
// Each query sees one state of the database, in which a size is that of its set, whatever is being written. So a difference is an error, which
// stays until the size is corrected by it, even if the set has changed since.
func (s *Service) Reconcile(ctx context.Context) (repaired []Repair, err error) {
	faults := []error{s.deleteRemoved(ctx)}
	for at := (setKey{}); ; {
		began := time.Now()
		upTo, last, err := s.batchEnd(ctx, at)
		if err != nil {
			return repaired, errors.Join(append(faults, err)...)
		}
		wrong, err := s.compare(ctx, at, upTo)
		if err != nil {
			return repaired, errors.Join(append(faults, err)...)
		}
		for _, w := range wrong {
			done, err := s.repair(ctx, w)
			faults = append(faults, err)
			if done {
				repaired = append(repaired, w.Repair)
			}
		}
		if last {
			return repaired, errors.Join(faults...)
		}
		if err := backoff.Sleep(ctx, time.Since(began)); err != nil { // at most half of the time is spent on this
			return repaired, errors.Join(append(faults, err)...)
		}
		at = upTo
	}
}

// batchEnd returns the last set of the batch behind another set, and whether no set follows.
func (s *Service) batchEnd(ctx context.Context, behind setKey) (upTo setKey, last bool, err error) {
	upTo, last = setKey{math.MaxInt64, math.MaxInt64}, true
	for _, query := range []string{
		`SELECT kind, subject FROM counter_members WHERE present AND (kind, subject) > ($1, $2) ORDER BY kind, subject LIMIT 1 OFFSET $3`,
		`SELECT kind, subject FROM counter_counts WHERE (kind, subject) > ($1, $2) ORDER BY kind, subject LIMIT 1 OFFSET $3`,
	} {
		var k setKey
		err := s.deps.DB.Read().QueryRowContext(ctx, query, int64(behind.kind), int64(behind.subject), reconcileRows-1).Scan(&k.kind, &k.subject)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return upTo, false, err
		}
		if last = false; k.compare(upTo) < 0 {
			upTo = k
		}
	}
	return upTo, last, nil
}

// wrongSize is a repair to make, if the repairs of the size are still the same.
type wrongSize struct {
	Repair
	repairs int64 // sum of the earlier repairs
}

// compare returns the wrong sizes behind one set and up to another.
func (s *Service) compare(ctx context.Context, behind, upTo setKey) (wrong []wrongSize, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT kind, subject, CAST(SUM(members) AS BIGINT), CAST(SUM(counted) AS BIGINT), CAST(SUM(repairs) AS BIGINT) FROM (
		SELECT kind, subject, COUNT(*) AS members, 0 AS counted, 0 AS repairs FROM counter_members WHERE present AND (kind, subject) > ($1, $2) AND (kind, subject) <= ($3, $4) GROUP BY kind, subject
		UNION ALL SELECT kind, subject, 0, n, CASE WHEN bucket < 0 THEN n ELSE 0 END FROM counter_counts WHERE (kind, subject) > ($1, $2) AND (kind, subject) <= ($3, $4)) AS sizes
		GROUP BY kind, subject HAVING SUM(members) <> SUM(counted)`, int64(behind.kind), int64(behind.subject), int64(upTo.kind), int64(upTo.subject))
	err = sqldb.EachRow(rows, err, func(r *sql.Rows) error {
		var w wrongSize
		err := r.Scan(&w.Kind, &w.Subject, &w.Members, &w.Counted, &w.repairs)
		wrong = append(wrong, w)
		return err
	})
	return wrong, err
}

// repair corrects a size by its difference, and reports it. It does nothing if another node has repaired the size meanwhile.
func (s *Service) repair(ctx context.Context, w wrongSize) (done bool, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO counter_counts (kind, subject, bucket, n) VALUES ($1, $2, $3, $4) ON CONFLICT (kind, subject, bucket) DO UPDATE SET n = counter_counts.n + excluded.n WHERE counter_counts.n = $5`,
			int64(w.Kind), int64(w.Subject), repairBucket, w.Members-w.Counted, w.repairs)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		done = n == 1
		return err
	})
	if err != nil || !done {
		return false, err
	}
	s.metrics.repairs.Add(1)
	s.deps.Logger.Error("a counter differed from its set, and was repaired", "kind", w.Kind.String(), "subject", w.Subject, "members", w.Members, "counted", w.Counted)
	return true, nil
}

// deleteRemoved deletes the rows of members that were removed long ago.
func (s *Service) deleteRemoved(ctx context.Context) error {
	before := s.nowMs() - keepRemovedMs
	return s.deps.DB.WriteInBatches(ctx, removedBatch, func(tx *sql.Tx) (int64, error) {
		done, err := tx.ExecContext(ctx, `DELETE FROM counter_members WHERE (kind, subject, member) IN (SELECT kind, subject, member FROM counter_members WHERE NOT present AND at_ms < $1 ORDER BY at_ms LIMIT $2) AND NOT present`, before, removedBatch)
		if err != nil {
			return 0, err
		}
		return done.RowsAffected()
	})
}
