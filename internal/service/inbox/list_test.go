package inbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func (h *harness) list(t tester, u id.User, limit uint32, page string) *chatv1.ListConversationsResponse {
	t.Helper()
	h.fanOut(t)
	p, err := h.ListConversations(h.t.Context(), u, &chatv1.ListConversationsRequest{Limit: limit, Page: page})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

// former returns the conversations that a user has left.
func (h *harness) former(t tester, u id.User, limit uint32, page string) *chatv1.ListConversationsResponse {
	t.Helper()
	h.fanOut(t)
	p, err := h.ListConversations(h.t.Context(), u, &chatv1.ListConversationsRequest{Limit: limit, Page: page, Former: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

// recount is the model: it has all entries and read cursors, and counts.
type recount struct {
	*harness
	entries map[id.Conversation][]entry
	read    map[cursorKey]uint64
	muted   map[cursorKey]bool
	archive map[cursorKey]bool
}

type entry struct {
	by     id.User // 0 for a control entry
	counts bool
}

func (m *recount) add(r tester, c id.Conversation, e entry) {
	m.entries[c] = append(m.entries[c], e)
	if n := uint64(len(m.entries[c])); m.logEnd(r, c) != n {
		r.Fatalf("the tail of the model is %d, but the log has another", n)
	}
}

func (m *recount) logEnd(r tester, c id.Conversation) uint64 {
	tail, err := m.log.Tail(m.t.Context(), conversationKey(c))
	if err != nil {
		r.Fatalf("%v", err)
	}
	return tail.Seq
}

// unread counts the messages of others after a user's read cursor.
func (m *recount) unread(p cursorKey) (n uint64) {
	in := m.conversations.members[p]
	for i, e := range m.entries[p.conversation] {
		seq := uint64(i + 1)
		if in.leave != 0 && seq > in.leave {
			break
		}
		if seq < m.conversations.kept[p.conversation] {
			continue
		}
		switch {
		case seq <= in.join || seq <= m.read[p] || e.by == p.user:
			if e.by == p.user || seq <= m.read[p] || seq == in.join {
				n = 0
			}
		case e.counts:
			n++
		}
	}
	return n
}

// Unread counts and badges equal the model's count after any events.
func TestUnreadEqualsARecount(t *testing.T) {
	check(t, func(r *rapid.T) {
		m := &recount{harness: newHarness(t, false, inbox.Config{}), entries: map[id.Conversation][]entry{}, read: map[cursorKey]uint64{}, muted: map[cursorKey]bool{}, archive: map[cursorKey]bool{}}
		const users, conversations = 3, 3
		for c := range id.Conversation(conversations) {
			m.join(r, c+1, 1, 2, 3)
			m.add(r, c+1, entry{})
		}
		where := func(r *rapid.T) cursorKey {
			return cursorKey{id.User(rapid.IntRange(1, users).Draw(r, "user")), id.Conversation(rapid.IntRange(1, conversations).Draw(r, "conversation"))}
		}
		r.Repeat(map[string]func(*rapid.T){
			"send": func(r *rapid.T) {
				p := where(r)
				if m.conversations.members[p].leave == 0 {
					m.send(r, p.user, p.conversation, false)
					m.add(r, p.conversation, entry{p.user, true})
				}
			},
			"control": func(r *rapid.T) {
				p := where(r)
				m.send(r, p.user, p.conversation, true)
				m.add(r, p.conversation, entry{})
			},
			"leave or come back": func(r *rapid.T) {
				p := where(r)
				if m.conversations.members[p].leave == 0 {
					m.leave(r, p.conversation, p.user)
				} else {
					m.join(r, p.conversation, p.user)
				}
				m.add(r, p.conversation, entry{})
			},
			"mark": func(r *rapid.T) {
				p := where(r)
				read := rapid.Uint64Range(0, m.logEnd(r, p.conversation)+3).Draw(r, "read")
				if rapid.Bool().Draw(r, "wait") {
					if _, err := m.MarkNow(t.Context(), p.user, p.conversation, 0, read); err != nil {
						r.Fatalf("%v", err)
					}
				} else {
					m.Mark(p.user, p.conversation, 0, read)
					m.run(r)()
				}
				in := m.conversations.members[p]
				to := m.logEnd(r, p.conversation)
				if in.leave != 0 {
					to = in.leave
				}
				m.read[p] = max(m.read[p], min(read, to))
			},
			"expire": func(r *rapid.T) {
				c := where(r).conversation
				m.expire(r, c, rapid.Uint64Range(1, m.logEnd(r, c)+1).Draw(r, "first"), rapid.Bool().Draw(r, "gone"))
			},
			"mute": func(r *rapid.T) {
				p := where(r)
				m.muted[p] = !m.muted[p]
				if _, err := m.Configure(t.Context(), p.user, &chatv1.ConfigureRequest{Conversation: uint64(p.conversation), Muted: proto.Bool(m.muted[p])}); err != nil {
					r.Fatalf("%v", err)
				}
			},
			"archive": func(r *rapid.T) {
				p := where(r)
				m.archive[p] = !m.archive[p]
				if _, err := m.Configure(t.Context(), p.user, &chatv1.ConfigureRequest{Conversation: uint64(p.conversation), Archived: proto.Bool(m.archive[p])}); err != nil {
					r.Fatalf("%v", err)
				}
			},
			"": func(r *rapid.T) {
				for u := range id.User(users) {
					u++
					list, former, badge := m.list(r, u, 0, ""), m.former(r, u, 0, ""), uint64(0)
					if len(list.Conversations)+len(former.Conversations) != conversations || former.Badge != 0 {
						r.Fatalf("user %v has %d present and %d former conversations", u, len(list.Conversations), len(former.Conversations))
					}
					if one := m.list(r, u, 1, ""); one.Badge != list.Badge {
						r.Fatalf("user %v has a badge of %d with a page of all, but %d with a page of one", u, list.Badge, one.Badge)
					}
					for i, c := range append(list.Conversations, former.Conversations...) {
						p := cursorKey{u, id.Conversation(c.Id)}
						if isFormer := m.conversations.members[p].leave != 0; isFormer != (i >= len(list.Conversations)) {
							r.Fatalf("user %v is a former member of %d: %v, but the lists disagree", u, c.Id, isFormer)
						}
						want := m.unread(p)
						if c.Unread != want {
							r.Fatalf("user %v has %d unread in %d, counted %d", u, c.Unread, c.Id, want)
						}
						if in, kept := m.conversations.members[p], m.conversations.kept[p.conversation]; c.LastMessage == nil {
							if want != 0 || kept <= m.logEnd(r, p.conversation) && (in.leave == 0 || kept <= in.leave) {
								r.Fatalf("user %v has no last message in %d, whose first retained seq is %d", u, c.Id, kept)
							}
							if tail, err := m.log.Tail(t.Context(), conversationKey(p.conversation)); err != nil || in.leave == 0 && (c.State.ReadCounted != tail.Counted || c.State.ReadSeq < c.LastSeq) {
								r.Fatalf("user %v has state %v in %d, which is empty with a running count of %d (%v)", u, c.State, c.Id, tail.Counted, err)
							}
							continue
						} else if c.LastMessage.Seq < kept {
							r.Fatalf("user %v has last message %d of %d, whose first retained seq is %d", u, c.LastMessage.Seq, c.Id, kept)
						}
						// A client counts in the same way, from the last message and its own state.
						if got := c.LastMessage.Counted - min(c.LastMessage.Counted, c.State.ReadCounted); got != want || c.LastMessage.Seq != c.LastSeq {
							r.Fatalf("a client of user %v counts %d in %d, not %d", u, got, c.Id, want)
						}
						if !m.muted[p] && !m.archive[p] && m.conversations.members[p].leave == 0 {
							badge += want
						}
					}
					if list.Badge != badge {
						r.Fatalf("user %v has a badge of %d, counted %d", u, list.Badge, badge)
					}
				}
			},
		})
	})
}

func ids(list *chatv1.ListConversationsResponse) (got []uint64) {
	for _, c := range list.Conversations {
		got = append(got, c.Id)
	}
	return got
}

func TestListOrderAndPages(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	for c := range id.Conversation(7) {
		h.join(t, c+1, ann, bob)
	}
	h.send(t, bob, 3, false)
	for _, c := range []uint64{2, 5} {
		if _, err := h.Configure(t.Context(), ann, &chatv1.ConfigureRequest{Conversation: c, Pinned: proto.Bool(true)}); err != nil {
			t.Fatal(err)
		}
	}
	want := []uint64{5, 2, 3, 7, 6, 4, 1}
	if got := ids(h.list(t, ann, 0, "")); !equal(got, want...) {
		t.Errorf("the list is %v", got)
	}
	for limit := uint32(1); limit < 9; limit++ {
		var got []uint64
		for page := ""; ; {
			p := h.list(t, ann, limit, page)
			if got = append(got, ids(p)...); len(p.Conversations) > int(limit) || p.Badge != 1 {
				t.Errorf("a page with limit %d is %v", limit, p)
			}
			if page = p.Next; page == "" {
				break
			}
		}
		if !equal(got, want...) {
			t.Errorf("the pages with limit %d are %v", limit, got)
		}
	}
	for _, page := range []string{"x", "????", "AAAA", "AgAAAAAAAAAAAAAAAAAAAAA"} {
		if _, err := h.ListConversations(t.Context(), ann, &chatv1.ListConversationsRequest{Page: page}); errs.Of(err).Reason != "bad_page" {
			t.Errorf("page token %q returned %v", page, err)
		}
	}
	if p := h.list(t, eve, 0, ""); len(p.Conversations) != 0 || p.Next != "" || p.Badge != 0 {
		t.Errorf("the list of a user without conversations: %v", p)
	}
}

// A conversation without changes between two pages is on exactly one of them. The stream has an event for each that moved to the top.
func TestPagesWhileTheListChanges(t *testing.T) {
	check(t, func(r *rapid.T) {
		h := newHarness(t, false, inbox.Config{})
		defer h.close()
		const conversations = 12
		for c := range id.Conversation(conversations) {
			h.join(r, c+1, ann, bob)
		}
		moved, seen := map[uint64]bool{}, map[uint64]int{}
		for page := ""; ; {
			p := h.list(r, ann, uint32(rapid.IntRange(1, 5).Draw(r, "limit")), page)
			for _, c := range p.Conversations {
				seen[c.Id]++
			}
			if page = p.Next; page == "" {
				break
			}
			for range rapid.IntRange(0, 2).Draw(r, "changes") {
				c := rapid.Uint64Range(1, conversations).Draw(r, "conversation")
				moved[c] = true
				if rapid.Bool().Draw(r, "pin") {
					pin := rapid.Bool().Draw(r, "on")
					if _, err := h.Configure(t.Context(), ann, &chatv1.ConfigureRequest{Conversation: c, Pinned: &pin}); err != nil {
						r.Fatalf("%v", err)
					}
				} else {
					h.send(r, bob, id.Conversation(c), false)
				}
			}
		}
		for c := range uint64(conversations) {
			if c++; !moved[c] && seen[c] != 1 {
				r.Errorf("conversation %d was listed %d times", c, seen[c])
			}
		}
	})
}

func TestFormerMemberSeesListAsItWas(t *testing.T) {
	h := newHarness(t, true, inbox.Config{})
	h.join(t, all, ann, bob)
	h.send(t, bob, all, false)
	h.leave(t, all, ann) // 3
	h.send(t, bob, all, false)
	if p := h.list(t, ann, 0, ""); len(p.Conversations) != 0 || p.Badge != 0 {
		t.Errorf("a left conversation is in the list: %v", p)
	}
	c := h.former(t, ann, 0, "").Conversations[0]
	if c.LastSeq != 3 || c.LastMessage.Seq != 3 || c.Unread != 1 || c.LeaveSeq != 3 {
		t.Errorf("the former conversation is %v", c)
	}
	if _, err := h.GetConversation(t.Context(), eve, all); !errs.Is(err, errs.NotFound) {
		t.Errorf("a non-member got %v", err)
	}
}

// A block does not affect any list: neither the last message, nor the order, nor the unread count.
func TestBlockIsHiddenInList(t *testing.T) {
	h := newHarness(t, true, inbox.Config{})
	h.open(t, 20, ann, bob)
	h.open(t, 21, ann, eve)
	check := func(blocks int, seq, unread uint64) {
		t.Helper()
		for range blocks {
			h.access(t, 20)
		}
		p := h.list(t, ann, 0, "")
		if got := ids(p); !equal(got, 21, 20) {
			t.Fatalf("after %d blocks the order is %v", blocks, got)
		}
		if c := p.Conversations[1]; c.LastSeq != seq || c.LastMessage.Seq != seq || c.Unread != unread || p.Badge != unread {
			t.Errorf("after %d blocks the conversation is %v", blocks, c)
		}
	}
	check(1, 1, 0)
	h.send(t, bob, 20, false) // 3
	h.send(t, eve, 21, false)
	h.markSync(t, ann, 21, 0, 2)
	check(0, 3, 1)
	check(40, 3, 1)
	h.markSync(t, ann, 20, 0, 1<<63) // at an access entry
	check(1, 3, 0)
}

func TestOwnMessagesAreRead(t *testing.T) {
	h := newHarness(t, true, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.send(t, bob, duo, false)
	h.send(t, ann, duo, false)
	h.send(t, bob, duo, false)
	c, err := h.GetConversation(t.Context(), ann, duo)
	if err != nil || c.State.ReadSeq != 3 || c.State.ReadCounted != 2 || c.Unread != 1 || c.Peer != uint64(bob) || c.PeerReadSeq != 4 {
		t.Errorf("the conversation is %v (%v)", c, err)
	}
}

// trimmed returns how many entries of ann's stream remain after a round of trimming, and its tail.
func trimmed(t *testing.T, h *harness) (remaining int, tail uint64) {
	t.Helper()
	if err := inbox.Trim(t.Context(), h.Service); err != nil {
		t.Fatal(err)
	}
	entries, err := h.log.Read(t.Context(), streamKey(reader), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	at, err := h.Tail(t.Context(), reader)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries), uint64(at)
}

// unavailableLog does not answer requests for one stream.
type unavailableLog struct {
	timeline.Log
	requests int
}

func (a *unavailableLog) Tail(context.Context, timeline.Key) (timeline.Tail, error) {
	a.requests++
	return timeline.Tail{}, errs.New(errs.Unavailable, "storage", "the store is unavailable")
}

// Trimming stops if the store does not answer for one stream. It does not try the others.
func TestTrimStopsIfLogIsUnavailable(t *testing.T) {
	s := &stream{harness: newHarness(t, false, inbox.Config{MaxEntries: 1})}
	for u := range id.User(3) {
		s.post(t, u+1, []byte{0, 1, 5})
	}
	log := &unavailableLog{Log: s.log}
	s.log = log
	s.start()
	if err := inbox.Trim(t.Context(), s.Service); !errs.Is(err, errs.Unavailable) || log.requests != 1 {
		t.Errorf("an unavailable log got %d requests: %v", log.requests, err)
	}
}

func TestStreamsAreTrimmed(t *testing.T) {
	for _, pebble := range []bool{false, true} {
		t.Run(fmt.Sprintf("pebble %v", pebble), func(t *testing.T) {
			s := &stream{harness: newHarness(t, pebble, inbox.Config{MaxEntries: 12, MaxAge: time.Hour})}
			s.post(t, 99, []byte{0, 1, 5}) // a corrupt stream of another user does not prevent trimming
			s.clock.move(2 * time.Hour)
			for n := range 20 {
				if n%5 == 0 {
					s.restart(false) // entries are counted across epochs
				}
				s.message(t, 1)
			}
			before, err := s.Tail(t.Context(), reader)
			if err != nil {
				t.Fatal(err)
			}
			if remaining, tail := trimmed(t, s.harness); remaining != 12 || tail != uint64(before) {
				t.Errorf("%d entries remain, the tail is %x, want %x", remaining, tail, before)
			}
			if remaining, _ := trimmed(t, s.harness); remaining != 12 {
				t.Errorf("after a second round %d entries remain", remaining)
			}
			s.clock.move(50 * time.Minute)
			s.draft(t)
			s.message(t, 1)
			s.clock.move(20 * time.Minute)
			if remaining, _ := trimmed(t, s.harness); remaining != 2 {
				t.Errorf("after an hour %d entries remain", remaining)
			}
			s.clock.move(time.Hour)
			remaining, tail := trimmed(t, s.harness)
			if remaining != 1 {
				t.Errorf("after two hours %d entries remain", remaining)
			}
			if p := syncPage(t, s.harness, uint64(before), 0); !p.Reset_ || p.Next.Seq != tail {
				t.Errorf("a device with a position before the trim got %v", p)
			}
			if p := syncPage(t, s.harness, tail, 0); p.Reset_ || p.Next.Seq != tail {
				t.Errorf("an up-to-date device got %v", p)
			}
		})
	}
}

// A page of the list is bounded in bytes too. Long drafts and messages are complete in it.
func TestListPagesAreBoundedInBytes(t *testing.T) {
	h := newHarness(t, true, inbox.Config{})
	const chats = 12
	long := strings.Repeat("字", 100_000)
	for n := range uint64(chats) {
		c := id.Conversation(100 + n)
		h.open(t, c, ann, id.User(1000+n))
		h.sendText(t, ann, c, long, false)
		if _, err := h.Configure(t.Context(), ann, &chatv1.ConfigureRequest{Conversation: uint64(c), Draft: &long}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[uint64]bool{}
	pages := 0
	for page, more := "", true; more; pages++ {
		p := h.list(t, ann, 200, page)
		if size := proto.Size(p); size > 2<<20 {
			t.Fatalf("a page has %d bytes", size)
		}
		for _, c := range p.Conversations {
			if seen[c.Id] || c.State.Draft != long || c.LastMessage.GetContent().GetText() != long {
				t.Errorf("conversation %d: seen before %v, draft of %d bytes, message of %d bytes", c.Id, seen[c.Id], len(c.State.Draft), len(c.LastMessage.GetContent().GetText()))
			}
			seen[c.Id] = true
		}
		page, more = p.Next, p.Next != ""
	}
	if len(seen) != chats || pages < 3 {
		t.Errorf("%d of %d conversations in %d pages", len(seen), chats, pages)
	}
}
