//go:build cluster

package cassandralog

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/cassandralog/cassandratest"
	"github.com/rialto-im/rialto/internal/timeline/timelinetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestManyOpenAnEmptyClusterAtOnce, as the nodes of a new deployment do.
func TestManyOpenAnEmptyClusterAtOnce(t *testing.T) {
	o := options(0)
	o.Keyspace = "fresh"
	logs := make([]*Log, 3)
	must(t, eachOf(len(logs), func(i int) (err error) {
		logs[i], err = Open(t.Context(), o)
		return err
	}))
	must(t, eachOf(len(logs), func(i int) error {
		return timelinetest.Append(logs[i], &timeline.Append{Key: conversation(0), Carry: true}).Err
	}))
	for _, l := range logs {
		if tail, err := l.Tail(t.Context(), conversation(0)); err != nil || tail.Seq != 3 {
			t.Errorf("%+v, %v", tail, err)
		}
		must(t, l.Close())
	}
}

// TestATokenOutlivesItsSegment: a retry through another log, many segments later, finds what was stored, also without a counter; and
// so do the author's latest and the device's highest counter.
func TestATokenOutlivesItsSegment(t *testing.T) {
	o := options(0)
	o.SegmentEntries = 2
	logs, k := several(t, 2, o), conversation(0)
	tokens := []timeline.Token{{Sender: 3, Device: 4, Counter: 9}, {Sum: [16]byte{1}}, {Sender: 3, Device: 4, Counter: 10}}
	for i, token := range tokens {
		must(t, timelinetest.Append(logs[0], &timeline.Append{Key: k, Payload: fmt.Append(nil, i), Token: token, Author: 3, Counts: true}).Err)
	}
	for n := range 9 {
		must(t, timelinetest.Append(logs[n%2], &timeline.Append{Key: k, Token: timeline.Token{Sender: 5, Device: 6, Counter: uint64(n + 1)}}).Err)
	}
	for _, l := range logs {
		for i, token := range tokens {
			a := timelinetest.Append(l, &timeline.Append{Key: k, Payload: []byte("again"), Token: token})
			if a.Err != nil || !a.Duplicate || a.Seq != uint64(i+1) || string(a.Stored) != fmt.Sprint(i) || a.Counted != a.Seq {
				t.Errorf("the retry of %d: %+v", i, a)
			}
		}
		if seq, counted, err := l.LastBy(t.Context(), k, 3); err != nil || seq != 3 || counted != 3 {
			t.Errorf("the last by 3: %d %d %v", seq, counted, err)
		}
		if n, err := l.HighestCounter(t.Context(), 3, 4); err != nil || n != 10 {
			t.Errorf("the highest counter: %d %v", n, err)
		}
		if tail, err := l.Tail(t.Context(), k); err != nil || tail.Seq != 12 {
			t.Errorf("%+v %v", tail, err)
		}
	}
}

