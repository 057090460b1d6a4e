package chat_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/timeline"
)

// refusing refuses that many appends.
type refusing struct {
	timeline.Log
	times atomic.Int64
}

func (l *refusing) Append(list ...*timeline.Append) {
	for _, a := range list {
		if l.times.Add(-1) >= 0 {
			a.Err = timeline.ErrBusy
			a.Done(a)
		} else {
			l.Log.Append(a)
		}
	}
}

func TestOpenDirectByMany(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{})
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
			t.Fatalf("several conversations of two users: %v", got)
		}
	}
	log := h.entries(t, got[0])
	if len(log) != 1+len(got) || log[0].control.GetAction() != chatv1.Control_ACTION_CREATED || len(log[0].control.Users) != 2 {
		t.Errorf("%d entries, the first %v", len(log), log[0].control)
	}
	h.relations.set(h.relations.blocked, 1, 2, true)
	for _, blocked := range []bool{false, true} {
		if blocked {
			must(t, nodes[0].AccessChanged(ctx, 1, 2))
		}
		if peer, apart, err := nodes[0].Peer(ctx, 1, got[0]); err != nil || peer != 2 || apart != blocked {
			t.Errorf("the peer is %d, apart %v (%v)", peer, apart, err)
		}
	}
}

func TestOpenDirectRefuses(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{})
	s := h.node(t)
	h.relations.set(h.relations.blocked, 1, 3, true)
	for b, reason := range map[id.User]string{1: "self", 3: "blocked", 5000: "no_user"} {
		if _, err := s.OpenDirect(ctx, 1, b); reasonOf(err) != reason {
			t.Errorf("%d: %v, want %q", b, err, reason)
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
			t.Errorf("%s of a one-to-one conversation went through", name)
		}
	}
}

// TestUnfinishedOpening: the row was made and the first entry was not stored; then one of the two blocks and unblocks.
func TestUnfinishedOpening(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{})
	log := &refusing{Log: h.log}
	h.log = log
	s := h.node(t)
	log.times.Store(1)
	if _, err := s.OpenDirect(ctx, 1, 2); reasonOf(err) != "busy" {
		t.Fatal(err)
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
	h := newHouse(t, chat.Config{MostMembers: 4})
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
	s := newHouse(t, chat.Config{}).node(t)
	c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "g", JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_APPROVAL})
	must(t, err)
	for _, test := range []struct{ token, message, reason string }{
		{"none", "", "bad_link"}, {"\x00", "", "bad_link"}, {"\xff", "", "bad_link"},
		{"", "\x00", "bad_message"}, {"", "\xff", "bad_message"}, {"", strings.Repeat("字", 501), "bad_message"}, {"", strings.Repeat("字", 500), ""},
	} {
		if _, _, err := s.Join(t.Context(), 2, &chatv1.JoinRequest{Conversation: uint64(c), Token: test.token, Message: test.message}); reasonOf(err) != test.reason {
			t.Errorf("%q %.20q: %v, want %q", test.token, test.message, err, test.reason)
		}
	}
}

func TestCreateGroupRetried(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{})
	log := &refusing{Log: h.log}
	h.log = log
	nodes := []*chat.Service{h.node(t), h.node(t)}
	r := &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}, Key: "k"}
	log.times.Store(1)
	if _, err := nodes[0].CreateGroup(ctx, 1, r); reasonOf(err) != "busy" { // the row is made, the entry is not
		t.Fatal(err)
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
			t.Fatalf("a retry made another group: %v", got)
		}
	}
	if log := h.entries(t, got[0]); len(log) != 1 {
		t.Errorf("%d entries", len(log))
	}
	for name, other := range map[string]func() (id.Conversation, error){
		"another user's": func() (id.Conversation, error) { return nodes[0].CreateGroup(ctx, 3, r) },
		"without a key": func() (id.Conversation, error) {
			return nodes[0].CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g"})
		},
	} {
		if c, err := other(); err != nil || c == got[0] {
			t.Errorf("%s is %d (%v)", name, c, err)
		}
	}
}

