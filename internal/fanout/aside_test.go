package fanout_test

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/memlog"
)

// torn is a log in which one entry is damaged, or all records of a partition, until it is mended.
type torn struct {
	timeline.Log
	entry  timeline.Ref
	record atomic.Int64 // partition, -1: none
	stream id.User      // whose stream takes nothing; 0: nobody's
	mended atomic.Bool
	hangs  atomic.Bool // where the first of a conversation is asked for alone
}

func (l *torn) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	if l.hangs.Load() && len(refs) == 1 && refs[0].To == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.GetMost(ctx, refs, 1<<30)
}

func (l *torn) GetMost(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	hit := func(r timeline.Ref) bool {
		return r.Key == l.entry.Key && r.From <= l.entry.From && r.To >= l.entry.From
	}
	if !l.mended.Load() && slices.ContainsFunc(refs, hit) {
		return nil, fmt.Errorf("%w", timeline.ErrDamaged)
	}
	return l.Log.GetMost(ctx, refs, bytes)
}

func (l *torn) Post(ctx context.Context, posts []timeline.Post) error {
	if l.stream != 0 && !l.mended.Load() && slices.ContainsFunc(posts, func(p timeline.Post) bool { return p.Key == inbox(l.stream) }) {
		return fmt.Errorf("%w", timeline.ErrDamaged)
	}
	return l.Log.Post(ctx, posts)
}

func (l *torn) Records(ctx context.Context, p uint16, after uint64, limit int) ([]timeline.Record, error) {
	if l.record.Load() == int64(p) {
		return nil, timeline.ErrDamaged
	}
	return l.Log.Records(ctx, p, after, limit)
}

// stateless is a chat room that has lost the state of a conversation, until it is mended.
type stateless struct {
	*members
	lost   id.Conversation
	mended atomic.Bool
}

func (r *stateless) Audience(ctx context.Context, c id.Conversation, seq uint64) ([]id.User, bool, error) {
	if c == r.lost && !r.mended.Load() {
		return nil, false, fmt.Errorf("its state: %w", timeline.ErrDamaged)
	}
	return r.members.Audience(ctx, c, seq)
}

// shelf is an Aside.
type shelf struct {
	mu   sync.Mutex // guards all
	fail int        // so many calls
	at   map[timeline.Ref]string
	puts map[timeline.Ref]int64
}

func (s *shelf) Put(_ context.Context, k timeline.Key, seq uint64, why string) error {
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

func (s *shelf) List(_ context.Context, p uint16, after timeline.Ref, limit int) (refs []timeline.Ref, puts []int64, err error) {
	for _, r := range s.all() {
		if r.Key.Partition() == p && shelved(r, after) > 0 && len(refs) < limit {
			s.mu.Lock()
			refs, puts = append(refs, r), append(puts, s.puts[r])
			s.mu.Unlock()
		}
	}
	return refs, puts, nil
}

func (s *shelf) Drop(_ context.Context, k timeline.Key, seq uint64, puts int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := (timeline.Ref{Key: k, From: seq, To: seq}); s.puts[r] <= puts {
		delete(s.at, r)
		delete(s.puts, r)
	}
	return nil
}

func (s *shelf) all() (refs []timeline.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.at {
		refs = append(refs, r)
	}
	slices.SortFunc(refs, shelved)
	return refs
}

// shelved compares places.
func shelved(a, b timeline.Ref) int {
	return cmp.Or(cmp.Compare(a.Key.ID, b.Key.ID), cmp.Compare(a.From, b.From))
}

// inStream gives the seqs of a user's stream.
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

// One damaged entry keeps nobody else waiting, and is not forgotten: it reaches its members when it can be read again.
func TestDamageIsSetAside(t *testing.T) {
	synctest.Test(t, damageIsSetAside)
}

func damageIsSetAside(t *testing.T) {
	// All of one partition: of the first an entry cannot be read, of the second one says nothing, of the third the state is lost.
	var of []id.Conversation
	for c := id.Conversation(1); len(of) < 4; c++ {
		if conversation(c).Partition() == conversation(1).Partition() {
			of = append(of, c)
		}
	}
	log, kept := &torn{entry: timeline.Ref{Key: conversation(of[0]), From: 2, To: 2}}, &shelf{fail: 2, at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
	log.record.Store(-1)
	s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
	room := &stateless{members: s.chat, lost: of[2]}
	s.room, s.aside = room, kept
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
				t.Errorf("user %d has got %v, want %v", i+1, got, seqs)
			}
		}
	}
	asides := func(want ...[2]uint64) {
		t.Helper()
		var got [][2]uint64
		for _, r := range kept.all() {
			got = append(got, [2]uint64{uint64(slices.Index(of, id.Conversation(r.Key.ID))), r.From})
		}
		if !slices.Equal(got, want) {
			t.Errorf("set aside are %v, want %v", got, want)
		}
	}
	s.start()
	later()
	streams([]uint64{1, 3}, []uint64{1, 3}, nil, []uint64{1, 2, 3})
	asides([2]uint64{0, 2}, [2]uint64{1, 2}, [2]uint64{2, 1}, [2]uint64{2, 2}, [2]uint64{2, 3})
	if n := s.worker.Load().SetAside(); n != 5 {
		t.Errorf("%d were counted", n)
	}
	s.stop()

	log.mended.Store(true)
	room.mended.Store(true)
	s.start()
	later()
	streams([]uint64{1, 3, 2}, []uint64{1, 3}, []uint64{1, 2, 3}, []uint64{1, 2, 3})
	asides([2]uint64{1, 2})
	s.stop()
	must(t, s.log.Close())
}

