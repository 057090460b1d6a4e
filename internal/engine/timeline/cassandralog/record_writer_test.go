//go:build cluster

package cassandralog

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// putTail makes a bucket look as if it had records up to its tail.
func putTail(t testing.TB, l *Log, partition uint16, bucket, tail uint64) {
	t.Helper()
	b := l.batch(t.Context())
	b.Query(beginRecordTail, int64(tail), l.options.Store, int16(partition), int64(bucket))
	if applied, err := b.apply(); !applied {
		t.Fatal("the bucket has a tail", err)
	}
}

// A log that was idle while others filled buckets and processed them: its next record is above the checkpoint, whatever the log has
// cached; also if an earlier release deleted the buckets with their tails, and one was created again below the checkpoint.
func TestNoRecordIsBelowTheCheckpoint(t *testing.T) {
	const carried = 2*bucketRecords + 8
	first := uint64(bucketRecords + 1)
	for name, quiet := range map[string]struct {
		next, bucket, tail uint64 // what the log has cached
		whole              bool   // buckets were deleted with their tails
		anew               uint64 // the tail of the bucket that was created again
	}{
		"it knows nothing":                               {},
		"it knows the bucket":                            {bucket: 1},
		"it is about to begin the bucket":                {next: first, bucket: 1},
		"it is about to write into the bucket":           {next: first + 2, bucket: 1, tail: first + 1},
		"deleted whole: it knows nothing":                {whole: true},
		"deleted whole: it knows the bucket":             {bucket: 1, whole: true},
		"deleted whole: it is about to write into it":    {next: first + 2, bucket: 1, tail: first + 1, whole: true},
		"begun anew: it knows nothing":                   {whole: true, anew: first + 3},
		"begun anew: it knows the bucket":                {bucket: 1, whole: true, anew: first + 3},
		"begun anew: it is about to write where it ends": {next: first + 2, bucket: 1, tail: first + 1, whole: true, anew: first + 3},
	} {
		t.Run(name, func(t *testing.T) {
			logs, k, ctx := several(t, 2, options(0)), conversation(0), t.Context()
			l, p := logs[1], k.Partition()
			putTail(t, l, p, 0, bucketRecords)
			putTail(t, l, p, 1, 2*bucketRecords-1)
			others, doubt := newRecordWriter(l, p), uint64(0)
			for want := uint64(2 * bucketRecords); want <= carried; want++ {
				if seq, err := others.store(ctx, newStamp(), nil, &doubt); err != nil || seq != want {
					t.Fatalf("seq of the next record: got %d, %v, want %d", seq, err, want)
				}
			}
			must(t, l.Acquire(ctx, p, 1))
			must(t, l.PutCheckpoint(ctx, p, carried))
			if quiet.whole {
				for bucket := range int64(2) {
					must(t, l.query(ctx, `DELETE FROM records`+inBucket, l.options.Store, int16(p), bucket).Exec())
				}
			}
			if quiet.anew != 0 {
				putTail(t, l, p, 1, quiet.anew)
			}
			r := logs[0].recordWriters[p]
			r.next, r.bucket, r.tail = quiet.next, quiet.bucket, quiet.tail
			must(t, timelinetest.Append(logs[0], &timeline.AppendRequest{Key: k, Payload: []byte("x"), NeedsFanout: true}).Err)
			records, err := timeline.AwaitFanoutRecords(ctx, l, p, carried, 10)
			if got, want := fmt.Sprint(records), fmt.Sprintf("[{%d [{%v 1 1}]}]", carried+1, k); err != nil || got != want {
				t.Errorf("records: got %s, %v, want %s", got, err, want)
			}
			if rows, err := l.bucketRows(ctx, p, 1, 0, 10, true); err != nil || len(rows) != 0 {
				t.Errorf("records below the checkpoint: got %+v, %v, want none", rows, err)
			}
		})
	}
}

