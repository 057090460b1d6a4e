package inbox_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Stream entries that a crash loses are appended again. The list is correct before and after.
func TestListAfterCrash(t *testing.T) {
	t.Parallel()
	h := newHarness(t, true, inbox.Config{})
	for c := range id.Conversation(4) {
		h.join(t, c+1, bob, ann)
	}
	h.send(t, bob, 2, false)
	check := func(what string, badge uint64, want ...uint64) {
		t.Helper()
		if p := h.list(t, ann, 0, ""); !equal(ids(p), want...) || p.Badge != badge {
			t.Errorf("%s: the list is %v, the badge %d; want %v and %d", what, ids(p), p.Badge, want, badge)
		}
	}
	check("before", 1, 2, 4, 3, 1)
	h.restart(true) // the rows were synced, the stream was not
	check("after the crash, before it is carried again", 1, 2, 4, 3, 1)
	h.send(t, bob, 3, false)
	check("with a message in the new epoch", 2, 3, 2, 4, 1)
	clear(h.fannedOut)
	check("when all was carried again", 2, 3, 2, 4, 1)
}

// If the stream was trimmed or is corrupt, the list is rebuilt from the conversations.
func TestListRefreshWithoutStream(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]func(h *harness){
		"trimmed": func(h *harness) {
			h.fanOut(t)
			h.post(t, ann, []byte{1, 9})
			tail, err := h.Tail(t.Context(), ann)
			if err == nil {
				err = h.log.Trim(t.Context(), streamKey(ann), uint64(tail))
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"damaged": func(h *harness) { h.post(t, ann, []byte{7}); h.fanOut(t) },
	} {
		h := newHarness(t, false, inbox.Config{})
		for c := range id.Conversation(9) {
			h.join(t, c+1, bob, ann)
		}
		h.list(t, ann, 0, "")
		h.send(t, bob, 2, false)
		h.send(t, bob, 1, false)
		h.send(t, bob, 3, true)
		lose(h)
		if p := h.list(t, ann, 0, ""); !equal(ids(p), 3, 1, 2, 9, 8, 7, 6, 5, 4) || p.Badge != 2 {
			t.Errorf("%s: the list is %v, the badge %d", what, ids(p), p.Badge)
		}
	}
}

// A large group's position in the list follows its own log, because it is in no user's stream.
func TestLargeGroupInList(t *testing.T) {
	t.Parallel()
	h := newHarness(t, false, inbox.Config{})
	for c := range id.Conversation(3) {
		h.join(t, c+1, bob, ann)
	}
	h.conversations.large[1] = true
	if p := h.list(t, ann, 0, ""); !equal(ids(p), 3, 2, 1) || p.Badge != 0 {
		t.Errorf("the list is %v, the badge %d", ids(p), p.Badge)
	}
	for n := range uint64(3) {
		h.send(t, bob, 1, false)
		if p := h.list(t, ann, 0, ""); !equal(ids(p), 1, 3, 2) || p.Badge != n+1 {
			t.Errorf("the list is %v, the badge %d", ids(p), p.Badge)
		}
	}
	h.markSync(t, ann, 1, 0, 1<<63)
	if p := h.list(t, ann, 0, ""); p.Badge != 0 {
		t.Errorf("after reading it the badge is %d", p.Badge)
	}
}

// A list that is longer than a batch is refreshed in batches, also by concurrent calls, and each batch is kept.
func TestLongListIsRefreshedInBatches(t *testing.T) {
	t.Parallel()
	h := newHarness(t, false, inbox.Config{})
	const conversations = 1200
	for c := range id.Conversation(conversations) {
		h.join(t, c+1, bob, ann)
		h.send(t, bob, c+1, false)
	}
	h.fanOut(t)
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			p, err := h.ListConversations(t.Context(), ann, &chatv1.ListConversationsRequest{Limit: 3})
			if err != nil || !equal(ids(p), conversations, conversations-1, conversations-2) || p.Badge != 100 {
				t.Errorf("the list is %v (%v)", p, err)
			}
		})
	}
	work.Wait()
	if h.conversations.read > 3*conversations {
		t.Errorf("8 calls read %d memberships", h.conversations.read)
	}
}

// slowReads is a log that calls a function before it reads a user's stream, and counts how often its tail is read.
type slowReads struct {
	timeline.Log
	user  id.User
	read  func()
	tails atomic.Int64
}

func (l *slowReads) Tail(ctx context.Context, key timeline.Key) (timeline.Tail, error) {
	if key.Kind == timeline.Inbox && key.ID == uint64(l.user) {
		l.tails.Add(1)
	}
	return l.Log.Tail(ctx, key)
}

func (l *slowReads) Read(ctx context.Context, key timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	if key.Kind == timeline.Inbox && key.ID == uint64(l.user) {
		l.read()
	}
	return l.Log.Read(ctx, key, after, limit)
}

// staleLists returns a harness whose users ann and bob have lists to be refreshed from their streams.
func staleLists(t *testing.T, read func()) (*harness, *slowReads) {
	t.Helper()
	h := newHarness(t, false, inbox.Config{})
	log := &slowReads{Log: h.log, user: ann, read: read}
	h.log = log
	h.start()
	h.join(t, 1, bob, ann)
	h.list(t, ann, 0, "")
	h.list(t, bob, 0, "")
	h.send(t, bob, 1, false)
	h.fanOut(t)
	log.tails.Store(0)
	return h, log
}

// A user whose list is slow to refresh has one slot of many, with any number of calls: the lists of others are refreshed meanwhile.
func TestSlowRefreshesOfAUserDoNotStopOthers(t *testing.T) {
	t.Parallel()
	var work sync.WaitGroup
	defer work.Wait()
	reading, release := make(chan struct{}, 100), make(chan struct{})
	defer close(release)
	h, log := staleLists(t, func() {
		reading <- struct{}{}
		<-release
	})
	for range 2 * inbox.MaxRefreshes {
		work.Go(func() {
			if p, err := h.ListConversations(t.Context(), ann, &chatv1.ListConversationsRequest{}); err != nil || p.Badge != 1 {
				t.Errorf("the slow list is %v (%v)", p, err)
			}
		})
	}
	<-reading
	eventually.True(t, "all calls have seen that the list is stale", func() bool { return log.tails.Load() > 2*inbox.MaxRefreshes }) // one read it again
	others := make(chan struct{})
	work.Go(func() {
		defer close(others)
		if p, err := h.ListConversations(t.Context(), bob, &chatv1.ListConversationsRequest{}); err != nil || !equal(ids(p), 1) {
			t.Errorf("the list of another user is %v (%v)", p, err)
		}
	})
	eventually.True(t, "the list of another user is refreshed", func() bool {
		select {
		case <-others:
			return true
		default:
			return false
		}
	})
	if n := h.RefreshSlots(); n != 1 || len(reading) > 0 {
		t.Errorf("the refreshes of one user have %d slots, and %d more have begun", n, len(reading))
	}
}

// A refresh that panics does not block the user's list.
func TestListAfterAPanic(t *testing.T) {
	t.Parallel()
	panics := true
	h, _ := staleLists(t, func() {
		if panics {
			panics = false
			panic("of the test")
		}
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("there was no panic")
			}
		}()
		h.list(t, ann, 0, "")
	}()
	if p := h.list(t, ann, 0, ""); p.Badge != 1 || h.RefreshSlots() != 0 {
		t.Errorf("after a panic the badge is %d, and %d slots are in use", p.Badge, h.RefreshSlots())
	}
}
