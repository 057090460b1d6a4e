package inbox

import (
	"context"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// Trim is one round of trimming, which else comes every hour.
func Trim(ctx context.Context, s *Service) error { return s.trim(ctx) }

// Cursor that is stored of a device, 0 for none.
func Cursor(ctx context.Context, s *Service, c id.Caller) (at message.Position, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT coalesce(max(position), 0) FROM device_cursors WHERE owner = $1 AND device = $2`, int64(c.User), int64(c.Device)).Scan(&at)
	return at, err
}
