package pebblelog

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/timeline"
)

// deleteEvery so many carried records are dropped with one range tombstone.
const deleteEvery = 4096

func appendUvarint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// Records of a partition above a seq.
func (l *Log) Records(_ context.Context, partition uint16, above uint64, limit int) ([]timeline.Record, error) {
	s := l.shards[partition%shards]
	s.pendingMu.RLock()
	top, ok := s.pendingRecords[partition]
	if !ok {
		top = math.MaxUint64
	}
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: recordKey(nil, partition, above+1), UpperBound: recordKey(nil, partition+1, 0)})
	s.pendingMu.RUnlock()
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var records []timeline.Record
	for ok := it.First(); ok && len(records) < limit; ok = it.Next() {
		seq := binary.BigEndian.Uint64(it.Key()[3:])
		if seq > top {
			break
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, damage(err)
		}
		refs, err := decodeRefs(value)
		if err != nil {
			return nil, err
		}
		records = append(records, timeline.Record{Seq: seq, Refs: refs})
	}
	return records, damage(it.Error())
}

// Checkpoint of a partition.
func (l *Log) Checkpoint(_ context.Context, partition uint16) (uint64, error) {
	return l.getUvarint(checkpointKey(nil, partition))
}

// PutCheckpoint says how far a partition was carried, without a sync. On a full disk it is left out: what is carried again
// does no harm.
func (l *Log) PutCheckpoint(_ context.Context, partition uint16, record uint64) error {
	if l.full.Load() {
		return nil
	}
	state := &l.records[partition]
	state.mu.Lock()
	defer state.mu.Unlock()
	b := l.db.NewBatch()
	defer b.Close()
	err := b.Set(checkpointKey(nil, partition), appendUvarint(nil, record), nil)
	if err == nil && record >= state.deleted+deleteEvery {
		err = b.DeleteRange(recordKey(nil, partition, 0), recordKey(nil, partition, record+1), nil)
		state.deleted = record
	}
	l.loose.Store(true)
	return errors.Join(err, b.Commit(pebble.NoSync))
}
