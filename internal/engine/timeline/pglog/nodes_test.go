package pglog_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// follow reads growing keys, and fails if a seq becomes visible before the one below it.
func follow(t *testing.T, l timeline.Log, keys uint64, stop <-chan struct{}) {
	at := make([]uint64, keys+1)
	for last := false; ; {
		for k := uint64(1); k <= keys; k++ {
			entries, err := l.Read(context.Background(), conversation(k), at[k], 1000)
			if err != nil {
				t.Errorf("reading: %v", err)
				return
			}
			for _, e := range entries {
				if e.Seq != at[k]+1 {
					t.Errorf("conversation %d shows %d after %d", k, e.Seq, at[k])
					return
				}
				at[k] = e.Seq
			}
		}
		if last {
			return
		}
		select {
		case <-stop:
			last = true
		default:
		}
	}
}

func TestTwoNodesAppendToTheSame(t *testing.T) {
	address, _ := place(t)
	const writers, each, keys = 8, 60, 3
	nodes := []*pglog.Log{open(t, address, pglog.Options{}), open(t, address, pglog.Options{})}
	stop := make(chan struct{})
	var reading, writing sync.WaitGroup
	reading.Go(func() { follow(t, nodes[0], keys, stop) })
	var stored atomic.Int64
	for w := range uint64(writers) {
		writing.Go(func() {
			for i := range uint64(each) {
				// Each message goes to both nodes concurrently, like that of a client that retries elsewhere.
				text := fmt.Sprintf("%d/%d", w, i)
				var both sync.WaitGroup
				var got [2]*timeline.AppendRequest
				for n, l := range nodes {
					both.Go(func() {
						got[n] = timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(i%keys + 1), Payload: []byte(text), Token: token(w, i+1), Counts: true, Author: w, NeedsFanout: true})
					})
				}
				both.Wait()
				a, b := got[0], got[1]
				if a.Err != nil || b.Err != nil || a.Seq != b.Seq || a.Counted != b.Counted || a.Duplicate == b.Duplicate || string(a.StoredPayload)+string(b.StoredPayload) != text {
					t.Errorf("%s: %+v and %+v", text, a, b)
				}
				stored.Add(1)
			}
		})
	}
	writing.Wait()
	close(stop)
	reading.Wait()
	total, named := 0, 0
	for k := range uint64(keys) {
		texts := read(t, nodes[1], conversation(k+1))
		total += len(texts)
		slices.Sort(texts)
		if n := len(slices.Compact(texts)); n != len(texts) {
			t.Errorf("conversation %d has %d entries twice", k+1, len(texts)-n)
		}
	}
	if total != writers*each {
		t.Errorf("%d entries of %d", total, writers*each)
	}
	for p := range uint16(timeline.Partitions) {
		records, err := nodes[0].FanoutRecords(t.Context(), p, 0, 10_000)
		must(t, err)
		for i, r := range records {
			if r.Seq != uint64(i+1) {
				t.Fatalf("partition %d: record %d has the seq %d, want %d", p, i, r.Seq, i+1)
			}
			for _, ref := range r.Refs {
				named += int(ref.To - ref.From + 1)
			}
		}
	}
	if named != total {
		t.Errorf("records name %d entries of %d", named, total)
	}
	must(t, nodes[0].Close())
	must(t, nodes[1].Close())
}

// TestBatchesDoNotDeadlock: concurrent batches of four nodes with random keys never abort each other.
func TestBatchesDoNotDeadlock(t *testing.T) {
	address, _ := place(t)
	var warned capturedLog
	var wait sync.WaitGroup
	for range 4 {
		l := open(t, address, pglog.Options{Logger: warned.logger()})
		wait.Go(func() {
			var inFlight sync.WaitGroup
			for range 150 {
				batch := make([]*timeline.AppendRequest, 1+rand.IntN(20))
				for i := range batch {
					inFlight.Add(1)
					batch[i] = &timeline.AppendRequest{Key: conversation(1 + rand.Uint64N(40)), Payload: []byte("x"), Author: 1 + rand.Uint64N(3), NeedsFanout: rand.IntN(3) > 0,
						Token: token(1+rand.Uint64N(3), 1+rand.Uint64N(300)), Done: func(a *timeline.AppendRequest) {
							if a.Err != nil {
								t.Errorf("an append failed: %+v", a)
							}
							inFlight.Done()
						}}
				}
				l.Append(batch...)
				check(t, l.Expire(context.Background(), batch[0].Key, 1+rand.Uint64N(5), nil))
			}
			inFlight.Wait()
			check(t, l.Close())
		})
	}
	wait.Wait()
	if text := warned.String(); text != "" {
		t.Errorf("the log has warnings: %s", text)
	}
}

