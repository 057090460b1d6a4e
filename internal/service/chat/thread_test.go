package chat_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// threadGroup is a group of users 1 (its owner) to 4 with a message of user 2 at seq 2.
func threadGroup(t *testing.T, h *harness, s *chat.Service) id.Conversation {
	t.Helper()
	c, err := s.CreateGroup(context.Background(), 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3, 4}})
	must(t, err)
	must(t, s.Send(context.Background(), draftOf(c, 2, 1, "root")))
	return c
}

func startThread(t *testing.T, s *chat.Service, u id.User, parent id.Conversation, seq uint64) id.Conversation {
	t.Helper()
	c, err := s.StartThread(context.Background(), u, parent, seq)
	must(t, err)
	return c
}

// threadAt returns what the message at a seq shows of its thread.
func threadAt(t *testing.T, s *chat.Service, u id.User, c id.Conversation, seq uint64) *chatv1.Thread {
	t.Helper()
	r, err := s.GetMessages(context.Background(), u, &chatv1.GetMessagesRequest{Conversation: uint64(c), Seqs: []uint64{seq}})
	must(t, err)
	if len(r.Messages) != 1 {
		t.Fatalf("there are %d messages at %d", len(r.Messages), seq)
	}
	return r.Messages[0].Thread
}

func partitionOfLog(c id.Conversation) uint16 {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}.Partition()
}

func followersOf(t *testing.T, s *chat.Service, u id.User, c id.Conversation) (list []uint64) {
	t.Helper()
	r, err := s.ListMembers(context.Background(), c, u, 0, "")
	must(t, err)
	for _, m := range r.Members {
		list = append(list, m.User)
	}
	return list
}

func withMention(d *message.Draft, m *chatv1.Mention) *message.Draft {
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Text{Text: "@you"}, Mentions: []*chatv1.Mention{m}})
	if err != nil {
		panic(err)
	}
	d.Content = content
	return d
}

