//go:build cluster

package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog/cassandratest"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// addLong adds a conversation and an inbox with several segments.
func addLong(t *testing.T, dir string) {
	log, err := pebblelog.Open(filepath.Join(dir, timelinesDir), pebblelog.Options{})
	must(t, err)
	var wait sync.WaitGroup
	for i := range uint64(4500) {
		wait.Add(1)
		log.Append(&timeline.AppendRequest{Key: conversation(21), Payload: fmt.Append(nil, "addLong ", i), Author: 1 + i/4000, Counts: true, NeedsFanout: i > 3900, SetAccess: i == 7,
			Token: timeline.Token{Sender: 7, Device: 1 + i%2, Counter: i + 1}, Done: func(a *timeline.AppendRequest) {
				if a.Err != nil {
					t.Error(a.Err)
				}
				wait.Done()
			}})
		must(t, log.Post(t.Context(), []timeline.Post{{Key: inbox(21), Payload: fmt.Append(nil, "post ", i)}}))
	}
	wait.Wait()
	must(t, log.Expire(t.Context(), conversation(21), 2500, []uint64{8}))
	must(t, log.Close())
}

// comparable returns the lines that are the same for both engines: without lists of keys and partitions.
func comparable(lines []string) (kept []string) {
	for _, l := range lines {
		if !strings.HasPrefix(l, "c [") && !strings.HasPrefix(l, "i [") && !strings.HasPrefix(l, "partition") {
			kept = append(kept, l)
		}
	}
	return kept
}

// TestMoveIntoCassandra stops and resumes a move every few batches, and then uses the result as a server does.
func TestMoveIntoCassandra(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cluster, err := cassandratest.Start(ctx, cassandratest.Config{Say: os.Stdout})
	must(t, err)
	defer func() { must(t, cluster.Stop()) }()
	dir, address := directory(t, 6), sqltest.Schema(t, sqltest.Postgres(t))
	addLong(t, dir)
	want := ofDirectory(t, dir)
	engine := cassandralog.Options{Hosts: cluster.Hosts, Port: cluster.Port, Keyspace: "moved", Replicas: 1, Store: 5, SegmentEntries: 1000, Timeout: time.Minute}
	o := Options{Data: dir, Postgres: address, Cassandra: &engine, Batch: 700}
	var left atomic.Int64
	o.interrupt = func(string) error {
		if left.Add(-1) < 0 {
			return errStopped
		}
		return nil
	}
	for n := 0; ; n++ {
		left.Store(15)
		r, err := Run(ctx, o)
		if errors.Is(err, errStopped) && n < 100 {
			continue
		}
		must(t, err)
		if len(r.Differences) > 0 || n < 3 || r.Entries < 2000 || r.Posts < 4500 {
			t.Fatalf("after %d interruptions: got report %+v", n, r)
		}
		break
	}
	refused := o
	refused.Postgres = sqltest.Schema(t, sqltest.Postgres(t))
	refused.interrupt = nil
	must(t, Undo(dir))
	if _, err := Run(ctx, refused); err == nil || !strings.Contains(err.Error(), "give an empty one") {
		t.Errorf("a move to a store in use: got error %v, want one that says to give an empty one", err)
	}

	log, err := cassandralog.Open(ctx, engine)
	must(t, err)
	sameLines(t, comparable(shown(t, log)), comparable(want))
	if log.Epoch() != 4 {
		t.Errorf("got epoch %d", log.Epoch())
	}
	for _, seq := range []uint64{1, 1999, 4500} { // expired, in a sealed segment, in the newest
		a := &timeline.AppendRequest{Key: conversation(21), Payload: fmt.Append(nil, "addLong ", seq-1), Token: timeline.Token{Sender: 7, Device: 1 + (seq-1)%2, Counter: seq}}
		if timelinetest.Append(log, a); a.Err != nil || !a.Duplicate || a.Seq != seq {
			t.Errorf("retry of message %d: got %+v, want a duplicate", seq, a)
		}
	}
	a := &timeline.AppendRequest{Key: conversation(21), Payload: []byte("new"), Counts: true, NeedsFanout: true, Author: 1, CheckAccess: true, ExpectedAccess: 8, Token: timeline.Token{Sender: 7, Device: 1, Counter: 9999}}
	if timelinetest.Append(log, a); a.Err != nil || a.Duplicate || a.Seq != 4501 || a.Counted != 4501 {
		t.Errorf("new message: got %+v", a)
	}
	p := a.Key.Partition()
	must(t, log.Acquire(ctx, p, 1))
	at, err := log.Checkpoint(ctx, p)
	must(t, err)
	records, err := log.FanoutRecords(ctx, p, at, 10000)
	must(t, err)
	last := records[len(records)-1]
	if !slices.Contains(last.Refs, timeline.Ref{Key: a.Key, From: 4501, To: 4501}) || last.Seq != at+uint64(len(records)) {
		t.Errorf("got %d records above %d, the last is %+v", len(records), at, last)
	}
	must(t, log.PutCheckpoint(ctx, p, last.Seq))
	for _, k := range []timeline.Key{inbox(1), inbox(3), inbox(21), inbox(30)} {
		tail, err := log.Tail(ctx, k)
		must(t, err)
		must(t, log.Acquire(ctx, k.Partition(), 1))
		post := []timeline.Post{{Key: k, Payload: []byte("new")}}
		must(t, log.Post(ctx, post))
		if post[0].Prev != tail.Seq || post[0].Seq != 4<<32+1 {
			t.Errorf("%v: got post %+v after the move; the tail was %d", k, post[0], tail.Seq)
		}
	}
	must(t, log.Close())
}

