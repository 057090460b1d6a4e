package cassandralog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// recordRow is a stored fan-out record.
type recordRow struct {
	seq     uint64
	refs    []ref
	dropped []int64
}

// incompleteRecord is a record that names a batch which is not stored yet. A partition has one at a time, because all readers stop at the same one.
type incompleteRecord struct {
	mu    sync.Mutex // guards all
	seq   uint64
	since time.Time // by this machine's clock: no two clocks are compared
}

// waitedFor reports whether a record has been incomplete for longer than a duration.
func (a *incompleteRecord) waitedFor(seq uint64, enough time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seq == seq && time.Since(a.since) > enough
}

func (a *incompleteRecord) begin(seq uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seq != seq {
		a.seq, a.since = seq, time.Now()
	}
}

// FanoutRecords returns the records of a partition above a seq, up to the first incomplete one. It fails with timeline.ErrRecordIncomplete if the
// first record is incomplete. A batch that is not stored within Options.VoidAfter, from the first time that this log read its record, is
// voided and left out.
func (l *Log) FanoutRecords(ctx context.Context, partition uint16, after uint64, limit int) (records []timeline.FanoutRecord, err error) {
	rows, err := l.recordRows(ctx, partition, after, limit)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		void := i == 0 && l.incomplete[partition].waitedFor(row.seq, l.options.VoidAfter)
		refs, whole, err := row.resolve(ctx, l, void)
		switch {
		case err != nil:
			return nil, err
		case whole:
			records = append(records, timeline.FanoutRecord{Seq: row.seq, Refs: refs})
		case i > 0:
			return records, nil
		default:
			l.incomplete[partition].begin(row.seq)
			return nil, timeline.ErrRecordIncomplete
		}
	}
	return records, nil
}

// batchStore finds and voids the batches that records name.
type batchStore interface {
	findBatch(ctx context.Context, r ref, serial bool) (runs []timeline.Ref, there bool, err error)
	voidBatch(ctx context.Context, r ref) (never bool, err error)
}

