//go:build cluster

package cassandralog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog/cassandratest"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The nodes of a new deployment open an empty cluster concurrently.
func TestNodesOpenAnEmptyClusterConcurrently(t *testing.T) {
	o := options(0)
	o.Keyspace = "fresh"
	logs := make([]*Log, 3)
	must(t, parallel(len(logs), func(i int) (err error) {
		logs[i], err = Open(t.Context(), o)
		return err
	}))
	must(t, parallel(len(logs), func(i int) error {
		return timelinetest.Append(logs[i], &timeline.AppendRequest{Key: conversation(0), NeedsFanout: true}).Err
	}))
	for _, l := range logs {
		if tail, err := l.Tail(t.Context(), conversation(0)); err != nil || tail.Seq != 3 {
			t.Errorf("tail: got %+v, %v", tail, err)
		}
		must(t, l.Close())
	}
}

// A retry through another log, many segments later, finds the stored message, also without a counter. The author's latest entry and the
// device's highest counter are found as well.
func TestTokensOfSealedSegmentsAreFound(t *testing.T) {
	o := options(0)
	o.SegmentEntries = 2
	logs, k := several(t, 2, o), conversation(0)
	tokens := []timeline.Token{{Sender: 3, Device: 4, Counter: 9}, {Sum: [16]byte{1}}, {Sender: 3, Device: 4, Counter: 10}}
	for i, token := range tokens {
		must(t, timelinetest.Append(logs[0], &timeline.AppendRequest{Key: k, Payload: fmt.Append(nil, i), Token: token, Author: 3, Counts: true}).Err)
	}
	for n := range 9 {
		must(t, timelinetest.Append(logs[n%2], &timeline.AppendRequest{Key: k, Token: timeline.Token{Sender: 5, Device: 6, Counter: uint64(n + 1)}}).Err)
	}
	for _, l := range logs {
		for i, token := range tokens {
			a := timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("again"), Token: token})
			if a.Err != nil || !a.Duplicate || a.Seq != uint64(i+1) || string(a.StoredPayload) != fmt.Sprint(i) || a.Counted != a.Seq {
				t.Errorf("the retry of message %d: got %+v", i, a)
			}
		}
		if seq, counted, err := l.LatestByAuthor(t.Context(), k, 3); err != nil || seq != 3 || counted != 3 {
			t.Errorf("the latest entry of author 3: got %d %d %v", seq, counted, err)
		}
		if n, err := l.HighestCounter(t.Context(), 3, 4); err != nil || n != 10 {
			t.Errorf("the highest counter: got %d %v", n, err)
		}
		if tail, err := l.Tail(t.Context(), k); err != nil || tail.Seq != 12 {
			t.Errorf("tail: got %+v %v", tail, err)
		}
	}
}

// A node stops between a record and its batch: the record is voided, later ones are processed, and if the batch is stored after all, it
// gets a new record, once.
func TestARecordWithoutItsBatchIsVoided(t *testing.T) {
	logs := several(t, 2, options(0))
	for i, before := range []int{0, 1} { // in a conversation without a segment, and in one with a segment
		k := timeline.Key{Kind: timeline.Conversation, ID: uint64(100 + i)}
		for range before {
			must(t, timelinetest.Append(logs[1], &timeline.AppendRequest{Key: k}).Err)
		}
		a := &timeline.AppendRequest{Key: k, Payload: []byte("late"), NeedsFanout: true}
		f := newBatchBuilder(logs[0], k, []*timeline.AppendRequest{a})
		must(t, f.refresh(t.Context()))
		must(t, f.prepare(t.Context(), f.unresolved)) // the node stops here
		first := f.intent.record.seq

		must(t, timelinetest.Append(logs[1], &timeline.AppendRequest{Key: k, Payload: []byte("after"), NeedsFanout: true}).Err)
		records, err := timeline.AwaitFanoutRecords(t.Context(), logs[1], k.Partition(), first-1, 10)
		if err != nil || len(records) == 0 || records[0].Seq != first || len(records[0].Refs) != 0 {
			t.Fatalf("records: got %+v, %v", records, err)
		}
		must(t, f.store(t.Context())) // the batch is stored after all
		if a.Seq != uint64(before)+2 {
			t.Errorf("append: got %+v", a)
		}
		records, err = timeline.AwaitFanoutRecords(t.Context(), logs[1], k.Partition(), first-1, 10)
		want := fmt.Sprintf("[{%d []} {%d [{%v 1 1}]} {%d [{%v 2 2}]}]", first, first+1, k, first+2, k)
		if before == 1 {
			want = strings.ReplaceAll(strings.ReplaceAll(want, " 2 2}", " 3 3}"), " 1 1}", " 2 2}")
		}
		if got := fmt.Sprint(records); err != nil || got != want {
			t.Errorf("records: got %s, %v, want %s", got, err, want)
		}
	}
}