// TestTimelinesMoveIntoCassandra stops and resumes a move from PostgreSQL, and then uses the result as a server does.
func TestTimelinesMoveIntoCassandra(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cluster, err := cassandratest.Start(ctx, cassandratest.Config{Say: os.Stdout})
	must(t, err)
	defer func() { must(t, cluster.Stop()) }()
	dir, address := directory(t, 12), sqltest.Schema(t, sqltest.Postgres(t))
	addLong(t, dir)
	completed(t, Options{Data: dir, Postgres: address})
	agreed(t, address, "PostgreSQL")
	served, err := pglog.Open(ctx, address, pglog.Options{})
	must(t, err)
	want := shown(t, served)
	engine := cassandralog.Options{Hosts: cluster.Hosts, Port: cluster.Port, Keyspace: "moved", Replicas: 1, Store: 6, SegmentEntries: 1000, Timeout: time.Minute}
	o := TimelinesOptions{Postgres: address, Cassandra: engine, Setting: inTheCopy, Batch: 700}
	var left atomic.Int64
	o.interrupt = func(string) error {
		if left.Add(-1) < 0 {
			return errStopped
		}
		return nil
	}
	for n := 0; ; n++ {
		left.Store(15)
		r, err := RunTimelines(ctx, o)
		if errors.Is(err, errStopped) && n < 100 {
			sameLines(t, shown(t, served), want)
			continue
		}
		must(t, err)
		if len(r.Differences) > 0 || n < 2 || r.Entries < 2000 || r.Posts < 4500 {
			t.Fatalf("after %d interruptions: got report %+v", n, r)
		}
		break
	}
	agreed(t, address, inTheCopy)
	refusesWrites(t, served)
	log, err := cassandralog.Open(ctx, engine)
	must(t, err)
	sameLines(t, comparable(shown(t, log)), comparable(want))
	if log.Epoch() != served.Epoch() {
		t.Errorf("the epoch is %d after the move and %d before, so devices start again", log.Epoch(), served.Epoch())
	}
	for _, seq := range []uint64{1, 1999, 4500} { // expired, in a sealed segment, in the newest
		a := &timeline.AppendRequest{Key: conversation(21), Payload: fmt.Append(nil, "addLong ", seq-1), Token: timeline.Token{Sender: 7, Device: 1 + (seq-1)%2, Counter: seq}}
		if timelinetest.Append(log, a); a.Err != nil || !a.Duplicate || a.Seq != seq {
			t.Errorf("retry of message %d: got %+v, want a duplicate", seq, a)
		}
	}
	for _, k := range []timeline.Key{inbox(1), inbox(3), inbox(21)} {
		tail, err := log.Tail(ctx, k)
		must(t, err)
		must(t, log.Acquire(ctx, k.Partition(), 1))
		post := []timeline.Post{{Key: k, Payload: []byte("new")}}
		must(t, log.Post(ctx, post))
		if post[0].Prev != tail.Seq || post[0].Seq != max(tail.Seq, uint64(served.Epoch())<<32)+1 {
			t.Errorf("%v: got post %+v after the move; the tail was %d", k, post[0], tail.Seq)
		}
	}
	must(t, errors.Join(served.Close(), log.Close()))
}

