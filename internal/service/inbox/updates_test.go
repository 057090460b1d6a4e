package inbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// update appends an update of a message.
func (h *harness) update(t tester, u id.User, c id.Conversation, target uint64) uint64 {
	t.Helper()
	h.clock.move(time.Millisecond)
	e := message.Entry{ID: id.MessageOf(h.clock.Now().UnixMilli(), 1, 1, c), Sender: u, Updates: target, Content: []byte{0x5a, 0}}
	a := &timeline.AppendRequest{Key: conversationKey(c), Payload: e.Append(nil)}
	if timelinetest.Append(h.log, a); a.Err != nil {
		t.Fatalf("%v", a.Err)
	}
	return a.Seq
}

// The text of a recalled message is neither in a sync nor in the list, and the message is not unread.
func TestRecalledMessages(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	const c = id.Conversation(7)
	h.open(t, c, 1, 2)
	h.sendText(t, 2, c, "kept", false)
	secret := h.sendText(t, 2, c, "secret", false)
	h.update(t, 2, c, secret)
	h.conversations.mu.Lock()
	h.conversations.recalled = map[id.Conversation]map[uint64]bool{c: {secret: true}}
	h.conversations.mu.Unlock()
	list := h.list(t, 1, 10, "")
	if row := list.Conversations[0]; row.LastMessage.GetSeq() != secret || row.LastMessage.Content != nil || row.Unread != 1 || list.Badge != 1 {
		t.Errorf("the row is %v, with a badge of %d; want the recalled message without its content, and one unread", row, list.Badge)
	}
	page, err := h.Sync(t.Context(), id.Caller{User: 1}, &chatv1.SyncRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(page); strings.Contains(got, "secret") || !strings.Contains(got, "kept") {
		t.Errorf("the sync has %s", got)
	}
	for _, e := range page.Events {
		if m := e.GetMessage(); m.GetSeq() == secret && m.RecallSeq == 0 {
			t.Errorf("the event of the recalled message is %v", e)
		}
	}
}

// However many updates come after a message, it stays the last one of the list, and is found in a few reads.
func TestUpdatesAreNoLastMessage(t *testing.T) {
	for _, updates := range []int{1, 15, 16, 255, 256, 257, 600} {
		t.Run(fmt.Sprint(updates), func(t *testing.T) {
			h := newHarness(t, false, inbox.Config{})
			const c = id.Conversation(7)
			h.open(t, c, 1, 2)
			h.sendText(t, 2, c, "first", false)
			last := h.sendText(t, 2, c, "last", false)
			lastMs := h.clock.Now().UnixMilli()
			for range updates {
				h.update(t, 2, c, last)
			}
			list := h.list(t, 1, 10, "")
			if row := list.Conversations[0]; row.LastMessage.GetSeq() != last || row.LastSeq != last || row.LastMessage.TimeMs != lastMs || row.Unread != 2 {
				t.Errorf("the row is %v, want the message at %d and two unread", row, last)
			}
		})
	}
}

// A page of the list asks for the updates of all its rows at once, and so does the badge.
func TestListAsksForUpdatesTogether(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	for c := id.Conversation(1); c <= 20; c++ {
		h.open(t, c, 1, 2)
		h.sendText(t, 2, c, "unread", false)
	}
	h.list(t, 1, 10, "") // refreshes the rows
	h.conversations.currentCalls.Store(0)
	h.conversations.countCalls.Store(0)
	h.conversations.mentionCalls.Store(0)
	if list := h.list(t, 1, 10, ""); len(list.Conversations) != 10 || list.Badge != 20 {
		t.Fatalf("the page has %d rows and a badge of %d, want 10 and 20", len(list.Conversations), list.Badge)
	}
	if current, count, mentions := h.conversations.currentCalls.Load(), h.conversations.countCalls.Load(), h.conversations.mentionCalls.Load(); current != 1 || count != 2 || mentions != 1 {
		t.Errorf("a page of 10 rows asked %d times for present contents, %d times for recalls and %d times for mentions, want 1, 2 and 1", current, count, mentions)
	}
}

// The mentions of the list are those of unread messages: the read cursor, and sending, move it past them.
func TestListHasUnreadMentions(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	const c = id.Conversation(7)
	h.join(t, c, 1, 2)
	var seqs []uint64
	for range 3 {
		seqs = append(seqs, h.send(t, 2, c, false))
	}
	h.conversations.mu.Lock()
	h.conversations.mentions = map[cursorKey][]uint64{{1, c}: {seqs[0], seqs[2]}}
	h.conversations.mu.Unlock()
	want := func(mentions ...uint64) {
		t.Helper()
		one, err := h.GetConversation(t.Context(), 1, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []*chatv1.Conversation{one, h.list(t, 1, 10, "").Conversations[0]} {
			if !slices.Equal(got.Mentions, mentions) {
				t.Errorf("the unread mentions are %v, want %v", got.Mentions, mentions)
			}
		}
	}
	want(seqs[0], seqs[2])
	if _, err := h.MarkNow(t.Context(), 1, c, 0, seqs[1]); err != nil {
		t.Fatal(err)
	}
	want(seqs[2])
	h.send(t, 1, c, false)
	want()
}

// A signal is neither the last message nor unread.
func TestSignalsAreNotShown(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	const c = id.Conversation(7)
	h.open(t, c, 1, 2)
	last := h.sendText(t, 2, c, "last", false)
	h.clock.move(time.Millisecond)
	e := message.Entry{ID: id.MessageOf(h.clock.Now().UnixMilli(), 1, 1, c), Sender: 2, Content: []byte{0xb2, 1, 3, 10, 1, 't'}}
	a := &timeline.AppendRequest{Key: conversationKey(c), Payload: e.Append(nil)}
	if timelinetest.Append(h.log, a); a.Err != nil {
		t.Fatal(a.Err)
	}
	var content chatv1.Content
	if err := proto.Unmarshal(e.Content, &content); err != nil || content.GetSignal().GetType() != "t" {
		t.Fatalf("%v is no signal: %v", &content, err)
	}
	if row := h.list(t, 1, 10, "").Conversations[0]; row.LastMessage.GetSeq() != last || row.Unread != 1 {
		t.Errorf("the row is %v, want the message at %d and one unread", row, last)
	}
}
