package inbox_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// counting is a log that counts the keys, references and entries that are read.
type counting struct {
	timeline.Log
	reads atomic.Int64
}

func (c *counting) Read(ctx context.Context, key timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	entries, err := c.Log.Read(ctx, key, after, limit)
	c.reads.Add(int64(1 + len(entries)))
	return entries, err
}

func (c *counting) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	c.reads.Add(int64(len(refs)))
	return c.Log.Get(ctx, refs)
}

func (c *counting) Tail(ctx context.Context, key timeline.Key) (timeline.Tail, error) {
	c.reads.Add(1)
	return c.Log.Tail(ctx, key)
}

func (c *counting) Tails(ctx context.Context, keys []timeline.Key) ([]timeline.Tail, error) {
	c.reads.Add(int64(len(keys)))
	return c.Log.Tails(ctx, keys)
}

func (c *counting) LatestByAuthor(ctx context.Context, key timeline.Key, author uint64) (seq, counted uint64, err error) {
	c.reads.Add(1)
	return c.Log.LatestByAuthor(ctx, key, author)
}

// many creates n conversations of bob and ann, each with an unread message for ann, and n that ann has left, and refreshes her list.
func many(t testing.TB, n int) (*harness, *counting) {
	t.Helper()
	h := newHarness(t, false, inbox.Config{MaxEntries: 1 << 30})
	log := &counting{Log: h.log}
	h.log = log
	h.start()
	for c := range id.Conversation(n) {
		h.join(t, 2*c+1, bob, ann)
		h.send(t, bob, 2*c+1, false)
		h.join(t, 2*c+2, bob, ann)
		h.leave(t, 2*c+2, ann)
	}
	h.list(t, ann, 1, "")
	return h, log
}

// cost is the number of reads of the log and of the rows for a page.
func cost(t *testing.T, h *harness, log *counting, q *chatv1.ListConversationsRequest) int64 {
	t.Helper()
	log.reads.Store(0)
	h.conversations.read = 0
	if _, err := h.ListConversations(t.Context(), ann, q); err != nil {
		t.Fatal(err)
	}
	return log.reads.Load() + int64(h.conversations.read)
}

// The reads of a page do not depend on the list's length, on where the page begins, or on new events since the last page.
func TestListPageCostIsConstant(t *testing.T) {
	t.Parallel()
	short, shortLog := many(t, 200)
	long, longLog := many(t, 2000)
	middle := func(h *harness, page string) string {
		for range 5 {
			page = h.list(t, ann, 10, page).Next
		}
		return page
	}
	for what, request := range map[string]func(h *harness) *chatv1.ListConversationsRequest{
		"the first page":       func(*harness) *chatv1.ListConversationsRequest { return &chatv1.ListConversationsRequest{} },
		"one conversation":     func(*harness) *chatv1.ListConversationsRequest { return &chatv1.ListConversationsRequest{Limit: 1} },
		"former conversations": func(*harness) *chatv1.ListConversationsRequest { return &chatv1.ListConversationsRequest{Former: true} },
		"a page in between": func(h *harness) *chatv1.ListConversationsRequest {
			return &chatv1.ListConversationsRequest{Page: middle(h, "")}
		},
		"the first after a message": func(h *harness) *chatv1.ListConversationsRequest {
			h.send(t, bob, 1, false)
			h.fanOut(t)
			return &chatv1.ListConversationsRequest{}
		},
	} {
		few, many := cost(t, short, shortLog, request(short)), cost(t, long, longLog, request(long))
		if few == 0 || many > few {
			t.Errorf("%s: a list of 200 reads %d, one of 2,000 reads %d", what, few, many)
		}
	}
}