// disturbed appends from many goroutines on two nodes while a fault is injected repeatedly (at every tenth acknowledgement, or as often as
// possible). Then no acknowledged entry may be lost or duplicated.
func disturbed(t *testing.T, address string, disturb func()) {
	const writers, keys = 8, 4
	each := 120 * scaled(t)
	nodes := []*pglog.Log{open(t, address, pglog.Options{}), open(t, address, pglog.Options{})}
	var writing sync.WaitGroup
	var acknowledged [writers][]*timeline.AppendRequest
	again := make(chan struct{}, writers*each)
	for w := range uint64(writers) {
		writing.Go(func() {
			for i := range uint64(each) {
				a := &timeline.AppendRequest{Key: conversation(i%keys + 1), Payload: fmt.Appendf(nil, "%d/%d", w, i), Counts: true, NeedsFanout: true}
				if i%3 > 0 {
					a.Token = token(w, i+1)
				}
				acknowledged[w] = append(acknowledged[w], timelinetest.Append(nodes[(w+i)%2], a))
				if (w+i)%10 == 0 {
					again <- struct{}{}
				}
			}
		})
	}
	var disturbing sync.WaitGroup
	disturbing.Go(func() {
		for range again {
			disturb()
		}
	})
	writing.Wait()
	close(again)
	disturbing.Wait()
	texts := map[uint64][]string{}
	total := 0
	for k := range uint64(keys) {
		texts[k+1] = read(t, nodes[0], conversation(k+1))
		total += len(texts[k+1])
	}
	if total != writers*each {
		t.Errorf("%d entries of %d", total, writers*each)
	}
	for w := range acknowledged {
		for i, a := range acknowledged[w] {
			if a.Err != nil || a.Seq == 0 || a.Duplicate || texts[a.Key.ID][a.Seq-1] != fmt.Sprintf("%d/%d", w, i) {
				t.Fatalf("append %d of writer %d is answered with %+v, want its own new entry", i, w, a)
			}
		}
	}
	must(t, nodes[0].Close())
	must(t, nodes[1].Close())
}

// scaled multiplies a duration or count by the factor from the environment.
func scaled(t *testing.T) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("PGLOG_LONGER"), "1"))
	must(t, err)
	return n
}

func TestConnectionsEndAtRandom(t *testing.T) {
	address, name := place(t)
	admin := writerSession(t, address)
	killed := 0
	disturbed(t, address, func() {
		var n int
		err := admin.QueryRow(context.Background(), `SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
			WHERE application_name = $1 AND pid <> pg_backend_pid() AND query LIKE 'FETCH ALL%' ORDER BY state, random() LIMIT 1) them`, name).Scan(&n)
		if err != nil {
			t.Errorf("ending connections: %v", err)
		}
		killed += n
	})
	if killed < 10 {
		t.Errorf("%d connections were ended", killed)
	}
}

// TestPostgreSQLCrashes: PostgreSQL crashes repeatedly under load and restarts.
func TestPostgreSQLCrashes(t *testing.T) {
	server := sqltest.Private(t, "fsync=on")
	crashes, asked := 0, 0
	disturbed(t, server.URL, func() {
		if asked++; asked%24 == 0 {
			crashes++
			check(t, server.Crash(context.Background()))
		}
	})
	if crashes < 4 {
		t.Errorf("PostgreSQL crashed %d times, want at least 4", crashes)
	}
}

