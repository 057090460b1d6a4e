package app

import (
	"context"
	"log/slog"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/clock"
)

// Open opens the engines, makes the services, and starts them. The search index is in this process. The caller must Close the node.
func Open(ctx context.Context, c *config.Config, logger *slog.Logger) (*Node, error) {
	return OpenAt(ctx, c, logger, clock.System{})
}

// OpenAt is Open with a clock that a test moves.
func OpenAt(ctx context.Context, c *config.Config, logger *slog.Logger, now clock.Clock) (*Node, error) {
	return openNode(ctx, c, logger, now, nil)
}
