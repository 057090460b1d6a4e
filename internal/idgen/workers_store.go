package idgen

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/sqldb"
)

// worker is a row: who has a number, and the time from which the next holder's ids may begin.
type worker struct {
	Slot    uint64
	Token   string // of the last write, drawn anew for each; "" when it was given back
	Machine string
	Term    int64 // counts writes; 0: there is no row
	Mark    int64 // milliseconds since 1970
}

// workers keeps rows.
type workers interface {
	// Pool makes a pool of so many numbers. One of another size is a fault: its numbers would mean other bits.
	Pool(ctx context.Context, name string, size uint64) error
	// List gives a pool's rows.
	List(ctx context.Context, pool string) ([]worker, error)
	// Get gives a row; one with term 0 where there is none.
	Get(ctx context.Context, pool string, slot uint64) (worker, error)
	// Put replaces old, and tells whether that was still what is stored.
	Put(ctx context.Context, pool string, old, next worker) (bool, error)
}

// rowStore keeps rows in the records' database.
type rowStore struct{ db *sqldb.DB }

func newStore(ctx context.Context, db *sqldb.DB) (*rowStore, error) {
	return &rowStore{db}, db.Migrate(ctx, "idgen_workers", []string{
		`CREATE TABLE idgen_pools (pool TEXT PRIMARY KEY, size BIGINT NOT NULL)`,
		`CREATE TABLE idgen_workers (pool TEXT NOT NULL, slot BIGINT NOT NULL, token TEXT NOT NULL, machine TEXT NOT NULL, term BIGINT NOT NULL,
			mark BIGINT NOT NULL, PRIMARY KEY (pool, slot))`,
	})
}

func (s *rowStore) Pool(ctx context.Context, name string, size uint64) error {
	var stored int64
	const read = `SELECT size FROM idgen_pools WHERE pool = $1`
	err := s.db.Read().QueryRowContext(ctx, read, name).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		err = s.db.Write(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO idgen_pools (pool, size) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, int64(size)); err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, read, name).Scan(&stored)
		})
	}
	if err != nil {
		return err
	}
	if stored != int64(size) {
		return fmt.Errorf("the worker numbers of %q were made for %d holders, not %d: ids of both would meet; choose another name, or the layout it was made for", name, stored, size)
	}
	return nil
}

const columns = `SELECT slot, token, machine, term, mark FROM idgen_workers WHERE pool = $1`

func (w *worker) scan(row interface{ Scan(dst ...any) error }) error {
	return row.Scan(&w.Slot, &w.Token, &w.Machine, &w.Term, &w.Mark)
}

func (s *rowStore) List(ctx context.Context, pool string) ([]worker, error) {
	rows, err := s.db.Read().QueryContext(ctx, columns, pool)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []worker
	for rows.Next() {
		var w worker
		if err := w.scan(rows); err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, rows.Err()
}

func (s *rowStore) Get(ctx context.Context, pool string, slot uint64) (worker, error) {
	w := worker{Slot: slot}
	err := w.scan(s.db.Read().QueryRowContext(ctx, columns+` AND slot = $2`, pool, int64(slot)))
	if errors.Is(err, sql.ErrNoRows) {
		return w, nil
	}
	return w, err
}

func (s *rowStore) Put(ctx context.Context, pool string, old, next worker) (ok bool, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		var done sql.Result
		var err error
		if old.Term == 0 {
			done, err = tx.ExecContext(ctx, `INSERT INTO idgen_workers (pool, slot, token, machine, term, mark) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
				pool, int64(next.Slot), next.Token, next.Machine, next.Term, next.Mark)
		} else {
			done, err = tx.ExecContext(ctx, `UPDATE idgen_workers SET token = $5, machine = $6, term = $7, mark = $8 WHERE pool = $1 AND slot = $2 AND term = $3 AND token = $4`,
				pool, int64(old.Slot), old.Term, old.Token, next.Token, next.Machine, next.Term, next.Mark)
		}
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		ok = n == 1
		return err
	})
	return ok && err == nil, err
}
