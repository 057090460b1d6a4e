package job

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Quarantine stores the positions of entries that could not be dispatched because stored data is corrupt. They stay, for operators to
// see, until they are dispatched. All methods may be called from many goroutines.
type Quarantine struct {
	db    *sqldb.DB
	clock clock.Clock
}

// NewQuarantine creates its table if it is missing.
func NewQuarantine(ctx context.Context, db *sqldb.DB, now clock.Clock) (*Quarantine, error) {
	return &Quarantine{db, now}, db.Migrate(ctx, "quarantine", []string{
		`CREATE TABLE quarantine (partition BIGINT NOT NULL, conversation BIGINT NOT NULL, seq BIGINT NOT NULL, why TEXT NOT NULL, since_ms BIGINT NOT NULL,
			puts BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (partition, conversation, seq))`,
	})
}

// Put adds the position of a conversation's entry. It may be repeated.
func (a *Quarantine) Put(ctx context.Context, k timeline.Key, seq uint64, why string) error {
	return a.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO quarantine (partition, conversation, seq, why, since_ms) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (partition, conversation, seq) DO UPDATE SET why = $4, puts = quarantine.puts + 1`,
			int64(k.Partition()), int64(k.ID), int64(seq), why, a.clock.Now().UnixMilli())
		return err
	})
}

// List returns at most limit positions of a partition after a given one, by conversation and seq, and how often each was put again.
func (a *Quarantine) List(ctx context.Context, partition uint16, after timeline.Ref, limit int) (refs []timeline.Ref, puts []int64, err error) {
	rows, err := a.db.Read().QueryContext(ctx, `SELECT conversation, seq, puts FROM quarantine WHERE partition = $1 AND (conversation, seq) > ($2, $3) ORDER BY conversation, seq LIMIT $4`,
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

// Remove forgets a position, unless it was put again since it was listed.
func (a *Quarantine) Remove(ctx context.Context, k timeline.Key, seq uint64, puts int64) error {
	return a.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM quarantine WHERE partition = $1 AND conversation = $2 AND seq = $3 AND puts <= $4`, int64(k.Partition()), int64(k.ID), int64(seq), puts)
		return err
	})
}
