package move

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
)

// rowRanges are the names of ranges that together contain all rows of timelines.
var rowRanges = []string{"conversations", "inboxes", "feeds", "tokens", "sums", "authors", "heads", "tails", "records"}

// sourceLog is the log that is moved. Nobody writes it during the move.
type sourceLog interface {
	Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error)
	Tail(ctx context.Context, key timeline.Key) (timeline.Tail, error)
	Read(ctx context.Context, key timeline.Key, after uint64, limit int) ([]timeline.Entry, error)
	Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error)
	HighestCounters(ctx context.Context, devices []timeline.Device) ([]uint64, error)
	FanoutRecords(ctx context.Context, partition uint16, after uint64, limit int) ([]timeline.FanoutRecord, error)
	Checkpoint(ctx context.Context, partition uint16) (uint64, error)
	// Count returns the number of rows of a range.
	Count(ctx context.Context, name string) (uint64, error)
	// Export passes the rows of a range to do, after a place that an earlier call passed to do; nil is the beginning. A place is valid until do returns.
	Export(ctx context.Context, name string, after []byte, do func(place []byte, rows []timeline.Row) error) error
	Close() error
}

// directoryLog is the log of a data directory.
type directoryLog struct{ *pebblelog.Log }

func (d directoryLog) Count(ctx context.Context, name string) (uint64, error) {
	p, err := rangeOf(name)
	if err != nil {
		return 0, err
	}
	return d.Log.Count(ctx, p)
}

func (d directoryLog) Export(ctx context.Context, name string, after []byte, do func(place []byte, rows []timeline.Row) error) error {
	p, err := rangeOf(name)
	if err != nil {
		return err
	}
	return d.Log.Export(ctx, p, after, do)
}

func rangeOf(name string) (pebblelog.RowRange, error) {
	for _, p := range pebblelog.RowRanges() {
		if p.Name == name {
			return p, nil
		}
	}
	return pebblelog.RowRange{}, fmt.Errorf("no range of rows is named %q", name)
}
