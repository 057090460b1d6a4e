package inbox

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Trim runs one round of the hourly trimming.
func Trim(ctx context.Context, s *Service) error { return s.trim(ctx) }

// Confirmed is the position up to which a user's stream was acknowledged and processed, 0 for none.
func Confirmed(ctx context.Context, s *Service, u id.User) (at message.Position, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT coalesce(max(position), 0) FROM confirmed WHERE owner = $1`, int64(u)).Scan(&at)
	return at, err
}
