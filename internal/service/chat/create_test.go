package chat_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// failingLog rejects a number of appends.
type failingLog struct {
	timeline.Log
	times atomic.Int64
}

func (l *failingLog) Append(list ...*timeline.AppendRequest) {
	for _, a := range list {
		if l.times.Add(-1) >= 0 {
			a.Err = timeline.ErrBusy
			a.Done(a)
		} else {
			l.Log.Append(a)
		}
	}
}

func TestOpenDirectConcurrently(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	nodes := []*chat.Service{h.node(t), h.node(t)}
	got := make([]id.Conversation, 24)
	var wait sync.WaitGroup
	for i := range got {
		wait.Go(func() {
			a, b := id.User(1), id.User(2)
			if i%3 == 0 {
				a, b = b, a
			}
			var err error
			if got[i], err = nodes[i%2].OpenDirect(ctx, a, b); err != nil {
				t.Error(err)
			}
			if err := nodes[(i+1)%2].Send(ctx, draftOf(got[i], a, uint64(i+1), "hello")); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, c := range got {
		if c != got[0] {
			t.Fatalf("concurrent calls opened several conversations: %v", got)
		}
	}
	log := h.entries(t, got[0])
	if len(log) != 1+len(got) || log[0].control.GetAction() != chatv1.Control_ACTION_CREATED || len(log[0].control.Users) != 2 {
		t.Errorf("the log has %d entries, the first is %v", len(log), log[0].control)
	}
	h.relations.set(h.relations.blocked, 1, 2, true)
	for _, blocked := range []bool{false, true} {
		if blocked {
			must(t, nodes[0].AccessChanged(ctx, 1, 2))
		}
		if peer, cannotWrite, err := nodes[0].Peer(ctx, 1, got[0]); err != nil || peer != 2 || cannotWrite != blocked {
			t.Errorf("the peer is %d, apart %v (%v)", peer, cannotWrite, err)
		}
	}
}

// TestDirectConversationsAreNearTheNewerUser: a one-to-one conversation is in the partition of the newer user's inbox, whoever opens it.
func TestDirectConversationsAreNearTheNewerUser(t *testing.T) {
	ctx := context.Background()
	s := newHarness(t, chat.Config{}).node(t)
	for b := id.User(2); b <= 40; b++ {
		from, to := id.User(1), b
		if b%2 == 0 {
			from, to = to, from
		}
		c, err := s.OpenDirect(ctx, from, to)
		must(t, err)
		conversation, inbox := timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, timeline.Key{Kind: timeline.Inbox, ID: uint64(b)}
		if conversation.Partition() != inbox.Partition() {
			t.Errorf("conversation of 1 and %d: in partition %d, want %d", b, conversation.Partition(), inbox.Partition())
		}
	}
}

func TestOpenDirectRefuses(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	h.relations.set(h.relations.blocked, 1, 3, true)
	for b, reason := range map[id.User]string{3: "blocked", 5000: "no_user"} {
		if _, err := s.OpenDirect(ctx, 1, b); reasonOf(err) != reason {
			t.Errorf("opening a conversation with %d returned %v, want %q", b, err, reason)
		}
	}
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	for name, call := range map[string]func() (uint64, error){
		"invite":   func() (uint64, error) { return s.Invite(ctx, c, 1, []uint64{3}) },
		"remove":   func() (uint64, error) { return s.Remove(ctx, c, 1, []uint64{2}) },
		"leave":    func() (uint64, error) { return s.Leave(ctx, c, 1) },
		"dissolve": func() (uint64, error) { return s.Dissolve(ctx, c, 1) },
	} {
		if _, err := call(); reasonOf(err) == "" {
			t.Errorf("%s succeeded in a one-to-one conversation", name)
		}
	}
}

// TestInterruptedOpeningIsCompleted: the row was written, but not the first entry; then one of the two users blocks and unblocks.
func TestInterruptedOpeningIsCompleted(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	log := &failingLog{Log: h.log}
	h.log = log
	s := h.node(t)
	log.times.Store(1)
	if _, err := s.OpenDirect(ctx, 1, 2); reasonOf(err) != "busy" {
		t.Fatalf("error %v, want the reason busy", err)
	}
	for _, blocked := range []bool{true, false} {
		h.relations.set(h.relations.blocked, 1, 2, blocked)
		must(t, s.AccessChanged(ctx, 1, 2))
	}
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	must(t, s.Send(ctx, draftOf(c, 2, 1, "hello")))
	replay(t, h.entries(t, c))
}

func TestCreateGroup(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{MaxMembers: 4})
	s := h.node(t)
	h.relations.set(h.relations.blocked, 1, 9, true)
	for _, test := range []struct {
		name   string
		r      *chatv1.CreateGroupRequest
		reason string
	}{
		{"alone", &chatv1.CreateGroupRequest{Title: "g"}, ""},
		{"with oneself and twice the same", &chatv1.CreateGroupRequest{Title: " g ", Members: []uint64{1, 2, 2}}, ""},
		{"no title", &chatv1.CreateGroupRequest{Title: " \u3000"}, "bad_title"},
		{"100 characters", &chatv1.CreateGroupRequest{Title: strings.Repeat("群", 100)}, ""},
		{"101 characters", &chatv1.CreateGroupRequest{Title: strings.Repeat("群", 101)}, "bad_title"},
		{"text direction", &chatv1.CreateGroupRequest{Title: "\u202egpj.exe"}, "bad_title"},
		{"two lines", &chatv1.CreateGroupRequest{Title: "a\nb"}, "bad_title"},
		{"one mark", &chatv1.CreateGroupRequest{Title: "\u0301"}, "bad_title"},
		{"stacked marks", &chatv1.CreateGroupRequest{Title: "z" + strings.Repeat("\u0335", 7)}, "bad_title"},
		{"U+0000", &chatv1.CreateGroupRequest{Title: "a\x00"}, "bad_title"},
		{"bad UTF-8", &chatv1.CreateGroupRequest{Title: "a\xff"}, "bad_title"},
		{"a long key", &chatv1.CreateGroupRequest{Title: "g", Key: strings.Repeat("k", 65)}, "bad_key"},
		{"U+0000 in a key", &chatv1.CreateGroupRequest{Title: "g", Key: "k\x00"}, "bad_key"},
		{"nobody's policy", &chatv1.CreateGroupRequest{Title: "g", JoinPolicy: 4}, "bad_join_policy"},
		{"a policy below all", &chatv1.CreateGroupRequest{Title: "g", JoinPolicy: -1}, "bad_join_policy"},
		{"one who is not", &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 5000}}, "no_user"},
		{"one who blocks", &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{9}}, "blocked"},
		{"too many", &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3, 4, 5}}, "group_full"},
		{"far too many", &chatv1.CreateGroupRequest{Title: "g", Members: make([]uint64, 501)}, "too_many_users"},
	} {
		if _, err := s.CreateGroup(ctx, 1, test.r); reasonOf(err) != test.reason {
			t.Errorf("%s: %v, want %q", test.name, err, test.reason)
		}
	}
}