// An append that is overtaken by another log's between its record and its batch gets a record after the other's: reading records in order
// returns entries in order.
func TestRecordsAreInOrder(t *testing.T) {
	logs := several(t, 2, options(0))
	k := conversation(0)
	must(t, timelinetest.Append(logs[1], &timeline.AppendRequest{Key: k, Payload: []byte("first"), NeedsFanout: true}).Err)
	a := &timeline.AppendRequest{Key: k, Payload: []byte("overtaken"), NeedsFanout: true}
	f := newBatchBuilder(logs[0], k, []*timeline.AppendRequest{a})
	must(t, f.refresh(t.Context()))
	must(t, f.prepare(t.Context(), f.unresolved))
	must(t, timelinetest.Append(logs[1], &timeline.AppendRequest{Key: k, Payload: []byte("quick"), NeedsFanout: true}).Err)
	must(t, f.store(t.Context()))
	records, err := timeline.AwaitFanoutRecords(t.Context(), logs[1], k.Partition(), 0, 10)
	want := fmt.Sprintf("[{1 [{%v 1 1}]} {2 []} {3 [{%v 2 2}]} {4 [{%v 3 3}]}]", k, k, k)
	if got := fmt.Sprint(records); err != nil || got != want {
		t.Errorf("records: got %s, %v, want %s", got, err, want)
	}
}

// A batch was applied but its answer was lost. It is found by its stamp, even if others have appended since, and is appended again only
// if it was not applied.
func TestALostAnswerIsResolvedByItsStamp(t *testing.T) {
	logs := several(t, 2, options(0))
	k := conversation(0)
	for i, applied := range []bool{true, false, true} {
		a := &timeline.AppendRequest{Key: k, Payload: fmt.Append(nil, i), NeedsFanout: true} // without a token
		f := newBatchBuilder(logs[0], k, []*timeline.AppendRequest{a})
		must(t, f.refresh(t.Context()))
		if applied {
			must(t, f.step(t.Context()))
			want := f.state.tail.Seq
			must(t, timelinetest.Append(logs[1], &timeline.AppendRequest{Key: k, Payload: []byte("other")}).Err)
			// The state before the answer.
			before := f.state
			before.tail.Seq--
			f.unresolved, f.fanoutEntries, f.stampUsed, f.attempt = []*timeline.AppendRequest{a}, nil, false, &attempt{accepted: []*timeline.AppendRequest{a}, before: before, after: f.state}
			must(t, f.store(t.Context()))
			if a.Seq != want || len(f.fanoutEntries) != 1 {
				t.Errorf("append: got %+v, want seq %d", a, want)
			}
			continue
		}
		a.Seq = f.state.tail.Seq + 1
		f.attempt = &attempt{accepted: []*timeline.AppendRequest{a}, before: f.state, after: f.state}
		must(t, timelinetest.Append(logs[1], &timeline.AppendRequest{Key: k, Payload: []byte("other")}).Err)
		must(t, f.store(t.Context()))
	}
	entries, err := logs[1].Read(t.Context(), k, 0, 100)
	must(t, err)
	var texts []string
	for _, e := range entries {
		texts = append(texts, string(e.Payload))
	}
	if got := strings.Join(texts, " "); got != "0 other other 1 2 other" {
		t.Errorf("got %q, want %q", got, "0 other other 1 2 other")
	}
}