// Records below the checkpoint, which a release that deleted tails may have left, are found; and none in a correct store.
func TestRecordsBelowTheCheckpointAreFound(t *testing.T) {
	o := options(0)
	l, k, ctx := several(t, 1, o)[0], conversation(0), t.Context()
	view, err := OpenView(ctx, o)
	must(t, err)
	defer func() { must(t, view.Close()) }()
	p := k.Partition()
	must(t, l.Acquire(ctx, p, 1))
	for range 2 {
		must(t, timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("x"), NeedsFanout: true}).Err)
	}
	must(t, timelinetest.Append(several(t, 1, options(0))[0], &timeline.AppendRequest{Key: k, NeedsFanout: true}).Err) // of another store
	if left, err := view.SkippedRecords(ctx); err != nil || len(left) != 0 {
		t.Errorf("a correct store: got skipped records %+v, %v", left, err)
	}
	must(t, l.PutCheckpoint(ctx, p, bucketRecords)) // deletes the bucket
	for i := range uint64(2) {
		b := ref{k, 0, i, 0}
		b.stamp, err = l.stampAt(ctx, k, 0, i+1, true)
		must(t, err)
		b.stamp &^= 1
		must(t, l.query(ctx, insertRecord, o.Store, int16(p), int64(0), int64(i+1), int64(newStamp()), b.append(nil)).Exec())
	}
	left, err := view.SkippedRecords(ctx)
	want := fmt.Sprintf("[{%d %d {1 [{%v 1 1}]}} {%d %d {2 [{%v 2 2}]}}]", p, bucketRecords, k, p, bucketRecords, k)
	if got := fmt.Sprint(left); err != nil || got != want {
		t.Errorf("skipped records: got %s, %v, want %s", got, err, want)
	}
}

// watching calls a function after a statement, once.
type watching struct {
	after string
	do    func()
}

func (w *watching) ObserveQuery(_ context.Context, q gocql.ObservedQuery) {
	if q.Statement == w.after && w.do != nil {
		do := w.do
		w.do = nil
		do()
	}
}

// If the store becomes unavailable after the checkpoint was moved, the buckets below are deleted later.
func TestUndeletedBucketsAreDeletedLater(t *testing.T) {
	o, seen := options(0), &watching{after: moveCheckpoint}
	o.observer = seen
	l, ctx := several(t, 1, o)[0], t.Context()
	r, doubt := newRecordWriter(l, 0), uint64(0)
	for range 3 {
		if _, err := r.store(ctx, newStamp(), nil, &doubt); err != nil {
			t.Fatal(err)
		}
	}
	must(t, l.Acquire(ctx, 0, 1))
	some, end := context.WithCancel(ctx)
	seen.do = end
	if err := l.PutCheckpoint(some, 0, bucketRecords); err == nil {
		t.Fatal("PutCheckpoint succeeded without the store")
	}
	must(t, l.PutCheckpoint(ctx, 0, bucketRecords+1))
	if rows, err := l.bucketRows(ctx, 0, 0, 0, 10, true); err != nil || len(rows) != 0 {
		t.Errorf("records below the checkpoint: got %+v, %v, want none", rows, err)
	}
}

// A late checkpoint of the same term, below the stored one, changes nothing and is not an error.
func TestACheckpointDoesNotGoBack(t *testing.T) {
	logs, ctx := several(t, 2, options(0)), t.Context()
	must(t, logs[0].Acquire(ctx, 0, 1))
	for _, put := range []uint64{7, 7, 5, 0, 9} {
		must(t, logs[0].PutCheckpoint(ctx, 0, put))
		if at, err := logs[1].Checkpoint(ctx, 0); err != nil || at != max(put, 7) {
			t.Errorf("checkpoint after storing %d: got %d, %v", put, at, err)
		}
	}
	must(t, logs[1].Acquire(ctx, 0, 2))
	for _, put := range []uint64{8, 10} {
		if err := logs[0].PutCheckpoint(ctx, 0, put); err != timeline.ErrFenced {
			t.Errorf("after a late checkpoint: got %v, want no ErrFenced", err)
		}
	}
	must(t, logs[1].PutCheckpoint(ctx, 0, 10))
}

// Another log acquires the partition after a post has checked the term, and the inbox, which the new owner has not written, accepts the
// post. The poster must get an error, so that it notifies the readers who know the new owner.
func TestAPostOvertakenByAnotherOwnerFails(t *testing.T) {
	o, k, ctx := options(0), timeline.Key{Kind: timeline.Inbox, ID: 7}, t.Context()
	next := several(t, 1, o)[0]
	seen := &watching{after: selectPartition}
	o.observer = seen
	l := several(t, 1, o)[0]
	must(t, l.Acquire(ctx, k.Partition(), 1))
	must(t, l.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("before")}}))
	seen.do = func() { must(t, next.Acquire(ctx, k.Partition(), 2)) }
	if err := l.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("overtaken")}}); err != timeline.ErrFenced {
		t.Errorf("the overtaken post: got %v, want ErrFenced", err)
	}
	must(t, next.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("overtaken")}}))
	entries, err := next.Read(ctx, k, 0, 10)
	if err != nil || len(entries) != 3 || entries[2].Prev != entries[1].Seq { // stored twice: readers recognize it by its conversation and seq
		t.Errorf("entries: got %+v, %v", entries, err)
	}
}
