package fanout_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/service/fanout"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

func inMemory(l timeline.Listener) timeline.Log { return memlog.New(l) }

func onDisk(t testing.TB) func(timeline.Listener) timeline.Log {
	dir := t.TempDir()
	return func(l timeline.Listener) timeline.Log {
		log, err := pebblelog.Open(dir, pebblelog.Options{Listener: l, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		must(t, err)
		return log
	}
}

// someConversations creates conversations of 2 to 9 of 12 users.
func (s *stage) someConversations() {
	random := rand.New(rand.NewPCG(1, 2))
	for c := id.Conversation(1); c <= 20; c++ {
		users := random.Perm(12)[:2+random.IntN(8)]
		for _, u := range users {
			s.chat.of[c] = append(s.chat.of[c], id.User(u+1))
		}
		slices.Sort(s.chat.of[c])
	}
}

// write appends n entries to the conversations from several goroutines and waits until they are stored.
func (s *stage) write(from, n int) {
	var done, writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := w; i < n; i += 4 {
				s.append(id.Conversation(1+(from+i)%len(s.chat.of)), textEntry(fmt.Sprint(from+i)), &done)
			}
		})
	}
	writers.Wait()
	done.Wait()
}

// check compares every inbox with the logs: it has each entry of each of the user's conversations, in the conversation's order. If again is
// set, entries may be repeated, as after a crash, but new entries are still in order.
func (s *stage) check(again bool) {
	s.t.Helper()
	ctx := context.Background()
	for u := id.User(1); u <= 12; u++ {
		entries, err := s.log.Read(ctx, inbox(u), 0, 1<<20)
		must(s.t, err)
		highest := map[id.Conversation]uint64{}
		for _, e := range entries {
			c, seq, _, err := message.DecodeInbox(e.Payload)
			must(s.t, err)
			if !slices.Contains(s.chat.of[c], u) {
				s.t.Fatalf("user %d got an entry of conversation %d", u, c)
			}
			switch {
			case seq == highest[c]+1:
				highest[c] = seq
			case !again || seq > highest[c]:
				s.t.Fatalf("user %d got entry %d of conversation %d after %d", u, seq, c, highest[c])
			}
		}
		for c, users := range s.chat.of {
			tail, err := s.log.Tail(ctx, conversation(c))
			must(s.t, err)
			if slices.Contains(users, u) && highest[c] != tail.Seq {
				s.t.Fatalf("user %d got %d of %d entries of conversation %d", u, highest[c], tail.Seq, c)
			}
		}
	}
}

// checkPushed compares the deliveries with the inboxes: each node gets each user's entries in inbox order, and each names the one before.
func (s *stage) checkPushed() {
	s.t.Helper()
	type at struct {
		node string
		user id.User
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last, count := map[at]message.Position{}, map[at]int{}
	for _, g := range s.got {
		for _, target := range g.Targets {
			k := at{g.node, target.User}
			if target.Prev != last[k] || target.At <= target.Prev {
				s.t.Fatalf("user %d on %s got %d after %d, but the last delivery was %d", target.User, g.node, target.At, target.Prev, last[k])
			}
			last[k] = target.At
			count[k]++
			var e message.Entry
			if err := e.Decode(g.Body); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	for u := id.User(1); u <= 12; u++ {
		entries, err := s.log.Read(context.Background(), inbox(u), 0, 1<<20)
		must(s.t, err)
		for _, node := range (owners{}).Nodes() {
			want := 0
			if slices.Contains((owners{}).Locate(u), node) {
				want = len(entries)
			}
			if count[at{node, u}] != want {
				s.t.Fatalf("user %d on %s got %d of %d deliveries", u, node, count[at{node, u}], want)
			}
		}
	}
}

func TestEachEntryOnceInOrder(t *testing.T) {
	for name, open := range map[string]func(timeline.Listener) timeline.Log{"memory": inMemory, "pebble": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, open)
			s.someConversations()
			s.start()
			s.write(0, 4000)
			s.settle()
			s.check(false)
			s.checkPushed()
			if n := s.worker.Load().Dispatched(); n != 4000 {
				t.Errorf("%d entries were dispatched", n)
			}
			s.stop()
			must(t, s.log.Close())
			noGoroutines(t)
		})
	}
}

