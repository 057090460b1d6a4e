package job

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Aside keeps the places of entries that could not be carried since something stored is damaged: until they could be, for operators
// to see. All methods may be called from many goroutines.
type Aside struct {
	db    *sqldb.DB
	clock clock.Clock
}

// NewAside makes its table where it is missing.
func NewAside(ctx context.Context, db *sqldb.DB, now clock.Clock) (*Aside, error) {
	return &Aside{db, now}, db.Migrate(ctx, "aside", []string{
		`CREATE TABLE set_aside (partition BIGINT NOT NULL, conversation BIGINT NOT NULL, seq BIGINT NOT NULL, why TEXT NOT NULL, since_ms BIGINT NOT NULL,
			PRIMARY KEY (partition, conversation, seq))`,
		`ALTER TABLE set_aside ADD COLUMN puts BIGINT NOT NULL DEFAULT 0`,
	})
}

// Put keeps the place of a conversation's entry. It may be repeated.
func (a *Aside) Put(ctx context.Context, k timeline.Key, seq uint64, why string) error {
	return a.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO set_aside (partition, conversation, seq, why, since_ms) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (partition, conversation, seq) DO UPDATE SET why = $4, puts = set_aside.puts + 1`,
			int64(k.Partition()), int64(k.ID), int64(seq), why, a.clock.Now().UnixMilli())
		return err
	})
}

// List gives places of a partition by conversation and seq, and how often each was put again: the first ones after a place, at most limit.
func (a *Aside) List(ctx context.Context, partition uint16, after timeline.Ref, limit int) (refs []timeline.Ref, puts []int64, err error) {
	rows, err := a.db.Read().QueryContext(ctx, `SELECT conversation, seq, puts FROM set_aside WHERE partition = $1 AND (conversation, seq) > ($2, $3) ORDER BY conversation, seq LIMIT $4`,
		int64(partition), int64(after.Key.ID), int64(after.From), limit)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r := timeline.Ref{Key: timeline.Key{Kind: timeline.Conversation}}
		var n int64
		if err := rows.Scan(&r.Key.ID, &r.From, &n); err != nil {
			return nil, nil, err
		}
		r.To = r.From
		refs, puts = append(refs, r), append(puts, n)
	}
	return refs, puts, rows.Err()
}

// Drop forgets a place, unless it was put more often since it was listed.
func (a *Aside) Drop(ctx context.Context, k timeline.Key, seq uint64, puts int64) error {
	return a.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM set_aside WHERE partition = $1 AND conversation = $2 AND seq = $3 AND puts <= $4`, int64(k.Partition()), int64(k.ID), int64(seq), puts)
		return err
	})
}