func TestBadJoinRequests(t *testing.T) {
	s := newHarness(t, chat.Config{}).node(t)
	c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "g", JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_APPROVAL})
	must(t, err)
	for _, test := range []struct{ token, message, reason string }{
		{"none", "", "bad_link"}, {"\x00", "", "bad_link"}, {"\xff", "", "bad_link"},
		{"", "\x00", "bad_message"}, {"", "a\u202eb", "bad_message"}, {"", "a" + strings.Repeat("\u0323", 7), "bad_message"}, {"", "\xff", "bad_message"}, {"", strings.Repeat("字", 501), "bad_message"}, {"", strings.Repeat("字", 500), ""},
	} {
		if _, _, err := s.Join(t.Context(), 2, &chatv1.JoinRequest{Conversation: uint64(c), Token: test.token, Message: test.message}); reasonOf(err) != test.reason {
			t.Errorf("%q %.20q: %v, want %q", test.token, test.message, err, test.reason)
		}
	}
}

func TestAnnouncementsThatBreakOthers(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "g"})
	must(t, err)
	for text, reason := range map[string]string{
		"": "", "two\nlines": "", " ": "bad_announcement", "a\x1b[2J": "bad_announcement", "a\u202eb": "bad_announcement",
		"a" + strings.Repeat("\u0323", 7): "bad_announcement", strings.Repeat("字", 2001): "bad_announcement",
	} {
		if _, err := s.UpdateGroup(t.Context(), c, 1, &chatv1.UpdateGroupRequest{Announcement: &text}); reasonOf(err) != reason {
			t.Errorf("%.20q: %v, want %q", text, err, reason)
		}
	}
}

