package chat_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

const importedAt = 1_500_000_000_000 // long before the clock of the harness

func textEntry(key string, ms int64, sender uint64, text string) *operationv1.ImportEntry {
	return &operationv1.ImportEntry{Key: key, TimeMs: ms, Sender: sender, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}
}

func updateEntry(key string, ms int64, sender uint64, target string, content *chatv1.Content) *operationv1.ImportEntry {
	return &operationv1.ImportEntry{Key: key, TimeMs: ms, Sender: sender, Target: target, Content: content}
}

func controlEntry(key string, ms int64, actor uint64, control *chatv1.Control) *operationv1.ImportEntry {
	return &operationv1.ImportEntry{Key: key, TimeMs: ms, Sender: actor, Content: &chatv1.Content{Kind: &chatv1.Content_Control{Control: control}}}
}

func importGroup(t *testing.T, s *chat.Service) id.Conversation {
	t.Helper()
	c, ended, err := s.ImportConversation(context.Background(), &operationv1.ImportConversationRequest{Key: "C1", Title: "general", Owner: 1, Members: []uint64{2, 3}, TimeMs: importedAt})
	if err != nil || ended {
		t.Fatalf("a group is created for an import: ended %v, %v", ended, err)
	}
	return c
}

// importEntries imports entries, and returns the reasons of the refused ones.
func importEntries(t *testing.T, s *chat.Service, c id.Conversation, entries ...*operationv1.ImportEntry) (reasons []string) {
	t.Helper()
	results, err := s.ImportEntries(context.Background(), c, entries)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if (r.Seq == 0) == (r.Reason == "") {
			t.Errorf("an entry is stored or refused: %v", r)
		}
		reasons = append(reasons, r.Reason)
	}
	return reasons
}