// However many start a thread at the same moment, on whichever node, there is one, and the parent has one update of it for each of them at most.
func TestOneThreadForEachMessage(t *testing.T) {
	h := newHarness(t, chat.Config{})
	nodes := []*chat.Service{h.node(t), h.node(t)}
	c := threadGroup(t, h, nodes[0])
	got := make([]id.Conversation, 8)
	var group sync.WaitGroup
	for i := range got {
		group.Go(func() {
			var err error
			if got[i], err = nodes[i%2].StartThread(context.Background(), id.User(i%4+1), c, 2); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got[0] == 0 || len(slices.Compact(got)) != 1 {
		t.Fatalf("the threads are %v", got)
	}
	if f := followersOf(t, nodes[1], 1, got[0]); fmt.Sprint(f) != "[1 2 3 4]" {
		t.Errorf("the followers are %v", f)
	}
	before := h.tail(t, c).Seq
	if again := startThread(t, nodes[0], 3, c, 2); again != got[0] || h.tail(t, c).Seq != before {
		t.Errorf("a later start gives %d, and the parent grew by %d", again, h.tail(t, c).Seq-before)
	}
	v, err := nodes[1].Describe(context.Background(), 4, got[0])
	must(t, err)
	if v.Kind != chatv1.ConversationKind_CONVERSATION_KIND_THREAD || v.Parent != uint64(c) || v.RootSeq != 2 || v.MemberCount != 4 {
		t.Errorf("the thread is %v", v)
	}
	if parent, own := partitionOfLog(c), partitionOfLog(got[0]); parent != own {
		t.Errorf("the thread is in partition %d, its parent in %d", own, parent)
	}
}

// The message above a thread has the number of replies without recalled ones, and the time of the newest; reactions and followers are no replies.
// The parent has one entry for the thread, and none for a reply.
func TestRepliesOfAMessage(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := threadGroup(t, h, s)
	if got := threadAt(t, s, 1, c, 2); got != nil {
		t.Errorf("without a thread the message has %v", got)
	}
	thread := startThread(t, s, 3, c, 2)
	parent := h.tail(t, c)
	if got := threadAt(t, s, 1, c, 2); got.GetConversation() != uint64(thread) || got.Replies != 0 || got.LastReplyMs != 0 {
		t.Errorf("an empty thread is %v", got)
	}
	first := draftOf(thread, 3, 1, "one")
	must(t, s.Send(ctx, first))
	h.clock.ms.Add(1000)
	must(t, s.Send(ctx, draftOf(thread, 4, 1, "two")))
	at := h.clock.ms.Load()
	h.clock.ms.Add(1000)
	must(t, s.Send(ctx, updateDraft(t, thread, 1, 1, &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: first.Seq}, Emoji: "+"}}})))
	if got := threadAt(t, h.node(t), 1, c, 2); got.Replies != 2 || got.LastReplyMs != at {
		t.Errorf("after two replies it is %v, want the time %d", got, at)
	}
	must(t, s.Send(ctx, updateDraft(t, thread, 3, 2, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: first.Seq}}}})))
	if got := threadAt(t, s, 1, c, 2); got.Replies != 1 {
		t.Errorf("after a recall it is %v", got)
	}
	if now := h.tail(t, c); now.Seq != parent.Seq {
		t.Errorf("the replies made %d entries in the parent", now.Seq-parent.Seq)
	}
	if f := followersOf(t, s, 1, thread); fmt.Sprint(f) != "[2 3 4]" { // user 1 reacted only
		t.Errorf("the followers are %v", f)
	}
	// The recalled root keeps the thread.
	must(t, s.Send(ctx, updateDraft(t, c, 2, 2, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: 2}}}})))
	if got := threadAt(t, s, 1, c, 2); got.GetReplies() != 1 {
		t.Errorf("below a recalled message there is %v", got)
	}
	must(t, s.Send(ctx, draftOf(thread, 1, 2, "three")))
	list := []*chatv1.Conversation{{Parent: uint64(c), RootSeq: 2}}
	must(t, s.AddRoots(ctx, 1, list))
	if root := list[0].Root; root.GetRecallSeq() == 0 || root.GetContent() != nil || root.GetThread().GetReplies() != 2 {
		t.Errorf("the root is %v", root)
	}
	if _, err := s.StartThread(ctx, 1, c, 2); err != nil {
		t.Errorf("the thread of a recalled message: %v", err)
	}
}

// A writer follows, and so does whoever is mentioned, before the message: it is unread for them. Nobody else's list has the thread.
func TestWhoFollowsAThread(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	nodes := []*chat.Service{h.node(t), h.node(t)}
	c := threadGroup(t, h, nodes[0])
	thread := startThread(t, nodes[0], 2, c, 2)
	has := func(u id.User, want bool) {
		t.Helper()
		for _, s := range nodes {
			list, err := s.RecentThreads(ctx, u, nil, 10)
			must(t, err)
			if got := len(list) == 1 && list[0].Conversation == thread && list[0].Thread; got != want || !want && len(list) != 0 {
				t.Errorf("the threads of user %d are %v", u, list)
			}
			if main, err := s.RecentMemberships(ctx, u, false, nil, 10); err != nil || len(main) != 1 || main[0].Conversation != c {
				t.Errorf("the conversations of user %d are %v, %v", u, main, err)
			}
		}
	}
	has(2, true)
	has(3, false)
	reply := withMention(draftOf(thread, 3, 1, ""), &chatv1.Mention{Length: 4, User: 4})
	must(t, nodes[1].Send(ctx, reply))
	has(3, true)
	has(4, true)
	has(1, false)
	for _, u := range []id.User{3, 4} {
		from, _, err := nodes[0].ReadableRange(ctx, u, thread)
		must(t, err)
		if from >= reply.Seq {
			t.Errorf("user %d follows from %d, and the message is %d", u, from, reply.Seq)
		}
	}
	if seqs := unreadMentions(t, nodes[0], 4, chat.Span{Conversation: thread, Last: 100}); !slices.Equal(seqs, []uint64{reply.Seq}) {
		t.Errorf("the mentions are %v", seqs)
	}
	admins := withMention(draftOf(thread, 3, 2, ""), &chatv1.Mention{Length: 4, Role: chatv1.Role_ROLE_ADMIN})
	must(t, nodes[0].Send(ctx, admins))
	has(1, true)
	if _, err := nodes[0].Leave(ctx, thread, 1); err != nil {
		t.Error(err)
	}
	has(1, false)
	if r, err := nodes[1].History(ctx, 1, &chatv1.HistoryRequest{Conversation: uint64(thread)}); err != nil || len(r.Messages) == 0 || r.Messages[0].Seq != 1 {
		t.Errorf("who does not follow reads %v, %v", r, err)
	}
	if _, _, err := nodes[0].Join(ctx, 1, &chatv1.JoinRequest{Conversation: uint64(thread)}); err != nil {
		t.Error(err)
	}
	has(1, true)
	if former, err := nodes[0].RecentMemberships(ctx, 1, true, nil, 10); err != nil || len(former) != 0 {
		t.Errorf("the former conversations are %v, %v", former, err)
	}
	outsider := withMention(draftOf(thread, 3, 3, ""), &chatv1.Mention{Length: 4, User: 9})
	if err := nodes[0].Send(ctx, outsider); reasonOf(err) != "no_member" {
		t.Errorf("a mention of an outsider: %v", err)
	}
}