// TestLostAnswersAreRecovered: the outcome of a transaction whose connection ended is found, with the seqs that it assigned.
func TestLostAnswersAreRecovered(t *testing.T) {
	address, _ := place(t)
	through, way := between(t, address)
	var told []timeline.Commit
	l := open(t, way, pglog.Options{Timeout: 3 * time.Second, Listener: func(c []timeline.Commit) { told = append(told, c...) }})
	other := open(t, address, pglog.Options{})
	k := conversation(1)
	for i := range 3 { // so that each variant has its connection
		timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: fmt.Append(nil, "before", i), Token: token(1, uint64(i+1)), NeedsFanout: true})
	}
	for n, f := range []fate{loseAnswer, loseQuestion, comeLate, silent} {
		through.let(f)
		var wait sync.WaitGroup
		batch := []*timeline.AppendRequest{
			{Key: k, Payload: fmt.Append(nil, "with a token", f), Token: token(2, uint64(n+1)), Counts: true, NeedsFanout: true},
			{Key: k, Payload: fmt.Append(nil, "without a token", f), Counts: true, NeedsFanout: true},
			{Key: k, Payload: []byte("again"), Token: token(1, 2), NeedsFanout: true},
			{Key: k, Payload: []byte("stale"), CheckAccess: true, ExpectedAccess: 99, NeedsFanout: true},
		}
		for _, a := range batch {
			wait.Add(1)
			a.Done = func(*timeline.AppendRequest) { wait.Done() }
		}
		l.Append(batch...)
		wait.Wait()
		if f == comeLate {
			through.release()
		}
		first := uint64(4 + 2*n)
		a, b, again, stale := batch[0], batch[1], batch[2], batch[3]
		if a.Err != nil || a.Duplicate || a.Seq != first || a.Counted != uint64(2*n+1) || b.Err != nil || b.Seq != first+1 || b.Counted != uint64(2*n+2) {
			t.Errorf("failure %d: the new appends are %+v, %+v, want them stored in order after the earlier ones", f, a, b)
		}
		if again.Err != nil || !again.Duplicate || again.Seq != 2 || string(again.StoredPayload) != "before1" || !errors.Is(stale.Err, timeline.ErrStale) {
			t.Errorf("failure %d: the retry and the stale append are %+v, %+v, want a duplicate of seq 2 and ErrStale", f, again, stale)
		}
	}
	must(t, l.Close())
	through.awaitLateBatch()
	if got := strings.Join(read(t, other, k), " "); got != "before0 before1 before2 with a token1 without a token1 with a token2 without a token2 with a token3 without a token3 with a token4 without a token4" {
		t.Errorf("there are: %s", got)
	}
	records, err := other.FanoutRecords(t.Context(), k.Partition(), 0, 100)
	must(t, err)
	if len(records) != len(told) || through.refused() != 4 {
		t.Fatalf("%d records, %d commits were reported, %d batches were disturbed", len(records), len(told), through.refused())
	}
	for i, c := range told {
		ref := records[i].Refs[0]
		if c.RecordSeq != records[i].Seq || c.Partition != k.Partition() || c.Entries[0].Seq != ref.From || len(c.Entries) != int(ref.To-ref.From+1) {
			t.Errorf("reported %+v, stored %+v", c, records[i])
		}
	}
	must(t, other.Close())
}

// TestANodeStopsInTheMiddleOfSending: a node holds no locks before its whole batch has arrived.
func TestANodeStopsInTheMiddleOfSending(t *testing.T) {
	address, _ := place(t)
	through, way := between(t, address)
	l, other := open(t, way, pglog.Options{Timeout: 10 * time.Minute}), open(t, address, pglog.Options{})
	k := conversation(1)
	timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("before")}) // so that there is a connection
	through.let(half)
	large := &timeline.AppendRequest{Key: k, Payload: bytes.Repeat([]byte("x"), 1<<20)}
	done := make(chan struct{})
	large.Done = func(*timeline.AppendRequest) { close(done) }
	l.Append(large)
	eventually.True(t, "the connection is cut off", func() bool { return through.refused() > 0 })
	for i := range uint64(20) {
		if a := timelinetest.Append(other, &timeline.AppendRequest{Key: k, Payload: []byte("meanwhile")}); a.Err != nil || a.Seq != 2+i {
			t.Fatalf("an append of the other node is %+v, want it stored in order", a)
		}
	}
	through.release()
	<-done
	if large.Err != nil || large.Seq != 22 || len(read(t, other, k)[21]) != 1<<20 {
		t.Errorf("the large append has seq %d, %v, want 22, with its whole payload", large.Seq, large.Err)
	}
	must(t, l.Close())
	must(t, other.Close())
}

