package cassandralog

import (
	"context"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// View is a read-only log. It is not a snapshot, so concurrent changes by servers may be seen in part.
type View struct{ log *Log }

// OpenView connects to a cluster on which servers have run.
func OpenView(ctx context.Context, options Options) (*View, error) {
	options.defaults()
	options.view = true
	l := &Log{options: options, cache: newCache(cachedKeys)}
	session, _, err := connect(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("timelines in Cassandra: %w", err)
	}
	l.session = session
	var found, epoch int
	if err := l.query(ctx, selectMeta, options.Store).Scan(&found, &epoch); err != nil || found > format {
		session.Close()
		return nil, errors.Join(fmt.Errorf("timelines in Cassandra: the store %d has format %d, this rialto knows %d: has a server run there?", options.Store, found, format), err)
	}
	l.epoch = uint32(epoch)
	return &View{l}, nil
}

// Close disconnects.
func (v *View) Close() error {
	v.log.session.Close()
	return nil
}

// Keys returns keys of a kind, ascending.
func (v *View) Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error) {
	return v.log.Keys(ctx, kind, above, limit)
}

// Tail of a timeline.
func (v *View) Tail(ctx context.Context, k timeline.Key) (timeline.Tail, error) {
	return v.log.Tail(ctx, k)
}

// Read returns entries above after, ascending.
func (v *View) Read(ctx context.Context, k timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	return v.log.Read(ctx, k, after, limit)
}

// Get returns the entries of refs.
func (v *View) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	return v.log.Get(ctx, refs)
}

// Checkpoint of a partition.
func (v *View) Checkpoint(ctx context.Context, partition uint16) (uint64, error) {
	return v.log.Checkpoint(ctx, partition)
}

// FanoutRecords returns the records of a partition above a seq, without batches that are not stored.
func (v *View) FanoutRecords(ctx context.Context, partition uint16, after uint64, limit int) ([]timeline.FanoutRecord, error) {
	rows, err := v.log.recordRows(ctx, partition, after, limit)
	if err != nil {
		return nil, err
	}
	return v.records(ctx, rows)
}

// records looks up the entries of rows.
func (v *View) records(ctx context.Context, rows []recordRow) ([]timeline.FanoutRecord, error) {
	records := make([]timeline.FanoutRecord, len(rows))
	for i, row := range rows {
		records[i].Seq = row.seq
		for _, r := range row.refs {
			runs, _, err := v.log.findBatch(ctx, r, true)
			if err != nil {
				return nil, err
			}
			records[i].Refs = append(records[i].Refs, runs...)
		}
	}
	return records, nil
}

// SkippedRecord is a record with entries below its partition's checkpoint, which is never processed.
type SkippedRecord struct {
	Partition  uint16
	Checkpoint uint64
	timeline.FanoutRecord
}

// SkippedRecords returns the records that were never processed. A release that deleted tails could create a bucket again: such a bucket
// ends before its last seq, which no other bucket below the checkpoint does. A bucket that was filled again cannot be distinguished from
// one that was not deleted yet.
func (v *View) SkippedRecords(ctx context.Context) (left []SkippedRecord, err error) {
	type place struct {
		partition    uint16
		bucket, tail uint64
	}
	var short []place
	var store int32
	var partition int16
	var bucket, tail int64
	it := v.log.query(ctx, selectTails).Iter() // of all stores: one row for each 4,096 records that ever existed
	for it.Scan(&store, &partition, &bucket, &tail) {
		if store == v.log.options.Store && tail != 0 && uint64(tail) != bucketEnd(uint64(bucket)) {
			short = append(short, place{uint16(partition), uint64(bucket), uint64(tail)})
		}
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	for _, p := range short {
		checkpoint, err := v.Checkpoint(ctx, p.partition)
		if err != nil {
			return nil, err
		}
		if p.bucket >= bucketOf(checkpoint+1) {
			continue
		}
		rows, err := v.log.bucketRows(ctx, p.partition, p.bucket, 0, bucketRecords, true)
		if err != nil {
			return nil, err
		}
		records, err := v.records(ctx, rows)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if len(r.Refs) > 0 {
				left = append(left, SkippedRecord{p.partition, checkpoint, r})
			}
		}
	}
	return left, nil
}

// TokenSeqs returns the seqs stored for tokens, 0 if there is none.
func (v *View) TokenSeqs(ctx context.Context, tokens []timeline.TokenKey) ([]uint64, error) {
	seqs := make([]uint64, len(tokens))
	err := parallel(len(tokens), func(i int) error {
		t := &tokens[i]
		if t.Token.IsZero() {
			return nil
		}
		firsts, err := v.log.firsts(ctx, t.Key, false)
		if err != nil {
			return err
		}
		newest := uint64(len(firsts) - 1)
		seqs[i], err = v.log.tokenIn(ctx, t.Key, newest, tokenBytes(&t.Token), false)
		if err == nil && seqs[i] == 0 {
			seqs[i], err = v.log.tokenBefore(ctx, t.Key, newest, &t.Token)
		}
		return err
	})
	return seqs, err
}

// LatestByAuthors returns each author's latest entry, or the zero position.
func (v *View) LatestByAuthors(ctx context.Context, authors []timeline.AuthorKey) ([]timeline.Position, error) {
	places := make([]timeline.Position, len(authors))
	err := parallel(len(authors), func(i int) (err error) {
		places[i].Seq, places[i].Counted, err = v.log.LatestByAuthor(ctx, authors[i].Key, authors[i].Author)
		return err
	})
	return places, err
}

// HighestCounters of devices, 0 if there is none.
func (v *View) HighestCounters(ctx context.Context, devices []timeline.Device) ([]uint64, error) {
	counters := make([]uint64, len(devices))
	err := parallel(len(devices), func(i int) (err error) {
		counters[i], err = v.log.HighestCounter(ctx, devices[i].Sender, devices[i].Device)
		return err
	})
	return counters, err
}
