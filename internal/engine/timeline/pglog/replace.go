package pglog

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Replace changes the payloads of a conversation's entries. PostgreSQL frees the old versions of rows with the next vacuum.
func (l *Log) Replace(ctx context.Context, k timeline.Key, entries []timeline.Entry) error {
	seqs, payloads := make([]int64, len(entries)), make([][]byte, len(entries))
	for i, e := range entries {
		seqs[i], payloads[i] = toBigint(e.Seq), e.Payload
		if payloads[i] == nil {
			payloads[i] = []byte{}
		}
	}
	err := l.withWriter(ctx, readTimeouts*l.options.Timeout, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, `UPDATE log_entries AS e SET payload = n.payload FROM unnest($2::BIGINT[], $3::BYTEA[]) AS n(seq, payload) WHERE e.id = $1 AND e.seq = n.seq`, rowID(k), seqs, payloads)
		return err
	})
	return l.readError(ctx, err)
}
