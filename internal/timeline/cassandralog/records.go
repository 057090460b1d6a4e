package cassandralog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/timeline"
)

// recordRow is a record as it is stored.
type recordRow struct {
	seq     uint64
	refs    []ref
	dropped []int64
}

// awaited is a record which names a batch that has not come. A partition has one at a time: who reads its records comes to the same.
type awaited struct {
	mu    sync.Mutex // guards all
	seq   uint64
	since time.Time // by this machine's own count: no two clocks are compared
}

// long tells whether a record has been awaited for so long.
func (a *awaited) long(seq uint64, enough time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seq == seq && time.Since(a.since) > enough
}

func (a *awaited) begin(seq uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seq != seq {
		a.seq, a.since = seq, time.Now()
	}
}

// Records of a partition above a seq, to the first that names a batch which is under way: it is timeline.ErrForming where that is the
// first of all. A batch that does not come in Options.VoidAfter, from when its record was first met here, is made impossible, and left out.
func (l *Log) Records(ctx context.Context, partition uint16, after uint64, limit int) (records []timeline.Record, err error) {
	rows, err := l.recordRows(ctx, partition, after, limit)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		void := i == 0 && l.awaited[partition].long(row.seq, l.options.VoidAfter)
		found := make([][]timeline.Ref, len(row.refs))
		missing := make([]bool, len(row.refs))
		err := eachOf(len(row.refs), func(i int) error {
			r := row.refs[i]
			if slices.Contains(row.dropped, int64(r.stamp)) {
				return nil
			}
			runs, there, err := l.batchOf(ctx, r, false)
			for err == nil && !there && void {
				var never bool
				if never, err = l.void(ctx, r); never || err != nil {
					return err
				}
				runs, there, err = l.batchOf(ctx, r, true)
			}
			found[i], missing[i] = runs, !there
			return err
		})
		if err != nil {
			return nil, err
		}
		if slices.Contains(missing, true) {
			if i > 0 {
				return records, nil
			}
			l.awaited[partition].begin(row.seq)
			return nil, timeline.ErrForming
		}
		records = append(records, timeline.Record{Seq: row.seq, Refs: slices.Concat(found...)})
	}
	return records, nil
}

// recordRows reads records in order, without a hole.
func (l *Log) recordRows(ctx context.Context, partition uint16, after uint64, limit int) (rows []recordRow, err error) {
	for len(rows) < limit {
		bucket := bucketOf(after + 1)
		most := min(limit-len(rows), int((bucket+1)*bucketRecords-after))
		part, err := l.bucketRows(ctx, partition, bucket, after, most, false)
		if err != nil {
			return nil, err
		}
		for i := range part {
			if part[i].seq != after+uint64(i)+1 { // one that comes before is half spread
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

// batchOf finds the entries of a record's batch; runs of those that are carried. Where it meets a batch half spread, it reads serially.
func (l *Log) batchOf(ctx context.Context, r ref, serial bool) (runs []timeline.Ref, there bool, err error) {
	var seq int64
	var known *int64
	at := r.base
	q := l.query(ctx, selectStamps, l.in(r.key, r.segment, int64(r.base))...).at(serial)
	q.PageSize(batchEntries)
	it := q.Iter()
	for it.Scan(&seq, &known) {
		if at++; !serial && !there && (uint64(seq) != at || known == nil) {
			if err := it.Close(); err != nil {
				return nil, false, err
			}
			return l.batchOf(ctx, r, true)
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

// void makes a record's batch impossible: it moves the version of the segment that the batch is for, and its count of voids, which
// the batch's log does not expect. False where the segment changed meanwhile: look again.
func (l *Log) void(ctx context.Context, r ref) (never bool, err error) {
	s, err := l.readState(ctx, r.key, r.segment, true)
	if err != nil {
		return false, err
	}
	if _, there, err := l.batchOf(ctx, r, true); err != nil || there {
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
	b := l.batch(ctx)
	l.move(b, r.key, &s, &after)
	applied, err := b.apply()
	if applied {
		l.options.Logger.Warn("a record was given up: its log stopped, or could not reach the store", "conversation", r.key.ID)
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

// Take makes this log the one that posts to the inboxes of a partition and moves its checkpoint. A post of an earlier one's that is
// under way may still come, to an inbox that this one has not written yet: before all that it writes there. The earlier one is told
// ErrTaken for it.
func (l *Log) Take(ctx context.Context, partition uint16) error {
	holder := newStamp()
	begun, err := l.query(ctx, beginPartition, l.options.Store, int16(partition)).repeatable().CAS()
	if err != nil {
		return err
	}
	term, record := uint64(0), uint64(0)
	for {
		if !begun {
			if term, _, record, err = l.readPartition(ctx, partition, true); err != nil {
				return err
			}
		}
		begun = false
		applied, err := l.query(ctx, takePartition, int64(term+1), int64(holder), l.options.Store, int16(partition), int64(term)).CAS()
		if err != nil {
			now, by, _, again := l.readPartition(ctx, partition, true)
			if again != nil {
				return errors.Join(err, again)
			}
			applied = by == holder && now == term+1
		}
		if applied {
			l.kept[partition].Store(bucketOf(record + 1))
			l.terms[partition].Store(term + 1)
			return nil
		}
	}
}

// PutCheckpoint says how far a partition was carried, and drops the records of buckets that lie below. It never moves back.
func (l *Log) PutCheckpoint(ctx context.Context, partition uint16, record uint64) error {
	term := l.terms[partition].Load()
	if term == 0 {
		return timeline.ErrTaken
	}
	// A try that is late, after another and what came after that, finds a greater one.
	q := l.query(ctx, moveCheckpoint, int64(record), l.options.Store, int16(partition), int64(term), int64(record)).repeatable()
	applied, found, err := q.compare()
	if err != nil {
		return err // it may have moved, which is as true
	}
	if now, ok := found["term"].(int64); !applied && (!ok || uint64(now) != term) {
		l.terms[partition].CompareAndSwap(term, 0)
		return timeline.ErrTaken
	}
	for bucket := l.kept[partition].Load(); bucket < bucketOf(record+1); bucket++ {
		if err := l.query(ctx, deleteBucket, l.options.Store, int16(partition), int64(bucket)).Exec(); err != nil {
			return err
		}
		l.kept[partition].Store(bucket + 1)
	}
	return nil
}