// Who is removed from the parent, leaves it, or came after the root, has nothing of the thread in the next call, on each node, and is pushed nothing.
func TestTheParentDecidesWhoReadsAThread(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	nodes := []*chat.Service{h.node(t), h.node(t)}
	c := threadGroup(t, h, nodes[0])
	thread := startThread(t, nodes[0], 2, c, 2)
	for u := id.User(1); u <= 4; u++ {
		must(t, nodes[1].Send(ctx, draftOf(thread, u, 10, "x")))
	}
	_, err := nodes[0].Invite(ctx, c, 1, []uint64{5})
	must(t, err)
	_, err = nodes[0].Remove(ctx, c, 1, []uint64{2})
	must(t, err)
	_, err = nodes[0].Ban(ctx, c, 1, []uint64{3})
	must(t, err)
	_, err = nodes[0].Leave(ctx, c, 4)
	must(t, err)
	last := draftOf(thread, 1, 11, "y")
	must(t, nodes[1].Send(ctx, last))
	for _, s := range nodes {
		for u := id.User(2); u <= 6; u++ {
			_, history := s.History(ctx, u, &chatv1.HistoryRequest{Conversation: uint64(thread)})
			_, describe := s.Describe(ctx, u, thread)
			_, members := s.ListMembers(ctx, thread, u, 0, "")
			_, _, join := s.Join(ctx, u, &chatv1.JoinRequest{Conversation: uint64(thread)})
			_, leave := s.Leave(ctx, thread, u)
			_, _, within := s.ReadableRange(ctx, u, thread)
			send := s.Send(ctx, draftOf(thread, u, 20, "z"))
			for name, err := range map[string]error{"history": history, "describe": describe, "members": members, "join": join, "leave": leave, "range": within, "send": send} {
				if reasonOf(err) != "no_conversation" {
					t.Errorf("%s of user %d: %v", name, u, err)
				}
			}
			for name, find := range map[string]func() ([]chat.Membership, error){
				"threads": func() ([]chat.Membership, error) { return s.RecentThreads(ctx, u, nil, 10) },
				"in":      func() ([]chat.Membership, error) { return s.MembershipsIn(ctx, u, []id.Conversation{thread}) },
			} {
				if list, err := find(); err != nil || len(list) != 0 {
					t.Errorf("%s of user %d: %v, %v", name, u, list, err)
				}
			}
		}
		if users, large, err := s.Audience(ctx, thread, last.Seq); err != nil || large || !slices.Equal(users, []id.User{1}) {
			t.Errorf("pushed to %v, %v, %v", users, large, err)
		}
		if users, _, err := s.AudiencePage(ctx, thread, last.Seq, 0, 100); err != nil || !slices.Equal(users, []id.User{1}) {
			t.Errorf("read by %v, %v", users, err)
		}
	}
	if now := h.tail(t, thread).Seq; now != last.Seq {
		t.Errorf("the refused calls made %d entries", now-last.Seq)
	}
}

