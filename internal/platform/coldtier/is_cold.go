package coldtier

import (
	"context"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// IsCold reports whether an entry of a conversation has been moved to the cold tier, and has not expired there.
func (l *Log) IsCold(ctx context.Context, key timeline.Key, seq uint64) (bool, error) {
	s, err := l.span(ctx, key)
	return err == nil && !s.empty() && seq >= s.first && seq <= s.last, err
}
