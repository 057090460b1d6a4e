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

	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/cassandralog"
	"github.com/rialto-im/rialto/internal/timeline/cassandralog/cassandratest"
	"github.com/rialto-im/rialto/internal/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/timeline/timelinetest"
)

// long adds a conversation and an inbox that take several segments.
func long(t *testing.T, dir string) {
	log, err := pebblelog.Open(filepath.Join(dir, timelinesDir), pebblelog.Options{})
	must(t, err)
	var wait sync.WaitGroup
	for i := range uint64(4500) {
		wait.Add(1)
		log.Append(&timeline.Append{Key: conversation(21), Payload: fmt.Append(nil, "long ", i), Author: 1 + i/4000, Counts: true, Carry: i > 3900, SetAccess: i == 7,
			Token: timeline.Token{Sender: 7, Device: 1 + i%2, Counter: i + 1}, Done: func(a *timeline.Append) {
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

// comparable is what the log shows, as the directory's does: without lists of keys, and with runs that follow each other as one.
func comparable(lines []string) (kept []string) {
	for _, l := range lines {
		if !strings.HasPrefix(l, "c [") && !strings.HasPrefix(l, "i [") && !strings.HasPrefix(l, "partition") {
			kept = append(kept, l)
		}
	}
	return kept
}

// TestMoveIntoCassandra: a move that is stopped after each few batches, and what a server then does.
func TestMoveIntoCassandra(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cluster, err := cassandratest.Start(ctx, cassandratest.Config{Say: os.Stdout})
	must(t, err)
	defer func() { must(t, cluster.Stop()) }()
	dir, address := directory(t, 6), sqltest.Schema(t, sqltest.Postgres(t))
	long(t, dir)
	want := ofDirectory(t, dir)
	engine := cassandralog.Options{Hosts: cluster.Hosts, Port: cluster.Port, Keyspace: "moved", Replicas: 1, Store: 5, SegmentEntries: 1000, Patience: time.Minute}
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
			t.Fatalf("after %d stops: %+v", n, r)
		}
		break
	}
	refused := o
	refused.Postgres = sqltest.Schema(t, sqltest.Postgres(t))
	refused.interrupt = nil
	must(t, Undo(dir))
	if _, err := Run(ctx, refused); err == nil || !strings.Contains(err.Error(), "give one that is empty") {
		t.Errorf("a store in use: %v", err)
	}

	log, err := cassandralog.Open(ctx, engine)
	must(t, err)
	sameLines(t, comparable(shown(t, log)), comparable(want))
	if log.Epoch() != 4 {
		t.Errorf("the epoch is %d", log.Epoch())
	}
	for _, seq := range []uint64{1, 1999, 4500} { // expired, in a sealed segment, in the newest
		a := &timeline.Append{Key: conversation(21), Payload: fmt.Append(nil, "long ", seq-1), Token: timeline.Token{Sender: 7, Device: 1 + (seq-1)%2, Counter: seq}}
		if timelinetest.Append(log, a); a.Err != nil || !a.Duplicate || a.Seq != seq {
			t.Errorf("message %d sent again: %+v", seq, a)
		}
	}
	a := &timeline.Append{Key: conversation(21), Payload: []byte("new"), Counts: true, Carry: true, Author: 1, CheckAccess: true, IfAccess: 8, Token: timeline.Token{Sender: 7, Device: 1, Counter: 9999}}
	if timelinetest.Append(log, a); a.Err != nil || a.Duplicate || a.Seq != 4501 || a.Counted != 4501 {
		t.Errorf("a new message: %+v", a)
	}
	p := a.Key.Partition()
	must(t, log.Take(ctx, p))
	at, err := log.Checkpoint(ctx, p)
	must(t, err)
	records, err := log.Records(ctx, p, at, 10000)
	must(t, err)
	last := records[len(records)-1]
	if !slices.Contains(last.Refs, timeline.Ref{Key: a.Key, From: 4501, To: 4501}) || last.Seq != at+uint64(len(records)) {
		t.Errorf("%d records above %d end with %+v", len(records), at, last)
	}
	must(t, log.PutCheckpoint(ctx, p, last.Seq))
	for _, k := range []timeline.Key{inbox(1), inbox(3), inbox(21), inbox(30)} {
		tail, err := log.Tail(ctx, k)
		must(t, err)
		must(t, log.Take(ctx, k.Partition()))
		post := []timeline.Post{{Key: k, Payload: []byte("new")}}
		must(t, log.Post(ctx, post))
		if post[0].Prev != tail.Seq || post[0].Seq != 4<<32+1 {
			t.Errorf("%v: a post after the move is %+v; the tail was %d", k, post[0], tail.Seq)
		}
	}
	must(t, log.Close())
}
