package cassandralog

import (
	"context"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/timeline"
)

// View is a log for looking only: it writes nothing. It is not of one moment, so what servers do meanwhile may be seen in parts.
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
	return &View{l}, nil
}

// Close disconnects.
func (v *View) Close() error {
	v.log.session.Close()
	return nil
}

// Keys gives keys of a kind, rising.
func (v *View) Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error) {
	return v.log.Keys(ctx, kind, above, limit)
}

// Tail of a timeline.
func (v *View) Tail(ctx context.Context, k timeline.Key) (timeline.Tail, error) {
	return v.log.Tail(ctx, k)
}

// Read gives entries above after, rising.
func (v *View) Read(ctx context.Context, k timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	return v.log.Read(ctx, k, after, limit)
}

// Get gives the entries of refs.
func (v *View) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	return v.log.Get(ctx, refs)
}

// Checkpoint of a partition.
func (v *View) Checkpoint(ctx context.Context, partition uint16) (uint64, error) {
	return v.log.Checkpoint(ctx, partition)
}

// Records of a partition above a seq; a batch that has not come is left out.
func (v *View) Records(ctx context.Context, partition uint16, after uint64, limit int) ([]timeline.Record, error) {
	rows, err := v.log.recordRows(ctx, partition, after, limit)
	if err != nil {
		return nil, err
	}
	return v.records(ctx, rows)
}

// records finds the entries of rows.
func (v *View) records(ctx context.Context, rows []recordRow) ([]timeline.Record, error) {
	records := make([]timeline.Record, len(rows))
	for i, row := range rows {
		records[i].Seq = row.seq
		for _, r := range row.refs {
			runs, _, err := v.log.batchOf(ctx, r, true)
			if err != nil {
				return nil, err
			}
			records[i].Refs = append(records[i].Refs, runs...)
		}
	}
	return records, nil
}

// Left is a record with entries that was stored below its partition's checkpoint, where nobody reads.
type Left struct {
	Partition  uint16
	Checkpoint uint64
	timeline.Record
}

// LeftBehind gives the records that were never carried. A release that deleted carried buckets with their tails could have them begun
// anew: such a one ends below its end, and none below the checkpoint does otherwise. One that was filled again looks like one that
// was not dropped yet.
func (v *View) LeftBehind(ctx context.Context) (left []Left, err error) {
	type place struct {
		partition    uint16
		bucket, tail uint64
	}
	var short []place
	var store int32
	var partition int16
	var bucket, tail int64
	it := v.log.query(ctx, selectTails).Iter() // of all stores: once for each 4,096 records that there ever were
	for it.Scan(&store, &partition, &bucket, &tail) {
		if store == v.log.options.Store && tail != 0 && uint64(tail) != endOf(uint64(bucket)) {
			short = append(short, place{uint16(partition), uint64(bucket), uint64(tail)})
		}
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	for _, p := range short {
		carried, err := v.Checkpoint(ctx, p.partition)
		if err != nil {
			return nil, err
		}
		if p.bucket >= bucketOf(carried+1) {
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
				left = append(left, Left{p.partition, carried, r})
			}
		}
	}
	return left, nil
}

// TokenSeqs gives the seqs that are stored for tokens, 0 for none.
func (v *View) TokenSeqs(ctx context.Context, tokens []timeline.Stored) ([]uint64, error) {
	seqs := make([]uint64, len(tokens))
	err := eachOf(len(tokens), func(i int) error {
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

// LastsBy gives each author's latest entry, the zero place for none.
func (v *View) LastsBy(ctx context.Context, authors []timeline.Writer) ([]timeline.Place, error) {
	places := make([]timeline.Place, len(authors))
	err := eachOf(len(authors), func(i int) (err error) {
		places[i].Seq, places[i].Counted, err = v.log.LastBy(ctx, authors[i].Key, authors[i].Author)
		return err
	})
	return places, err
}

// HighestCounters of devices, 0 for none.
func (v *View) HighestCounters(ctx context.Context, devices []timeline.Device) ([]uint64, error) {
	counters := make([]uint64, len(devices))
	err := eachOf(len(devices), func(i int) (err error) {
		counters[i], err = v.log.HighestCounter(ctx, devices[i].Sender, devices[i].Device)
		return err
	})
	return counters, err
}
