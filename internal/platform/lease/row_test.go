package lease_test

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/lease"
)

const table = lease.Table("test_leases")

func open(t *testing.T) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context(), "test", []string{table.Create()}); err != nil {
		t.Fatal(err)
	}
	return db
}

func write(t *testing.T, db *sqldb.DB, fn func(ctx context.Context, tx *sql.Tx) error) {
	t.Helper()
	if err := db.Write(t.Context(), func(tx *sql.Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

// A change is made only if the row is as the caller read it, in every column.
func TestARowChangesOnlyFromWhatWasRead(t *testing.T) {
	db, k := open(t), lease.Key{Kind: "k", Number: 1 << 40}
	stored := lease.Row{Holder: "a", Token: "x", Term: 5, Mark: 9}
	swap := func(old, next lease.Row) (made bool) {
		write(t, db, func(ctx context.Context, tx *sql.Tx) (err error) {
			made, err = table.Swap(ctx, tx, k, old, next)
			return err
		})
		return made
	}
	get := func() lease.Row {
		r, err := table.Get(t.Context(), db.Read(), k)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := get(); r != (lease.Row{}) {
		t.Errorf("before the first holder: %+v", r)
	}
	if swap(stored, stored) {
		t.Error("a missing row was changed")
	}
	if !swap(lease.Row{}, stored) || get() != stored {
		t.Errorf("the first holder has %+v", get())
	}
	for _, old := range []lease.Row{{}, {Token: "x", Term: 4, Mark: 9}, {Token: "x", Term: 6, Mark: 9}, {Token: "y", Term: 5, Mark: 9}, {Token: "x", Term: 5, Mark: 8}} {
		if swap(old, lease.Row{Holder: "b", Term: 7}) || get() != stored {
			t.Errorf("changed from %+v to %+v", old, get())
		}
	}
	next := lease.Row{Holder: "b", Term: 6, Mark: 1 << 50}
	if !swap(stored, next) || get() != next {
		t.Errorf("the second holder has %+v", get())
	}
}

// One call makes those changes whose rows are as they were read.
func TestManyRowsChangeAtOnce(t *testing.T) {
	db := open(t)
	key := func(n uint64) lease.Key { return lease.Key{Kind: "k", Number: n} }
	swap := func(changes ...lease.Change) (made []bool) {
		write(t, db, func(ctx context.Context, tx *sql.Tx) (err error) {
			made, err = table.SwapAll(ctx, tx, changes)
			return err
		})
		return made
	}
	a, b := lease.Row{Holder: "a", Term: 1}, lease.Row{Holder: "b", Term: 2, Mark: 3}
	if made := swap(); len(made) != 0 {
		t.Errorf("a swap of nothing returned %v, want nothing", made)
	}
	if made := swap(lease.Change{Key: key(1), New: a}, lease.Change{Key: key(2), New: a}, lease.Change{Key: key(3), Old: a, New: b}); !slices.Equal(made, []bool{true, true, false}) {
		t.Errorf("two new rows and one from a wrong state returned %v, want true, true, false", made)
	}
	other := lease.Key{Kind: "other", Number: 1}
	if made := swap(lease.Change{Key: key(1), New: b}, lease.Change{Key: key(2), Old: a, New: b}, lease.Change{Key: other, New: a}); !slices.Equal(made, []bool{false, true, true}) {
		t.Errorf("a row that exists, a right state and a row of another kind returned %v, want false, true, true", made)
	}
	list := func(kind string) map[lease.Key]lease.Row {
		rows, err := table.List(t.Context(), db.Read(), kind)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if got := list("k"); !maps.Equal(got, map[lease.Key]lease.Row{key(1): a, key(2): b}) {
		t.Errorf("the rows of the kind are %+v, want a and b", got)
	}
	write(t, db, func(ctx context.Context, tx *sql.Tx) error { return table.Release(ctx, tx, "a") })
	if got := list(""); !maps.Equal(got, map[lease.Key]lease.Row{key(1): {Term: 2}, key(2): b, other: {Term: 2}}) {
		t.Errorf("after the release: %+v", got)
	}
}
