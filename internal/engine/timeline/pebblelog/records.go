package pebblelog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// deleteInterval is the number of processed records that one range tombstone deletes.
const deleteInterval = 4096

func appendUvarint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// findNextRecords finds each partition's next record number: after its newest record, or after its checkpoint if it has none.
func (l *Log) findNextRecords() (err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: checkpointKey(nil, 0), UpperBound: recordKey(nil, timeline.Partitions, 0)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for p := range uint16(timeline.Partitions) {
		at, checkpoint := uint64(0), checkpointKey(nil, p)
		if it.SeekGE(checkpoint) && bytes.Equal(it.Key(), checkpoint) {
			value, err := it.ValueAndErr()
			if err != nil {
				return corruption(err)
			}
			if at, err = uvarintOf(checkpoint, value); err != nil {
				return err
			}
		}
		if it.Error() != nil { // the next seek would clear it
			return corruption(it.Error())
		}
		if first := recordKey(nil, p, 0); it.SeekLT(recordKey(nil, p+1, 0)) && bytes.Compare(it.Key(), first) >= 0 {
			at = max(at, binary.BigEndian.Uint64(it.Key()[3:]))
		}
		if err := it.Error(); err != nil {
			return corruption(err)
		}
		l.records[p].next = at + 1
	}
	return nil
}

// FanoutRecords of a partition above a seq.
func (l *Log) FanoutRecords(_ context.Context, partition uint16, above uint64, limit int) ([]timeline.FanoutRecord, error) {
	s := l.committer
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
	var records []timeline.FanoutRecord
	for ok := it.First(); ok && len(records) < limit; ok = it.Next() {
		seq := binary.BigEndian.Uint64(it.Key()[3:])
		if seq > top {
			break
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, corruption(err)
		}
		refs, err := decodeRefs(value)
		if err != nil {
			return nil, err
		}
		records = append(records, timeline.FanoutRecord{Seq: seq, Refs: refs})
	}
	return records, corruption(it.Error())
}

// Checkpoint of a partition.
func (l *Log) Checkpoint(_ context.Context, partition uint16) (uint64, error) {
	return l.getUvarint(checkpointKey(nil, partition))
}

// PutCheckpoint stores the last processed record of a partition, without a sync. On a full disk it does nothing: processing records again
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
	if err == nil && record >= state.deleted+deleteInterval {
		err = b.DeleteRange(recordKey(nil, partition, 0), recordKey(nil, partition, record+1), nil)
		state.deleted = record
	}
	l.unsynced.Store(true)
	return errors.Join(err, b.Commit(pebble.NoSync))
}
