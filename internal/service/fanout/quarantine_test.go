package fanout_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// corruptLog is a log in which one entry, or all records of a partition, are corrupt until it is repaired.
type corruptLog struct {
	timeline.Log
	entry    timeline.Ref
	record   atomic.Int64 // partition, -1: none
	stream   id.User      // user whose inbox rejects posts; 0: none
	repaired atomic.Bool
	hangs    atomic.Bool // reading the first entry of a conversation alone hangs
}

func (l *corruptLog) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	if l.hangs.Load() && len(refs) == 1 && refs[0].To == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.GetLimited(ctx, refs, 1<<30)
}

func (l *corruptLog) GetLimited(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	hit := func(r timeline.Ref) bool {
		return r.Key == l.entry.Key && r.From <= l.entry.From && r.To >= l.entry.From
	}
	if !l.repaired.Load() && slices.ContainsFunc(refs, hit) {
		return nil, fmt.Errorf("%w", timeline.ErrCorrupt)
	}
	return l.Log.GetLimited(ctx, refs, bytes)
}

func (l *corruptLog) Post(ctx context.Context, posts []timeline.Post) error {
	if l.stream != 0 && !l.repaired.Load() && slices.ContainsFunc(posts, func(p timeline.Post) bool { return p.Key == inbox(l.stream) }) {
		return fmt.Errorf("%w", timeline.ErrCorrupt)
	}
	return l.Log.Post(ctx, posts)
}

func (l *corruptLog) FanoutRecords(ctx context.Context, p uint16, after uint64, limit int) ([]timeline.FanoutRecord, error) {
	if l.record.Load() == int64(p) {
		return nil, timeline.ErrCorrupt
	}
	return l.Log.FanoutRecords(ctx, p, after, limit)
}

// corruptState is a chat service that cannot read the state of a conversation until it is repaired.
type corruptState struct {
	*members
	lost     id.Conversation
	repaired atomic.Bool
}

func (r *corruptState) Audience(ctx context.Context, c id.Conversation, seq uint64) ([]id.User, bool, error) {
	if c == r.lost && !r.repaired.Load() {
		return nil, false, fmt.Errorf("its state: %w", timeline.ErrCorrupt)
	}
	return r.members.Audience(ctx, c, seq)
}

// fakeQuarantine keeps quarantined entries in memory.
type fakeQuarantine struct {
	mu   sync.Mutex // guards all
	fail int        // number of Put calls that fail
	at   map[timeline.Ref]string
	puts map[timeline.Ref]int64
}

func (s *fakeQuarantine) Put(_ context.Context, k timeline.Key, seq uint64, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail--; s.fail >= 0 {
		return errBroken
	}
	r := timeline.Ref{Key: k, From: seq, To: seq}
	if _, again := s.at[r]; again {
		s.puts[r]++
	}
	s.at[r] = why
	return nil
}

func (s *fakeQuarantine) List(_ context.Context, p uint16, after timeline.Ref, limit int) (refs []timeline.Ref, puts []int64, err error) {
	for _, r := range s.all() {
		if r.Key.Partition() == p && comparePositions(r, after) > 0 && len(refs) < limit {
			s.mu.Lock()
			refs, puts = append(refs, r), append(puts, s.puts[r])
			s.mu.Unlock()
		}
	}
	return refs, puts, nil
}

func (s *fakeQuarantine) Remove(_ context.Context, k timeline.Key, seq uint64, puts int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := (timeline.Ref{Key: k, From: seq, To: seq}); s.puts[r] <= puts {
		delete(s.at, r)
		delete(s.puts, r)
	}
	return nil
}

func (s *fakeQuarantine) all() (refs []timeline.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.at {
		refs = append(refs, r)
	}
	slices.SortFunc(refs, comparePositions)
	return refs
}

// comparePositions orders positions by conversation and seq.
func comparePositions(a, b timeline.Ref) int {
	return cmp.Or(cmp.Compare(a.Key.ID, b.Key.ID), cmp.Compare(a.From, b.From))
}

// inStream returns the seqs in a user's stream.
func (s *stage) inStream(u id.User) (seqs []uint64) {
	entries, err := s.log.Read(s.t.Context(), inbox(u), 0, 100)
	must(s.t, err)
	for _, e := range entries {
		_, seq, _, err := message.DecodeInbox(e.Payload)
		must(s.t, err)
		seqs = append(seqs, seq)
	}
	return seqs
}

// One corrupt entry delays no others, and is dispatched once it is readable again.
func TestCorruptRecordsAreQuarantined(t *testing.T) {
	synctest.Test(t, corruptRecordsAreQuarantined)
}

