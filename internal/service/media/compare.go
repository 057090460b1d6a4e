package media

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// Comparisons are those of files with their rows, and of the bytes of each user with the rows that they are the sum of.
func (s *Service) Comparisons() []reconciliation.Comparison {
	return []reconciliation.Comparison{fileComparison{s}, quotaComparison{s}}
}

// position reads the id behind which a step continues.
func position(after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	return strconv.ParseInt(after, 10, 64)
}

// subjectID reads the id in a subject, such as upload 5.
func subjectID(kind, subject string) (int64, error) {
	number, ok := strings.CutPrefix(subject, kind+" ")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q names no %s", subject, kind)
	}
	return n, nil
}

// quotaComparison compares the totals of users with the uploads that they are the sums of.
type quotaComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (quotaComparison) Name() string { return "quotas" }

// Compare is a reconciliation.Comparison's. A position is the last user. One statement sees one state of the database, in which both agree.
func (s quotaComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	at, err := position(after)
	if err != nil {
		return step, err
	}
	last := int64(0)
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, used, unfinished,
		(SELECT CAST(coalesce(sum(declared), 0) AS BIGINT) FROM uploads WHERE uploads.owner = upload_sums.owner AND complete <> -1),
		(SELECT count(*) FROM uploads WHERE uploads.owner = upload_sums.owner AND complete = 0)
		FROM upload_sums WHERE owner > $1 ORDER BY owner LIMIT $2`, at, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var used, unfinished, sum, count int64
		if err := rows.Scan(&last, &used, &unfinished, &sum, &count); err != nil {
			return err
		}
		step.Items++
		if used != sum || unfinished != count {
			step.Differences = append(step.Differences, reconciliation.Difference{Subject: fmt.Sprint("user ", last),
				Reason: reconciliation.QuotaWrong, Values: reconciliation.Values{"used": fmt.Sprint(used), "unfinished": fmt.Sprint(unfinished), "want_used": fmt.Sprint(sum), "want_unfinished": fmt.Sprint(count)}})
		}
		return nil
	})
	if err == nil && step.Items == limit {
		step.Next = strconv.FormatInt(last, 10)
	}
	return step, err
}

// Repair is a reconciliation.Comparison's: it counts again.
func (s quotaComparison) Repair(ctx context.Context, subject string) error {
	owner, err := subjectID("user", subject)
	if err != nil {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE upload_sums SET used = (SELECT CAST(coalesce(sum(declared), 0) AS BIGINT) FROM uploads WHERE uploads.owner = upload_sums.owner AND complete <> -1),
			unfinished = (SELECT count(*) FROM uploads WHERE uploads.owner = upload_sums.owner AND complete = 0) WHERE owner = $1`, owner)
		return err
	})
}