// TestRetriesDoNotDelayNewAppends: new appends of a batch are acknowledged while the stored entries of retries are still being read.
func TestRetriesDoNotDelayNewAppends(t *testing.T) {
	address, _ := place(t)
	through, way := between(t, address)
	l := open(t, way, pglog.Options{Timeout: 10 * time.Minute})
	k := conversation(1)
	timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("before"), Token: token(1, 1)})
	through.let(half)
	fresh, retried := make(chan struct{}), make(chan struct{}, 2)
	batch := []*timeline.AppendRequest{
		{Key: k, Payload: []byte("again"), Token: token(1, 1), Done: func(*timeline.AppendRequest) { retried <- struct{}{} }},
		{Key: k, Payload: []byte("once more"), Token: token(1, 1), Done: func(*timeline.AppendRequest) { retried <- struct{}{} }},
		{Key: k, Payload: []byte("new"), Token: token(1, 2), Done: func(*timeline.AppendRequest) { close(fresh) }},
	}
	l.Append(batch...)
	<-fresh
	eventually.True(t, "the connection is cut off", func() bool { return through.refused() > 0 })
	if len(retried) != 0 || batch[2].Err != nil || batch[2].Seq != 2 {
		t.Errorf("%d retries were answered; %+v", len(retried), batch[2])
	}
	through.release()
	for _, a := range batch[:2] {
		<-retried
		if a.Err != nil || !a.Duplicate || a.Seq != 1 || string(a.StoredPayload) != "before" {
			t.Errorf("a retry is %+v, want a duplicate of seq 1 with its payload", a)
		}
	}
	must(t, l.Close())
}

// TestANodeStopsInTheMiddleOfAPost: another node acquires the partition at once, and the late rest of the post is rejected.
func TestANodeStopsInTheMiddleOfAPost(t *testing.T) {
	address, _ := place(t)
	through, way := between(t, address)
	l, other := open(t, way, pglog.Options{Timeout: 10 * time.Minute}), open(t, address, pglog.Options{})
	k, ctx := inbox(1), context.Background()
	must(t, l.Acquire(ctx, k.Partition(), 1))
	must(t, l.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("before")}})) // so that there is a connection
	through.let(half)
	posted := make(chan error)
	go func() { posted <- l.Post(ctx, []timeline.Post{{Key: k, Payload: bytes.Repeat([]byte("x"), 1<<20)}}) }()
	eventually.True(t, "the connection is cut off", func() bool { return through.refused() > 0 })
	must(t, other.Acquire(ctx, k.Partition(), 2))
	through.release()
	if err := <-posted; !errors.Is(err, timeline.ErrFenced) {
		t.Errorf("error %v, want %v", err, timeline.ErrFenced)
	}
	must(t, l.Close())
	must(t, other.Close())
}

// TestAFailedCommitIsNotAcknowledged: the transaction fails at its commit, after all its statements have succeeded.
func TestAFailedCommitIsNotAcknowledged(t *testing.T) {
	address, _ := place(t)
	l := open(t, address, pglog.Options{})
	admin := writerSession(t, address)
	_, err := admin.Exec(t.Context(), `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE check_violation; END $$;
		CREATE CONSTRAINT TRIGGER at_the_end AFTER INSERT ON log_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.payload = 'bad') EXECUTE FUNCTION refuse()`)
	must(t, err)
	for i, text := range []string{"good", "bad", "good"} {
		a := timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(1), Payload: []byte(text), Token: token(1, uint64(i+1))})
		if (a.Err != nil) != (text == "bad") || a.Err == nil && a.Seq != uint64(len(read(t, l, conversation(1)))) {
			t.Errorf("the append of %s is %+v, want an error for bad only", text, a)
		}
	}
	if texts := read(t, l, conversation(1)); len(texts) != 2 {
		t.Errorf("the conversation has %v, want the two good entries", texts)
	}
	must(t, l.Close())
}

