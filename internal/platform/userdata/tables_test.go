package userdata_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// TestThingsAreErasedBeforeRows: as long as a step erases things, it is followed by one like it. After a failure no further thing is erased.
func TestThingsAreErasedBeforeRows(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	errBroken := errors.New("broken")
	for query, want := range map[string]struct {
		erased []uint64
		step   userdata.Step
		err    error
	}{
		`SELECT n FROM (SELECT 7 AS n UNION SELECT 5) AS two ORDER BY n`: {[]uint64{5, 7}, userdata.Step{Erased: 2}, nil},
		`SELECT 1 WHERE 1 = 2`: {nil, userdata.Step{Next: userdata.FirstTable}, nil},
		`SELECT n FROM (SELECT 3 AS n UNION SELECT 4 UNION SELECT 5) AS x ORDER BY n`: {[]uint64{3, 4}, userdata.Step{}, errBroken},
	} {
		var erased []uint64
		rows, err := db.Read().QueryContext(t.Context(), query)
		step, err := userdata.EraseFirst(rows, err, func(n uint64) error {
			erased = append(erased, n)
			if n == 4 {
				return errBroken
			}
			return nil
		})
		if !slices.Equal(erased, want.erased) || step != want.step || !errors.Is(err, want.err) {
			t.Errorf("%s: erased %v, %+v, %v; want %v, %+v, %v", query, erased, step, err, want.erased, want.step, want.err)
		}
	}
	rows, err := db.Read().QueryContext(t.Context(), `SELECT n FROM absent`)
	if step, err := userdata.EraseFirst(rows, err, func(uint64) error { return nil }); err == nil || step != (userdata.Step{}) {
		t.Errorf("a query that fails: %+v, %v", step, err)
	}
}
