package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/platform/idgen"
)

// openGenerators opens the ID generators of records and messages. Their worker numbers are leased for this copy of the data directory, or
// for this node if the database is shared.
func (n *Node) openGenerators(ctx context.Context) (*idgen.Snowflake, *idgen.Messages, error) {
	own, file := !n.config.Clustered(), recordsFile
	if !own {
		file = lockFile
	}
	machine, err := fingerprint(n.dir.path, file)
	if err != nil {
		return nil, nil, fmt.Errorf("the data directory: %w", err)
	}
	n.leases, err = idgen.NewLeases(ctx, idgen.LeaseDeps{DB: n.db, Clock: n.clock, Logger: n.logger}, idgen.LeaseConfig{Machine: machine, Exclusive: own})
	if err != nil {
		return nil, nil, err
	}
	// In parallel, so that one commit stores both leases.
	var messages *idgen.Messages
	var merr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		messages, merr = idgen.NewMessages(ctx, n.leases, idgen.MessagesConfig{})
	}()
	ids, err := idgen.NewSnowflake(ctx, n.leases, idgen.SnowflakeConfig{})
	<-done
	return ids, messages, errors.Join(err, merr)
}

// digest hashes what distinguishes a machine, or a copy of a file, from another.
func digest(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s ", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
