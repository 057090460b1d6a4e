//go:build cluster

package cassandralog

import (
	"errors"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// Cassandra refuses batches that change nothing but the state of a segment while the log is frozen, and accepts them before and afterwards.
func TestAFrozenLogKeepsItsStates(t *testing.T) {
	o := options(0)
	o.Keyspace, o.SegmentEntries = "frozen", 4
	l := open(t, o)
	defer func() { must(t, l.Close()) }()
	k, full := conversation(0), conversation(1)
	for range 3 {
		must(t, timelinetest.Append(l, &timeline.AppendRequest{Key: k}).Err)
	}
	for range 4 {
		must(t, timelinetest.Append(l, &timeline.AppendRequest{Key: full}).Err)
	}
	must(t, l.Expire(t.Context(), k, 2, []uint64{1}))

	f, err := OpenFrozen(t.Context(), o)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	_, err = f.Freeze(t.Context())
	must(t, err)
	before, err := l.readState(t.Context(), k, 0, true)
	must(t, err)
	sealed, err := l.newestSegment(t.Context(), full)
	if err != nil || !sealed.sealed {
		t.Fatalf("got %+v, %v, want a sealed segment", sealed, err)
	}
	if err := l.Expire(t.Context(), k, 3, []uint64{1, 2}); !errors.Is(err, timeline.ErrMoving) {
		t.Errorf("an expiry that keeps all entries: got %v", err)
	}
	if _, err := l.voidBatch(t.Context(), ref{key: k, base: 3, stamp: newStamp()}); !errors.Is(err, timeline.ErrMoving) {
		t.Errorf("a void: got %v", err)
	}
	if s, err := l.nextSegment(t.Context(), full, sealed); !errors.Is(err, timeline.ErrMoving) {
		t.Errorf("a new segment: got %+v, %v", s, err)
	}
	if after, err := l.readState(t.Context(), k, 0, true); err != nil || after != before {
		t.Errorf("the state is %+v, %v, and was %+v", after, err, before)
	}

	must(t, f.Retire(t.Context()))
	must(t, f.Retire(t.Context())) // a run after one that was stopped does so again
	must(t, f.Unfreeze(t.Context()))
	must(t, l.Expire(t.Context(), k, 3, []uint64{1, 2}))
	if tail, err := l.Tail(t.Context(), k); err != nil || tail.FirstSeq != 3 {
		t.Errorf("the tail is %+v, %v", tail, err)
	}
	entries, err := l.Get(t.Context(), []timeline.Ref{{Key: k, From: 1, To: 3}})
	if err != nil || len(entries) != 3 {
		t.Errorf("got %d entries, %v, want 3", len(entries), err)
	}
	must(t, timelinetest.Append(l, &timeline.AppendRequest{Key: full}).Err)
}

// A log is not retired if one of its columns has its name again, because a server could have written it. Then reads go on.
func TestOnlyAFrozenLogIsRetired(t *testing.T) {
	o := options(0)
	o.Keyspace = "retired"
	l := open(t, o)
	defer func() { must(t, l.Close()) }()
	k := conversation(0)
	must(t, timelinetest.Append(l, &timeline.AppendRequest{Key: k}).Err)
	f, err := OpenFrozen(t.Context(), o)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	refuses := func(about string) {
		t.Helper()
		if err := f.Retire(t.Context()); err == nil || !strings.Contains(err.Error(), "servers could write the timelines meanwhile") {
			t.Errorf("%s: Retire returned %v", about, err)
		}
		if tail, err := l.Tail(t.Context(), k); err != nil || tail.Seq != 1 {
			t.Errorf("%s: the tail is %+v, %v", about, tail, err)
		}
	}
	refuses("a log that was never frozen")
	for _, c := range frozenColumns {
		_, err := f.Freeze(t.Context())
		must(t, err)
		must(t, f.rename(t.Context(), []rename{newRename(c.table, c.to, c.column)}))
		refuses("a log of which " + c.table + " is not frozen")
	}
}