func history(t *testing.T, s *chat.Service, u id.User, c id.Conversation) []*chatv1.Message {
	t.Helper()
	page, err := s.History(context.Background(), u, &chatv1.HistoryRequest{Conversation: uint64(c), Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return page.Messages
}

// TestAnImportKeepsTimesAndIDs: imported entries have their original times, authors, order, references and ids; updates have their effects; nothing is in
// a fan-out record; and a repetition stores nothing.
func TestAnImportKeepsTimesAndIDs(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c := importGroup(t, s)
	reply := textEntry("m2", importedAt+2, 2, "second")
	reply.Target = "m1"
	entries := []*operationv1.ImportEntry{
		textEntry("m1", importedAt+1, 1, "first"), reply,
		updateEntry("r1", importedAt+2, 3, "m1", reactionOf(0, "👍", false)),
		controlEntry("j1", importedAt+3, 1, &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Users: []uint64{4}}),
		textEntry("m3", importedAt+4, 5, "of somebody who has left"),
		updateEntry("e1", importedAt+5, 2, "m2", editOf(0, "second, edited")),
		{Key: "m4", TimeMs: importedAt + 6, Sender: 1}, // recalled before the export
	}
	for round := range 2 {
		if reasons := importEntries(t, s, c, entries...); !slices.Equal(reasons, make([]string, len(entries))) {
			t.Fatalf("round %d: %q", round, reasons)
		}
	}
	if _, err := s.EndImport(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	stored := h.entries(t, c)
	if len(stored) != 1+len(entries)+1 {
		t.Fatalf("the log has %d entries", len(stored))
	}
	for i, e := range stored {
		want := int64(importedAt)
		if i > 0 {
			want = entries[min(i-1, len(entries)-1)].TimeMs
		}
		if e.ID.Ms() != want || i > 0 && e.ID.String() <= stored[i-1].ID.String() {
			t.Errorf("entry %d has the time %d and the id %v after %v; want %d, ascending", i, e.ID.Ms(), e.ID, stored[max(i-1, 0)].ID, want)
		}
	}
	if n := h.tail(t, c).Counted; n != 4 {
		t.Errorf("%d messages count", n)
	}
	if m, err := s.RecentMemberships(context.Background(), 2, false, nil, 10); err != nil || len(m) != 1 || m[0].ActiveMs != importedAt+6 {
		t.Errorf("the list has %+v, %v; want the time of the last entry", m, err)
	}
	list := history(t, s, 2, c)
	m1, m2, m4 := list[1], list[2], list[7]
	if m1.Content.GetText() != "first" || m1.Content.ExternalId != "m1" || m1.TimeMs != importedAt+1 || m1.Reactions.GetCounts()[0].GetEmoji() != "👍" {
		t.Errorf("the first message is %v", m1)
	}
	if m2.Content.GetText() != "second, edited" || m2.EditedMs != importedAt+5 || m2.Content.ReplyTo.GetSeq() != m1.Seq {
		t.Errorf("the second message is %v", m2)
	}
	if m4.Content != nil || m4.RecallSeq == 0 {
		t.Errorf("the recalled message is %v", m4)
	}
	records := 0
	for p := range uint16(timeline.Partitions) {
		list, err := h.log.FanoutRecords(context.Background(), p, 0, 100)
		must(t, err)
		for _, r := range list {
			records += len(r.Refs)
		}
	}
	if records != 1 { // that which ends the import, and is in no stream
		t.Errorf("%d entries of an import are dispatched", records)
	}
}

// TestNobodyWritesWhileAConversationIsImported: until the import ends, all changes by others are refused, also at another node, so that times ascend; after it,
// members write, and entries are refused.
func TestNobodyWritesWhileAConversationIsImported(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s, other := h.node(t), h.node(t)
	ctx := context.Background()
	c := importGroup(t, s)
	importEntries(t, s, c, textEntry("m1", importedAt+1, 1, "first"))
	for name, node := range map[string]*chat.Service{"this": s, "another": other} {
		if got := reasonOf(node.Send(ctx, draftOf(c, 2, 1, "hello"))); got != "importing" {
			t.Errorf("a message at %s node: %q", name, got)
		}
		if got := reasonOf(node.Send(ctx, draftOf(c, 9, 1, "hello"))); got != "no_conversation" {
			t.Errorf("an outsider's message at %s node: %q", name, got)
		}
		if _, err := node.Invite(ctx, c, 1, []uint64{7}); reasonOf(err) != "importing" {
			t.Errorf("a change at %s node: %v", name, err)
		}
	}
	for range 2 {
		if n, err := s.EndImport(ctx, c); err != nil || n != 1 {
			t.Fatalf("the import ends with %d messages: %v", n, err)
		}
	}
	if err := other.Send(ctx, draftOf(c, 2, 1, "hello")); err != nil {
		t.Errorf("a message after the import: %v", err)
	}
	if _, err := s.ImportEntries(ctx, c, []*operationv1.ImportEntry{textEntry("m2", importedAt+2, 1, "late")}); reasonOf(err) != "import_ended" {
		t.Errorf("an entry after the end: %v", err)
	}
	if _, ended, err := s.ImportConversation(ctx, &operationv1.ImportConversationRequest{Key: "C1", Title: "general", Owner: 1, TimeMs: importedAt}); err != nil || !ended {
		t.Errorf("the ended import is found: %v, %v", ended, err)
	}
}

// TestARepeatedKeyChangesNothing: what comes with a key that is stored has no effect, whatever it is, in the same call or in another one.
func TestARepeatedKeyChangesNothing(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c := importGroup(t, s)
	thread := &chatv1.Content{Kind: &chatv1.Content_Thread{Thread: &chatv1.ThreadStart{}}}
	again := []*operationv1.ImportEntry{
		updateEntry("m1", importedAt+3, 2, "m2", editOf(0, "edited")),
		updateEntry("m3", importedAt+3, 1, "m1", editOf(0, "edited")),
		updateEntry("m3", importedAt+3, 3, "m2", reactionOf(0, "👍", false)),
		updateEntry("m1", importedAt+3, 1, "m2", thread),
		{Key: "m3", TimeMs: importedAt + 3, Sender: 1},
		{Key: "j1", TimeMs: importedAt + 3, Sender: 1}, // that of a control entry
	}
	entries := append([]*operationv1.ImportEntry{
		controlEntry("j1", importedAt+1, 1, &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Users: []uint64{4}}),
		textEntry("m1", importedAt+1, 1, "first"), textEntry("m2", importedAt+2, 2, "second"), textEntry("m3", importedAt+3, 3, "third"),
		textEntry("m4", importedAt+3, 3, "fourth"), updateEntry("r1", importedAt+3, 2, "m4", reactionOf(0, "👍", false)), // else no message has a state
	}, again...)
	importEntries(t, s, c, entries...)
	importEntries(t, s, c, again...)
	_, err := s.EndImport(context.Background(), c)
	must(t, err)
	if n := len(h.entries(t, c)); n != 8 {
		t.Errorf("the log has %d entries", n)
	}
	for i, want := range []string{"first", "second", "third"} {
		m := history(t, s, 2, c)[2+i]
		if m.Content.GetText() != want || m.EditSeq != 0 || m.RecallSeq != 0 || m.Reactions != nil || m.Thread != nil {
			t.Errorf("%q is %v", want, m)
		}
	}
	var n int
	must(t, h.db.Read().QueryRowContext(context.Background(), `SELECT count(*) FROM conversations`).Scan(&n))
	if n != 1 {
		t.Errorf("there are %d conversations", n)
	}
}

// TestMembersLeaveWhileAConversationIsImported: an import that nobody ends holds no member, and times ascend nevertheless. A node that has not seen a change
// refuses a call for now, and not an entry for ever.
func TestMembersLeaveWhileAConversationIsImported(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s, other := h.node(t), h.node(t)
	ctx := context.Background()
	c := importGroup(t, s)
	importEntries(t, s, c, textEntry("m1", importedAt+1, 1, "first"))
	again := func(what string, call func() error) { // refused once
		t.Helper()
		if err := call(); reasonOf(err) != "busy" {
			t.Errorf("%s after a change at another node: %v", what, err)
		}
		must(t, call())
	}
	_, err := other.Leave(ctx, c, 2)
	must(t, err)
	again("a control entry", func() error {
		_, err := s.ImportEntries(ctx, c, []*operationv1.ImportEntry{controlEntry("t1", importedAt+2, 1, &chatv1.Control{Action: chatv1.Control_ACTION_RENAMED, Text: "other"})})
		return err
	})
	_, err = other.Remove(ctx, c, 1, []uint64{3})
	must(t, err)
	importEntries(t, other, c, textEntry("m2", importedAt+3, 1, "second"))
	_, err = other.Dissolve(ctx, c, 1)
	must(t, err)
	again("the end", func() error {
		_, err := s.EndImport(ctx, c)
		return err
	})
	var actions []chatv1.Control_Action
	stored := h.entries(t, c)
	for i, e := range stored {
		if i > 0 && (e.ID.String() <= stored[i-1].ID.String() || e.ID.Ms() > importedAt+3) {
			t.Errorf("entry %d has the id %v of %d after %v", e.seq, e.ID, e.ID.Ms(), stored[i-1].ID)
		}
		if e.control != nil {
			actions = append(actions, e.control.Action)
		}
	}
	// Each change in between was made by another than the import, which takes over after it.
	if want := []chatv1.Control_Action{chatv1.Control_ACTION_CREATED, chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_ACCESS, chatv1.Control_ACTION_RENAMED, chatv1.Control_ACTION_REMOVED,
		chatv1.Control_ACTION_ACCESS, chatv1.Control_ACTION_DISSOLVED, chatv1.Control_ACTION_ACCESS, chatv1.Control_ACTION_ACCESS}; !slices.Equal(actions, want) {
		t.Errorf("the control entries are %v, want %v", actions, want)
	}
	if got := reasonOf(s.Send(ctx, draftOf(c, 1, 1, "hello"))); got != "dissolved" {
		t.Errorf("a message to the dissolved group: %q", got)
	}
}

// TestWhatCannotBeImportedIsRefusedAlone: each entry that cannot be stored has its reason, and the others are stored.
func TestWhatCannotBeImportedIsRefusedAlone(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c := importGroup(t, s)
	future := h.clock.Now().UnixMilli() + 1
	for _, test := range []struct {
		want  string
		entry *operationv1.ImportEntry
	}{
		{"", textEntry("m1", importedAt+10, 1, "first")},
		{"bad_time", textEntry("m2", future, 1, "of the future")},
		{"bad_time", textEntry("m2", -1, 1, "of the past")},
		{"time_order", textEntry("m2", importedAt-5000, 1, "too early")},
		{"no_user", textEntry("m2", importedAt+10, 5000, "of nobody")},
		{"bad_key", textEntry("", importedAt+10, 1, "no key")},
		{"empty_text", textEntry("m2", importedAt+10, 1, " ")},
		{"no_message", updateEntry("r0", importedAt+10, 1, "absent", reactionOf(0, "👍", false))},
		{"bad_emoji", updateEntry("r1", importedAt+10, 1, "m1", reactionOf(0, "a b", false))},
		{"bad_content", controlEntry("k1", importedAt+10, 1, &chatv1.Control{Action: chatv1.Control_ACTION_ACCESS})},
		{"no_member", controlEntry("k1", importedAt+10, 1, &chatv1.Control{Action: chatv1.Control_ACTION_ROLE, Role: chatv1.Role_ROLE_ADMIN, Users: []uint64{8}})},
		{"", textEntry("m4", importedAt+9, 1, "within the tolerance")},
	} {
		if got := importEntries(t, s, c, test.entry); got[0] != test.want {
			t.Errorf("%v: %q, want %q", test.entry, got[0], test.want)
		}
	}
	if n := h.tail(t, c); n.Counted != 2 {
		t.Errorf("the log has %d messages", n.Counted)
	}
}

// TestARepliesTargetMayBeMissing: a message that replies to one that was left out is stored, and the answer says that the reference is lost.
func TestARepliesTargetMayBeMissing(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c := importGroup(t, s)
	reply, whole := textEntry("m2", importedAt+10, 1, "a reply"), textEntry("m3", importedAt+11, 1, "a reply to it")
	reply.Target, whole.Target = "absent", "m2"
	results, err := s.ImportEntries(t.Context(), c, []*operationv1.ImportEntry{reply, whole})
	must(t, err)
	if r := results[0]; r.Reason != "" || r.Seq == 0 || !r.LostReply || results[1].LostReply {
		t.Errorf("the answers are %v", results)
	}
	_, err = s.EndImport(t.Context(), c)
	must(t, err)
	list := slices.DeleteFunc(history(t, s, 1, c), func(m *chatv1.Message) bool { return m.Content.GetText() == "" })
	if len(list) != 2 || list[0].Content.GetText() != "a reply" || list[0].Content.ReplyTo != nil || list[1].Content.GetReplyTo().GetSeq() != results[0].Seq {
		t.Errorf("the messages are %v", list)
	}
}

// TestThreadsAndDirectConversationsAreImported: a thread belongs to its message, and a one-to-one conversation with messages of its own stays as it is.
func TestThreadsAndDirectConversationsAreImported(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	ctx := context.Background()
	c := importGroup(t, s)
	start := updateEntry("t1", importedAt+2, 2, "m1", &chatv1.Content{Kind: &chatv1.Content_Thread{Thread: &chatv1.ThreadStart{}}})
	if reasons := importEntries(t, s, c, textEntry("m1", importedAt+1, 1, "root"), start); reasons[0]+reasons[1] != "" {
		t.Fatalf("the entries were refused with %q, want none", reasons)
	}
	_, err := s.EndImport(ctx, c)
	must(t, err)
	thread, ended, err := s.ImportConversation(ctx, &operationv1.ImportConversationRequest{Parent: uint64(c), Root: "m1", Owner: 2, Members: []uint64{1}, TimeMs: importedAt + 2})
	if err != nil || ended {
		t.Fatalf("the import has ended: %v; error %v", ended, err)
	}
	importEntries(t, s, thread, textEntry("m2", importedAt+3, 2, "reply"))
	_, err = s.EndImport(ctx, thread)
	must(t, err)
	if root := history(t, s, 3, c)[1]; root.Thread.GetConversation() != uint64(thread) || root.Thread.GetReplies() != 1 || root.Thread.GetLastReplyMs() != importedAt+3 {
		t.Errorf("the root has the thread %v, want %d with a reply", root.Thread, thread)
	}
	if err := s.Send(ctx, draftOf(thread, 3, 1, "another reply")); err != nil {
		t.Errorf("a reply after the import: %v", err)
	}
	direct, _, err := s.ImportConversation(ctx, &operationv1.ImportConversationRequest{Direct: true, Owner: 2, Members: []uint64{3}, TimeMs: importedAt})
	must(t, err)
	importEntries(t, s, direct, textEntry("m1", importedAt+1, 3, "hi"))
	_, err = s.EndImport(ctx, direct)
	must(t, err)
	if found, err := s.OpenDirect(ctx, 3, 2); err != nil || found != direct {
		t.Errorf("the conversation of the two is %d, %v; want %d", found, err, direct)
	}
	if _, err := s.OpenDirect(ctx, 1, 2); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ImportConversation(ctx, &operationv1.ImportConversationRequest{Direct: true, Owner: 1, Members: []uint64{2}, TimeMs: importedAt}); reasonOf(err) != "has_history" {
		t.Errorf("a conversation that is not of an import: %v", err)
	}
}

// TestOnlyAnImportSetsExternalIDs: a client that gives a message an external id is refused.
func TestOnlyAnImportSetsExternalIDs(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(context.Background(), 1, &chatv1.CreateGroupRequest{Title: "g"})
	must(t, err)
	d := updateDraft(t, c, 1, 1, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}, ExternalId: "x"})
	if got := reasonOf(s.Send(context.Background(), d)); got != "bad_content" {
		t.Errorf("a message with an external id: %q", got)
	}
}
