package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// ListImports returns at most limit of the conversations whose import has begun and not ended, behind one, by their ids.
func (s *Service) ListImports(ctx context.Context, after id.Conversation, limit int) ([]uint64, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM conversations WHERE importing AND id > $1 ORDER BY id LIMIT $2`, int64(after), limit)
	return sqldb.Column[uint64](rows, err)
}
