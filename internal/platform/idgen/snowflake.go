package idgen

import (
	"context"

	"github.com/rialto-im/rialto/sdk/go/ids"
)

// SnowflakeConfig configures a generator. Generators with the same name, on any nodes, never issue the same id.
type SnowflakeConfig struct {
	Name string // default "snowflake"
}

// Snowflake issues snowflake ids.
type Snowflake struct{ flake }

// NewSnowflake leases a worker id. It fails if the clock is before ids.Epoch or after the end of the ids' time.
func NewSnowflake(ctx context.Context, leases *Leases, c SnowflakeConfig) (*Snowflake, error) {
	if c.Name == "" {
		c.Name = "snowflake"
	}
	f, err := newFlake(ctx, leases, c.Name, ids.SnowflakeLayout())
	if err != nil {
		return nil, err
	}
	return &Snowflake{f}, nil
}