// A stream that is damaged itself takes nothing; all others go on, and what its user misses is not forgotten.
func TestADamagedStreamKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, kept := &torn{stream: 2}, &shelf{fail: 2, at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
		log.record.Store(-1)
		s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
		s.aside = kept
		s.chat.of[1], s.chat.of[2], s.chat.of[3] = []id.User{1, 2}, []id.User{2}, []id.User{1, 3, 4, 5}
		s.start()
		for range 3 {
			var done sync.WaitGroup
			for c := id.Conversation(1); c <= 3; c++ {
				s.append(c, textEntry("a"), &done)
			}
			done.Wait()
			later()
		}
		count := func(want ...int) {
			t.Helper()
			for i, n := range want {
				if got := len(s.inStream(id.User(i + 1))); got != n {
					t.Errorf("user %d has got %d, not %d", i+1, got, n)
				}
			}
		}
		count(6, 0, 3, 3, 3)
		if got := kept.all(); len(got) != 6 || s.worker.Load().SetAside() != 6 {
			t.Errorf("set aside are %v", got)
		}
		// Tried again while it is damaged yet, what it misses stays there.
		s.stop()
		s.start()
		later()
		count(9, 0, 3, 3, 3) // who had them has them twice: a device knows them by conversation and seq
		if got := kept.all(); len(got) != 6 {
			t.Errorf("set aside are %v", got)
		}
		// What is new comes as soon as the stream is mended, and what was missed when the partition is taken again.
		log.mended.Store(true)
		var done sync.WaitGroup
		s.append(2, textEntry("a"), &done)
		done.Wait()
		later()
		count(9, 1, 3, 3, 3)
		s.stop()
		s.start()
		later()
		count(12, 7, 3, 3, 3)
		if got := kept.all(); len(got) != 0 {
			t.Errorf("set aside are %v", got)
		}
		s.stop()
		must(t, s.log.Close())
	})
}

// later lets time pass, in a test's bubble, for all that is tried again.
func later() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// What looks damaged for a few seconds alone, as what is half written to several nodes may, is not set aside, and comes in its place.
func TestWhatLooksDamagedAtFirst(t *testing.T) {
	for _, what := range []string{"an entry", "the state"} {
		t.Run(what, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { looksDamaged(t, what) }) })
	}
}

func looksDamaged(t *testing.T, what string) {
	log, kept := &torn{entry: timeline.Ref{Key: conversation(1), From: 2, To: 2}}, &shelf{at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
	log.record.Store(-1)
	s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
	room := &stateless{members: s.chat, lost: 1}
	log.mended.Store(what != "an entry")
	room.mended.Store(what != "the state")
	s.room, s.aside = room, kept
	s.chat.of[1] = []id.User{1}
	var done sync.WaitGroup
	for range 3 {
		s.append(1, textEntry("a"), &done)
	}
	done.Wait()
	s.start()
	time.Sleep(4 * time.Second)
	synctest.Wait()
	if got := s.inStream(1); len(got) > 1 || s.worker.Load().Stopped() != 0 {
		t.Errorf("it went on with %v, or %d are said to be stopped", got, s.worker.Load().Stopped())
	}
	log.mended.Store(true)
	room.mended.Store(true)
	later()
	if got := s.inStream(1); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("it has got %v", got)
	}
	if got := kept.all(); got != nil || s.worker.Load().SetAside() != 0 {
		t.Errorf("set aside are %v", got)
	}
	s.stop()
	must(t, s.log.Close())
}

