package idgen

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/errs"
)

// heartbeats tells how often each holder has renewed, by name.
type heartbeats map[string]int64

// renew counts a holder's beat up and reads all, of which those who are dead go. False: another has declared the holder dead. A
// holder that begins is entered.
func (c counters) renew(ctx context.Context, holder string, begins bool, dead func(other string, beat int64) bool) (all heartbeats, alive bool, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		alive = true
		statement := `UPDATE id_holders SET beat = beat + 1 WHERE holder = $1`
		if begins { // again, if the first time was stored and the answer lost
			statement = `INSERT INTO id_holders (holder, beat) VALUES ($1, 1) ON CONFLICT (holder) DO UPDATE SET beat = id_holders.beat + 1`
		}
		done, err := tx.ExecContext(ctx, statement, holder)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			alive = false
			return err
		}
		all, err = beats(ctx, tx)
		for other, beat := range all {
			if err == nil && other != holder && dead(other, beat) {
				delete(all, other)
				err = bury(ctx, tx, other)
			}
		}
		return err
	})
	return all, alive, err
}

// bury declares a holder dead: it cannot renew any more, and its sections are anybody's.
func bury(ctx context.Context, tx *sql.Tx, holder string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM id_holders WHERE holder = $1`, holder)
	return err
}

func beats(ctx context.Context, tx *sql.Tx) (heartbeats, error) {
	rows, err := tx.QueryContext(ctx, `SELECT holder, beat FROM id_holders`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := heartbeats{}
	for rows.Next() {
		var holder string
		var beat int64
		if err := rows.Scan(&holder, &beat); err != nil {
			return nil, err
		}
		all[holder] = beat
	}
	return all, rows.Err()
}

// release ends a holder: its sections are anybody's.
func (c counters) release(ctx context.Context, holder string) error {
	return c.db.Write(ctx, func(tx *sql.Tx) error { return bury(ctx, tx, holder) })
}

// owned is a section as a holder got it.
type owned struct {
	start, bound uint64 // numbers above start are the holder's, up to bound
	term         int64
	step         uint64
	lost         bool   // the holder was declared dead
	other        string // who has it, if it is not to be had
	beat         int64  // and that one's
}

// acquire gives a holder a section in a new term, with numbers above all that were ever given in it. A section of another goes
// over only if dead says so of that one; it is declared dead in the same transaction, so that it cannot renew any more.
func (c counters) acquire(ctx context.Context, tag string, section uint64, holder string, dead func(other string, beat int64) bool) (o owned, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		o = owned{}
		t, err := liveTag(ctx, tx, tag, SchemeSequence)
		if err != nil {
			return err
		}
		all, err := beats(ctx, tx)
		if err != nil {
			return err
		}
		if _, alive := all[holder]; !alive {
			o.lost = true
			return nil
		}
		var start int64
		var other string
		err = tx.QueryRowContext(ctx, `SELECT bound, term, holder FROM id_sections WHERE tag = $1 AND section = $2`, tag, int64(section)).Scan(&start, &o.term, &other)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if beat, alive := all[other]; alive && other != holder {
			if !dead(other, beat) {
				o.other, o.beat = other, beat
				return nil
			}
			if err := bury(ctx, tx, other); err != nil {
				return err
			}
		}
		o.start, o.step, o.term = max(uint64(start), t.Last), t.Step, o.term+1
		if o.start >= t.Maximum {
			return usedUp("a sequence of the tag " + tag + " has come to the tag's maximum, " + decimal(t.Maximum))
		}
		o.bound = min(o.start+o.step, t.Maximum)
		_, err = tx.ExecContext(ctx, `INSERT INTO id_sections (tag, section, bound, term, holder) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (tag, section) DO UPDATE SET bound = $3, term = $4, holder = $5`, tag, int64(section), int64(o.bound), o.term, holder)
		return err
	})
	return o, err
}

// raise stores a higher bound for a section, on condition that its term is still the caller's and its bound what the caller
// knows: old, or up to tried where answers were lost. It gives the bound that it tried, and whether the section is the caller's.
func (c counters) raise(ctx context.Context, tag string, section uint64, term int64, old, tried, need uint64) (next uint64, own bool, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		t, err := liveTag(ctx, tx, tag, SchemeSequence)
		if err != nil {
			return err
		}
		next = min(max(max(old, tried)+t.Step, need), max(t.Maximum, old, tried))
		if next < need {
			return usedUp("a sequence of the tag " + tag + " has come to the tag's maximum, " + decimal(t.Maximum))
		}
		done, err := tx.ExecContext(ctx, `UPDATE id_sections SET bound = $1 WHERE tag = $2 AND section = $3 AND term = $4 AND bound >= $5 AND bound <= $6`,
			int64(next), tag, int64(section), term, int64(old), int64(max(old, tried)))
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		own = n > 0
		return err
	})
	return next, own, err
}

// owner gives the holder of a section, "" if nobody has it.
func (c counters) owner(ctx context.Context, tag string, section uint64) (holder string, err error) {
	err = c.db.Read().QueryRowContext(ctx, `SELECT s.holder FROM id_sections s JOIN id_holders h ON h.holder = s.holder WHERE s.tag = $1 AND s.section = $2`,
		tag, int64(section)).Scan(&holder)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		err = errs.Wrap(errs.Unavailable, "ids_unavailable", noStore, err)
	}
	return holder, err
}
