package pglog_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/pglog"
	"github.com/rialto-im/rialto/internal/timeline/timelinetest"
)

// until a question is answered with true.
func until(t *testing.T, c *pgx.Conn, question string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for yes := false; !yes; runtime.Gosched() {
		if err := c.QueryRow(ctx, question).Scan(&yes); err != nil {
			t.Fatalf("%s: %v", question, err)
		}
	}
}

const (
	waits  = `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`
	cancel = `SELECT coalesce(bool_or(pg_cancel_backend(pid)), false) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`
)

// TestTheStandbyIsAway: nothing is acknowledged without it, and nothing shown; what was refused is stored once when it is asked for again.
func TestTheStandbyIsAway(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx := t.Context()
	for _, setting := range []string{"statement_timeout = '100ms'", "client_min_messages = 'error'", "synchronous_commit = 'local'"} {
		must(t, p.Primary().Exec(ctx, "ALTER ROLE rialto SET "+setting))
	}
	hasty, patient := open(t, p.URL, pglog.Options{Patience: 2 * time.Second}), open(t, p.URL, pglog.Options{Patience: time.Minute})
	admin := session(t, p.Primary().URL)
	_, err := admin.Exec(ctx, `SET statement_timeout = 0`)
	must(t, err)
	k := conversation(1)
	first := &timeline.Append{Key: k, Payload: []byte("first"), Token: token(1, 1)}
	if timelinetest.Append(hasty, first); first.Err != nil {
		t.Fatal(first.Err)
	}
	must(t, hasty.Take(ctx, inbox(1).Partition()))

	must(t, p.Standby().Pause())
	if err := hasty.Take(ctx, inbox(1).Partition()); !errs.Is(err, errs.Unavailable) {
		t.Errorf("a term without the standby: %v", err)
	}
	if a := timelinetest.Append(hasty, &timeline.Append{Key: k, Payload: []byte("second"), Token: token(1, 2)}); !errs.Is(a.Err, errs.Unavailable) {
		t.Errorf("without the standby: %+v", a)
	}
	var term int
	must(t, admin.QueryRow(ctx, `SELECT term FROM log_terms WHERE partition = $1`, int16(inbox(1).Partition())).Scan(&term))
	if texts := read(t, patient, k); len(texts) != 1 || term != 2 {
		t.Errorf("what the standby does not have is shown: %q, term %d", texts, term)
	}
	must(t, p.Standby().Resume())
	if a := timelinetest.Append(patient, &timeline.Append{Key: k, Payload: []byte("second"), Token: token(1, 2)}); a.Err != nil || a.Seq != 2 || !a.Duplicate {
		t.Errorf("again: %+v", a)
	}

	// An operator cancels the wait, and PostgreSQL answers that it is committed.
	must(t, patient.Take(ctx, inbox(1).Partition()))
	must(t, p.Standby().Pause())
	posted, appended := make(chan error, 1), make(chan *timeline.Append, 1)
	go func() { posted <- patient.Post(ctx, []timeline.Post{{Key: inbox(1), Payload: []byte("x")}}) }()
	until(t, admin, waits)
	until(t, admin, cancel)
	if err := <-posted; !errs.Is(err, errs.Unavailable) {
		t.Errorf("a post whose wait was cancelled: %v", err)
	}
	go func() {
		appended <- timelinetest.Append(patient, &timeline.Append{Key: k, Payload: []byte("third")})
	}()
	until(t, admin, waits)
	until(t, admin, cancel)
	until(t, admin, waits) // for what asks what became of it
	until(t, admin, cancel)
	until(t, admin, waits)
	if len(appended) > 0 {
		t.Errorf("it was acknowledged: %+v", <-appended)
	}
	must(t, p.Standby().Resume())
	if a := <-appended; a.Err != nil || a.Seq != 3 {
		t.Errorf("a lost answer: %+v", a)
	}
	if texts := read(t, hasty, k); len(texts) != 3 {
		t.Errorf("%q", texts)
	}
	must(t, hasty.Close())
	must(t, patient.Close())
}

