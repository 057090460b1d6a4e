package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/rialto-im/rialto/internal/idgen"
)

// generators of the rooms' records and messages, with numbers leased for this copy of the data directory, or for this node where
// the database is shared.
func (h *House) generators(ctx context.Context) (*idgen.Snowflake, *idgen.Messages, error) {
	own, file := h.config.Postgres == "", recordsFile
	if !own {
		file = lockFile
	}
	machine, err := fingerprint(h.dir.path, file)
	if err != nil {
		return nil, nil, fmt.Errorf("the data directory: %w", err)
	}
	h.leases, err = idgen.NewLeases(ctx, idgen.LeaseDeps{DB: h.db, Clock: h.clock, Logger: h.logger}, idgen.LeaseConfig{Machine: machine, Own: own})
	if err != nil {
		return nil, nil, err
	}
	ids, err := idgen.NewSnowflake(ctx, h.leases, idgen.SnowflakeConfig{})
	if err != nil {
		return nil, nil, err
	}
	messages, err := idgen.NewMessages(ctx, h.leases, idgen.MessagesConfig{})
	return ids, messages, err
}

// digest of what tells one machine, or one copy of a file, from another.
func digest(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s ", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