// Only the log that acquired a partition last can post; each inbox is one chain.
func TestOnlyTheLastAcquirerPosts(t *testing.T) {
	o := options(0)
	o.SegmentEntries = 4
	logs, k := several(t, 2, o), timeline.Key{Kind: timeline.Inbox, ID: 7}
	p, n := k.Partition(), 0
	post := func(l *Log) error {
		n++
		return l.Post(t.Context(), []timeline.Post{{Key: k, Payload: fmt.Append(nil, n)}})
	}
	if err := post(logs[0]); err != timeline.ErrFenced {
		t.Errorf("Post without Acquire: got %v, want ErrFenced", err)
	}
	for round := range 6 {
		mine, other := logs[round%2], logs[1-round%2]
		must(t, mine.Acquire(t.Context(), p, uint64(round+1)))
		if fenced := (*timeline.FencedError)(nil); !errors.As(other.Acquire(t.Context(), p, uint64(round+1)), &fenced) || fenced.Term != uint64(round+1) {
			t.Errorf("round %d: another log acquired it in the same term: %v", round, fenced)
		}
		must(t, post(mine))
		if err := post(other); err != timeline.ErrFenced {
			t.Errorf("round %d: %v", round, err)
		}
		if err := other.PutCheckpoint(t.Context(), p, 99); err != timeline.ErrFenced {
			t.Errorf("round %d: %v", round, err)
		}
		must(t, post(mine))
		must(t, mine.PutCheckpoint(t.Context(), p, uint64(round)))
	}
	// A post that is overtaken between its check and its write fails because of the inbox's own term.
	must(t, logs[0].Acquire(t.Context(), p, 7))
	late := logs[0].terms[p].Load()
	must(t, logs[1].Acquire(t.Context(), p, 8))
	must(t, post(logs[1]))
	logs[0].terms[p].Store(late)
	if err := logs[0].post(t.Context(), k, []*timeline.Post{{Key: k}}); err != timeline.ErrFenced {
		t.Errorf("the overtaken post: got %v, want ErrFenced", err)
	}
	entries, err := logs[0].Read(t.Context(), k, 0, 100)
	must(t, err)
	prev := uint64(0)
	for _, e := range entries {
		if e.Prev != prev || e.Seq != max(prev, 1<<32)+1 {
			t.Errorf("inbox entry: got %+v after %d", e, prev)
		}
		prev = e.Seq
	}
	if at, err := logs[0].Checkpoint(t.Context(), p); err != nil || at != 5 || len(entries) != 13 {
		t.Errorf("got %d entries, checkpoint %d, %v", len(entries), at, err)
	}
}

// Records continue from one bucket to the next, and processed buckets are deleted.
func TestRecordsContinueInTheNextBucket(t *testing.T) {
	l := several(t, 1, options(0))[0]
	r := newRecordWriter(l, 0)
	r.next = bucketRecords - 1 // as if there were so many records
	r.tail = r.next - 1
	putTail(t, l, 0, 0, r.tail)
	var doubt uint64
	for want := uint64(bucketRecords - 1); want < bucketRecords+3; want++ {
		if seq, err := r.store(t.Context(), newStamp(), nil, &doubt); err != nil || seq != want {
			t.Fatalf("seq of the record: got %d, %v, want %d", seq, err, want)
		}
	}
	must(t, l.Acquire(t.Context(), 0, 1))
	for _, after := range []uint64{bucketRecords - 2, bucketRecords, bucketRecords + 1} {
		must(t, l.PutCheckpoint(t.Context(), 0, after))
		records, err := timeline.AwaitFanoutRecords(t.Context(), l, 0, after, 10)
		if err != nil || uint64(len(records)) != bucketRecords+2-after || records[0].Seq != after+1 {
			t.Errorf("records after %d: got %+v, %v", after, records, err)
		}
		fresh := newRecordWriter(l, 0)
		if err := fresh.findNext(t.Context()); err != nil || fresh.next != bucketRecords+3 {
			t.Errorf("next seq after %d: got %d, %v", after, fresh.next, err)
		}
	}
	if rows, err := l.bucketRows(t.Context(), 0, 0, 0, 10, false); err != nil || len(rows) != 0 {
		t.Errorf("processed records: got %+v, %v, want none", rows, err)
	}
}

// A cluster that acknowledges before it syncs is refused, unless the setting allows it.
func TestAClusterWithPeriodicSyncIsRefused(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var said bytes.Buffer
	c, err := cassandratest.Start(ctx, cassandratest.Config{CommitLogSync: "commitlog_sync: periodic\ncommitlog_sync_period: 10s", Say: &said})
	if err != nil {
		t.Fatalf("the server was refused with %v, want a start: %s", err, said.String())
	}
	defer func() { must(t, c.Stop()) }()
	o := Options{Hosts: c.Hosts, Port: c.Port, Replicas: 1}
	if _, err := Open(ctx, o); err == nil || !strings.Contains(err.Error(), "set commitlog_sync: batch") {
		t.Errorf("periodic sync: got %v, want an error with the setting", err)
	}
	o.AllowPeriodicSync = true
	l, err := Open(ctx, o)
	must(t, err)
	must(t, timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(0)}).Err)
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

