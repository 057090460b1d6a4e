package idservice

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// layout of a store of multi-primary ids. It issues the numbers with remainder place modulo stride that are above a number and at most the
// ceiling. A stride of 0 means that it is not set up. With a ceiling that is not above that number, it issues nothing.
type layout struct {
	generation    int64
	place, stride uint64
	above         uint64
	ceiling       uint64
}

// retired is the layout of a database that has left multi-primary ids to other stores permanently.
var retired = layout{generation: 1, stride: 1, above: maxNumber, ceiling: maxNumber}

func readLayout(r row) (l layout, err error) {
	var place, stride, above, ceiling int64
	err = r.Scan(&l.generation, &place, &stride, &above, &ceiling)
	if errors.Is(err, sql.ErrNoRows) {
		return layout{}, nil
	}
	l.place, l.stride, l.above, l.ceiling = uint64(place), uint64(stride), uint64(above), uint64(ceiling)
	return l, err
}

const layoutColumns = `generation, place, stride, above, ceiling`

func (c counters) layout(ctx context.Context) (layout, error) {
	return readLayout(c.db.Read().QueryRowContext(ctx, `SELECT `+layoutColumns+` FROM id_primary WHERE one = 0`))
}

// initLayout stores a store's first layout, or returns the layout that it already has.
func (c counters) initLayout(ctx context.Context, l layout) (stored layout, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO id_primary (one, `+layoutColumns+`) VALUES (0, $1, $2, $3, $4, $5) ON CONFLICT (one) DO NOTHING`,
			l.generation, int64(l.place), int64(l.stride), int64(l.above), int64(l.ceiling))
		if err != nil {
			return err
		}
		stored, err = readLayout(tx.QueryRowContext(ctx, `SELECT `+layoutColumns+` FROM id_primary WHERE one = 0`))
		return err
	})
	return stored, err
}

// changeLayout changes a store's layout from one to another. If the stored layout is neither, or numbers beyond a ceiling were already
// issued, the error is a Conflict.
func (c counters) changeLayout(ctx context.Context, from, to layout) error {
	return c.db.Write(ctx, func(tx *sql.Tx) error {
		is, err := readLayout(tx.QueryRowContext(ctx, `SELECT `+layoutColumns+` FROM id_primary WHERE one = 0`))
		if err != nil || is == to {
			return err
		}
		last, err := lastPlace(ctx, tx)
		if err != nil {
			return err
		}
		if is != from || last > to.ceiling {
			return errs.New(errs.Conflict, "growing", "the stores of multi-primary ids changed meanwhile; grow them again")
		}
		_, err = tx.ExecContext(ctx, `UPDATE id_primary SET generation = $1, place = $2, stride = $3, above = $4, ceiling = $5 WHERE one = 0`,
			to.generation, int64(to.place), int64(to.stride), int64(to.above), int64(to.ceiling))
		return err
	})
}

// lastPlace is the highest number that a store has issued for any tag.
func lastPlace(ctx context.Context, tx *sql.Tx) (uint64, error) {
	var last int64
	err := tx.QueryRowContext(ctx, `SELECT coalesce(max(last), 0) FROM id_primary_tags`).Scan(&last)
	return uint64(last), err
}

func (c counters) highest(ctx context.Context) (last uint64, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		last, err = lastPlace(ctx, tx)
		return err
	})
	return last, err
}

var errElsewhere = errs.New(errs.Unavailable, "primaries_elsewhere", "multi-primary ids come from the databases that ids.primaries of the servers names; ask a server that has this setting")

// retire makes a store issue no more numbers, unless it has issued some, which others would repeat.
func (c counters) retire(ctx context.Context) error {
	return c.db.Write(ctx, func(tx *sql.Tx) error {
		last, err := lastPlace(ctx, tx)
		if err != nil {
			return err
		}
		if last > 0 {
			return errs.New(errs.Invalid, "bad_config", "the main database has issued multi-primary ids already, and other databases would repeat them: add those with rialto id grow, and include the main database in ids.primaries")
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO id_primary (one, `+layoutColumns+`) VALUES (0, $1, $2, $3, $4, $5)
			ON CONFLICT (one) DO UPDATE SET generation = $1, place = $2, stride = $3, above = $4, ceiling = $5`,
			retired.generation, int64(retired.place), int64(retired.stride), int64(retired.above), int64(retired.ceiling))
		return err
	})
}

// reserveStride reserves n numbers of a tag above a number: from, from+stride and so on.
func (c counters) reserveStride(ctx context.Context, tag string, n, above uint64) (from, stride uint64, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		l, err := readLayout(tx.QueryRowContext(ctx, `SELECT `+layoutColumns+` FROM id_primary WHERE one = 0`))
		if err != nil {
			return err
		}
		if l == retired {
			return errElsewhere
		}
		if l.ceiling == l.above {
			return errs.New(errs.Unavailable, "ids_unavailable", "this store is not set up for multi-primary ids; add it by growing the set")
		}
		var last int64
		err = tx.QueryRowContext(ctx, `SELECT last FROM id_primary_tags WHERE tag = $1`, tag).Scan(&last)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		base := max(uint64(last), l.above, above) + 1
		from, stride = base+(l.place+l.stride-base%l.stride)%l.stride, l.stride
		if end := from + (n-1)*stride; end > l.ceiling {
			return errs.New(errs.Unavailable, "ids_unavailable", "this store waits for its set to be grown")
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO id_primary_tags (tag, last) VALUES ($1, $2) ON CONFLICT (tag) DO UPDATE SET last = $2`, tag, int64(from+(n-1)*stride))
		return err
	})
	return from, stride, err
}
