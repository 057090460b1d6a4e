package idgen

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/lease"
)

// workerLease is a row: the holder of a worker id, and the time at which the next holder's ids may begin.
type workerLease struct {
	Slot    uint64
	Token   string // of the last write, new for each write; "" after a release
	Machine string
	Term    int64 // counts writes; 0: there is no row
	Mark    int64 // milliseconds since 1970
}

// leaseStore stores the rows of leases.
type leaseStore interface {
	// Pool creates a pool of size worker ids. It fails if the pool exists with another size, because the worker ids would use other bits.
	Pool(ctx context.Context, name string, size uint64) error
	// List returns a pool's rows.
	List(ctx context.Context, pool string) ([]workerLease, error)
	// Get returns a row, with term 0 if it does not exist.
	Get(ctx context.Context, pool string, slot uint64) (workerLease, error)
	// Put replaces old, and reports whether old was still stored.
	Put(ctx context.Context, pool string, old, next workerLease) (bool, error)
}

// sqlLeaseStore stores leases in the SQL database.
type sqlLeaseStore struct{ db *sqldb.DB }

func newLeaseStore(ctx context.Context, db *sqldb.DB) (*sqlLeaseStore, error) {
	return &sqlLeaseStore{db}, db.Migrate(ctx, "idgen_workers", []string{
		`CREATE TABLE idgen_pools (pool TEXT PRIMARY KEY, size BIGINT NOT NULL)`,
		workers.Create(),
	})
}

func (s *sqlLeaseStore) Pool(ctx context.Context, name string, size uint64) error {
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

// workers is the table with the holders of worker ids, by pool. A mark is a time in milliseconds since 1970.
const workers = lease.Table("idgen_leases")

func workerLeaseOf(slot uint64, r lease.Row) workerLease {
	return workerLease{Slot: slot, Token: r.Token, Machine: r.Holder, Term: int64(r.Term), Mark: int64(r.Mark)}
}

func (w workerLease) row() lease.Row {
	return lease.Row{Holder: w.Machine, Token: w.Token, Term: uint64(w.Term), Mark: uint64(w.Mark)}
}

func (s *sqlLeaseStore) List(ctx context.Context, pool string) ([]workerLease, error) {
	rows, err := workers.List(ctx, s.db.Read(), pool)
	if err != nil {
		return nil, err
	}
	list := make([]workerLease, 0, len(rows))
	for k, r := range rows {
		list = append(list, workerLeaseOf(k.Number, r))
	}
	return list, nil
}

func (s *sqlLeaseStore) Get(ctx context.Context, pool string, slot uint64) (workerLease, error) {
	r, err := workers.Get(ctx, s.db.Read(), lease.Key{Kind: pool, Number: slot})
	return workerLeaseOf(slot, r), err
}

func (s *sqlLeaseStore) Put(ctx context.Context, pool string, old, next workerLease) (ok bool, err error) {
	// Allowed on a full disk: without ids nobody could log in.
	err = s.db.WriteOnFullDisk(ctx, func(tx *sql.Tx) (err error) {
		ok, err = workers.Swap(ctx, tx, lease.Key{Kind: pool, Number: old.Slot}, old.row(), next.row())
		return err
	})
	return ok && err == nil, err
}
