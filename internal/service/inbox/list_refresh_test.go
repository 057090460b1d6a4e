package inbox_test

import (
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
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