// Muted and archived conversations are not in the badge. They do not displace others from the count.
func TestBadge(t *testing.T) {
	t.Parallel()
	h := newHarness(t, false, inbox.Config{})
	for c := range id.Conversation(4) {
		h.join(t, c+1, bob, ann)
		for range c + 1 {
			h.send(t, bob, c+1, false)
		}
	}
	badge := func(want uint64) {
		t.Helper()
		for limit := range uint32(3) {
			if got := h.list(t, ann, limit, "").Badge; got != want {
				t.Errorf("with a page of %d the badge is %d, want %d", limit, got, want)
			}
		}
	}
	configure := func(c uint64, r *chatv1.ConfigureRequest) {
		t.Helper()
		r.Conversation = c
		if _, err := h.Configure(t.Context(), ann, r); err != nil {
			t.Fatal(err)
		}
	}
	badge(1 + 2 + 3 + 4)
	configure(3, &chatv1.ConfigureRequest{Muted: proto.Bool(true)})
	badge(1 + 2 + 4)
	configure(2, &chatv1.ConfigureRequest{Archived: proto.Bool(true)})
	badge(1 + 4)
	configure(2, &chatv1.ConfigureRequest{Archived: proto.Bool(false), Muted: proto.Bool(true)})
	configure(3, &chatv1.ConfigureRequest{Muted: proto.Bool(false)})
	badge(1 + 3 + 4)
	h.markSync(t, ann, 4, 0, 3) // two of four messages
	badge(1 + 3 + 2)
	h.send(t, ann, 3, false) // sending counts as reading the earlier messages
	badge(1 + 2)
	h.leave(t, 4, ann)
	badge(1)
}

// If more than 100 conversations have unread messages, the badge counts the 100 that were active last.
func TestBadgeOfManyConversations(t *testing.T) {
	t.Parallel()
	h, _ := many(t, 130)
	for range 3 {
		h.send(t, bob, 1, false)
	}
	if got := h.list(t, ann, 1, "").Badge; got != 99+4 {
		t.Errorf("the badge is %d", got)
	}
	for c := range id.Conversation(60) { // the last active ones
		h.markSync(t, ann, 2*(129-c)+1, 0, 2)
	}
	if got := h.list(t, ann, 1, "").Badge; got != 69+4 {
		t.Errorf("with 70 unread conversations the badge is %d", got)
	}
}

// The cost of a page of readers depends neither on the size of the group nor on how few of the members are listed. All pages together list
// each reader once.
func TestReadersPageCostIsConstant(t *testing.T) {
	t.Parallel()
	costs := map[id.User]int64{}
	for _, members := range []id.User{1500, 6000} {
		h := newHarness(t, false, inbox.Config{})
		log := &counting{Log: h.log}
		h.log = log
		h.start()
		users := make([]id.User, members)
		for i := range users {
			users[i] = id.User(i + 1)
		}
		const group = id.Conversation(5)
		h.join(t, group, users...)
		seq := h.send(t, 1, group, false)
		h.send(t, members, group, false) // the only one who has read it
		h.markSync(t, members/2, group, seq, 0)

		var read []uint64
		pages := 0
		for page := ""; pages == 0 || page != ""; pages++ {
			log.reads.Store(0)
			h.conversations.read = 0
			p, err := h.ListReaders(t.Context(), 1, &chatv1.ListReadersRequest{Conversation: uint64(group), Seq: seq, Page: page})
			if err != nil {
				t.Fatal(err)
			}
			cost := log.reads.Load() + int64(h.conversations.read)
			if pages == 0 {
				costs[members] = cost
			} else if cost > costs[members]+1 { // the sender, who is not listed, is on the first page
				t.Errorf("page %d costs %d reads, and the first one %d", pages, cost, costs[members])
			}
			read = append(read, p.Users...)
			page = p.Next
		}
		if !equal(read, uint64(members)) {
			t.Errorf("in a group of %d, %d pages list the readers %v", members, pages, read)
		}
	}
	if costs[1500] != costs[6000] {
		t.Errorf("a page costs %d reads in a group of 1,500, but %d in one of 6,000", costs[1500], costs[6000])
	}
}
