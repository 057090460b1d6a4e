package timeline

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
)

// recordRetryInterval is the delay before an incomplete record is read again.
const recordRetryInterval = 20 * time.Millisecond

// FanoutRecordReader reads fan-out records.
type FanoutRecordReader interface {
	FanoutRecords(ctx context.Context, partition uint16, after uint64, limit int) ([]FanoutRecord, error)
}

// AwaitFanoutRecords returns fan-out records as Log.FanoutRecords does. It waits while the first one is incomplete.
func AwaitFanoutRecords(ctx context.Context, log FanoutRecordReader, partition uint16, after uint64, limit int) ([]FanoutRecord, error) {
	for {
		records, err := log.FanoutRecords(ctx, partition, after, limit)
		if !errors.Is(err, ErrRecordIncomplete) {
			return records, err
		}
		if err := backoff.Sleep(ctx, recordRetryInterval); err != nil {
			return nil, err
		}
	}
}

// maxPendingRecords is how many fan-out records FirstPendingFanout reads.
const maxPendingRecords = 1000

// FirstPendingFanout returns the first seq of a key, below end, that fan-out has not dispatched, or end. With a long backlog it returns 0.
func FirstPendingFanout(ctx context.Context, log Log, key Key, end uint64) (uint64, error) {
	at, err := log.Checkpoint(ctx, key.Partition())
	if err != nil {
		return 0, err
	}
	records, err := AwaitFanoutRecords(ctx, log, key.Partition(), at, maxPendingRecords)
	if err != nil || len(records) == maxPendingRecords {
		return 0, err
	}
	for _, r := range records {
		for _, ref := range r.Refs {
			if ref.Key == key {
				end = min(end, ref.From)
			}
		}
	}
	return end, nil
}
