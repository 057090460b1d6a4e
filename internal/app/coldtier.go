package app

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/coldtier"
)

// openColdTier puts the cold tier below the log. It is there without chat.cold_after too: what was packed before stays readable.
func (n *Node) openColdTier(ctx context.Context) error {
	after, err := n.config.Chat.ColdAge()
	if err != nil {
		return err
	}
	n.cold, err = coldtier.New(ctx, coldtier.Deps{Hot: n.log, DB: n.db, Files: n.files, Clock: n.clock, Logger: n.logger, SingleNode: !n.config.Clustered(),
		OwnsPartition: n.ownsPartition, IsCoordinator: n.isCoordinator,
		Recalled: func(ctx context.Context, key timeline.Key, from, to uint64) ([]uint64, error) {
			return n.chat.Recalled(ctx, id.Conversation(key.ID), from, to)
		}}, coldtier.Config{After: after, MinEntries: n.config.Chat.ColdMinEntries})
	if err != nil {
		return err
	}
	n.log = n.cold.Log()
	return nil
}

// recalled makes the content of a recalled message leave the cold tier.
func (n *Node) recalled(ctx context.Context, tx *sql.Tx, c id.Conversation, seq uint64) error {
	return n.cold.Recalled(ctx, tx, timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, seq)
}

// erased makes the contents of erased messages leave the cold tier.
func (n *Node) erased(ctx context.Context, tx *sql.Tx, c id.Conversation, from, to uint64) error {
	return n.cold.Erased(ctx, tx, timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, from, to)
}

// registerColdMetrics registers the metrics of the cold tier.
func (n *Node) registerColdMetrics() {
	s := n.cold.Stats()
	telemetry.Count(n.registry, "cold_segments_total", "Segments of old messages that this node has packed.", func() float64 { return float64(s.Segments.Load()) })
	telemetry.Count(n.registry, "cold_entries_total", "Entries in these segments.", func() float64 { return float64(s.Entries.Load()) })
	telemetry.Count(n.registry, "cold_bytes_total", "Bytes of the files of these segments.", func() float64 { return float64(s.Bytes.Load()) })
	telemetry.Count(n.registry, "cold_rewritten_total", "Segments rewritten without what has expired or was recalled.", func() float64 { return float64(s.Rewritten.Load()) })
	telemetry.Count(n.registry, "cold_swept_total", "Files of the cold tier that were deleted because nobody reads them any more.", func() float64 { return float64(s.Swept.Load()) })
	telemetry.Count(n.registry, "cold_failed_total", "Conversations that could not be packed, and segments that could not be rewritten, because of an error.", func() float64 { return float64(s.Failed.Load()) })
	telemetry.Count(n.registry, "cold_corrupt_total", "Reads that needed a damaged or missing segment.", func() float64 { return float64(s.Corrupt.Load()) })
	telemetry.CountBy(n.registry, "cold_reads_total", "Blocks of segments that were read, by where they were found.", "from", "file", func() float64 { return float64(s.Reads.Load()) })
	telemetry.CountBy(n.registry, "cold_reads_total", "Blocks of segments that were read, by where they were found.", "from", "cache", func() float64 { return float64(s.CacheHits.Load()) })
	telemetry.Gauge(n.registry, "cold_lag_seconds", "How much older than chat.cold_after the oldest message was that the last round of packing left in a log.", func() float64 { return float64(s.LagSeconds.Load()) })
	telemetry.Gauge(n.registry, "cold_cache_bytes", "Bytes of segments in memory.", func() float64 { return float64(n.cold.CacheBytes()) })
}