func TestAnOldTermIsRefused(t *testing.T) {
	address, name := place(t)
	older, newer := open(t, address, pglog.Options{}), open(t, address, pglog.Options{})
	ctx, k := context.Background(), inbox(5)
	elsewhere := inbox(6)
	for elsewhere.Partition() == k.Partition() {
		elsewhere.ID++
	}
	post := func(l *pglog.Log, keys ...timeline.Key) error {
		var posts []timeline.Post
		for _, k := range keys {
			posts = append(posts, timeline.Post{Key: k, Payload: []byte("x")})
		}
		return l.Post(ctx, posts)
	}
	if err := post(older, k); !errors.Is(err, timeline.ErrFenced) {
		t.Errorf("a post without a term returned %v, want ErrFenced", err)
	}
	must(t, older.Acquire(ctx, k.Partition(), 1))
	must(t, older.Acquire(ctx, elsewhere.Partition(), 1))
	must(t, post(older, k, elsewhere))
	must(t, older.PutCheckpoint(ctx, k.Partition(), 1))
	if fenced := (*timeline.FencedError)(nil); !errors.As(newer.Acquire(ctx, k.Partition(), 1), &fenced) || fenced.Term != 1 {
		t.Errorf("another log acquired it in the same term: %v", fenced)
	}

	// The other log acquires it while a post is in its transaction: Acquire returns when that has ended.
	c, held := writerSession(t, address), writerSession(t, address)
	_, err := c.Exec(ctx, `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(hashtext(current_schema())); RETURN NULL; END $$;
		CREATE TRIGGER hold AFTER INSERT ON log_posts EXECUTE FUNCTION hold()`)
	must(t, err)
	_, err = held.Exec(ctx, `SELECT pg_advisory_lock(hashtext(current_schema()))`)
	must(t, err)
	waits := func(statement string) bool {
		var n int
		must(t, c.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock' AND query LIKE '%' || $2 || '%'`, name, statement).Scan(&n))
		return n > 0
	}
	posted, taken := make(chan error, 1), make(chan error, 1)
	go func() { posted <- post(older, k) }()
	eventually.True(t, "the post waits", func() bool { return waits("INTO log_posts") })
	go func() { taken <- newer.Acquire(ctx, k.Partition(), 2) }()
	eventually.True(t, "Acquire waits", func() bool { return len(taken) > 0 || waits("UPDATE log_terms") })
	if len(taken) > 0 {
		t.Error("the partition was acquired while a post was in progress")
	}
	_, err = held.Exec(ctx, `SELECT pg_advisory_unlock(hashtext(current_schema()))`)
	must(t, err)
	must(t, <-posted)
	must(t, <-taken)
	if err := post(older, elsewhere, k); !errors.Is(err, timeline.ErrFenced) {
		t.Errorf("the older posts to both: %v", err)
	}
	if err := older.PutCheckpoint(ctx, k.Partition(), 9); !errors.Is(err, timeline.ErrFenced) {
		t.Errorf("the older moves the checkpoint: %v", err)
	}
	must(t, post(newer, k))
	must(t, newer.PutCheckpoint(ctx, k.Partition(), 2))
	must(t, post(older, elsewhere))
	tail, err := newer.Tail(ctx, elsewhere)
	must(t, err)
	checkpoint, err := older.Checkpoint(ctx, k.Partition())
	must(t, err)
	if tail.Seq != uint64(older.Epoch())<<32+2 || checkpoint != 2 {
		t.Errorf("in the other log: %+v, the checkpoint is %d", tail, checkpoint)
	}
	must(t, older.Close())
	must(t, newer.Close())
}

// TestAppendsWithoutTheDatabase: without the database, appends are retried until the timeout and then fail. They succeed when it is back.
func TestAppendsWithoutTheDatabase(t *testing.T) {
	address, _ := place(t)
	through, way := between(t, address)
	l := open(t, way, pglog.Options{Timeout: 2 * time.Second, Queue: 2})
	k := conversation(1)
	through.let(away)
	for range 2 {
		if a := timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("lost"), Token: token(1, 1)}); !errs.Is(a.Err, errs.Unavailable) || errs.Of(a.Err).Retry == 0 || a.Seq != 0 { // a permanent error would be shown as a failure, although the message may be stored
			t.Fatalf("an append without the database is %+v, want it refused as unavailable, with a time to retry", a)
		}
	}
	if through.refused() < 3 {
		t.Errorf("the flush was attempted %d times, want at least 3", through.refused())
	}
	var wait sync.WaitGroup
	wait.Add(4)
	batch := make([]*timeline.AppendRequest, 4)
	for i := range batch {
		batch[i] = &timeline.AppendRequest{Key: k, Done: func(*timeline.AppendRequest) { wait.Done() }}
	}
	l.Append(batch...) // more than may wait
	wait.Wait()
	if batch[0].Err != timeline.ErrBusy || batch[3].Err != timeline.ErrBusy {
		t.Errorf("the appends beyond the bound returned %v, %v, want ErrBusy", batch[0].Err, batch[3].Err)
	}
	through.let(pass)
	if a := timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("back"), Token: token(1, 1)}); a.Err != nil || a.Seq != 1 || a.Duplicate {
		t.Errorf("the append after the outage is %+v, want it stored as seq 1", a)
	}
	if texts := read(t, l, k); len(texts) != 1 || texts[0] != "back" {
		t.Errorf("the conversation has %q, want only the append after the outage", texts)
	}
	must(t, l.Close())
	through.awaitLateBatch()
}