// fillCassandra appends to conversations and a feed of several segments, posts, trims, expires and moves checkpoints, as servers do.
func fillCassandra(t *testing.T, log *cassandralog.Log) {
	ctx := t.Context()
	var wait sync.WaitGroup
	put := func(a *timeline.AppendRequest) {
		wait.Add(1)
		a.Done = func(a *timeline.AppendRequest) {
			if a.Err != nil {
				t.Error(a.Err)
			}
			wait.Done()
		}
		log.Append(a)
	}
	for p := range uint16(timeline.Partitions) {
		must(t, log.Acquire(ctx, p, 3))
	}
	for i := range uint64(120) {
		for id := range uint64(6) {
			put(&timeline.AppendRequest{Key: conversation(id + 1), Payload: fmt.Append(nil, "entry ", i), Author: 1 + (i/20+id)%5, Counts: i%3 > 0, NeedsFanout: i%4 > 0, SetAccess: i == 7,
				Token: timeline.Token{Sender: 1 + id%5, Device: 10 * (1 + id%5), Counter: 1000*id + i + 1}})
			if i == 50 { // so that the authors of the first segments are not in the newest one
				wait.Wait()
			}
		}
		put(&timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Feed, ID: 4}, Payload: fmt.Append(nil, "post of a feed ", i)})
		put(&timeline.AppendRequest{Key: conversation(9), Payload: fmt.Append(nil, "by hash ", i), Author: 5, Token: timeline.Token{Sum: [16]byte{1, byte(i)}}})
		must(t, log.Post(ctx, []timeline.Post{{Key: inbox(1 + i%4), Payload: fmt.Append(nil, "post ", i)}, {Key: inbox(1), Payload: []byte("and one more")}}))
	}
	wait.Wait()
	must(t, log.Expire(ctx, conversation(2), 60, []uint64{8, 59}))
	must(t, log.Expire(ctx, conversation(3), 1<<40, nil))
	must(t, log.Expire(ctx, timeline.Key{Kind: timeline.Feed, ID: 4}, 70, nil))
	must(t, log.Replace(ctx, conversation(1), []timeline.Entry{{Seq: 3, Payload: []byte("replaced")}}))
	for n, drop := range []uint64{3, 0} { // of the inboxes 2 and 3
		tail, err := log.Tail(ctx, inbox(uint64(n)+2))
		must(t, err)
		must(t, log.Trim(ctx, inbox(uint64(n)+2), tail.Seq+1-drop))
	}
	for p := range uint16(timeline.Partitions) {
		list, err := timeline.AwaitFanoutRecords(ctx, log, p, 0, 1000)
		must(t, err)
		if len(list) > 2 {
			must(t, log.PutCheckpoint(ctx, p, list[len(list)-2].Seq))
		}
	}
}

// TestTimelinesMoveBackFromCassandra aborts a move, and stops and resumes another one, while a server has the log open. Then it uses the result as a server does.
func TestTimelinesMoveBackFromCassandra(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	cluster, err := cassandratest.Start(ctx, cassandratest.Config{Say: os.Stdout})
	must(t, err)
	defer func() { must(t, cluster.Stop()) }()
	address := sqltest.Schema(t, sqltest.Postgres(t))
	agreed(t, address, "PostgreSQL") // creates the settings
	_, err = session(t, address).Exec(ctx, `UPDATE cluster_settings SET value = $1`, inTheCopy)
	must(t, err)
	engine := cassandralog.Options{Hosts: cluster.Hosts, Port: cluster.Port, Keyspace: "served", Replicas: 1, Store: 3, SegmentEntries: 50, Timeout: 20 * time.Second}
	serving, err := cassandralog.Open(ctx, engine)
	must(t, err)
	fillCassandra(t, serving)
	want := comparable(shown(t, serving))
	o := TimelinesOptions{Postgres: address, Cassandra: engine, Setting: inTheCopy, Back: true, Batch: 100}

	stopAfter(&o, "", 6)
	if err := ran(ctx, o); !errors.Is(err, errStopped) {
		t.Fatalf("error %v, want %v", err, errStopped)
	}
	readsOnly(t, serving)
	another, err := cassandralog.Open(ctx, engine)
	must(t, err)
	readsOnly(t, another)
	must(t, another.Close())
	o.interrupt = nil
	must(t, AbortTimelines(ctx, o))
	sameLines(t, comparable(shown(t, serving)), want)
	a := timelinetest.Append(serving, &timeline.AppendRequest{Key: conversation(1), Payload: []byte("after the abort"), Author: 2, Counts: true, NeedsFanout: true, Token: timeline.Token{Sender: 1, Device: 10, Counter: 99999}})
	must(t, a.Err)
	want = comparable(shown(t, serving))

	for n, stop := 0, ""; ; n++ {
		stopAfter(&o, stop, 50)
		r, err := RunTimelines(ctx, o)
		if errors.Is(err, errStopped) && n < 100 {
			if stop == "retired" { // once, and then to the end
				stop = "none"
				readsNothing(t, serving)
				continue
			}
			readsOnly(t, serving)
			stop = "retired"
			continue
		}
		must(t, err)
		if len(r.Differences) > 0 || n < 2 || r.Conversations < 8 || r.Inboxes < 3 || r.Tokens < 800 {
			t.Fatalf("after %d interruptions: got report %+v", n, r)
		}
		break
	}
	agreed(t, address, InPostgreSQL)
	returned := openServed(t, address)
	sameLines(t, comparable(shown(t, returned)), want)
	feed := timeline.Key{Kind: timeline.Feed, ID: 4}
	tail, err := returned.Tail(ctx, feed)
	must(t, err)
	entries, err := returned.Read(ctx, feed, 0, 1000)
	must(t, err)
	if tail != (timeline.Tail{Seq: 120, FirstSeq: 70}) || len(entries) != 51 || string(entries[50].Payload) != "post of a feed 119" {
		t.Errorf("the feed has the tail %+v and %d entries", tail, len(entries))
	}
	for _, retry := range []timeline.AppendRequest{
		{Key: conversation(2), Payload: []byte("entry 1"), Token: timeline.Token{Sender: 2, Device: 20, Counter: 1002}}, // expired, in a sealed segment
		{Key: conversation(9), Payload: []byte("by hash 119"), Token: timeline.Token{Sum: [16]byte{1, 119}}},
		{Key: conversation(1), Payload: []byte("after the abort"), Token: timeline.Token{Sender: 1, Device: 10, Counter: 99999}},
	} {
		if a := timelinetest.Append(returned, &retry); a.Err != nil || !a.Duplicate {
			t.Errorf("a retry in %v: got %+v, want a duplicate", retry.Key, a)
		}
	}
	for id := range uint64(4) {
		k := inbox(id + 1)
		before, err := returned.Tail(ctx, k)
		must(t, err)
		must(t, returned.Acquire(ctx, k.Partition(), 4))
		post := []timeline.Post{{Key: k, Payload: []byte("new")}}
		must(t, returned.Post(ctx, post))
		if post[0].Prev != before.Seq || post[0].Seq != before.Seq+1 {
			t.Errorf("%v: got post %+v after the move; the tail was %d", k, post[0], before.Seq)
		}
	}
	readsNothing(t, serving)
	must(t, serving.Close())
	there := TimelinesOptions{Postgres: address, Cassandra: engine, Setting: "Cassandra (keyspace served, store 9)"}
	there.Cassandra.Store = 9
	if err := ran(ctx, there); err == nil || !strings.Contains(err.Error(), "give another keyspace") {
		t.Errorf("a move into the keyspace that was left: got error %v", err)
	}
	must(t, appendTo(returned, "after a move that was refused").Err)
}