// Mutes, a dissolved group, and the roles of the parent hold in the thread.
func TestRulesOfTheParent(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := threadGroup(t, h, s)
	thread := startThread(t, s, 2, c, 2)
	reply := draftOf(thread, 3, 1, "x")
	must(t, s.Send(ctx, reply))
	pin := &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: &chatv1.Ref{Seq: reply.Seq}}}}
	if err := s.Send(ctx, updateDraft(t, thread, 2, 2, pin)); reasonOf(err) != "not_allowed" {
		t.Errorf("a member pins: %v", err)
	}
	must(t, s.Send(ctx, updateDraft(t, thread, 1, 1, pin)))
	recall := &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: reply.Seq}}}}
	if err := s.Send(ctx, updateDraft(t, thread, 2, 3, recall)); reasonOf(err) != "not_allowed" {
		t.Errorf("a member recalls another's: %v", err)
	}
	must(t, s.Send(ctx, updateDraft(t, thread, 1, 2, recall)))
	everybody := &chatv1.Mention{Length: 4, Everybody: true}
	if err := s.Send(ctx, withMention(draftOf(thread, 3, 2, ""), everybody)); reasonOf(err) != "not_allowed" {
		t.Errorf("a member mentions everybody: %v", err)
	}
	_, err := s.MuteMembers(ctx, c, 1, &chatv1.MuteMembersRequest{Users: []uint64{3}, UntilMs: h.clock.ms.Load() + 1000})
	must(t, err)
	if err := s.Send(ctx, draftOf(thread, 3, 3, "x")); reasonOf(err) != "muted" {
		t.Errorf("a muted member replies: %v", err)
	}
	second := draftOf(c, 1, 5, "another")
	must(t, s.Send(ctx, second))
	if _, err := s.StartThread(ctx, 3, c, second.Seq); reasonOf(err) != "muted" {
		t.Errorf("a muted member starts a thread: %v", err)
	}
	for name, err := range map[string]error{
		"rename":    second2(s.UpdateGroup(ctx, thread, 2, &chatv1.UpdateGroupRequest{Title: new(string)})),
		"dissolve":  second2(s.Dissolve(ctx, thread, 2)),
		"invite":    second2(s.Invite(ctx, thread, 2, []uint64{9})),
		"retention": second2(s.SetRetention(ctx, thread, 2, daySeconds)),
	} {
		if err == nil {
			t.Errorf("a follower may %s a thread", name)
		}
	}
	_, err = s.Dissolve(ctx, c, 1)
	must(t, err)
	if err := s.Send(ctx, draftOf(thread, 2, 9, "x")); reasonOf(err) != "dissolved" {
		t.Errorf("a reply in a dissolved group: %v", err)
	}
	if _, err := s.History(ctx, 4, &chatv1.HistoryRequest{Conversation: uint64(thread)}); err != nil {
		t.Errorf("a member of a dissolved group reads: %v", err)
	}
}

func second2(_ uint64, err error) error { return err }

