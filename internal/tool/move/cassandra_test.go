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
		t.Errorf("a store in use: got error %v", err)
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