// TestARecordWithoutItsEntries is what a node leaves that stops between the record and the append: it is given up, those after it
// are carried, and the append, when it comes after all, comes under another record, once.
func TestARecordWithoutItsEntries(t *testing.T) {
	logs := several(t, 2, options(0))
	for i, before := range []int{0, 1} { // in a conversation without a segment, and in one with
		k := timeline.Key{Kind: timeline.Conversation, ID: uint64(100 + i)}
		for range before {
			must(t, timelinetest.Append(logs[1], &timeline.Append{Key: k}).Err)
		}
		a := &timeline.Append{Key: k, Payload: []byte("late"), Carry: true}
		f := newForming(logs[0], k, []*timeline.Append{a})
		must(t, f.refresh(t.Context()))
		must(t, f.prepare(t.Context(), f.open)) // and there it stops
		first := f.claim.record.seq

		must(t, timelinetest.Append(logs[1], &timeline.Append{Key: k, Payload: []byte("after"), Carry: true}).Err)
		records, err := timeline.AwaitRecords(t.Context(), logs[1], k.Partition(), first-1, 10)
		if err != nil || len(records) == 0 || records[0].Seq != first || len(records[0].Refs) != 0 {
			t.Fatalf("%+v, %v", records, err)
		}
		must(t, f.store(t.Context())) // it comes after all
		if a.Seq != uint64(before)+2 {
			t.Errorf("%+v", a)
		}
		records, err = timeline.AwaitRecords(t.Context(), logs[1], k.Partition(), first-1, 10)
		want := fmt.Sprintf("[{%d []} {%d [{%v 1 1}]} {%d [{%v 2 2}]}]", first, first+1, k, first+2, k)
		if before == 1 {
			want = strings.ReplaceAll(strings.ReplaceAll(want, " 2 2}", " 3 3}"), " 1 1}", " 2 2}")
		}
		if got := fmt.Sprint(records); err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// TestRecordsAreInOrder: an append that was overtaken, between its record and itself, by another log's comes under a record above the
// other's: who carries records in order carries entries in order.
func TestRecordsAreInOrder(t *testing.T) {
	logs := several(t, 2, options(0))
	k := conversation(0)
	must(t, timelinetest.Append(logs[1], &timeline.Append{Key: k, Payload: []byte("first"), Carry: true}).Err)
	a := &timeline.Append{Key: k, Payload: []byte("overtaken"), Carry: true}
	f := newForming(logs[0], k, []*timeline.Append{a})
	must(t, f.refresh(t.Context()))
	must(t, f.prepare(t.Context(), f.open))
	must(t, timelinetest.Append(logs[1], &timeline.Append{Key: k, Payload: []byte("quick"), Carry: true}).Err)
	must(t, f.store(t.Context()))
	records, err := timeline.AwaitRecords(t.Context(), logs[1], k.Partition(), 0, 10)
	want := fmt.Sprintf("[{1 [{%v 1 1}]} {2 []} {3 [{%v 2 2}]} {4 [{%v 3 3}]}]", k, k, k)
	if got := fmt.Sprint(records); err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// TestAnOutcomeThatNobodyTold: the batch was applied and its answer lost. It is found by its stamp, also where others have appended
// since, and appended again where it was not applied.
func TestAnOutcomeThatNobodyTold(t *testing.T) {
	logs := several(t, 2, options(0))
	k := conversation(0)
	for i, applied := range []bool{true, false, true} {
		a := &timeline.Append{Key: k, Payload: fmt.Append(nil, i), Carry: true} // without a token
		f := newForming(logs[0], k, []*timeline.Append{a})
		must(t, f.refresh(t.Context()))
		if applied {
			must(t, f.step(t.Context()))
			want := f.state.tail.Seq
			must(t, timelinetest.Append(logs[1], &timeline.Append{Key: k, Payload: []byte("other")}).Err)
			// As before its answer came.
			before := f.state
			before.tail.Seq--
			f.open, f.carried, f.used, f.attempt = []*timeline.Append{a}, nil, false, &attempt{accepted: []*timeline.Append{a}, before: before, after: f.state}
			must(t, f.store(t.Context()))
			if a.Seq != want || len(f.carried) != 1 {
				t.Errorf("%+v is not at %d", a, want)
			}
			continue
		}
		a.Seq = f.state.tail.Seq + 1
		f.attempt = &attempt{accepted: []*timeline.Append{a}, before: f.state, after: f.state}
		must(t, timelinetest.Append(logs[1], &timeline.Append{Key: k, Payload: []byte("other")}).Err)
		must(t, f.store(t.Context()))
	}
	entries, err := logs[1].Read(t.Context(), k, 0, 100)
	must(t, err)
	var texts []string
	for _, e := range entries {
		texts = append(texts, string(e.Payload))
	}
	if got := strings.Join(texts, " "); got != "0 other other 1 2 other" {
		t.Error(got)
	}
}

// TestAPartitionIsTaken: who took it last posts, the other is refused, and each inbox is one chain.
func TestAPartitionIsTaken(t *testing.T) {
	o := options(0)
	o.SegmentEntries = 4
	logs, k := several(t, 2, o), timeline.Key{Kind: timeline.Inbox, ID: 7}
	p, n := k.Partition(), 0
	post := func(l *Log) error {
		n++
		return l.Post(t.Context(), []timeline.Post{{Key: k, Payload: fmt.Append(nil, n)}})
	}
	if err := post(logs[0]); err != timeline.ErrTaken {
		t.Errorf("nobody took it: %v", err)
	}
	for round := range 6 {
		mine, other := logs[round%2], logs[1-round%2]
		must(t, mine.Take(t.Context(), p))
		must(t, post(mine))
		if err := post(other); err != timeline.ErrTaken {
			t.Errorf("round %d: %v", round, err)
		}
		if err := other.PutCheckpoint(t.Context(), p, 99); err != timeline.ErrTaken {
			t.Errorf("round %d: %v", round, err)
		}
		must(t, post(mine))
		must(t, mine.PutCheckpoint(t.Context(), p, uint64(round)))
	}
	// One that is overtaken between its look and its write fails by the inbox' own term.
	must(t, logs[0].Take(t.Context(), p))
	late := logs[0].terms[p].Load()
	must(t, logs[1].Take(t.Context(), p))
	must(t, post(logs[1]))
	logs[0].terms[p].Store(late)
	if err := logs[0].post(t.Context(), k, []*timeline.Post{{Key: k}}); err != timeline.ErrTaken {
		t.Errorf("late: %v", err)
	}
	entries, err := logs[0].Read(t.Context(), k, 0, 100)
	must(t, err)
	prev := uint64(0)
	for _, e := range entries {
		if e.Prev != prev || e.Seq != max(prev, 1<<32)+1 {
			t.Errorf("%+v after %d", e, prev)
		}
		prev = e.Seq
	}
	if at, err := logs[0].Checkpoint(t.Context(), p); err != nil || at != 5 || len(entries) != 13 {
		t.Errorf("%d entries, checkpoint %d, %v", len(entries), at, err)
	}
}

// TestRecordsOfManyBuckets go on from one to the next, and what was carried goes.
func TestRecordsOfManyBuckets(t *testing.T) {
	l := several(t, 1, options(0))[0]
	r := newRecorder(l, 0)
	r.next = bucketRecords - 1 // as if there were so many
	r.tail = r.next - 1
	putTail(t, l, 0, 0, r.tail)
	var doubt uint64
	for want := uint64(bucketRecords - 1); want < bucketRecords+3; want++ {
		if seq, err := r.store(t.Context(), newStamp(), nil, &doubt); err != nil || seq != want {
			t.Fatalf("%d, %v; want %d", seq, err, want)
		}
	}
	must(t, l.Take(t.Context(), 0))
	for _, after := range []uint64{bucketRecords - 2, bucketRecords, bucketRecords + 1} {
		must(t, l.PutCheckpoint(t.Context(), 0, after))
		records, err := timeline.AwaitRecords(t.Context(), l, 0, after, 10)
		if err != nil || uint64(len(records)) != bucketRecords+2-after || records[0].Seq != after+1 {
			t.Errorf("after %d: %+v, %v", after, records, err)
		}
		fresh := newRecorder(l, 0)
		if err := fresh.findNext(t.Context()); err != nil || fresh.next != bucketRecords+3 {
			t.Errorf("after %d the next is %d, %v", after, fresh.next, err)
		}
	}
	if rows, err := l.bucketRows(t.Context(), 0, 0, 0, 10, false); err != nil || len(rows) != 0 {
		t.Errorf("what was carried is still there: %+v, %v", rows, err)
	}
}

// TestAClusterThatAcknowledgesTooEarly is refused, unless it is allowed.
func TestAClusterThatAcknowledgesTooEarly(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var said bytes.Buffer
	c, err := cassandratest.Start(ctx, cassandratest.Config{CommitLogSync: "commitlog_sync: periodic\ncommitlog_sync_period: 10s", Say: &said})
	if err != nil {
		t.Fatal(said.String(), err)
	}
	defer func() { must(t, c.Stop()) }()
	o := Options{Hosts: c.Hosts, Port: c.Port, Replicas: 1}
	if _, err := Open(ctx, o); err == nil || !strings.Contains(err.Error(), "set commitlog_sync: batch") {
		t.Errorf("%v", err)
	}
	o.AllowPeriodicSync = true
	l, err := Open(ctx, o)
	must(t, err)
	must(t, timelinetest.Append(l, &timeline.Append{Key: conversation(0)}).Err)
	must(t, l.Close())
}

// counting counts statements.
type counting struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counting) ObserveQuery(_ context.Context, q gocql.ObservedQuery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[q.Statement]++
}

func (c *counting) take(statement string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.of[statement]
	c.of[statement] = 0
	return n
}

// TestWhatLacksSomethingIsReadAgain: replicas that are behind show what comes after and not what comes before. Here all of them lack it,
// so that the second look, which is serial, finds no more.
func TestWhatLacksSomethingIsReadAgain(t *testing.T) {
	o, asked := options(0), &counting{of: map[string]int{}}
	o.observer = asked
	l, k, box, ctx := several(t, 1, o)[0], conversation(0), timeline.Key{Kind: timeline.Inbox, ID: 1}, t.Context()
	must(t, l.Take(ctx, box.Partition()))
	for range 3 {
		must(t, timelinetest.Append(l, &timeline.Append{Key: k, Payload: []byte("x"), Carry: true}).Err)
		must(t, l.Post(ctx, []timeline.Post{{Key: box, Payload: []byte("x")}}))
	}
	looks := func(what, statement string, read func() error, want int) {
		t.Helper()
		asked.take(statement)
		must(t, read())
		if n := asked.take(statement); n != want {
			t.Errorf("%s: asked %d times, want %d", what, n, want)
		}
	}
	all := func(want int) {
		t.Helper()
		looks("read", selectEntries, func() error { _, err := l.Read(ctx, k, 0, 10); return err }, want)
		looks("read some", selectEntries, func() error { _, err := l.Read(ctx, k, 0, 2); return err }, want)
		looks("back", selectBack, func() error { _, err := l.ReadBack(ctx, k, 0, 10); return err }, want)
		looks("get", selectEntries, func() error { _, err := l.Get(ctx, []timeline.Ref{{Key: k, From: 2, To: 2}}); return err }, want)
		looks("inbox", selectEntries, func() error { _, err := l.Read(ctx, box, 0, 10); return err }, want)
		looks("records", selectRecords, func() error { _, err := timeline.AwaitRecords(ctx, l, k.Partition(), 0, 10); return err }, want)
	}
	all(1)
	// A part of an entry, as the repair of a read for other columns leaves it.
	part := `INSERT INTO segments (store, kind, id, segment, part, seq, tok, stamp) VALUES (?, ?, ?, ?, 0, 1, 0x, 2)`
	other := conversation(5)
	must(t, timelinetest.Append(l, &timeline.Append{Key: other, Payload: []byte("x")}).Err)
	must(t, l.query(ctx, `DELETE counted, payload FROM segments`+inSegment+` AND part = 0 AND seq = 1 AND tok = 0x`, l.in(other, 0)...).Exec())
	must(t, l.query(ctx, part, l.in(other, 0)...).Exec())
	looks("a part", selectEntries, func() error { _, err := l.Read(ctx, other, 0, 10); return err }, 2)
	drop := `DELETE FROM segments` + inSegment + ` AND part = 0 AND seq = ?`
	must(t, l.query(ctx, drop, l.in(k, 0, int64(2))...).Exec())
	must(t, l.query(ctx, drop, l.in(box, 0, int64(1<<32+2))...).Exec())
	must(t, l.query(ctx, `DELETE FROM records`+inBucket+` AND seq = 2`, o.Store, int16(k.Partition()), int64(0)).Exec())
	all(2)
	must(t, l.query(ctx, drop, l.in(k, 0, int64(3))...).Exec()) // the newest: the tail tells of it
	looks("end", selectEntries, func() error { _, err := l.Read(ctx, k, 2, 10); return err }, 2)
	looks("end", selectBack, func() error { _, err := l.ReadBack(ctx, k, 0, 1); return err }, 2)
}

// TestWhatNobodyKnowsIsNotTold: an append that is given up without knowing what became of it leaves a hole in what the listener is
// told, so that who follows it reads the record.
func TestWhatNobodyKnowsIsNotTold(t *testing.T) {
	o := options(0)
	var told []uint64
	o.Listener = func(commits []timeline.Commit) { told = append(told, commits[0].Record) }
	l, k := several(t, 1, o)[0], conversation(0)
	for i, unknown := range []bool{false, true, false} {
		a := &timeline.Append{Key: k, Carry: true}
		f := newForming(l, k, []*timeline.Append{a})
		must(t, f.refresh(t.Context()))
		must(t, f.prepare(t.Context(), f.open))
		f.claim.end(nil, unknown)
		if seq := f.claim.record.seq; seq != uint64(i+1) {
			t.Fatalf("record %d", seq)
		}
	}
	if got := fmt.Sprint(told); got != "[1 3]" {
		t.Error(got)
	}
}