func TestCreateGroupRetried(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	log := &failingLog{Log: h.log}
	h.log = log
	nodes := []*chat.Service{h.node(t), h.node(t)}
	r := &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}, Key: "k"}
	log.times.Store(1)
	if _, err := nodes[0].CreateGroup(ctx, 1, r); reasonOf(err) != "busy" { // the row is written, the entry is not
		t.Fatalf("error %v, want the reason busy", err)
	}
	got := make([]id.Conversation, 10)
	var wait sync.WaitGroup
	for i := range got {
		wait.Go(func() {
			var err error
			if got[i], err = nodes[i%2].CreateGroup(ctx, 1, r); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, c := range got {
		if c != got[0] {
			t.Fatalf("retries created several groups: %v", got)
		}
	}
	if log := h.entries(t, got[0]); len(log) != 1 {
		t.Errorf("the log has %d entries", len(log))
	}
	for name, other := range map[string]func() (id.Conversation, error){
		"another user's": func() (id.Conversation, error) { return nodes[0].CreateGroup(ctx, 3, r) },
		"without a key": func() (id.Conversation, error) {
			return nodes[0].CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g"})
		},
	} {
		if c, err := other(); err != nil || c == got[0] {
			t.Errorf("the group created with %s is %d (%v)", name, c, err)
		}
	}
}

func TestResize(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	users := func(from, to uint64) []uint64 { return between(from, to) }
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: users(2, 500)})
	must(t, err)
	size := func(what string, large bool, last chatv1.Control_Action) {
		t.Helper()
		log := h.entries(t, c)
		got, err := s.Describe(ctx, 1, c)
		if err != nil || got.Large != large || log[len(log)-1].control.GetAction() != last {
			t.Fatalf("%s: large %v, last entry %v (%v)", what, got.GetLarge(), log[len(log)-1].control, err)
		}
		_, byLog, err := s.Audience(ctx, c, log[len(log)-1].seq)
		if err != nil || byLog {
			t.Fatalf("%s: the entry that resizes the group is written to inboxes (%v)", what, err)
		}
	}
	size("500", false, chatv1.Control_ACTION_CREATED)
	_, err = s.Invite(ctx, c, 1, users(501, 501))
	must(t, err)
	size("501", true, chatv1.Control_ACTION_LARGE)
	// largeTo checks that any node's rows list the members of the large group as soon as the change returns.
	largeTo := func(what string, yes, no []id.User) {
		t.Helper()
		for _, node := range []*chat.Service{s, h.node(t)} {
			lists, err := node.LargeGroups(ctx, slices.Concat(yes, no))
			if err != nil || len(lists) != len(yes)+len(no) {
				t.Fatalf("%s: got %d lists (%v)", what, len(lists), err)
			}
			for i, u := range yes {
				if !slices.Equal(lists[i], []id.Conversation{c}) {
					t.Fatalf("%s: large groups of user %d are %v", what, u, lists[i])
				}
			}
			for i, u := range no {
				if list := lists[len(yes)+i]; len(list) != 0 {
					t.Fatalf("%s: large groups of user %d are %v", what, u, list)
				}
			}
		}
	}
	var all []id.User // more than one query can return
	for u := range id.User(501) {
		all = append(all, u+1)
	}
	largeTo("501", all, []id.User{502})
	must(t, s.Send(ctx, draftOf(c, 501, 1, "x")))
	if _, large, err := s.Audience(ctx, c, h.tail(t, c).Seq); err != nil || !large {
		t.Fatalf("a message of a large group is written to inboxes (%v)", err)
	}
	_, err = s.Remove(ctx, c, 1, users(451, 501))
	must(t, err)
	if got, err := s.Describe(ctx, 1, c); err != nil || !got.Large || got.MemberCount != 450 {
		t.Fatalf("the audience is %v (%v)", got, err)
	}
	largeTo("450", []id.User{1, 450}, []id.User{451, 501})
	_, err = s.Leave(ctx, c, 450)
	must(t, err)
	largeTo("449", nil, []id.User{1, 450})
	size("449", false, chatv1.Control_ACTION_SMALL)
	list, err := h.node(t).MembershipsAfter(ctx, 2, 0, 1000)
	if err != nil || len(list) != 1 || list[0].Large {
		t.Fatalf("the list is %v (%v)", list, err)
	}

	small := newHarness(t, chat.Config{LargeGroupAbove: 3})
	s = small.node(t)
	c, err = s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: users(2, 4)})
	must(t, err)
	if got, err := s.Describe(ctx, 1, c); err != nil || !got.Large {
		t.Errorf("a group created above the bound is not large: %v (%v)", got, err)
	}
}