// TestRestartsContinueFromTheCheckpoint: workers stop at any time, also with full queues. The next worker continues from the checkpoints.
func TestRestartsContinueFromTheCheckpoint(t *testing.T) {
	for name, open := range map[string]func(timeline.Listener) timeline.Log{"memory": inMemory, "pebble": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, open)
			s.someConversations()
			random := rand.New(rand.NewPCG(3, 4))
			for round := range 8 {
				s.start()
				n := random.IntN(1500)
				if round%2 == 0 {
					var writing sync.WaitGroup
					writing.Go(func() { s.write(round*2000, n) })
					s.stop() // in the middle
					writing.Wait()
				} else {
					s.write(round*2000, n)
					s.stop()
				}
			}
			s.write(50_000, 100) // not announced
			s.start()
			s.settle()
			s.check(true)
			s.stop()
			must(t, s.log.Close())
			noGoroutines(t)
		})
	}
}

// TestEachFailureIsRetried: the store and the chat service fail for a while, at each call that fan-out makes.
func TestEachFailureIsRetried(t *testing.T) {
	for name, fail := range map[string]func(*stage){
		"post":       func(s *stage) { s.log.posts.Store(2) },
		"records":    func(s *stage) { s.log.records.Store(5) },
		"get":        func(s *stage) { s.log.gets.Store(5) },
		"checkpoint": func(s *stage) { s.log.checkpoints.Store(5) },
		"audience":   func(s *stage) { s.chat.fail.Store(5) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, inMemory)
			s.someConversations()
			s.write(0, 500) // to be read from the log
			fail(s)
			s.start()
			s.write(500, 500)
			s.settle()
			fail(s)
			s.write(1000, 500)
			s.settle()
			s.check(false)
			s.checkPushed()
			s.stop()
			must(t, s.log.Close())
		})
	}
}

// TestUnbufferedRecordsAreReadFromTheLog: while the dispatcher waits for an audience, more is committed than fits into the buffers of a
// partition and of all of them. Every entry arrives, in order.
func TestUnbufferedRecordsAreReadFromTheLog(t *testing.T) {
	for _, conversations := range []int{2, 40} {
		testUnbufferedRecords(t, conversations)
	}
}

func testUnbufferedRecords(t *testing.T, conversations int) {
	s := newStage(t, inMemory)
	for i := range conversations {
		u := id.User(1 + i%4)
		s.chat.of[id.Conversation(1+i)] = []id.User{u, u + 1, u + 2}
	}
	s.start()
	s.settle()
	gate := make(chan struct{})
	s.chat.gate.Store(&gate)
	var done sync.WaitGroup
	body := string(make([]byte, 100_000)) // 200 exceed the buffer of a partition, 10 of each of 40 exceed that of all
	for i := range 400 {
		s.append(id.Conversation(1+i%conversations), textEntry(body), &done)
	}
	done.Wait()
	s.chat.gate.Store(nil)
	close(gate)
	s.settle()
	s.check(false)
	s.checkPushed()
	s.stop()
	must(t, s.log.Close())
}

// TestUnannouncedCommitsAreReadFromTheLog: the worker misses many commits, such as those of another node. It reads them after a later announcement.
func TestUnannouncedCommitsAreReadFromTheLog(t *testing.T) {
	s := newStage(t, inMemory)
	s.someConversations()
	s.start()
	s.settle()
	s.deaf.Store(true)
	s.write(0, 2000)
	s.deaf.Store(false)
	s.write(2000, len(s.chat.of)) // to each of them
	s.settle()
	s.check(false)
	s.checkPushed()
	s.stop()
	must(t, s.log.Close())
}