func TestResize(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{})
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
			t.Fatalf("%s: the entry that switches goes by inbox (%v)", what, err)
		}
	}
	size("500", false, chatv1.Control_ACTION_CREATED)
	_, err = s.Invite(ctx, c, 1, users(501, 501))
	must(t, err)
	size("501", true, chatv1.Control_ACTION_LARGE)
	// largeTo holds what any node reads of the rows, as soon as the change is answered, to who is in the large group.
	largeTo := func(what string, yes, no []id.User) {
		t.Helper()
		for _, node := range []*chat.Service{s, h.node(t)} {
			lists, err := node.LargeOf(ctx, slices.Concat(yes, no))
			if err != nil || len(lists) != len(yes)+len(no) {
				t.Fatalf("%s: %d lists (%v)", what, len(lists), err)
			}
			for i, u := range yes {
				if !slices.Equal(lists[i], []id.Conversation{c}) {
					t.Fatalf("%s: %d is in %v", what, u, lists[i])
				}
			}
			for i, u := range no {
				if list := lists[len(yes)+i]; len(list) != 0 {
					t.Fatalf("%s: %d is in %v", what, u, list)
				}
			}
		}
	}
	var all []id.User // more than are asked for at once
	for u := range id.User(501) {
		all = append(all, u+1)
	}
	largeTo("501", all, []id.User{502})
	must(t, s.Send(ctx, draftOf(c, 501, 1, "x")))
	if _, large, err := s.Audience(ctx, c, h.tail(t, c).Seq); err != nil || !large {
		t.Fatalf("a message of a large group goes by inbox (%v)", err)
	}
	_, err = s.Remove(ctx, c, 1, users(451, 501))
	must(t, err)
	if got, err := s.Describe(ctx, 1, c); err != nil || !got.Large || got.MemberCount != 450 {
		t.Fatalf("%v (%v)", got, err)
	}
	largeTo("450", []id.User{1, 450}, []id.User{451, 501})
	_, err = s.Leave(ctx, c, 450)
	must(t, err)
	largeTo("449", nil, []id.User{1, 450})
	size("449", false, chatv1.Control_ACTION_SMALL)
	list, err := h.node(t).Of(ctx, 2)
	if err != nil || len(list) != 1 || list[0].Large {
		t.Fatalf("%v (%v)", list, err)
	}

	small := newHouse(t, chat.Config{LargeAbove: 3})
	s = small.node(t)
	c, err = s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: users(2, 4)})
	must(t, err)
	if got, err := s.Describe(ctx, 1, c); err != nil || !got.Large {
		t.Errorf("a group that is made with more is not large: %v (%v)", got, err)
	}
}

func TestRoomsAreDropped(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{})
	s := h.node(t)
	chat.SetCached(s, 8)
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
	for i := range uint64(100) { // names that nobody has
		d := draftOf(id.Conversation(i+1), 1, 1, "x")
		if err := s.Send(ctx, d); reasonOf(err) != "no_conversation" {
			t.Fatal(err)
		}
		if _, err := s.History(ctx, 1, &chatv1.HistoryRequest{Conversation: i + 1}); reasonOf(err) != "no_conversation" {
			t.Fatal(err)
		}
	}
	if n := chat.CachedRooms(s); n > 8 {
		t.Errorf("%d conversations are in memory, the bound is 8", n)
	}
	for _, c := range all {
		if log := h.entries(t, c); len(log) != 4 {
			t.Errorf("%d entries of 4", len(log))
		}
	}
}

// TestProjectionWaits: the entry is stored and the rows are not: lists do not know of the change, so it is not answered as made. It
// stands, the rows follow, and who tries again finds it made.
func TestProjectionWaits(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
	must(t, err)
	rename := func(text string) {
		must(t, h.db.Write(ctx, func(tx *sql.Tx) error { _, err := tx.ExecContext(ctx, text); return err }))
	}
	rename(`ALTER TABLE members RENAME TO elsewhere`)
	if _, err := s.Remove(ctx, c, 1, []uint64{2}); err == nil {
		t.Fatal("a removal that lists do not know of was answered as made")
	}
	rename(`ALTER TABLE elsewhere RENAME TO members`)
	if err := s.Send(ctx, draftOf(c, 2, 1, "x")); reasonOf(err) != "no_conversation" {
		t.Fatal(err)
	}
	must(t, s.Send(ctx, draftOf(c, 1, 1, "x")))
	list, err := s.Of(ctx, 2)
	if err != nil || len(list) != 1 || list[0].Leave != 2 {
		t.Errorf("the rows say %v (%v)", list, err)
	}
	if seq, err := s.Remove(ctx, c, 1, []uint64{2}); seq != 0 || err != nil {
		t.Errorf("again: a change at %d (%v); want none", seq, err)
	}
}
