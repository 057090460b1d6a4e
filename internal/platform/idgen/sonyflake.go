package idgen

import (
	"context"

	"github.com/rialto-im/rialto/sdk/go/ids"
)

// SonyflakeConfig configures a generator. Generators with the same name, on any nodes, never issue the same id.
type SonyflakeConfig struct {
	Name string // default "sonyflake"
}

// Sonyflake issues ids of 39 bits of time in units of 10 ms, 8 bits of sequence and 16 bits of machine: 25,600 ids a second on each of
// 65,536 machines, for 174 years.
type Sonyflake struct{ flake }

// NewSonyflake leases a machine number. It fails if the clock is before ids.Epoch or after the end of the ids' time.
func NewSonyflake(ctx context.Context, leases *Leases, c SonyflakeConfig) (*Sonyflake, error) {
	if c.Name == "" {
		c.Name = "sonyflake"
	}
	f, err := newFlake(ctx, leases, c.Name, ids.SonyflakeLayout())
	if err != nil {
		return nil, err
	}
	return &Sonyflake{f}, nil
}
