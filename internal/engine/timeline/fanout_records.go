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