// Replicas that lag may return later entries without earlier ones. Here all replicas lack the entry, so that the serial read finds no
// more.
func TestReadsWithGapsAreRepeatedSerially(t *testing.T) {
	o, asked := options(0), &counting{of: map[string]int{}}
	o.observer = asked
	l, k, box, ctx := several(t, 1, o)[0], conversation(0), timeline.Key{Kind: timeline.Inbox, ID: 1}, t.Context()
	must(t, l.Acquire(ctx, box.Partition(), 1))
	for range 3 {
		must(t, timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("x"), NeedsFanout: true}).Err)
		must(t, l.Post(ctx, []timeline.Post{{Key: box, Payload: []byte("x")}}))
	}
	looks := func(what, statement string, read func() error, want int) {
		t.Helper()
		asked.take(statement)
		must(t, read())
		if n := asked.take(statement); n != want {
			t.Errorf("%s: got %d statements, want %d", what, n, want)
		}
	}
	all := func(want int) {
		t.Helper()
		looks("read", selectEntries, func() error { _, err := l.Read(ctx, k, 0, 10); return err }, want)
		looks("read some", selectEntries, func() error { _, err := l.Read(ctx, k, 0, 2); return err }, want)
		looks("back", selectBack, func() error { _, err := l.ReadBackward(ctx, k, 0, 10); return err }, want)
		looks("get", selectEntries, func() error { _, err := l.Get(ctx, []timeline.Ref{{Key: k, From: 2, To: 2}}); return err }, want)
		looks("inbox", selectEntries, func() error { _, err := l.Read(ctx, box, 0, 10); return err }, want)
		looks("records", selectRecords, func() error { _, err := timeline.AwaitFanoutRecords(ctx, l, k.Partition(), 0, 10); return err }, want)
	}
	all(1)
	// An incomplete entry, as left by the read repair of a read of other columns.
	part := `INSERT INTO segments (store, kind, id, segment, part, seq, tok, stamp) VALUES (?, ?, ?, ?, 0, 1, 0x, 2)`
	other := conversation(5)
	must(t, timelinetest.Append(l, &timeline.AppendRequest{Key: other, Payload: []byte("x")}).Err)
	must(t, l.query(ctx, `DELETE counted, payload FROM segments`+inSegment+` AND part = 0 AND seq = 1 AND tok = 0x`, l.segmentArgs(other, 0)...).Exec())
	must(t, l.query(ctx, part, l.segmentArgs(other, 0)...).Exec())
	looks("a part", selectEntries, func() error { _, err := l.Read(ctx, other, 0, 10); return err }, 2)
	drop := `DELETE FROM segments` + inSegment + ` AND part = 0 AND seq = ?`
	must(t, l.query(ctx, drop, l.segmentArgs(k, 0, int64(2))...).Exec())
	must(t, l.query(ctx, drop, l.segmentArgs(box, 0, int64(1<<32+2))...).Exec())
	must(t, l.query(ctx, `DELETE FROM records`+inBucket+` AND seq = 2`, o.Store, int16(k.Partition()), int64(0)).Exec())
	all(2)
	must(t, l.query(ctx, drop, l.segmentArgs(k, 0, int64(3))...).Exec()) // the newest entry: the tail refers to it
	looks("end", selectEntries, func() error { _, err := l.Read(ctx, k, 2, 10); return err }, 2)
	looks("end", selectBack, func() error { _, err := l.ReadBackward(ctx, k, 0, 1); return err }, 2)
}

// An append that is given up with an unknown outcome leaves a gap in what the listener gets, so that the dispatcher reads the record.
func TestUnknownOutcomesAreNotAnnounced(t *testing.T) {
	o := options(0)
	var told []uint64
	o.Listener = func(commits []timeline.Commit) { told = append(told, commits[0].RecordSeq) }
	l, k := several(t, 1, o)[0], conversation(0)
	for i, unknown := range []bool{false, true, false} {
		a := &timeline.AppendRequest{Key: k, NeedsFanout: true}
		f := newBatchBuilder(l, k, []*timeline.AppendRequest{a})
		must(t, f.refresh(t.Context()))
		must(t, f.prepare(t.Context(), f.unresolved))
		f.intent.end(nil, unknown)
		if seq := f.intent.record.seq; seq != uint64(i+1) {
			t.Fatalf("got record %d", seq)
		}
	}
	if got := fmt.Sprint(told); got != "[1 3]" {
		t.Errorf("got %q, want %q", got, "[1 3]")
	}
}