// TestWhatIsNotOnTheStandbyIsNotRecalled: a committer that has found its batch in the primary, and lost that before the standby had
// either, asks the next one anew.
func TestWhatIsNotOnTheStandbyIsNotRecalled(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx, k := t.Context(), conversation(1)
	l := open(t, p.URL, pglog.Options{Patience: time.Minute, Every: 100 * time.Millisecond})
	if a := timelinetest.Append(l, &timeline.Append{Key: k, Payload: []byte("first"), Token: token(1, 1)}); a.Err != nil {
		t.Fatal(a.Err)
	}
	must(t, p.Standby().Kill())
	appended := make(chan *timeline.Append, 1)
	go func() {
		appended <- timelinetest.Append(l, &timeline.Append{Key: k, Payload: []byte("second"), Token: token(1, 2)})
	}()
	admin := session(t, p.Primary().URL)
	until(t, admin, waits)
	until(t, admin, cancel) // the batch is stored here, and its answer is none
	until(t, admin, cancel+` AND query LIKE 'UPDATE log_writers %'`)
	until(t, admin, waits+` AND query LIKE 'INSERT INTO log_writers %'`) // by whom the batch was found
	must(t, p.Primary().Kill())
	must(t, p.Standby().Restart(ctx))
	must(t, p.Promote(ctx))
	if a := <-appended; a.Err != nil || a.Seq != 2 {
		t.Errorf("%+v", a)
	}
	if texts := read(t, l, k); len(texts) != 2 {
		t.Errorf("it was acknowledged, and there is %q", texts)
	}
	must(t, l.Close())
}

// TestFewWaitForTheStandby: what is tried while it is away is given up, and does not become more and more connections at the server.
func TestFewWaitForTheStandby(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx := t.Context()
	l := open(t, p.URL, pglog.Options{Patience: time.Second, Writers: 1})
	post := func(u uint64) error { return l.Post(ctx, []timeline.Post{{Key: inbox(u), Payload: []byte("x")}}) }
	for err := post(1); err != nil; err = post(1) { // Take and Post; a slow machine needs some
		if !errs.Is(err, errs.Unavailable) && !errors.Is(err, timeline.ErrTaken) {
			t.Fatal(err)
		}
		for p := range uint16(timeline.Partitions) {
			if err := l.Take(ctx, p); err != nil && !errs.Is(err, errs.Unavailable) {
				t.Fatal(err)
			}
		}
	}
	admin := session(t, p.Primary().URL)
	must(t, p.Standby().Pause())
	for u := uint64(2); u < 12; u++ { // each of its own, which waits for no other's row
		if err := post(u); !errs.Is(err, errs.Unavailable) {
			t.Errorf("a post without the standby: %v", err)
		}
	}
	until(t, admin, `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%log_inboxes%'`)
	var waiting int
	must(t, admin.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%log_inboxes%'`).Scan(&waiting))
	if waiting > 2 {
		t.Errorf("%d posts wait at the server", waiting)
	}
	for range 3 { // the first of this committer: it has no writer yet
		if a := timelinetest.Append(l, &timeline.Append{Key: conversation(1), Payload: []byte("x")}); !errs.Is(a.Err, errs.Unavailable) {
			t.Errorf("an append without the standby: %+v", a)
		}
	}
	until(t, admin, `SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'INSERT INTO log_writers %'`)
	must(t, p.Standby().Resume())
	for err := post(20); err != nil; err = post(20) {
		if !errs.Is(err, errs.Unavailable) {
			t.Fatal(err)
		}
	}
	for a := (&timeline.Append{Err: timeline.ErrBusy}); a.Err != nil; {
		a = timelinetest.Append(l, &timeline.Append{Key: conversation(1), Payload: []byte("y"), Token: token(1, 1)})
		if a.Err != nil && !errs.Is(a.Err, errs.Unavailable) {
			t.Fatal(a.Err)
		}
	}
	must(t, l.Close())
}

// load of a failover: what was appended and posted, and what of it was acknowledged.
type load struct {
	t       *testing.T
	nodes   []*pglog.Log
	clock   atomic.Int64 // orders what is begun and what has ended
	acks    chan struct{}
	stop    chan struct{}
	working sync.WaitGroup

	mu     sync.Mutex // guards what follows
	acked  []acked
	seen   map[uint64]map[uint64]string // by conversation and seq
	posted map[string]uint64
}

// acked is an acknowledged append, and between which times.
type acked struct {
	conversation, seq uint64
	text              string
	begun, ended      int64
}

const talks = 4

// append goes on until it is acknowledged, by one node or the other; then it is asked for once more.
func (l *load) append(w uint64) {
	for i := uint64(1); ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		k, text, begun := conversation(i%talks+1), fmt.Sprintf("%d/%d", w, i), l.clock.Add(1)
		var a *timeline.Append
		for try := uint64(0); ; try++ {
			a = timelinetest.Append(l.nodes[(w+try)%2], &timeline.Append{Key: k, Payload: []byte(text), Token: token(w, i), Carry: true, Counts: true, Author: w})
			if a.Err == nil {
				break
			}
			if !errs.Is(a.Err, errs.Unavailable) {
				l.t.Errorf("%s: %v", text, a.Err)
				return
			}
		}
		ended := l.clock.Add(1)
		again := timelinetest.Append(l.nodes[w%2], &timeline.Append{Key: k, Payload: []byte(text), Token: token(w, i), Carry: true, Counts: true, Author: w})
		if again.Err == nil && (!again.Duplicate || again.Seq != a.Seq || string(again.Stored) != text) {
			l.t.Errorf("%s is at %d, and once more: %+v", text, a.Seq, again)
		}
		l.mu.Lock()
		l.acked = append(l.acked, acked{k.ID, a.Seq, text, begun, ended})
		l.mu.Unlock()
		select {
		case l.acks <- struct{}{}:
		default:
		}
	}
}

