package idservice

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/platform/lease"
)

// sections is the table with the owners of sections, by tag. A mark is a section's bound.
const sections = lease.Table("id_section_leases")

// heartbeats is how often each holder has renewed, by name.
type heartbeats map[string]int64

// renew increments a holder's heartbeat, reads those of all holders, and deletes those in dead. It returns false if another node has
// declared the holder dead. A new holder is inserted.
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
		all, err = listHeartbeats(ctx, tx)
		for other, beat := range all {
			if err == nil && other != holder && dead(other, beat) {
				delete(all, other)
				err = expireHolder(ctx, tx, other)
			}
		}
		return err
	})
	return all, alive, err
}

// expireHolder declares a holder dead: it cannot renew any more, and other nodes may take its sections.
func expireHolder(ctx context.Context, tx *sql.Tx, holder string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM id_holders WHERE holder = $1`, holder)
	return err
}

func listHeartbeats(ctx context.Context, tx *sql.Tx) (heartbeats, error) {
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

// release ends a holder. Any node may acquire its sections.
func (c counters) release(ctx context.Context, holder string) error {
	return c.db.Write(ctx, func(tx *sql.Tx) error { return expireHolder(ctx, tx, holder) })
}

// acquiredSection is a section as a holder acquired it.
type acquiredSection struct {
	start, bound uint64 // the holder may issue numbers above start, up to bound
	term         uint64
	step         uint64
	expired      bool   // the holder was declared dead
	owner        string // the current holder, if the section cannot be acquired
	beat         int64  // the heartbeat of that holder
}

// acquire acquires a section for a holder in a new term, with numbers above all that were ever issued in it. It takes over another holder's
// section only if dead reports that holder; the same transaction declares it dead, so that it cannot renew any more.
func (c counters) acquire(ctx context.Context, tag string, section uint64, holder string, dead func(other string, beat int64) bool) (o acquiredSection, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		o = acquiredSection{}
		t, err := liveTag(ctx, tx, tag, SchemeSequence)
		if err != nil {
			return err
		}
		all, err := listHeartbeats(ctx, tx)
		if err != nil {
			return err
		}
		if _, alive := all[holder]; !alive {
			o.expired = true
			return nil
		}
		key := lease.Key{Kind: tag, Number: section}
		old, err := sections.Get(ctx, tx, key)
		if err != nil {
			return err
		}
		other := old.Holder
		if beat, alive := all[other]; alive && other != holder {
			if !dead(other, beat) {
				o.owner, o.beat = other, beat
				return nil
			}
			if err := expireHolder(ctx, tx, other); err != nil {
				return err
			}
		}
		o.start, o.step, o.term = max(old.Mark, t.Last), t.Step, old.Term+1
		if o.start >= t.Maximum {
			return errUsedUp("a sequence of the tag " + tag + " has come to the tag's maximum, " + decimal(t.Maximum))
		}
		o.bound = min(o.start+o.step, t.Maximum)
		acquired, err := sections.Swap(ctx, tx, key, old, lease.Row{Holder: holder, Term: o.term, Mark: o.bound})
		if err == nil && !acquired {
			err = errSectionChanged
		}
		return err
	})
	return o, err
}

// raise stores a higher bound for a section if its term is still the caller's and its bound is the one that the caller knows: old, or up to
// tried if answers were lost. It returns the bound that it tried, and whether the section is the caller's.
func (c counters) raise(ctx context.Context, tag string, section, term, old, tried, need uint64) (next uint64, own bool, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		t, err := liveTag(ctx, tx, tag, SchemeSequence)
		if err != nil {
			return err
		}
		next = min(max(max(old, tried)+t.Step, need), max(t.Maximum, old, tried))
		if next < need {
			return errUsedUp("a sequence of the tag " + tag + " has come to the tag's maximum, " + decimal(t.Maximum))
		}
		key := lease.Key{Kind: tag, Number: section}
		stored, err := sections.Get(ctx, tx, key)
		if err != nil || stored.Term != term || stored.Mark < old || stored.Mark > max(old, tried) {
			own = false
			return err
		}
		raised := stored
		raised.Mark = next
		own, err = sections.Swap(ctx, tx, key, stored, raised)
		return err
	})
	return next, own, err
}

// errSectionChanged cannot happen: a transaction that has read a row is serialized with those that change it.
var errSectionChanged = errors.New("a section changed during its acquisition")