// What has no thread: messages of threads and channels, entries that are no messages, recalled ones, and those that one may not read.
func TestNoThread(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := threadGroup(t, h, s)
	thread := startThread(t, s, 2, c, 2)
	reply := draftOf(thread, 3, 1, "x")
	must(t, s.Send(ctx, reply))
	gone := draftOf(c, 2, 5, "gone")
	must(t, s.Send(ctx, gone))
	must(t, s.Send(ctx, updateDraft(t, c, 2, 6, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: gone.Seq}}}})))
	_, err := s.Invite(ctx, c, 1, []uint64{5})
	must(t, err)
	news := h.channel(t, s)
	must(t, s.Send(ctx, draftOf(news, 1, 1, "news")))
	for _, bad := range []struct {
		u    id.User
		c    id.Conversation
		seq  uint64
		want string
	}{
		{3, thread, reply.Seq, "thread_of_thread"}, {9, thread, reply.Seq, "no_conversation"}, {1, news, 2, "no_threads"}, {9, news, 2, "no_conversation"}, {9, c, 2, "no_conversation"},
		{9, 12345, 2, "no_conversation"}, {1, c, 1, "no_message"}, {1, c, 99, "no_message"}, {1, c, 0, "no_message"}, {1, c, 1<<64 - 1, "no_message"},
		{1, c, gone.Seq, "recalled"}, {5, c, 2, "no_message"},
	} {
		if got, err := s.StartThread(ctx, bad.u, bad.c, bad.seq); reasonOf(err) != bad.want {
			t.Errorf("user %d starts a thread at %d of %d: %d, %v; want %s", bad.u, bad.seq, bad.c, got, err, bad.want)
		}
	}
	forged, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Thread{Thread: &chatv1.ThreadStart{Target: &chatv1.Ref{Seq: 2}, Conversation: 1}}})
	must(t, err)
	d := draftOf(c, 1, 50, "")
	d.Content = forged
	if err := s.Send(ctx, d); reasonOf(err) != "bad_content" {
		t.Errorf("a client's own update of a thread: %v", err)
	}
}

// A thread has a retention of its parent: its expired replies are in no answer, also before they are deleted, and are not counted.
func TestRepliesExpire(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := threadGroup(t, h, s)
	thread := startThread(t, s, 2, c, 2)
	must(t, s.Send(ctx, draftOf(thread, 3, 1, "old")))
	_, err := s.SetRetention(ctx, c, 1, daySeconds)
	must(t, err)
	h.clock.ms.Add(20 * 3600_000)
	must(t, s.Send(ctx, draftOf(thread, 3, 2, "new")))
	root := draftOf(c, 2, 2, "another")
	must(t, s.Send(ctx, root))
	other := startThread(t, s, 2, c, root.Seq)
	must(t, s.Send(ctx, draftOf(other, 3, 5, "reply")))
	h.clock.ms.Add(10 * 3600_000)
	for _, deleted := range []bool{false, true} {
		if deleted {
			h.completeFanout(t)
			must(t, chat.Expire(ctx, s))
			if first := h.tail(t, thread).FirstSeq; first <= 2 {
				t.Errorf("nothing was deleted: the first seq is %d", first)
			}
		}
		r, err := s.History(ctx, 3, &chatv1.HistoryRequest{Conversation: uint64(thread)})
		must(t, err)
		for _, m := range r.Messages {
			if m.Content.GetText() == "old" {
				t.Errorf("the history has %v (deleted: %v)", m, deleted)
			}
		}
		if got := threadAt(t, s, 1, c, root.Seq); got.Replies != 1 {
			t.Errorf("the newer thread is %v", got)
		}
		list := []*chatv1.Conversation{{Parent: uint64(c), RootSeq: 2}, {Parent: uint64(c), RootSeq: root.Seq}}
		must(t, s.AddRoots(ctx, 1, list))
		if list[0].Root != nil || list[1].Root.GetContent().GetText() != "another" {
			t.Errorf("the roots are %v", list)
		}
		if _, err := s.StartThread(ctx, 3, c, 2); err != nil {
			t.Errorf("the thread of an expired message: %v", err)
		}
	}
	h.clock.ms.Add(16 * 3600_000)
	list, err := s.RecentThreads(ctx, 3, nil, 10)
	must(t, err)
	for _, m := range list {
		if tail := h.tail(t, m.Conversation); m.Join <= tail.Seq-1 {
			t.Errorf("the list has entries from %d on of %d", m.Join, tail.Seq)
		}
	}
}