// post in one term all along: a promoted standby has it as well.
func (l *load) post(n int) {
	k := inbox(uint64(n + 1))
	for i := 1; ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		text := fmt.Sprintf("%d/%d", n, i)
		posts := []timeline.Post{{Key: k, Payload: []byte(text)}}
		err := l.nodes[n].Post(context.Background(), posts)
		for errs.Is(err, errs.Unavailable) {
			err = l.nodes[n].Post(context.Background(), posts)
		}
		if err != nil {
			l.t.Errorf("post %s: %v", text, err)
			return
		}
		l.mu.Lock()
		l.posted[text] = posts[0].Seq
		l.mu.Unlock()
	}
}

// follow reads as it grows, and has seen one text at a place for ever.
func (l *load) follow(n int) {
	var at [talks + 1]uint64
	for last := false; ; {
		for k := uint64(1); k <= talks; k++ {
			entries, err := l.nodes[n].Read(context.Background(), conversation(k), at[k], 1000)
			if errs.Is(err, errs.Unavailable) {
				continue
			}
			check(l.t, err)
			l.mu.Lock()
			for _, e := range entries {
				if before, ok := l.seen[k][e.Seq]; ok && before != string(e.Payload) || e.Seq != at[k]+1 {
					l.t.Errorf("node %d sees %q at %d of %d, where %q was seen, after %d", n, e.Payload, e.Seq, k, before, at[k])
				}
				l.seen[k][e.Seq], at[k] = string(e.Payload), e.Seq
			}
			l.mu.Unlock()
		}
		if last {
			return
		}
		select {
		case <-l.stop:
			last = true
		default:
		}
	}
}

// await some acknowledgements.
func (l *load) await() {
	for range 40 {
		<-l.acks
	}
}

// verify what is stored against what was said and seen.
func (l *load) verify() {
	t, stored, places := l.t, map[string]bool{}, map[uint64][]string{}
	for k := uint64(1); k <= talks; k++ {
		places[k] = read(t, l.nodes[0], conversation(k)) // without a gap
		for i, text := range places[k] {
			if stored[text] {
				t.Errorf("%s is stored twice", text)
			}
			stored[text] = true
			if seen, ok := l.seen[k][uint64(i+1)]; ok && seen != text {
				t.Errorf("%q is at %d of %d, where %q was seen", text, i+1, k, seen)
			}
		}
	}
	latest := map[uint64]map[uint64]acked{} // by seq
	for _, a := range l.acked {
		if int(a.seq) > len(places[a.conversation]) || places[a.conversation][a.seq-1] != a.text {
			t.Fatalf("%s was acknowledged at %d of %d, and is not there", a.text, a.seq, a.conversation)
		}
		if latest[a.conversation] == nil {
			latest[a.conversation] = map[uint64]acked{}
		}
		latest[a.conversation][a.seq] = a
	}
	for _, line := range latest { // what had ended before another began is before it
		var begun int64
		for seq := uint64(1); seq <= uint64(len(l.acked)); seq++ {
			a, ok := line[seq]
			if !ok {
				continue
			}
			if a.ended < begun {
				t.Errorf("%s, at %d, was acknowledged before one that is before it was begun", a.text, a.seq)
			}
			begun = max(begun, a.begun)
		}
	}
	l.verifyCarried(len(stored))
}

