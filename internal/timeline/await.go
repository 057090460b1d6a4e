package timeline

import (
	"context"
	"errors"
	"time"
)

// formingAgain after so long a record is asked for again whose entries are on their way.
const formingAgain = 20 * time.Millisecond

// Recorded is a log whose records can be read.
type Recorded interface {
	Records(ctx context.Context, partition uint16, after uint64, limit int) ([]Record, error)
}

// AwaitRecords gives records of a log as Log.Records does, and waits where they are forming.
func AwaitRecords(ctx context.Context, log Recorded, partition uint16, after uint64, limit int) ([]Record, error) {
	for {
		records, err := log.Records(ctx, partition, after, limit)
		if !errors.Is(err, ErrForming) {
			return records, err
		}
		select {
		case <-time.After(formingAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
