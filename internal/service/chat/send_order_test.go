package chat_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// after is draftOf with the previous message of the device.
func after(c id.Conversation, n, prev uint64) *message.Draft {
	d := draftOf(c, 1, n, fmt.Sprint(n))
	d.PrevClientSeq = prev
	return d
}

// submitted submits a draft, and returns the channel on which it comes back.
func submitted(s *chat.Service, d *message.Draft) <-chan *message.Draft {
	done := make(chan *message.Draft, 1)
	d.Done = func(d *message.Draft) { done <- d }
	s.Submit(d)
	return done
}

// storedNumbers returns the client_seq of each message of user 1, in the order of the log.
func (h *harness) storedNumbers(t *testing.T, c id.Conversation) (list []uint64) {
	t.Helper()
	for _, e := range h.entries(t, c) {
		if e.control == nil && e.Sender == 1 {
			list = append(list, e.ClientSeq)
		}
	}
	return list
}

func previousFixture(t *testing.T, hold time.Duration) (*harness, *chat.Service, id.Conversation) {
	t.Helper()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	chat.SetHoldTime(s, hold)
	t.Cleanup(func() { chat.StopHolding(s) })
	c, err := s.CreateGroup(context.Background(), 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
	must(t, err)
	return h, s, c
}

// TestOvertakenMessagesAreStoredInOrder: messages that overtook others on their way are stored after them, and so are those behind them.
func TestOvertakenMessagesAreStoredInOrder(t *testing.T) {
	h, s, c := previousFixture(t, eventually.Timeout)
	var waiting []<-chan *message.Draft
	for _, d := range []*message.Draft{after(c, 4, 3), after(c, 5, 0), after(c, 6, 5), after(c, 3, 2), after(c, 2, 1)} {
		waiting = append(waiting, submitted(s, d))
	}
	must(t, s.Send(context.Background(), &message.Draft{Conversation: c, Sender: 1, Device: 101, ClientMsgID: "own", Content: message.AppendText(nil, "uncounted")}))
	must(t, s.Send(context.Background(), draftOf(c, 2, 9, "of another")))
	if n, got := chat.HeldDrafts(s), h.storedNumbers(t, c); n != 5 || !slices.Equal(got, []uint64{0}) {
		t.Errorf("%d drafts are held, want 5; %v are stored", n, got)
	}
	must(t, s.Send(context.Background(), after(c, 1, 0)))
	for _, done := range waiting {
		if d := <-done; d.Err != nil {
			t.Errorf("message %d: %v", d.ClientSeq, d.Err)
		}
	}
	if got := h.storedNumbers(t, c); !slices.Equal(got, []uint64{0, 1, 2, 3, 4, 5, 6}) {
		t.Errorf("the order is %v", got)
	}
	if n := chat.HeldDrafts(s); n != 0 {
		t.Errorf("%d drafts are still held", n)
	}
}

// TestPreviousIsStoredByAnotherNode: the tokens of the log say what is stored, so it does not matter which node stored it.
func TestPreviousIsStoredByAnotherNode(t *testing.T) {
	h, s, c := previousFixture(t, eventually.Timeout)
	other := h.node(t)
	held := submitted(s, after(c, 2, 1))
	must(t, other.Send(context.Background(), after(c, 1, 0)))
	if d := <-held; d.Err != nil {
		t.Error(d.Err)
	}
	must(t, other.Send(context.Background(), after(c, 3, 2)))
	retry := after(c, 2, 1)
	must(t, s.Send(context.Background(), retry))
	if got := h.storedNumbers(t, c); !retry.Duplicate || !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("the order is %v; the retry returned %+v", got, retry)
	}
}