// Members of the parent are pushed what a thread is now, once for many replies, and who may not read the root is not.
func TestThreadUpdates(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	type sent struct {
		users []id.User
		frame *gatewayv1.ServerFrame
	}
	var frames []sent
	deps.SendTransient = func(users []id.User, frame []byte) {
		f := &gatewayv1.ServerFrame{}
		must(t, proto.Unmarshal(frame, f))
		frames = append(frames, sent{users, f})
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	chat.SetMinTextAge(s, 0)
	c := threadGroup(t, h, s)
	thread := startThread(t, s, 2, c, 2)
	_, err = s.Invite(ctx, c, 1, []uint64{5})
	must(t, err)
	for n := range uint64(5) {
		must(t, s.Send(ctx, draftOf(thread, 3, n+1, "x")))
	}
	chat.PushThreadUpdates(ctx, s)
	chat.PushThreadUpdates(ctx, s)
	if len(frames) != 1 || !slices.Equal(frames[0].users, []id.User{1, 2, 3, 4}) {
		t.Fatalf("the frames are %v", frames)
	}
	if u := frames[0].frame.Threads; len(u) != 1 || u[0].Conversation != uint64(c) || u[0].Seq != 2 || u[0].Thread.Replies != 5 || u[0].Thread.Conversation != uint64(thread) {
		t.Errorf("the update is %v", u)
	}
}

// A block holds in the thread of a one-to-one conversation.
func TestThreadOfADirectConversation(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	must(t, s.Send(ctx, draftOf(c, 1, 1, "x")))
	thread := startThread(t, s, 2, c, 2)
	must(t, s.Send(ctx, draftOf(thread, 2, 1, "y")))
	if _, err := s.StartThread(ctx, 3, c, 2); reasonOf(err) != "no_conversation" {
		t.Errorf("a stranger: %v", err)
	}
	later := draftOf(c, 1, 2, "x")
	must(t, s.Send(ctx, later))
	h.relations.set(h.relations.blocked, 1, 2, true)
	must(t, s.AccessChanged(ctx, 1, 2))
	if _, err := s.StartThread(ctx, 2, c, later.Seq); reasonOf(err) != "blocked" {
		t.Errorf("a thread across a block: %v", err)
	}
	if err := s.Send(ctx, draftOf(thread, 2, 2, "z")); reasonOf(err) != "blocked" {
		t.Errorf("a reply across a block: %v", err)
	}
}

// Who deleted the root for themself, or cleared the history of its conversation, has the thread without it.
func TestDeletedRoots(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := threadGroup(t, h, s)
	startThread(t, s, 2, c, 2)
	_, err := s.DeleteMessages(ctx, 3, &chatv1.DeleteMessagesRequest{Conversation: uint64(c), Seqs: []uint64{2}})
	must(t, err)
	_, err = s.ClearHistory(ctx, 4, &chatv1.ClearHistoryRequest{Conversation: uint64(c)})
	must(t, err)
	for u, want := range map[id.User]string{1: "root", 2: "root", 3: "", 4: ""} {
		list := []*chatv1.Conversation{{Parent: uint64(c), RootSeq: 2}}
		must(t, s.AddRoots(ctx, u, list))
		if got := list[0].Root.GetContent().GetText(); got != want {
			t.Errorf("user %d sees the root %q, want %q", u, got, want)
		}
	}
}

// Roots that are too large to read together are read in parts.
func TestLargeRoots(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := threadGroup(t, h, s)
	var list []*chatv1.Conversation
	for n := range uint64(13) {
		root := draftOf(c, 1, n+100, strings.Repeat("x", 100_000))
		must(t, s.Send(ctx, root))
		list = append(list, &chatv1.Conversation{Parent: uint64(c), RootSeq: root.Seq})
	}
	must(t, s.AddRoots(ctx, 2, list))
	for _, thread := range list {
		if len(thread.Root.GetContent().GetText()) != 100_000 || thread.Root.Seq != thread.RootSeq {
			t.Errorf("the root %d is missing", thread.RootSeq)
		}
	}
}
