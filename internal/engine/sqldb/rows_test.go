package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// WriteInBatches continues until a batch is not full, and ends with the first error or with its context.
func TestBatchesEndWithOneThatIsNotFull(t *testing.T) { onBoth(t, testBatches) }

func testBatches(t *testing.T, place string) {
	db := open(t, place)
	defer db.Close()
	errBroken := errors.New("broken")
	ended, end := context.WithCancel(t.Context())
	end()
	for what, try := range map[string]struct {
		ctx  context.Context
		rows []int64 // of each batch; -1 fails
		runs int
		want error
	}{
		"no rows":           {t.Context(), []int64{0}, 1, nil},
		"full batches":      {t.Context(), []int64{3, 3, 2, 3}, 3, nil},
		"more than a batch": {t.Context(), []int64{4, 0, 3}, 2, nil},
		"an error":          {t.Context(), []int64{3, -1, 3}, 2, errBroken},
		"an ended context":  {ended, []int64{3}, 0, context.Canceled},
	} {
		var ran []*sql.Tx
		err := db.WriteInBatches(try.ctx, 3, func(tx *sql.Tx) (int64, error) {
			ran = append(ran, tx)
			rows := try.rows[len(ran)-1]
			if rows < 0 {
				return 0, errBroken
			}
			return rows, nil
		})
		if !errors.Is(err, try.want) || len(ran) != try.runs || slices.Contains(ran, nil) {
			t.Errorf("%s: %d transactions, %v; want %d, %v", what, len(ran), err, try.runs, try.want)
		}
	}
}

// Each batch is a transaction of its own: those before an error stay.
func TestBatchesBeforeAnErrorAreStored(t *testing.T) {
	db := open(t, t.TempDir()+"/a.db")
	defer db.Close()
	n := 0
	err := db.WriteInBatches(t.Context(), 1, func(tx *sql.Tx) (int64, error) {
		n++
		if _, err := tx.Exec(`INSERT INTO things (n) VALUES ($1)`, n); err != nil || n == 3 {
			return 0, errors.Join(err, sql.ErrTxDone)
		}
		return 1, nil
	})
	var stored int
	if err := db.Read().QueryRow(`SELECT COUNT(*) FROM things`).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, sql.ErrTxDone) || stored != 2 {
		t.Errorf("%d rows are stored after %v; want 2", stored, err)
	}
}

// Column returns the values in the order of the rows, and nothing of a query that fails or has a value of another type.
func TestColumns(t *testing.T) { onBoth(t, testColumns) }

func testColumns(t *testing.T, place string) {
	db := open(t, place)
	defer db.Close()
	for query, want := range map[string][]int64{
		`SELECT n FROM (SELECT 2 AS n UNION SELECT 1 UNION SELECT 3) AS three ORDER BY n DESC`: {3, 2, 1},
		`SELECT 1 WHERE 1 = 2`: nil,
	} {
		rows, err := db.Read().QueryContext(t.Context(), query)
		if list, err := sqldb.Column[int64](rows, err); err != nil || !slices.Equal(list, want) {
			t.Errorf("%s: %v, %v; want %v", query, list, err, want)
		}
	}
	for _, query := range []string{`SELECT n FROM absent`, `SELECT '1' UNION ALL SELECT 'two'`} {
		rows, err := db.Read().QueryContext(t.Context(), query)
		if list, err := sqldb.Column[int64](rows, err); err == nil || list != nil {
			t.Errorf("%s: %v, %v; want an error", query, list, err)
		}
	}
}