// TestMissingPrevious: a message whose previous one does not come is refused, and those behind it. The sender sends the missing one first,
// or skips it.
func TestMissingPrevious(t *testing.T) {
	ctx := context.Background()
	h, s, c := previousFixture(t, time.Millisecond)
	refused := func(d *message.Draft) {
		t.Helper()
		if err := s.Send(ctx, d); reasonOf(err) != "missing_previous" || errs.Of(err).Retry == 0 || errs.Of(err).Kind != errs.Unavailable {
			t.Errorf("message %d: %v", d.ClientSeq, err)
		}
	}
	must(t, s.Send(ctx, after(c, 1, 0)))
	refused(after(c, 3, 2))
	refused(after(c, 4, 0)) // it would overtake
	must(t, s.Send(ctx, after(c, 2, 1)))
	must(t, s.Send(ctx, after(c, 3, 2)))
	must(t, s.Send(ctx, after(c, 4, 0)))

	refused(after(c, 6, 5))
	must(t, s.Send(ctx, after(c, 6, 4))) // the sender gave 5 up
	must(t, s.Send(ctx, after(c, 7, 6)))

	another, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "another", Members: []uint64{2}})
	must(t, err)
	refused(after(another, 8, 7)) // of another conversation
	device := after(c, 8, 7)
	device.Device++
	refused(device) // of another device
	if got := h.storedNumbers(t, c); !slices.Equal(got, []uint64{1, 2, 3, 4, 6, 7}) {
		t.Errorf("the order is %v", got)
	}
	if got := h.storedNumbers(t, another); len(got) != 0 {
		t.Errorf("another conversation has %v", got)
	}
}

// TestSkipWhileHeld: a held message that comes again without the missing one goes on, and so does what is behind it.
func TestSkipWhileHeld(t *testing.T) {
	h, s, c := previousFixture(t, eventually.Timeout)
	held, behind := submitted(s, after(c, 3, 2)), submitted(s, after(c, 4, 3))
	must(t, s.Send(context.Background(), after(c, 3, 0)))
	if d := <-held; d.Err != nil || !d.Duplicate {
		t.Errorf("the held message: %+v", d)
	}
	if d := <-behind; d.Err != nil {
		t.Errorf("the message behind it: %v", d.Err)
	}
	if got := h.storedNumbers(t, c); !slices.Equal(got, []uint64{3, 4}) {
		t.Errorf("the order is %v", got)
	}
}

// TestRecalledAndExpiredPreviousAreStored: neither keeps the next message waiting.
func TestRecalledAndExpiredPreviousAreStored(t *testing.T) {
	ctx := context.Background()
	h, s, c := previousFixture(t, time.Millisecond)
	first := after(c, 1, 0)
	must(t, s.Send(ctx, first))
	recall := &message.Draft{Conversation: c, Sender: 1, Device: 101, ClientSeq: 2, PrevClientSeq: 1, Content: contentOf(t, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: first.Seq}}}})}
	must(t, s.Send(ctx, recall))
	must(t, s.Send(ctx, after(c, 3, 1)))
	tail := h.tail(t, c)
	must(t, h.log.Expire(ctx, chat.LogKey(c), tail.Seq+1, nil))
	must(t, s.Send(ctx, after(c, 4, 1)))
	must(t, s.Send(ctx, after(c, 5, 3)))
	if got := h.storedNumbers(t, c); !slices.Equal(got, []uint64{4, 5}) {
		t.Errorf("after the expiry the log has %v", got)
	}
}

// TestHeldDraftsOfANetworkAreBounded: the users of one network leave most of what may be held to others.
func TestHeldDraftsOfANetworkAreBounded(t *testing.T) {
	_, s, c := previousFixture(t, eventually.Timeout)
	hold := func(users id.User, from string) (held int) {
		before := chat.HeldDrafts(s)
		for u := range users {
			for i := range uint64(chat.MaxHeldOfUser) {
				d := draftOf(c, u+1, 2+i, "x")
				d.Device, d.PrevClientSeq, d.Network, d.Done = 1, 1, netip.MustParsePrefix(from), func(*message.Draft) {}
				s.Submit(d)
			}
		}
		return chat.HeldDrafts(s) - before
	}
	if n := hold(100, "198.51.100.0/24"); n > chat.MaxHeld/4 || n < chat.MaxHeld/8 {
		t.Errorf("%d drafts of 100 users of a network are held, want at most a quarter of %d", n, chat.MaxHeld)
	}
}