func TestNotifyStoresAndPushesInOrder(t *testing.T) {
	ctx := context.Background()
	s := newStage(t, inMemory)
	s.someConversations()
	s.start()
	s.log.posts.Store(1)
	var notices []fanout.Notice
	for i := range 100 {
		notices = append(notices, fanout.Notice{User: id.User(1 + i%6), Body: message.AppendBody(nil, message.FieldRelation, []byte{byte(i)})})
	}
	must(t, s.worker.Load().Notify(ctx, notices))
	must(t, s.worker.Load().Notify(ctx, nil))
	next := map[id.User]int{}
	for u := id.User(1); u <= 6; u++ {
		entries, err := s.log.Read(ctx, inbox(u), 0, 1000)
		must(t, err)
		for _, e := range entries { // Notify returns after everything is appended
			_, seq, body, err := message.DecodeInbox(e.Payload)
			if want := int(u) - 1 + 6*next[u]; err != nil || seq != 0 || int(body[len(body)-1]) != want {
				t.Fatalf("user %d got %v (%v), want %d", u, body, err, want)
			}
			next[u]++
		}
		if want := (100 - int(u) + 6) / 6; next[u] != want {
			t.Errorf("user %d got %d of %d", u, next[u], want)
		}
	}
	pushed := map[id.User]int{}
	s.stop()
	for _, g := range s.got {
		if g.Kind != message.DeliverEvent || g.node != "a" && g.node != "b" {
			t.Fatalf("got the delivery %+v, want an event for a node with connections", g)
		}
		for _, target := range g.Targets {
			pushed[target.User]++
		}
	}
	for u := id.User(1); u <= 6; u++ {
		if want := next[u] * len((owners{}).Locate(u)); pushed[u] != want {
			t.Errorf("user %d was pushed %d of %d", u, pushed[u], want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	w := fanout.New(fanout.Deps{Log: s.log, Chat: s.chat, Directory: owners{}, Bus: s.bus, Logger: slog.New(slog.DiscardHandler)})
	if err := w.Notify(ended, notices); err == nil {
		t.Error("Notify succeeded although no worker appended the event")
	}
	must(t, s.log.Close())
	noGoroutines(t)
}

// TestTransientNeverBlocks: transient frames reach connected users, store nothing, and never block.
func TestTransientNeverBlocks(t *testing.T) {
	s := newStage(t, inMemory)
	w := fanout.New(fanout.Deps{Log: s.log, Chat: s.chat, Directory: owners{}, Bus: s.bus, Logger: slog.New(slog.DiscardHandler)})
	for range 2000 { // no worker runs: notices beyond the queue bound are dropped
		w.Transient([]id.User{2, 3}, []byte("x"))
	}
	s.start()
	s.worker.Load().Transient([]id.User{1, 2, 3, 4, 6}, []byte("typing"))
	// Notices use the same lanes, so they arrive after it.
	must(t, s.worker.Load().Notify(context.Background(), []fanout.Notice{{User: 1, Body: []byte{1}}, {User: 2, Body: []byte{1}}, {User: 3, Body: []byte{1}}, {User: 4, Body: []byte{1}}}))
	s.stop()
	targets := map[string][]id.User{}
	for _, g := range s.got {
		if g.Kind != message.DeliverFrame {
			continue
		}
		for _, target := range g.Targets {
			if string(g.Body) != "typing" || target.At != 0 || target.Prev != 0 {
				t.Errorf("got the delivery %+v, want typing without a position", g)
			}
			targets[g.node] = append(targets[g.node], target.User)
		}
	}
	for _, users := range targets {
		slices.Sort(users)
	}
	if fmt.Sprint(targets) != "map[a:[2 4 6] b:[3 6]]" {
		t.Errorf("delivered to %v", targets)
	}
	if tail, err := s.log.Tail(context.Background(), inbox(6)); err != nil || tail.Seq != 0 {
		t.Errorf("the inbox has %+v (%v)", tail, err)
	}
	must(t, s.log.Close())
}

// TestLargeConversationsPostOnlyMembershipChanges: a large conversation writes only the inboxes of members who join or leave. Each node gets each entry once, in order, in
// one lane; follow deliveries are in that order too.
func TestLargeConversationsPostOnlyMembershipChanges(t *testing.T) {
	s := newStage(t, inMemory)
	const c = 7
	s.chat.of[c], s.chat.large[c] = []id.User{1, 2, 3, 4, 5, 6}, true
	s.start()
	var done sync.WaitGroup
	s.append(c, textEntry("one"), &done)
	s.append(c, controlEntry(t, chatv1.Control_ACTION_JOINED, 4, 6), &done)
	s.append(c, textEntry("two"), &done)
	s.append(c, controlEntry(t, chatv1.Control_ACTION_REMOVED, 6), &done)
	s.append(c, textEntry("three"), &done)
	done.Wait()
	s.settle()
	s.stop()
	posted := s.posted(1, 2, 3, 4, 5, 6)
	if want := map[id.User][]uint64{1: {}, 2: {}, 3: {}, 4: {2}, 5: {}, 6: {2, 4}}; !maps.EqualFunc(posted, want, slices.Equal) {
		t.Errorf("the inboxes have %v, want %v", posted, want)
	}
	if at, _ := s.chat.applied.Load(id.Conversation(c)); at != uint64(4) {
		t.Errorf("the highest control entry awaited is %v", at)
	}
	lanes := map[int]bool{}
	steps := map[string][]string{}
	streams := map[string]int{} // stream deliveries
	for _, g := range s.got {
		if g.Kind == message.DeliverEntry && !g.Large {
			for _, target := range g.Targets {
				streams[fmt.Sprintf("%s%d@%d %v", g.node, target.User, g.Seq, target.At != 0)]++
			}
			continue
		}
		lanes[g.lane] = true
		step := fmt.Sprint(g.Kind, "@", g.Seq)
		if g.Kind == message.DeliverEntry && (len(g.Targets) > 0 || g.Counted != g.Seq) {
			t.Errorf("got the delivery %+v, want an entry without targets, counted as its seq", g)
		}
		for _, target := range g.Targets {
			step += fmt.Sprint(" ", target.User)
		}
		steps[g.node] = append(steps[g.node], step)
	}
	if len(lanes) != 1 {
		t.Errorf("lanes %v", lanes)
	}
	want := map[string][]string{"a": {"1@1", "1@2", "4@2 4 6", "1@3", "1@4", "5@4 6", "1@5"}, "b": {"1@1", "1@2", "4@2 6", "1@3", "1@4", "5@4 6", "1@5"}}
	if fmt.Sprint(steps) != fmt.Sprint(want) {
		t.Errorf("got\n%v, want\n%v", steps, want)
	}
	if want := map[string]int{"a4@2 true": 1, "a6@2 true": 1, "b6@2 true": 1, "a6@4 true": 1, "b6@4 true": 1}; !maps.Equal(streams, want) {
		t.Errorf("delivered %v, want %v", streams, want)
	}
	must(t, s.log.Close())
}

// TestAccessEntriesReachNodesOnly: the entry after which nodes check write access again reaches nodes, but no user's stream or device.
func TestAccessEntriesReachNodesOnly(t *testing.T) {
	s := newStage(t, inMemory)
	const c = 7
	s.chat.of[c] = []id.User{4, 6}
	s.start()
	var done sync.WaitGroup
	s.append(c, textEntry("one"), &done)
	s.append(c, controlEntry(t, chatv1.Control_ACTION_ACCESS), &done)
	s.append(c, textEntry("two"), &done)
	done.Wait()
	s.settle()
	s.stop()
	if at, _ := s.chat.applied.Load(id.Conversation(c)); at != uint64(2) {
		t.Errorf("the highest control entry awaited is %v", at)
	}
	for u, posts := range s.posted(4, 6) {
		if !slices.Equal(posts, []uint64{1, 3}) {
			t.Errorf("the stream of %d has %v", u, posts)
		}
	}
	for _, g := range s.got {
		if g.Seq == 2 {
			t.Errorf("delivered %+v", g)
		}
	}
	must(t, s.log.Close())
}

// posted returns the seqs in users' streams.
func (s *stage) posted(users ...id.User) map[id.User][]uint64 {
	s.t.Helper()
	posts := map[id.User][]uint64{}
	for _, u := range users {
		entries, err := s.log.Read(context.Background(), inbox(u), 0, 1000)
		must(s.t, err)
		posts[u] = []uint64{}
		for _, e := range entries {
			_, seq, _, err := message.DecodeInbox(e.Payload)
			must(s.t, err)
			posts[u] = append(posts[u], seq)
		}
	}
	return posts
}

// TestAFailingPartitionDelaysNoOther: the audience of one conversation cannot be resolved; the other partitions continue.
func TestAFailingPartitionDelaysNoOther(t *testing.T) {
	s := newStage(t, inMemory)
	s.someConversations()
	broken := &brokenChat{members: s.chat, broken: 3}
	w := fanout.New(fanout.Deps{Log: s.log, Chat: broken, Directory: owners{}, Bus: s.bus, Logger: slog.New(slog.DiscardHandler)})
	for p := range timeline.Partitions {
		assign(w, p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.worker.Store(w)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	endsWith(t, cancel, done)
	s.write(0, 200)
	other := id.Conversation(1)
	for conversation(other).Partition() == conversation(3).Partition() {
		other++
	}
	var appended sync.WaitGroup
	s.append(other, textEntry("last"), &appended)
	appended.Wait()
	tail, err := s.log.Tail(ctx, conversation(other))
	must(t, err)
	eventually.True(t, "the other conversation's entry arrives", func() (arrived bool) {
		entries, err := s.log.ReadBackward(ctx, inbox(s.chat.of[other][0]), 0, 1000)
		must(t, err)
		for _, e := range entries {
			c, seq, _, err := message.DecodeInbox(e.Payload)
			must(t, err)
			arrived = arrived || c == other && seq == tail.Seq
		}
		return arrived
	})

	cancel()
	<-done
	s.worker.Store(nil)
	s.start()
	s.settle()
	s.check(true)
	s.stop()
	must(t, s.log.Close())
}

type brokenChat struct {
	*members
	broken id.Conversation
}

func (b *brokenChat) Audience(ctx context.Context, c id.Conversation, seq uint64) ([]id.User, bool, error) {
	if c == b.broken {
		return nil, false, errBroken
	}
	return b.members.Audience(ctx, c, seq)
}

// An update is applied before it is delivered, and delivered with its present content.
func TestUpdatesAreAppliedBeforeDelivery(t *testing.T) {
	s := newStage(t, inMemory)
	s.chat.of[1] = []id.User{2}
	var done sync.WaitGroup
	s.append(1, textEntry("first"), &done)
	updates := make([]*timeline.AppendRequest, 3)
	done.Add(len(updates))
	for i := range updates {
		updates[i] = &timeline.AppendRequest{Key: conversation(1), Payload: (&message.Entry{Sender: 2, Updates: 1, Content: []byte("update")}).Append(nil), NeedsFanout: true, Done: func(*timeline.AppendRequest) { done.Done() }}
	}
	s.log.Append(updates...) // in one record
	done.Wait()
	s.start()
	s.settle()
	s.stop()
	if seq, ok := s.chat.applied.Load(id.Conversation(1)); !ok || seq != uint64(4) {
		t.Errorf("the last update was not applied: %v", seq)
	}
	if n := s.chat.applyCalls.Load(); n != 1 {
		t.Errorf("the updates of one record were applied in %d calls", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var contents []string
	for _, g := range s.got {
		var e message.Entry
		must(t, e.Decode(g.Body))
		contents = append(contents, string(e.Content))
	}
	if want := []string{string(message.AppendText(nil, "first")), "applied update"}; !slices.Equal(slices.Compact(contents), want) {
		t.Errorf("delivered %q, want %q", contents, want)
	}
}

// The mentions of a message are known before it is delivered.
func TestMentionsAreAppliedBeforeDelivery(t *testing.T) {
	s := newStage(t, inMemory)
	s.chat.of[1] = []id.User{2}
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Text{Text: "@2"}, Mentions: []*chatv1.Mention{{Length: 2, User: 2}}})
	must(t, err)
	var done sync.WaitGroup
	s.append(1, (&message.Entry{Sender: 1, Content: content}).Append(nil), &done)
	done.Wait()
	s.start()
	s.settle()
	s.stop()
	if seq, ok := s.chat.applied.Load(id.Conversation(1)); !ok || seq != uint64(1) {
		t.Errorf("the mentions of the message at 1 were not applied: %v", seq)
	}
}