// verifyCarried holds records and posts to what they promise.
func (l *load) verifyCarried(entries int) {
	t, ctx, named := l.t, context.Background(), 0
	for p := range uint16(timeline.Partitions) {
		records, err := l.nodes[1].Records(ctx, p, 0, 1<<20)
		must(t, err)
		for i, r := range records {
			if r.Seq != uint64(i+1) {
				t.Fatalf("partition %d: record %d is at %d", p, r.Seq, i)
			}
			for _, ref := range r.Refs {
				named += int(ref.To - ref.From + 1)
			}
		}
	}
	if named != entries {
		t.Errorf("records name %d entries of %d", named, entries)
	}
	at := map[string]map[uint64]bool{}
	for n := range l.nodes {
		all, err := l.nodes[1-n].Read(ctx, inbox(uint64(n+1)), 0, 1<<20)
		must(t, err)
		before := uint64(0)
		for _, e := range all {
			if e.Prev != before {
				t.Errorf("inbox %d: %d comes after %d, and says %d", n+1, e.Seq, before, e.Prev)
			}
			if before = e.Seq; at[string(e.Payload)] == nil {
				at[string(e.Payload)] = map[uint64]bool{}
			}
			at[string(e.Payload)][e.Seq] = true
		}
	}
	for text, seq := range l.posted {
		if !at[text][seq] {
			t.Errorf("post %s was acknowledged at %d, and is not there", text, seq)
		}
	}
}

// TestFailover: the primary is killed or paused under load, the standby promoted, and what was the primary believes to be it for a while.
func TestFailover(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	options := pglog.Options{Patience: 4 * time.Second, Every: 100 * time.Millisecond}
	l := &load{t: t, nodes: []*pglog.Log{open(t, p.URL, options), open(t, p.URL, options)}, acks: make(chan struct{}, 1), stop: make(chan struct{}),
		seen: map[uint64]map[uint64]string{}, posted: map[string]uint64{}}
	for k := range uint64(talks) {
		l.seen[k+1] = map[uint64]string{}
	}
	for n, node := range l.nodes {
		must(t, node.Take(t.Context(), inbox(uint64(n+1)).Partition()))
		l.working.Go(func() { l.post(n) })
		l.working.Go(func() { l.follow(n) })
	}
	if inbox(1).Partition() == inbox(2).Partition() {
		t.Fatal("the nodes need partitions of their own")
	}
	for w := range uint64(6) {
		l.working.Go(func() { l.append(w) })
	}
	l.await()
	rounds := 3
	if n := longer(t); n > 1 {
		rounds = 6 * n
	}
	for round := range rounds {
		if round%3 == 1 {
			must(t, p.Primary().Pause())
		} else {
			must(t, p.Primary().Kill())
		}
		must(t, p.Promote(t.Context()))
		l.await() // by the other
		switch round % 3 {
		case 0:
			must(t, p.Standby().Restart(t.Context()))
			l.await()
		case 1:
			must(t, p.Standby().Resume())
			l.await()
		}
		must(t, p.Rejoin(t.Context()))
		l.await()
	}
	close(l.stop)
	l.working.Wait()
	l.verify()
	t.Logf("%d appends and %d posts were acknowledged", len(l.acked), len(l.posted))
	for _, node := range l.nodes {
		must(t, node.Close())
	}
}

// TestANodeThatStartsTakesNoOldPrimary, though it is named first and takes connections: the other server says that it was promoted since.
func TestANodeThatStartsTakesNoOldPrimary(t *testing.T) {
	t.Parallel()
	for name, synchronous := range map[string]bool{"its commits wait": true, "its commits wait for nobody": false} {
		t.Run(name, func(t *testing.T) {
			p := sqltest.PairOf(t, sqltest.PairOptions{})
			ctx := t.Context()
			l := open(t, p.URL, pglog.Options{})
			must(t, p.Synchronous(ctx, synchronous))
			must(t, p.Primary().Kill())
			must(t, p.Promote(ctx))
			if a := timelinetest.Append(l, &timeline.Append{Key: conversation(1), Payload: []byte("new"), Token: token(1, 1)}); a.Err != nil {
				t.Fatal(a.Err)
			}
			must(t, l.Close())
			must(t, p.Standby().Restart(ctx))
			l = open(t, p.URL, pglog.Options{Every: time.Hour})
			if texts := read(t, l, conversation(1)); len(texts) != 1 {
				t.Errorf("the node reads where nothing is written: %q", texts)
			}
			must(t, l.Close())
			if !synchronous {
				return
			}
			if _, err := pglog.Open(ctx, p.Standby().URL, pglog.Options{}); err == nil || !strings.Contains(err.Error(), "its standby does not take what it commits") {
				t.Errorf("alone, what was the primary is believed: %v", err)
			}
		})
	}
}