// resolve returns the entries that a record names. whole is false if a batch is not stored yet. With void, it voids such a batch before it
// leaves it out, because the batch could otherwise be stored after the checkpoint has passed.
func (row *recordRow) resolve(ctx context.Context, stored batchStore, void bool) (refs []timeline.Ref, whole bool, err error) {
	found := make([][]timeline.Ref, len(row.refs))
	missing := make([]bool, len(row.refs))
	err = parallel(len(row.refs), func(i int) error {
		r := row.refs[i]
		if slices.Contains(row.dropped, int64(r.stamp)) {
			return nil
		}
		runs, there, err := stored.findBatch(ctx, r, false)
		for err == nil && !there && void {
			var never bool
			if never, err = stored.voidBatch(ctx, r); never || err != nil {
				return err
			}
			runs, there, err = stored.findBatch(ctx, r, true)
		}
		found[i], missing[i] = runs, !there
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return slices.Concat(found...), !slices.Contains(missing, true), nil
}

// recordRows reads records in order, without a gap.
func (l *Log) recordRows(ctx context.Context, partition uint16, after uint64, limit int) (rows []recordRow, err error) {
	for len(rows) < limit {
		bucket := bucketOf(after + 1)
		most := min(limit-len(rows), int((bucket+1)*bucketRecords-after))
		part, err := l.bucketRows(ctx, partition, bucket, after, most, false)
		if err != nil {
			return nil, err
		}
		for i := range part {
			if part[i].seq != after+uint64(i)+1 { // an earlier record is not on all replicas yet
				if part, err = l.bucketRows(ctx, partition, bucket, after, most, true); err != nil {
					return nil, err
				}
				break
			}
		}
		rows = append(rows, part...)
		if len(part) < most {
			return rows, nil
		}
		after = part[len(part)-1].seq
	}
	return rows, nil
}

func (l *Log) bucketRows(ctx context.Context, partition uint16, bucket, after uint64, limit int, serial bool) (rows []recordRow, err error) {
	var seq, stamp int64
	var refs []byte
	var dropped []int64
	it := l.query(ctx, selectRecords, l.options.Store, int16(partition), int64(bucket), int64(after), limit).at(serial).Iter()
	for it.Scan(&seq, &stamp, &refs, &dropped) {
		row := recordRow{seq: uint64(seq), dropped: dropped}
		if row.refs, err = decodeRefs(refs); err != nil {
			return nil, errors.Join(err, it.Close())
		}
		rows, refs, dropped = append(rows, row), nil, nil
	}
	return rows, it.Close()
}

// findBatch returns the entries of a record's batch that need fan-out, as ranges. It reads serially if the batch is not on all replicas yet.
func (l *Log) findBatch(ctx context.Context, r ref, serial bool) (runs []timeline.Ref, there bool, err error) {
	var seq int64
	var known *int64
	at := r.base
	q := l.query(ctx, selectStamps, l.segmentArgs(r.key, r.segment, int64(r.base))...).at(serial)
	q.PageSize(batchEntries)
	it := q.Iter()
	for it.Scan(&seq, &known) {
		if at++; !serial && !there && (uint64(seq) != at || known == nil) {
			if err := it.Close(); err != nil {
				return nil, false, err
			}
			return l.findBatch(ctx, r, true)
		}
		stamp := int64(0)
		if known != nil {
			stamp = *known
		}
		if uint64(stamp)&^1 != r.stamp {
			if there {
				break
			}
			continue
		}
		there = true
		if stamp&1 == 0 {
			continue
		}
		if n := len(runs) - 1; n >= 0 && runs[n].To+1 == uint64(seq) {
			runs[n].To++
		} else {
			runs = append(runs, timeline.Ref{Key: r.key, From: uint64(seq), To: uint64(seq)})
		}
	}
	return runs, there, it.Close()
}

// voidBatch prevents a record's batch from ever being stored: it increments the version of the segment and its count of voids, which the
// batch does not expect. It returns false if the segment changed meanwhile. Then read again.
func (l *Log) voidBatch(ctx context.Context, r ref) (never bool, err error) {
	s, err := l.readState(ctx, r.key, r.segment, true)
	if err != nil {
		return false, err
	}
	if _, there, err := l.findBatch(ctx, r, true); err != nil || there {
		return false, err
	}
	if s.sealed {
		return true, nil
	}
	after := s
	after.voids++
	if s.version == 0 {
		after.first = 1
	}
	applied, err := l.stateBatch(ctx, r.key, &s, &after).apply()
	if applied {
		l.options.Logger.Warn("the intent of a fan-out record was voided: its node stopped, or could not reach Cassandra", "conversation", r.key.ID)
	}
	return applied, err
}

// Checkpoint of a partition.
func (l *Log) Checkpoint(ctx context.Context, partition uint16) (uint64, error) {
	_, _, record, err := l.readPartition(ctx, partition, false)
	return record, err
}

func (l *Log) readPartition(ctx context.Context, partition uint16, serial bool) (term, holder, record uint64, err error) {
	var a, b, c int64
	err = l.query(ctx, selectPartition, l.options.Store, int16(partition)).at(serial).Scan(&a, &b, &c)
	return uint64(a), uint64(b), uint64(c), notFoundIsNone(err)
}

// Acquire makes this log the owner of a partition. A running post of the previous owner may still be stored in an inbox that this log has
// not written yet, before its own entries. The previous owner gets ErrFenced for it.
func (l *Log) Acquire(ctx context.Context, partition uint16, term uint64) error {
	if _, err := l.query(ctx, beginPartition, l.options.Store, int16(partition)).repeatable().CAS(); err != nil {
		return err
	}
	// A late retry finds this term or a later one.
	_, tried := l.query(ctx, takePartition, int64(term), int64(l.holder), l.options.Store, int16(partition), int64(term)).repeatable().CAS()
	now, by, record, err := l.readPartition(ctx, partition, true)
	switch {
	case err != nil:
		return errors.Join(tried, err)
	case now == term && by == l.holder:
		l.oldestBucket[partition].Store(bucketOf(record + 1))
		l.terms[partition].Store(term)
		return nil
	case now >= term:
		return &timeline.FencedError{Term: now}
	case tried == nil:
		return errTermFell
	}
	return tried
}

var errTermFell = errors.New("the term of a partition was stored and cannot be read: replicas of Cassandra have lost it")

// PutCheckpoint stores the last processed record of a partition and deletes the buckets below. It never moves back.
func (l *Log) PutCheckpoint(ctx context.Context, partition uint16, record uint64) error {
	term := l.terms[partition].Load()
	if term == 0 {
		return timeline.ErrFenced
	}
	// A late retry finds a greater checkpoint.
	q := l.query(ctx, moveCheckpoint, int64(record), l.options.Store, int16(partition), int64(term), int64(record)).repeatable()
	applied, found, err := q.compare()
	if err != nil {
		return err // it may be stored, which does no harm
	}
	if now, ok := found["term"].(int64); !applied && (!ok || uint64(now) != term) {
		l.terms[partition].CompareAndSwap(term, 0)
		return timeline.ErrFenced
	}
	for bucket := l.oldestBucket[partition].Load(); bucket < bucketOf(record+1); bucket++ {
		if err := l.query(ctx, deleteBucket, l.options.Store, int16(partition), int64(bucket)).Exec(); err != nil {
			return err
		}
		l.oldestBucket[partition].Store(bucket + 1)
	}
	return nil
}
