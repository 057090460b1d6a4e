package media

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// Comparisons are those of files with their rows, and of the bytes of each user with the rows that they are the sum of.
func (s *Service) Comparisons() []reconciliation.Comparison {
	return []reconciliation.Comparison{fileComparison{s}, quotaComparison{s}}
}

// itemsOfFile is how many items a file counts as: it is opened, which may be a request to another server.
const itemsOfFile = 10

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

// fileComparison compares the rows of complete uploads with the files that are stored.
type fileComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (fileComparison) Name() string { return "files" }

// Compare is a reconciliation.Comparison's. A position is the last upload.
func (s fileComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	at, err := position(after)
	if err != nil {
		return step, err
	}
	most := max(1, limit/itemsOfFile)
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM uploads WHERE complete > 0 AND id > $1 ORDER BY id LIMIT $2`, at, most)
	list, err := sqldb.Column[id.Upload](rows, err)
	if err != nil {
		return step, err
	}
	for i, n := range list {
		what, err := s.fault(ctx, n)
		if err != nil && i > 0 { // the time of the step is over, perhaps: the next one begins here
			step.Next = list[i-1].String()
			return step, nil
		}
		if err != nil {
			return reconciliation.Step{}, err
		}
		step.Items++
		if what != "" {
			step.Differences = append(step.Differences, reconciliation.Difference{Subject: "upload " + n.String(), What: what})
		}
	}
	if len(list) == most {
		step.Next = list[len(list)-1].String()
	}
	return step, nil
}

// fault says what is wrong with the file of an upload; "" if nothing is, or if the upload is gone.
func (s fileComparison) fault(ctx context.Context, n id.Upload) (what string, err error) {
	u, err := s.get(ctx, n)
	if errors.Is(err, errNoUpload) || err == nil && u.complete == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	file, size, err := s.deps.Store.Open(ctx, blobKey(n, u.stored))
	switch {
	case errors.Is(err, blob.ErrNotFound):
		if _, err := s.get(ctx, n); errors.Is(err, errNoUpload) { // dropped meanwhile
			return "", nil
		} else if err != nil {
			return "", err
		}
		return "its file is missing", nil
	case err != nil:
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	if size != u.declared {
		return fmt.Sprintf("its file has %d bytes, and not %d", size, u.declared), nil
	}
	return "", nil
}

// Repair is a reconciliation.Comparison's. A file that is gone cannot be made again: the upload is dropped, so that clients are told that there is none, and the
// user's quota is free. Put a backup of the file in place before, if there is one.
func (s fileComparison) Repair(ctx context.Context, subject string) error {
	number, err := subjectID("upload", subject)
	if err != nil {
		return err
	}
	n := id.Upload(number)
	if what, err := s.fault(ctx, n); err != nil || what == "" {
		return err
	}
	if _, err := s.update(ctx, nil, `UPDATE uploads SET complete = -2 WHERE id = $1 AND complete > 0`, number); err != nil {
		return err
	}
	s.WakeSweep()
	return nil
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
				What: fmt.Sprintf("%d bytes and %d unfinished uploads are counted, and there are %d and %d", used, unfinished, sum, count)})
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