// Much that was set aside is carried to its end, past what is damaged yet; what is new comes first, and a store that does not answer
// for what is old keeps nobody waiting.
func TestMuchWasSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, fresh = 50, 51
		log, kept := &torn{entry: timeline.Ref{Key: conversation(1), From: 3, To: 3}}, &shelf{at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
		log.record.Store(-1)
		s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
		room := &stateless{members: s.chat, lost: 1}
		s.room, s.aside = room, kept
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
		later()
		s.stop()
		if got := kept.all(); len(got) != many {
			t.Errorf("%d are set aside", len(got))
		}
		room.mended.Store(true)
		log.hangs.Store(true)
		appended(1)
		s.start()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := s.inStream(1); !slices.Equal(got, []uint64{fresh}) {
			t.Errorf("what is new waits: %v", got)
		}
		log.hangs.Store(false)
		later()
		want := []uint64{fresh}
		for seq := range uint64(many) {
			if seq+1 != 3 {
				want = append(want, seq+1)
			}
		}
		if got := s.inStream(1); !slices.Equal(got, want) {
			t.Errorf("it has got %v", got)
		}
		if got := kept.all(); !slices.Equal(got, []timeline.Ref{log.entry}) {
			t.Errorf("set aside are %v", got)
		}
		s.stop()
		must(t, s.log.Close())
	})
}

// That one came is told late to those who were to hear it, but not that they follow: they may have gone since.
func TestFollowersSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, kept := &torn{entry: timeline.Ref{Key: conversation(1), From: 1, To: 1}}, &shelf{at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
		log.record.Store(-1)
		s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
		s.aside = kept
		s.chat.of[1], s.chat.large[1] = []id.User{2}, true
		var done sync.WaitGroup
		s.append(1, controlEntry(t, chatv1.Control_ACTION_JOINED, 4), &done)
		s.append(1, controlEntry(t, chatv1.Control_ACTION_REMOVED, 4), &done)
		done.Wait()
		s.start()
		later()
		s.stop()
		log.mended.Store(true)
		s.start()
		later()
		s.stop()
		if got := s.inStream(4); !slices.Equal(got, []uint64{2, 1}) {
			t.Errorf("it has got %v", got)
		}
		told := map[message.DeliveryKind][]uint64{}
		for _, g := range s.got {
			if g.node == "a" {
				told[g.Kind] = append(told[g.Kind], g.Seq)
			}
		}
		if len(told[message.DeliverFollow]) != 0 || !slices.Equal(told[message.DeliverUnfollow], []uint64{2}) || !slices.Contains(told[message.DeliverEntry], 1) {
			t.Errorf("told were %v", told)
		}
		must(t, s.log.Close())
	})
}

// Where nobody knows what comes next the partition stops, is counted for as long, and others go on.
func TestDamagedRecordsStopTheirPartition(t *testing.T) {
	log := &torn{}
	log.mended.Store(true)
	s := newStage(t, func(l timeline.Listener) timeline.Log { log.Log = memlog.New(l); return log })
	s.aside = &shelf{at: map[timeline.Ref]string{}, puts: map[timeline.Ref]int64{}}
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
	for s.worker.Load().Stopped() != 1 || len(s.inStream(2)) == 0 {
		runtime.Gosched()
	}
	if got := s.inStream(1); got != nil {
		t.Errorf("it went on with %v", got)
	}
	log.record.Store(-1)
	for deadline := time.Now().Add(time.Minute); s.worker.Load().Stopped() != 0 || len(s.inStream(1)) != 1; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("mended, it has got %v, and %d are stopped", s.inStream(1), s.worker.Load().Stopped())
		}
	}
	s.stop()
	must(t, s.log.Close())
}