// TestEachOfAChainHasItsTime: a draft waits for the one before it from when it is the first, not from when the chain began.
func TestEachOfAChainHasItsTime(t *testing.T) {
	_, s, c := previousFixture(t, eventually.Timeout)
	third, fifth := after(c, 3, 2), after(c, 5, 4)
	stored := submitted(s, third)
	last := submitted(s, fifth)
	first := chat.HeldUntil(s, c, fifth.Sender, fifth.Device)
	chat.SetHoldTime(s, 2*eventually.Timeout) // so that the times differ by more than the clock's resolution
	must(t, s.Send(context.Background(), after(c, 1, 0)))
	must(t, s.Send(context.Background(), after(c, 2, 1)))
	if d := <-stored; d.Err != nil {
		t.Fatal(d.Err)
	}
	if now := chat.HeldUntil(s, c, fifth.Sender, fifth.Device); !now.After(first) {
		t.Error("the second of the chain has the time of the first")
	}
	must(t, s.Send(context.Background(), after(c, 4, 3)))
	if d := <-last; d.Err != nil {
		t.Error(d.Err)
	}
}

// TestHeldDraftsAreBounded: one user, and all together, can make the server hold a bounded number of drafts; the rest is refused at once.
func TestHeldDraftsAreBounded(t *testing.T) {
	_, s, c := previousFixture(t, eventually.Timeout)
	results := make(chan string, 100_000)
	submit := func(u id.User, device, n uint64) {
		d := draftOf(c, u, n, "x")
		d.Device, d.PrevClientSeq, d.Done = id.Device(device), 1, func(d *message.Draft) { results <- reasonOf(d.Err) }
		s.Submit(d)
	}
	const more = 50
	for i := range uint64(chat.MaxHeldOfUser + more) {
		submit(1, 1+i%7, 2+i)
	}
	if n := chat.HeldDrafts(s); n != chat.MaxHeldOfUser || len(results) != more {
		t.Errorf("%d drafts of a user are held, %d refused; want %d and %d", n, len(results), chat.MaxHeldOfUser, more)
	}
	for u := range id.User(chat.MaxHeld/chat.MaxHeldOfUser + 1) {
		for i := range uint64(chat.MaxHeldOfUser) {
			submit(u+2, 1, 2+i)
		}
	}
	all := chat.HeldDrafts(s)
	if all > chat.MaxHeld || all < chat.MaxHeld*3/4 {
		t.Errorf("%d drafts are held, want at most %d, and of these most", all, chat.MaxHeld)
	}
	submit(1000, 1, 2)
	if n := chat.HeldDrafts(s); n != all+1 {
		t.Errorf("nothing is held of a user who comes after many others")
	}
	all++
	refused := len(results)
	chat.StopHolding(s)
	if n := chat.HeldDrafts(s); n != 0 || len(results) != refused+all {
		t.Errorf("after the stop %d drafts are held, %d are answered", n, len(results)-refused)
	}
	for i := range len(results) {
		want := "busy"
		if i >= refused {
			want = "closing"
		}
		if got := <-results; got != want {
			t.Fatalf("draft %d is refused with %s, want %s", i, got, want)
		}
	}
}

func TestBadPrevious(t *testing.T) {
	_, s, c := previousFixture(t, eventually.Timeout)
	uncounted := &message.Draft{Conversation: c, Sender: 1, Device: 101, ClientMsgID: "own", PrevClientSeq: 1, Content: message.AppendText(nil, "x")}
	for name, d := range map[string]*message.Draft{"its own number": after(c, 2, 2), "a later number": after(c, 2, 3), "the highest": after(c, 2, 1<<64-1), "without a number": uncounted} {
		if err := s.Send(context.Background(), d); reasonOf(err) != "bad_previous" || errs.Of(err).Retry != 0 {
			t.Errorf("%s: error %v, want bad_previous without a retry", name, err)
		}
	}
}