// readsOnly checks that a server reads a frozen log, and is refused all that would change it, at once.
func readsOnly(t *testing.T, log *cassandralog.Log) {
	t.Helper()
	ctx := t.Context()
	k := conversation(1)
	entries, err := log.Read(ctx, k, 100, 5)
	must(t, err)
	back, err := log.ReadBackward(ctx, k, 106, 5)
	must(t, err)
	slices.Reverse(back)
	if len(entries) != 5 || entries[0].Seq != 101 || !slices.EqualFunc(entries, back, equal) {
		t.Errorf("got the entries %v and, backward, %v", entries, back)
	}
	tail, err := log.Tail(ctx, k)
	must(t, err)
	if seq, _, err := log.LatestByAuthor(ctx, k, 2); err != nil || seq == 0 || tail.Seq < 120 {
		t.Errorf("the tail is %+v, and the latest entry of user 2 is %d, %v", tail, seq, err)
	}
	for name, err := range map[string]error{
		"append":             timelinetest.Append(log, &timeline.AppendRequest{Key: k, Payload: []byte("refused"), NeedsFanout: true, Token: timeline.Token{Sender: 1, Device: 11, Counter: 1}}).Err,
		"a new conversation": timelinetest.Append(log, &timeline.AppendRequest{Key: conversation(77), Payload: []byte("refused")}).Err,
		"feed":               timelinetest.Append(log, &timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Feed, ID: 4}, Payload: []byte("refused")}).Err,
		"expire":             log.Expire(ctx, conversation(4), 30, nil),
		"replace":            log.Replace(ctx, k, []timeline.Entry{{Seq: 4, Payload: []byte("refused")}}),
		"trim":               log.Trim(ctx, inbox(1), 1<<32+9),
		"acquire":            log.Acquire(ctx, 3, 1<<40),
	} {
		if !errors.Is(err, timeline.ErrMoving) {
			t.Errorf("%s: got error %v, want that the timelines are being moved", name, err)
		}
	}
}

// readsNothing checks that a server does not read a log that is retired.
func readsNothing(t *testing.T, log *cassandralog.Log) {
	t.Helper()
	_, reading := log.Read(t.Context(), conversation(1), 0, 10)
	_, tail := log.Tail(t.Context(), conversation(1))
	for what, err := range map[string]error{"a read": reading, "a tail": tail} {
		if !errors.Is(err, timeline.ErrMoving) {
			t.Errorf("%s of a retired log: got error %v", what, err)
		}
	}
}
