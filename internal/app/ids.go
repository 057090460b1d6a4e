package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/idgen"
)

// generators of the rooms' records and messages, with numbers leased for this copy of the data directory, or for this node where
// the database is shared.
func (h *House) generators(ctx context.Context) (*idgen.Snowflake, *idgen.Messages, error) {
	own, file := !h.config.Clustered(), recordsFile
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
	// Side by side, so that their writes meet in a commit.
	var messages *idgen.Messages
	var merr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		messages, merr = idgen.NewMessages(ctx, h.leases, idgen.MessagesConfig{})
	}()
	ids, err := idgen.NewSnowflake(ctx, h.leases, idgen.SnowflakeConfig{})
	<-done
	return ids, messages, errors.Join(err, merr)
}

// digest of what tells one machine, or one copy of a file, from another.
func digest(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s ", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
