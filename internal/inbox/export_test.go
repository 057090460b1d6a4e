package inbox

import (
	"context"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// Trim is one round of trimming, which else comes every hour.
func Trim(ctx context.Context, s *Service) error { return s.trim(ctx) }

// Confirmed is how far a user's stream was gone over, 0 for not at all.
func Confirmed(ctx context.Context, s *Service, u id.User) (at message.Position, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT coalesce(max(position), 0) FROM confirmed WHERE owner = $1`, int64(u)).Scan(&at)
	return at, err
}