func corruptRecordsAreQuarantined(t *testing.T) {
	// All are in one partition. The first has an unreadable entry, the second an undecodable one, and the third lost its state.
	var of []id.Conversation
	for c := id.Conversation(1); len(of) < 4; c++ {
		if conversation(c).Partition() == conversation(1).Partition() {
			of = append(of, c)
		}
	}
	log, quarantine := &corruptLog{entry: timeline.Ref{Key: conversation(of[0]), From: 2, To: 2}}, &fakeQuarantine{fail: 2, at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
	log.record.Store(-1)
	s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
	service := &corruptState{members: s.chat, lost: of[2]}
	s.custom, s.quarantine = service, quarantine
	for i, c := range of {
		s.chat.of[c] = []id.User{id.User(i + 1)}
	}
	for seq := range 3 {
		var done sync.WaitGroup
		for i, c := range of {
			payload := textEntry(fmt.Sprint(seq))
			if i == 1 && seq == 1 {
				payload = []byte{0xff}
			}
			s.append(c, payload, &done)
		}
		done.Wait()
	}
	streams := func(want ...[]uint64) {
		t.Helper()
		for i, seqs := range want {
			if got := s.inStream(id.User(i + 1)); !slices.Equal(got, seqs) {
				t.Errorf("user %d got %v, want %v", i+1, got, seqs)
			}
		}
	}
	quarantined := func(want ...[2]uint64) {
		t.Helper()
		var got [][2]uint64
		for _, r := range quarantine.all() {
			got = append(got, [2]uint64{uint64(slices.Index(of, id.Conversation(r.Key.ID))), r.From})
		}
		if !slices.Equal(got, want) {
			t.Errorf("quarantined %v, want %v", got, want)
		}
	}
	s.start()
	waitForRetries()
	streams([]uint64{1, 3}, []uint64{1, 3}, nil, []uint64{1, 2, 3})
	quarantined([2]uint64{0, 2}, [2]uint64{1, 2}, [2]uint64{2, 1}, [2]uint64{2, 2}, [2]uint64{2, 3})
	if n := s.worker.Load().Quarantined(); n != 5 {
		t.Errorf("the counter says %d", n)
	}
	s.stop()

	log.repaired.Store(true)
	service.repaired.Store(true)
	s.start()
	waitForRetries()
	streams([]uint64{1, 3, 2}, []uint64{1, 3}, []uint64{1, 2, 3}, []uint64{1, 2, 3})
	quarantined([2]uint64{1, 2})
	s.stop()
	must(t, s.log.Close())
}

// A corrupt inbox accepts nothing. All other users get their entries, and those that its user misses are quarantined.
func TestACorruptInboxDelaysNoOtherUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, quarantine := &corruptLog{stream: 2}, &fakeQuarantine{fail: 2, at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
		log.record.Store(-1)
		s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
		s.quarantine = quarantine
		s.chat.of[1], s.chat.of[2], s.chat.of[3] = []id.User{1, 2}, []id.User{2}, []id.User{1, 3, 4, 5}
		s.start()
		for range 3 {
			var done sync.WaitGroup
			for c := id.Conversation(1); c <= 3; c++ {
				s.append(c, textEntry("a"), &done)
			}
			done.Wait()
			waitForRetries()
		}
		count := func(want ...int) {
			t.Helper()
			for i, n := range want {
				if got := len(s.inStream(id.User(i + 1))); got != n {
					t.Errorf("user %d got %d entries, want %d", i+1, got, n)
				}
			}
		}
		count(6, 0, 3, 3, 3)
		if got := quarantine.all(); len(got) != 6 || s.worker.Load().Quarantined() != 6 {
			t.Errorf("quarantined %v", got)
		}
		// Retries fail while the inbox is corrupt, so the entries stay in quarantine.
		s.stop()
		s.start()
		waitForRetries()
		count(9, 0, 3, 3, 3) // the others get them twice: a device recognizes entries by conversation and seq
		if got := quarantine.all(); len(got) != 6 {
			t.Errorf("quarantined %v", got)
		}
		// New entries arrive as soon as the inbox is repaired, and missed ones when the partition is acquired again.
		log.repaired.Store(true)
		var done sync.WaitGroup
		s.append(2, textEntry("a"), &done)
		done.Wait()
		waitForRetries()
		count(9, 1, 3, 3, 3)
		s.stop()
		s.start()
		waitForRetries()
		count(12, 7, 3, 3, 3)
		if got := quarantine.all(); len(got) != 0 {
			t.Errorf("quarantined %v", got)
		}
		s.stop()
		must(t, s.log.Close())
	})
}

// waitForRetries lets enough simulated time pass for all retries.
func waitForRetries() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// An entry that looks corrupt for a few seconds only, such as one half written to several nodes, is not quarantined, and is dispatched in order.
func TestBriefCorruptionIsNotQuarantined(t *testing.T) {
	for _, what := range []string{"an entry", "the state"} {
		t.Run(what, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { briefCorruption(t, what) }) })
	}
}

