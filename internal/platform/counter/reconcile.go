package counter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

const (
	// rowsOfItem is how many rows of members, or of sizes, count as an item of a comparison: counting one is that much less work than reading a row of another comparison.
	rowsOfItem = 100
	// keepRemovedMs is how long a removed member stays as a row. Its deletion is for space only.
	keepRemovedMs = 3_600_000
	removedBatch  = 1000
	// defaultCountTime is for how long one query may count sets. It sees one state of the database, whose log cannot be shortened meanwhile.
	defaultCountTime = 10 * time.Minute
	// restTime of a step is for its other queries.
	restTime = 30 * time.Second
)

// Comparison compares all sizes with their sets. A wrong size is corrected at once: the set is what its members have said, and the size only counts them.
//
// Each query sees one state of the database, in which a size is that of its set, whatever is being written. So a difference is an error, which
// stays until the size is corrected by it, even if the set has changed since.
func (s *Service) Comparison() reconciliation.Comparison { return sizeComparison{s} }

type sizeComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (sizeComparison) Name() string { return "counts" }

// StepTime is a reconciliation.Slow's: one set may be large, and it has to be counted as of one moment.
func (s sizeComparison) StepTime() time.Duration { return s.countTime + restTime }

// Compare is a reconciliation.Comparison's. A position is the last set. A set is compared as a whole, however large it is; one that cannot be counted in time is a difference, and the step continues behind it.
func (s sizeComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	behind, err := parsePosition(after)
	if err != nil {
		return step, err
	}
	upTo, last, err := s.batchEnd(ctx, behind, limit*rowsOfItem)
	if err != nil {
		return step, err
	}
	counting, end := context.WithTimeout(ctx, s.countTime)
	sets, wrong, err := s.compare(counting, behind, upTo)
	late := counting.Err() != nil && ctx.Err() == nil
	end()
	if err != nil && late && !last { // only the last set of a batch has more rows than a batch
		step.Differences = append(step.Differences, reconciliation.Difference{Subject: fmt.Sprint(upTo.kind, " ", upTo.subject), Reason: reconciliation.SetTooLarge, Values: reconciliation.Values{"minutes": fmt.Sprint(s.countTime.Minutes())}})
		sets, wrong, err = s.compare(ctx, behind, setKey{upTo.kind, upTo.subject - 1})
		sets++
	}
	if err != nil {
		return reconciliation.Step{}, err
	}
	step.Items = sets
	for _, w := range wrong {
		step.Differences = append(step.Differences, w.difference(s.Service))
	}
	if !last {
		step.Next = fmt.Sprint(int64(upTo.kind), " ", upTo.subject)
	}
	return step, nil
}

// Repair is a reconciliation.Comparison's. The size was corrected when it was found; it is compared once more.
func (s sizeComparison) Repair(ctx context.Context, subject string) error {
	of, err := parseSubject(subject)
	if err != nil {
		return err
	}
	_, wrong, err := s.compare(ctx, setKey{of.kind, of.subject - 1}, of)
	if err != nil || len(wrong) == 0 {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := wrong[0].correct(ctx, tx)
		return err
	})
}

// parsePosition reads the set behind which a step continues.
func parsePosition(after string) (behind setKey, err error) {
	if after == "" {
		return behind, nil
	}
	_, err = fmt.Sscanf(after, "%d %d", (*int64)(&behind.kind), &behind.subject)
	return behind, err
}

// parseSubject reads a subject such as post_likes 42.
func parseSubject(subject string) (of setKey, err error) {
	name, number, _ := strings.Cut(subject, " ")
	_, err = fmt.Sscanf(number, "%d", &of.subject)
	for k, n := range kindNames {
		if n == name {
			of.kind = k
		}
	}
	if err != nil || of.kind == 0 || of.subject == 0 {
		return of, fmt.Errorf("%q names no set", subject)
	}
	return of, nil
}

// batchEnd returns the last set of the batch behind another set, of so many rows or of a larger set, and whether no set follows.
func (s *Service) batchEnd(ctx context.Context, behind setKey, rows int) (upTo setKey, last bool, err error) {
	upTo, last = setKey{math.MaxInt64, math.MaxInt64}, true
	for _, query := range []string{
		`SELECT kind, subject FROM counter_members WHERE present AND (kind, subject) > ($1, $2) ORDER BY kind, subject LIMIT 1 OFFSET $3`,
		`SELECT kind, subject FROM counter_counts WHERE (kind, subject) > ($1, $2) ORDER BY kind, subject LIMIT 1 OFFSET $3`,
	} {
		var k setKey
		err := s.deps.DB.Read().QueryRowContext(ctx, query, int64(behind.kind), int64(behind.subject), rows-1).Scan(&k.kind, &k.subject)
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

// wrongSize is a size that differs from its set, and how much was added to it by corrections before.
type wrongSize struct {
	setKey
	members, counted, corrections int64
}

// compare counts the sets behind one set and up to another, and returns the wrong sizes among them.
func (s *Service) compare(ctx context.Context, behind, upTo setKey) (sets int, wrong []wrongSize, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT kind, subject, CAST(SUM(members) AS BIGINT), CAST(SUM(counted) AS BIGINT), CAST(SUM(repairs) AS BIGINT) FROM (
		SELECT kind, subject, COUNT(*) AS members, 0 AS counted, 0 AS repairs FROM counter_members WHERE present AND (kind, subject) > ($1, $2) AND (kind, subject) <= ($3, $4) GROUP BY kind, subject
		UNION ALL SELECT kind, subject, 0, n, CASE WHEN bucket < 0 THEN n ELSE 0 END FROM counter_counts WHERE (kind, subject) > ($1, $2) AND (kind, subject) <= ($3, $4)) AS sizes
		GROUP BY kind, subject`, int64(behind.kind), int64(behind.subject), int64(upTo.kind), int64(upTo.subject))
	err = sqldb.EachRow(rows, err, func(r *sql.Rows) error {
		var w wrongSize
		if err := r.Scan(&w.kind, &w.subject, &w.members, &w.counted, &w.corrections); err != nil {
			return err
		}
		if sets++; w.members != w.counted {
			wrong = append(wrong, w)
		}
		return nil
	})
	return sets, wrong, err
}

func (w wrongSize) difference(s *Service) reconciliation.Difference {
	return reconciliation.Difference{Subject: fmt.Sprint(w.kind, " ", w.subject), Reason: reconciliation.CountWrong, Values: reconciliation.Values{"counted": fmt.Sprint(w.counted), "members": fmt.Sprint(w.members)},
		Correct: func(ctx context.Context, tx *sql.Tx) (bool, error) { return w.correct(ctx, tx) }}
}

// correct adds what is missing to a size. It reports false if the size was corrected since it was compared.
func (w wrongSize) correct(ctx context.Context, tx *sql.Tx) (done bool, err error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO counter_counts (kind, subject, bucket, n) VALUES ($1, $2, $3, $4) ON CONFLICT (kind, subject, bucket) DO UPDATE SET n = counter_counts.n + excluded.n WHERE counter_counts.n = $5`,
		int64(w.kind), int64(w.subject), repairBucket, w.members-w.counted, w.corrections)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
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