func TestIdleConversationsAreEvicted(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	chat.SetMaxCached(s, 8)
	var all []id.Conversation
	for i := range uint64(40) {
		c, err := s.OpenDirect(ctx, 1, id.User(i+2))
		must(t, err)
		all = append(all, c)
	}
	for round := range uint64(3) {
		for i, c := range all {
			must(t, s.Send(ctx, draftOf(c, 1, round*100+uint64(i)+1, "x")))
		}
	}
	for i := range uint64(100) { // unused names
		d := draftOf(id.Conversation(i+1), 1, 1, "x")
		if err := s.Send(ctx, d); reasonOf(err) != "no_conversation" {
			t.Fatalf("error %v, want the reason no_conversation", err)
		}
		if _, err := s.History(ctx, 1, &chatv1.HistoryRequest{Conversation: i + 1}); reasonOf(err) != "no_conversation" {
			t.Fatalf("error %v, want the reason no_conversation", err)
		}
	}
	if n := chat.CachedConversations(s); n > 8 {
		t.Errorf("%d conversations are in memory, want at most 8", n)
	}
	for _, c := range all {
		if log := h.entries(t, c); len(log) != 4 {
			t.Errorf("the log has %d entries, want 4", len(log))
		}
	}
}

// TestProjectionWaits: the entry is stored but the rows are not, so lists lack the change, and the call must fail. The change is kept, the
// rows follow, and a retry finds it done.
func TestProjectionWaits(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
	must(t, err)
	rename := func(text string) {
		must(t, h.db.Write(ctx, func(tx *sql.Tx) error { _, err := tx.ExecContext(ctx, text); return err }))
	}
	rename(`ALTER TABLE members RENAME TO elsewhere`)
	if _, err := s.Remove(ctx, c, 1, []uint64{2}); err == nil {
		t.Fatal("a removal without its rows returned success")
	}
	rename(`ALTER TABLE elsewhere RENAME TO members`)
	if err := s.Send(ctx, draftOf(c, 2, 1, "x")); reasonOf(err) != "no_conversation" {
		t.Fatalf("error %v, want the reason no_conversation", err)
	}
	must(t, s.Send(ctx, draftOf(c, 1, 1, "x")))
	list, err := s.MembershipsAfter(ctx, 2, 0, 1000)
	if err != nil || len(list) != 1 || list[0].Leave != 2 {
		t.Errorf("the rows after a load are %v (%v)", list, err)
	}
	if seq, err := s.Remove(ctx, c, 1, []uint64{2}); seq != 0 || err != nil {
		t.Errorf("the retry made a change at %d (%v), want none", seq, err)
	}
}

// A user's conversation with oneself has one member, is the same each time, and lets the user write whatever the policy of the server.
func TestConversationWithOneself(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{WhoMayWrite: "friends"})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 1)
	must(t, err)
	if again, err := h.node(t).OpenDirect(ctx, 1, 1); err != nil || again != c {
		t.Errorf("the second call gave %v, %v, want %v", again, err, c)
	}
	d := draftOf(c, 1, 1, "saved")
	must(t, s.Send(ctx, d))
	if m := messageAt(t, s, 1, c, d.Seq); m.Content.GetText() != "saved" {
		t.Errorf("the user reads %v", m)
	}
	if users, _, err := s.Audience(ctx, c, d.Seq); err != nil || !slices.Equal(users, []id.User{1}) {
		t.Errorf("the message goes to %v, %v", users, err)
	}
	seen, err := s.Describe(ctx, 1, c)
	must(t, err)
	if peer, cannotWrite, err := s.Peer(ctx, 1, c); err != nil || peer != 0 || cannotWrite || seen.Peer != 1 || seen.MemberCount != 1 {
		t.Errorf("it is described as %v, and the peer to be told is %v, %v", seen, peer, err)
	}
	if _, err := s.Describe(ctx, 2, c); reasonOf(err) != "no_conversation" {
		t.Errorf("another user gets %v", err)
	}
	if err := s.Send(ctx, draftOf(c, 2, 1, "x")); reasonOf(err) != "no_conversation" {
		t.Errorf("another user's message: %v", err)
	}
}