func briefCorruption(t *testing.T, what string) {
	log, quarantine := &corruptLog{entry: timeline.Ref{Key: conversation(1), From: 2, To: 2}}, &fakeQuarantine{at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
	log.record.Store(-1)
	s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
	service := &corruptState{members: s.chat, lost: 1}
	log.repaired.Store(what != "an entry")
	service.repaired.Store(what != "the state")
	s.custom, s.quarantine = service, quarantine
	s.chat.of[1] = []id.User{1}
	var done sync.WaitGroup
	for range 3 {
		s.append(1, textEntry("a"), &done)
	}
	done.Wait()
	s.start()
	time.Sleep(4 * time.Second)
	synctest.Wait()
	if got := s.inStream(1); len(got) > 1 || s.worker.Load().StoppedPartitions() != 0 {
		t.Errorf("user 1 got %v, want at most one entry; %d partitions count as stopped, want 0", got, s.worker.Load().StoppedPartitions())
	}
	log.repaired.Store(true)
	service.repaired.Store(true)
	waitForRetries()
	if got := s.inStream(1); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("the user got %v", got)
	}
	if got := quarantine.all(); got != nil || s.worker.Load().Quarantined() != 0 {
		t.Errorf("quarantined %v", got)
	}
	s.stop()
	must(t, s.log.Close())
}

// A large quarantine is dispatched completely, except for entries that are still corrupt. New entries go first, and a store that
// does not answer for old entries delays nothing.
func TestALargeQuarantineIsDispatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, fresh = 50, 51
		log, quarantine := &corruptLog{entry: timeline.Ref{Key: conversation(1), From: 3, To: 3}}, &fakeQuarantine{at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
		log.record.Store(-1)
		s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
		service := &corruptState{members: s.chat, lost: 1}
		s.custom, s.quarantine = service, quarantine
		s.chat.of[1] = []id.User{1}
		appended := func(n int) {
			var done sync.WaitGroup
			for range n {
				s.append(1, textEntry("a"), &done)
			}
			done.Wait()
		}
		appended(many)
		s.start()
		waitForRetries()
		s.stop()
		if got := quarantine.all(); len(got) != many {
			t.Errorf("%d entries are quarantined", len(got))
		}
		service.repaired.Store(true)
		log.hangs.Store(true)
		appended(1)
		s.start()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := s.inStream(1); !slices.Equal(got, []uint64{fresh}) {
			t.Errorf("a new entry waits for old ones: %v", got)
		}
		log.hangs.Store(false)
		waitForRetries()
		want := []uint64{fresh}
		for seq := range uint64(many) {
			if seq+1 != 3 {
				want = append(want, seq+1)
			}
		}
		if got := s.inStream(1); !slices.Equal(got, want) {
			t.Errorf("the user got %v", got)
		}
		if got := quarantine.all(); !slices.Equal(got, []timeline.Ref{log.entry}) {
			t.Errorf("quarantined %v", got)
		}
		s.stop()
		must(t, s.log.Close())
	})
}

// Quarantined membership entries are delivered late, but make no node follow the conversation: the member may have left since.
func TestQuarantinedMembershipEntriesDoNotFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, quarantine := &corruptLog{entry: timeline.Ref{Key: conversation(1), From: 1, To: 1}}, &fakeQuarantine{at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
		log.record.Store(-1)
		s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
		s.quarantine = quarantine
		s.chat.of[1], s.chat.large[1] = []id.User{2}, true
		var done sync.WaitGroup
		s.append(1, controlEntry(t, chatv1.Control_ACTION_JOINED, 4), &done)
		s.append(1, controlEntry(t, chatv1.Control_ACTION_REMOVED, 4), &done)
		done.Wait()
		s.start()
		waitForRetries()
		s.stop()
		log.repaired.Store(true)
		s.start()
		waitForRetries()
		s.stop()
		if got := s.inStream(4); !slices.Equal(got, []uint64{2, 1}) {
			t.Errorf("the user got %v", got)
		}
		delivered := map[message.DeliveryKind][]uint64{}
		for _, g := range s.got {
			if g.node == "a" {
				delivered[g.Kind] = append(delivered[g.Kind], g.Seq)
			}
		}
		if len(delivered[message.DeliverFollow]) != 0 || !slices.Equal(delivered[message.DeliverUnfollow], []uint64{2}) || !slices.Contains(delivered[message.DeliverEntry], 1) {
			t.Errorf("delivered %v", delivered)
		}
		must(t, s.log.Close())
	})
}

// A partition whose records are corrupt stops and is counted as stopped; the others continue.
func TestCorruptRecordsStopTheirPartition(t *testing.T) {
	log := &corruptLog{}
	log.repaired.Store(true)
	s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
	s.quarantine = &fakeQuarantine{at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
	stuck, other := id.Conversation(1), id.Conversation(2)
	for conversation(other).Partition() == conversation(stuck).Partition() {
		other++
	}
	s.chat.of[stuck], s.chat.of[other] = []id.User{1}, []id.User{2}
	log.record.Store(int64(conversation(stuck).Partition()))
	var done sync.WaitGroup
	s.append(stuck, textEntry("a"), &done)
	s.append(other, textEntry("b"), &done)
	done.Wait()
	s.start()
	eventually.True(t, "one partition stops, and the others continue", func() bool { return s.worker.Load().StoppedPartitions() == 1 && len(s.inStream(2)) > 0 })
	if got := s.inStream(1); got != nil {
		t.Errorf("the stopped partition delivered %v", got)
	}
	log.record.Store(-1)
	eventually.True(t, "the partition continues after the repair", func() bool { return s.worker.Load().StoppedPartitions() == 0 && len(s.inStream(1)) == 1 })
	s.stop()
	must(t, s.log.Close())
}
