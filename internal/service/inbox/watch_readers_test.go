package inbox_test

import (
	"context"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/interest"
	"github.com/rialto-im/rialto/internal/service/inbox"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// openList is a connection of user 1 with open lists.
type openList struct {
	mu      sync.Mutex
	updates []*gatewayv1.ReadersUpdate
}

func (o *openList) push(u *gatewayv1.ReadersUpdate) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.updates = append(o.updates, u)
}

// take returns what was pushed since the last call, of at most one push.
func (o *openList) take(t *testing.T) *gatewayv1.ReadersUpdate {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.updates
	o.updates = nil
	if len(list) > 1 {
		t.Fatalf("one push had %d updates", len(list))
	}
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func watched(seqs ...uint64) (list []*gatewayv1.WatchedMessage) {
	for _, seq := range seqs {
		list = append(list, &gatewayv1.WatchedMessage{Conversation: uint64(all), Seq: seq})
	}
	return list
}

// newReadersHarness returns a harness with a group of users 1 to members and a message of user 1.
func newReadersHarness(t *testing.T, members int) (h *harness, seq uint64) {
	t.Helper()
	h = newHarness(t, false, inbox.Config{})
	users := make([]id.User, members)
	for i := range users {
		users[i] = id.User(i + 1)
	}
	h.join(t, all, users...)
	return h, h.send(t, 1, all, false)
}

func TestOpenListIsToldOfNewReaders(t *testing.T) {
	h, seq := newReadersHarness(t, 6)
	h.join(t, all, 7) // later: not among those who received the message
	newer := h.send(t, 2, all, false)
	var o openList
	if err := h.WatchReaders(t.Context(), 1, &o, 1, watched(seq), o.push); err != nil {
		t.Fatal(err)
	}
	after := func(what string, want ...uint64) {
		t.Helper()
		h.PushReaders(t.Context())
		if got := o.take(t); !equal(got.GetUsers(), want...) || got.GetMore() {
			t.Errorf("%s: pushed %v, want the users %v", what, got, want)
		}
	}
	after("nothing")
	h.markSync(t, 4, all, 0, seq)
	h.markSync(t, 3, all, 0, newer)
	after("two readers", 3, 4)
	h.markSync(t, 4, all, 0, newer)
	after("a reader who reads on")
	h.hide(5)
	h.markSync(t, 5, all, 0, newer)
	after("a reader who hides")
	h.markSync(t, 7, all, 0, newer)
	after("a reader who joined later")
	h.markSync(t, 6, all, 0, seq-1)
	after("a member who has not come so far")
	h.markSync(t, 6, all, newer, 0)
	after("a delivery")
	h.markSync(t, 6, all, 0, seq)
	after("the last one", 6)

	h.UnwatchReaders(&o)
	h.markSync(t, 2, all, 0, newer)
	after("closed")
	if n := h.OpenReaderLists(); n != 0 {
		t.Errorf("%d lists are left", n)
	}
}

func TestOpenListsAreReplaced(t *testing.T) {
	h, first := newReadersHarness(t, 3)
	second := h.send(t, 1, all, false)
	var o openList
	watch := func(turn uint32, seqs ...uint64) {
		t.Helper()
		if err := h.WatchReaders(t.Context(), 1, &o, turn, watched(seqs...), o.push); err != nil {
			t.Fatal(err)
		}
	}
	watch(2, second)
	watch(1, first) // handled late
	h.markSync(t, 2, all, 0, second)
	h.PushReaders(t.Context())
	if got := o.take(t); got.GetSeq() != second || !equal(got.GetUsers(), 2) {
		t.Errorf("pushed %v", got)
	}
	watch(3)
	h.markSync(t, 3, all, 0, second)
	h.PushReaders(t.Context())
	if got := o.take(t); got != nil {
		t.Errorf("after the last list was closed: %v", got)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	h.UnwatchReaders(&o)
	if err := h.WatchReaders(ended, 1, &o, 4, watched(first), o.push); err == nil || h.OpenReaderLists() != 0 {
		t.Errorf("a connection that ended watches %d lists (%v)", h.OpenReaderLists(), err)
	}
}

func TestManyReadersAreMerged(t *testing.T) {
	h, seq := newReadersHarness(t, 60)
	var o openList
	if err := h.WatchReaders(t.Context(), 1, &o, 1, watched(seq), o.push); err != nil {
		t.Fatal(err)
	}
	for u := id.User(2); u <= 60; u++ {
		h.markSync(t, u, all, 0, seq)
	}
	h.PushReaders(t.Context())
	if got := o.take(t); len(got.GetUsers()) != 50 || !got.GetMore() {
		t.Errorf("59 new readers at once are pushed as %v", got)
	}
	h.ReadersMissed()
	h.PushReaders(t.Context())
	if got := o.take(t); len(got.GetUsers()) != 0 || !got.GetMore() {
		t.Errorf("after changes were missed: %v", got)
	}
}

func TestOnlySendersWatchReaders(t *testing.T) {
	h, seq := newReadersHarness(t, 3)
	h.open(t, duo, ann, bob)
	own := h.send(t, ann, duo, false)
	var o openList
	refused := func(u id.User, list []*gatewayv1.WatchedMessage, kind errs.Kind) {
		t.Helper()
		if err := h.WatchReaders(t.Context(), u, &o, 1, list, o.push); !errs.Is(err, kind) || h.OpenReaderLists() != 0 {
			t.Errorf("%v by user %v returned %v, and %d lists are open", list, u, err, h.OpenReaderLists())
		}
	}
	refused(2, watched(seq), errs.Denied)
	refused(9, watched(seq), errs.NotFound)
	refused(1, watched(seq, seq+1), errs.NotFound)
	refused(1, watched(seq, seq, seq, seq, seq, seq, seq, seq, seq), errs.Invalid)

	if err := h.WatchReaders(t.Context(), ann, &o, 1, []*gatewayv1.WatchedMessage{{Conversation: uint64(duo), Seq: own}}, o.push); err != nil {
		t.Fatal(err)
	}
	h.conversations.setBlocked(duo, true)
	h.markSync(t, bob, duo, 0, own)
	h.PushReaders(t.Context())
	if got := o.take(t); got != nil {
		t.Errorf("across a block: %v", got)
	}
	h.ReadersMissed()
	h.PushReaders(t.Context())
	if got := o.take(t); got != nil {
		t.Errorf("across a block, after changes were missed: %v", got)
	}
}

// limitedInterest refuses conversations beyond a limit, and counts those that are added.
type limitedInterest struct{ room, added int }

func (l *limitedInterest) Add(context.Context, interest.Key) bool {
	if l.added >= l.room {
		return false
	}
	l.added++
	return true
}
func (l *limitedInterest) Remove(interest.Key)       { l.added-- }
func (l *limitedInterest) Publish([]interest.Change) {}

func TestInterestsEndWithTheirLists(t *testing.T) {
	h, seq := newReadersHarness(t, 3)
	l := &limitedInterest{room: 3}
	h.interest = l
	h.start()
	var o, p openList
	if err := h.WatchReaders(t.Context(), 1, &o, 1, watched(seq, seq), o.push); err != nil || l.added != 2 {
		t.Fatalf("%d interests: %v", l.added, err)
	}
	if err := h.WatchReaders(t.Context(), 1, &p, 1, watched(seq, seq), p.push); !errs.Is(err, errs.Exhausted) || l.added != 2 {
		t.Errorf("without room: %d interests, %v", l.added, err)
	}
	if err := h.WatchReaders(t.Context(), 1, &o, 2, watched(seq), o.push); err != nil || l.added != 1 {
		t.Errorf("a replaced set has %d interests: %v", l.added, err)
	}
	if h.UnwatchReaders(&o); l.added != 0 {
		t.Errorf("%d interests are left", l.added)
	}
}

// TestAConversationHasAtMost256OpenLists on a node, and a cursor that moves concerns those that it passes.
func TestAConversationHasAtMost256OpenLists(t *testing.T) {
	h, first := newReadersHarness(t, 3)
	second := h.send(t, 1, all, false)
	lists := make([]openList, 257)
	for i := range lists {
		seq := first
		if i%2 == 1 {
			seq = second
		}
		err := h.WatchReaders(t.Context(), 1, &lists[i], 1, watched(seq), lists[i].push)
		if i < 256 && err != nil || i == 256 && errs.Of(err).Reason != "busy" {
			t.Fatalf("list %d: %v", i, err)
		}
	}
	if n := h.OpenReaderLists(); n != 256 {
		t.Errorf("%d lists are open", n)
	}
	passed := func(what string, from, through uint64, want map[uint64]int) {
		t.Helper()
		h.ReadersMoved([]interest.Change{{Key: interest.Key(all), User: 2, From: from, To: through}})
		h.PushReaders(t.Context())
		got := map[uint64]int{}
		for i := range lists {
			if u := lists[i].take(t); u != nil {
				got[u.Seq]++
			}
		}
		if len(got) != len(want) || got[first] != want[first] || got[second] != want[second] {
			t.Errorf("%s: pushed %v, want %v", what, got, want)
		}
	}
	h.markSync(t, 2, all, 0, second)
	h.PushReaders(t.Context())
	for i := range lists {
		lists[i].take(t)
	}
	passed("before both", 0, first-1, nil)
	passed("the first", first-1, first, map[uint64]int{first: 128})
	passed("the second", first, second, map[uint64]int{second: 128})
	passed("both", 0, second+5, map[uint64]int{first: 128, second: 128})
	passed("after both", second, second+5, nil)
	h.UnwatchReaders(&lists[7])
	if err := h.WatchReaders(t.Context(), 1, &lists[256], 1, watched(first), lists[256].push); err != nil {
		t.Errorf("after one was closed: %v", err)
	}
}
