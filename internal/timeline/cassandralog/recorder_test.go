//go:build cluster

package cassandralog

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/timelinetest"
)

// putTail has a bucket be as if it had records to its tail.
func putTail(t testing.TB, l *Log, partition uint16, bucket, tail uint64) {
	t.Helper()
	b := l.batch(t.Context())
	b.Query(beginRecordTail, int64(tail), l.options.Store, int16(partition), int64(bucket))
	if applied, err := b.apply(); !applied {
		t.Fatal("the bucket has a tail", err)
	}
}

// TestNoRecordIsBelowTheCheckpoint: a log that was quiet while others filled buckets, and had them carried, has its next append carried,
// whatever it remembers of them; also where they were deleted with their tails, and one was begun anew below what is carried.
func TestNoRecordIsBelowTheCheckpoint(t *testing.T) {
	const carried = 2*bucketRecords + 8
	first := uint64(bucketRecords + 1)
	for name, quiet := range map[string]struct {
		next, bucket, tail uint64 // what it remembers
		whole              bool   // buckets were deleted with their tails
		anew               uint64 // the tail of the one that was begun again
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
			others, doubt := newRecorder(l, p), uint64(0)
			for want := uint64(2 * bucketRecords); want <= carried; want++ {
				if seq, err := others.store(ctx, newStamp(), nil, &doubt); err != nil || seq != want {
					t.Fatalf("%d, %v; want %d", seq, err, want)
				}
			}
			must(t, l.Take(ctx, p))
			must(t, l.PutCheckpoint(ctx, p, carried))
			if quiet.whole {
				for bucket := range int64(2) {
					must(t, l.query(ctx, `DELETE FROM records`+inBucket, l.options.Store, int16(p), bucket).Exec())
				}
			}
			if quiet.anew != 0 {
				putTail(t, l, p, 1, quiet.anew)
			}
			r := logs[0].recorders[p]
			r.next, r.bucket, r.tail = quiet.next, quiet.bucket, quiet.tail
			must(t, timelinetest.Append(logs[0], &timeline.Append{Key: k, Payload: []byte("x"), Carry: true}).Err)
			records, err := timeline.AwaitRecords(ctx, l, p, carried, 10)
			if got, want := fmt.Sprint(records), fmt.Sprintf("[{%d [{%v 1 1}]}]", carried+1, k); err != nil || got != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
			if rows, err := l.bucketRows(ctx, p, 1, 0, 10, true); err != nil || len(rows) != 0 {
				t.Errorf("below what is carried: %+v, %v", rows, err)
			}
		})
	}
}

// TestARecordLeftBehindIsFound, of which a release that deleted buckets with their tails left some; and none where all is well.
func TestARecordLeftBehindIsFound(t *testing.T) {
	o := options(0)
	l, k, ctx := several(t, 1, o)[0], conversation(0), t.Context()
	view, err := OpenView(ctx, o)
	must(t, err)
	defer func() { must(t, view.Close()) }()
	p := k.Partition()
	must(t, l.Take(ctx, p))
	for range 2 {
		must(t, timelinetest.Append(l, &timeline.Append{Key: k, Payload: []byte("x"), Carry: true}).Err)
	}
	must(t, timelinetest.Append(several(t, 1, options(0))[0], &timeline.Append{Key: k, Carry: true}).Err) // of another store
	if left, err := view.LeftBehind(ctx); err != nil || len(left) != 0 {
		t.Errorf("all is well: %+v, %v", left, err)
	}
	must(t, l.PutCheckpoint(ctx, p, bucketRecords)) // it deletes
	for i := range uint64(2) {
		b := ref{k, 0, i, 0}
		b.stamp, err = l.stampAt(ctx, k, 0, i+1, true)
		must(t, err)
		b.stamp &^= 1
		must(t, l.query(ctx, insertRecord, o.Store, int16(p), int64(0), int64(i+1), int64(newStamp()), b.append(nil)).Exec())
	}
	left, err := view.LeftBehind(ctx)
	want := fmt.Sprintf("[{%d %d {1 [{%v 1 1}]}} {%d %d {2 [{%v 2 2}]}}]", p, bucketRecords, k, p, bucketRecords, k)
	if got := fmt.Sprint(left); err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// watching does something after a statement, once.
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

// TestWhatCouldNotBeDroppedIsDroppedLater: the checkpoint had moved when the store went away.
func TestWhatCouldNotBeDroppedIsDroppedLater(t *testing.T) {
	o, seen := options(0), &watching{after: moveCheckpoint}
	o.observer = seen
	l, ctx := several(t, 1, o)[0], t.Context()
	r, doubt := newRecorder(l, 0), uint64(0)
	for range 3 {
		if _, err := r.store(ctx, newStamp(), nil, &doubt); err != nil {
			t.Fatal(err)
		}
	}
	must(t, l.Take(ctx, 0))
	some, end := context.WithCancel(ctx)
	seen.do = end
	if err := l.PutCheckpoint(some, 0, bucketRecords); err == nil {
		t.Fatal("the store was there")
	}
	must(t, l.PutCheckpoint(ctx, 0, bucketRecords+1))
	if rows, err := l.bucketRows(ctx, 0, 0, 0, 10, true); err != nil || len(rows) != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// TestACheckpointStaysWhereItIs: one that comes late, after a greater one of the same term, is no other log's; the partition goes on.
func TestACheckpointStaysWhereItIs(t *testing.T) {
	logs, ctx := several(t, 2, options(0)), t.Context()
	must(t, logs[0].Take(ctx, 0))
	for _, put := range []uint64{7, 7, 5, 0, 9} {
		must(t, logs[0].PutCheckpoint(ctx, 0, put))
		if at, err := logs[1].Checkpoint(ctx, 0); err != nil || at != max(put, 7) {
			t.Errorf("after %d it is %d, %v", put, at, err)
		}
	}
	must(t, logs[1].Take(ctx, 0))
	for _, put := range []uint64{8, 10} {
		if err := logs[0].PutCheckpoint(ctx, 0, put); err != timeline.ErrTaken {
			t.Errorf("another log has it: %v", err)
		}
	}
	must(t, logs[1].PutCheckpoint(ctx, 0, 10))
}

// TestAPostThatWasOvertakenIsNotSaidToBeDone: another log takes the partition after the look whether it is this one's, and the inbox, which
// that one has not written, takes the post. Who posts must know, so that those who were told of the move are told of the entry.
func TestAPostThatWasOvertakenIsNotSaidToBeDone(t *testing.T) {
	o, k, ctx := options(0), timeline.Key{Kind: timeline.Inbox, ID: 7}, t.Context()
	next := several(t, 1, o)[0]
	seen := &watching{after: selectPartition}
	o.observer = seen
	l := several(t, 1, o)[0]
	must(t, l.Take(ctx, k.Partition()))
	must(t, l.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("before")}}))
	seen.do = func() { must(t, next.Take(ctx, k.Partition())) }
	if err := l.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("overtaken")}}); err != timeline.ErrTaken {
		t.Errorf("%v", err)
	}
	must(t, next.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("overtaken")}}))
	entries, err := next.Read(ctx, k, 0, 10)
	if err != nil || len(entries) != 3 || entries[2].Prev != entries[1].Seq { // the same twice: who reads knows it by its conversation and seq
		t.Errorf("%+v, %v", entries, err)
	}
}
