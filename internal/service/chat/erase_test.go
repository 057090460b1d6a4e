package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// From the beginning of an erasure on, nobody reads what the user wrote: in histories, in forwards, and as the target of a reaction.
func TestWhatIsBeingErasedIsNotShown(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	forward := f.send(t, f.to, 2, 1, forwardOf(f.from, "", f.one, f.two))
	erasing := map[id.User]bool{}
	deps := f.deps(f.db)
	deps.Erasing = func() map[id.User]bool { return erasing }
	var err error
	f.Service, err = chat.New(ctx, deps, f.config)
	must(t, err)
	if got := f.texts(t, forward); got != "one two" {
		t.Fatalf("before, the forward shows %q", got)
	}
	erasing[1] = true
	if got := f.texts(t, forward); got != "- -" {
		t.Errorf("the forward shows %q", got)
	}
	m := messageAt(t, f.Service, 2, f.from, f.one)
	if m.Content != nil || m.RecallSeq != f.one || m.RecalledBy != 1 {
		t.Errorf("the message is %v", m)
	}
	d := updateDraft(t, f.from, 2, 2, &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: f.one}, Emoji: "👍"}}})
	if got := reasonOf(f.Send(ctx, d)); got != "recalled" {
		t.Errorf("a reaction is answered with %q", got)
	}
}

// eraseAll erases a user, each step twice, as after a crash.
func eraseAll(t *testing.T, s *chat.Service, u id.User) (erased int64) {
	t.Helper()
	p := s.UserData()
	for at, steps := "", 0; ; steps++ {
		if steps > 1000 {
			t.Fatal("the erasure does not end")
		}
		first, err := p.EraseUser(context.Background(), u, at)
		must(t, err)
		again, err := p.EraseUser(context.Background(), u, at)
		must(t, err)
		if again.Next != first.Next || again.Erased > first.Erased {
			t.Errorf("the step at %q is %+v, and repeated %+v", at, first, again)
		}
		if erased += first.Erased; first.Done {
			return erased
		}
		at = first.Next
	}
}

// An erasure empties the user's entries in their places, in the log as in the rows, and what others wrote stays as it is.
func TestErasureKeepsTheSlots(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	direct, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	const many = 1100 // several steps
	for n := uint64(1); n <= many; n++ {
		must(t, s.Send(ctx, draftOf(direct, 1, n, fmt.Sprint("secret ", n))))
		if n%100 == 0 {
			must(t, s.Send(ctx, draftOf(direct, 2, n, "by the other")))
		}
	}
	edit := updateDraft(t, direct, 1, many+1, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: 2}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "secret edit"}}}}})
	must(t, s.Send(ctx, edit))
	by2 := slices.IndexFunc(h.entries(t, direct), func(e entry) bool { return e.Sender == 2 && !e.Control })
	must(t, s.Send(ctx, updateDraft(t, direct, 1, many+2, &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: uint64(by2 + 1)}, Emoji: "👍"}}})))
	before := h.entries(t, direct)
	if got := messageAt(t, s, 2, direct, uint64(by2+1)).GetReactions().GetCounts(); len(got) != 1 {
		t.Fatalf("before, the reactions are %v", got)
	}

	if n := eraseAll(t, s, 1); n < many+2 {
		t.Errorf("%d things were erased, of %d", n, many+2)
	}
	after := h.entries(t, direct)
	last := uint64(0)
	for _, e := range before {
		if e.Sender == 1 && !e.Control && e.Updates == 0 {
			last = e.seq
		}
	}
	if len(after) != len(before)+2 || after[len(before)].Updates != last || after[len(before)+1].control.GetAction() != chatv1.Control_ACTION_DISSOLVED {
		t.Fatalf("%d entries became %d, the last is %v", len(before), len(after), after[len(after)-1].control)
	}
	for i, e := range after[:len(before)] {
		was := before[i]
		if e.seq != was.seq || e.counted != was.counted || e.ID != was.ID || e.Sender != was.Sender || e.Updates != was.Updates {
			t.Fatalf("entry %d was %+v and is %+v", i, was, e)
		}
		if e.Sender == 1 && !e.Control && len(e.Content) != 0 || e.Sender != 1 && string(e.Content) != string(was.Content) {
			t.Errorf("the content of entry %d is %q", e.seq, e.Content)
		}
	}
	if got := messageAt(t, s, 2, direct, uint64(by2+1)); len(got.GetReactions().GetCounts()) != 0 || got.Content.GetText() != "by the other" {
		t.Errorf("the other's message is %v", got)
	}
	m := messageAt(t, s, 2, direct, 2)
	if m.RecallSeq != 2 || m.Content != nil || m.EditSeq != 0 {
		t.Errorf("an erased message is %v", m)
	}
	tail := h.tail(t, direct)
	removed, err := s.CountRemoved(ctx, 2, []chat.Span{{Conversation: direct, After: 0, Last: tail.Seq}}, nil)
	must(t, err)
	if removed[0] != many {
		t.Errorf("%d messages do not count as unread, of %d", removed[0], many)
	}
	if got := reasonOf(s.Send(ctx, draftOf(direct, 2, many+1, "hello?"))); got != "dissolved" {
		t.Errorf("a message to the erased user is answered with %q", got)
	}
}

// Of an erased message that only its author saw nobody else is told: the recall in the log names one that others saw, or is for its author only.
func TestErasureTellsNobodyOfLimitedMessages(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	since := int64(0)
	deps := h.deps(h.db)
	deps.LimitedSince = func(id.User) int64 { return since }
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	both, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	hidden, err := s.OpenDirect(ctx, 1, 3)
	must(t, err)
	must(t, s.Send(ctx, draftOf(both, 1, 1, "seen")))
	seen := h.tail(t, both).Seq
	since = 1
	for n, c := range []id.Conversation{both, hidden} {
		must(t, s.Send(ctx, draftOf(c, 1, uint64(n+2), "hidden")))
	}
	eraseAll(t, s, 1)
	for c, want := range map[id.Conversation]struct {
		target  uint64
		limited bool
	}{both: {seen, false}, hidden: {h.entries(t, hidden)[len(h.entries(t, hidden))-3].seq, true}} {
		list := h.entries(t, c)
		if note := list[len(list)-2]; note.Updates != want.target || note.Limited != want.limited {
			t.Errorf("the log has %+v, want %+v", note, want)
		}
	}
}

// A group goes on with another owner: the admin who has been there for longest, else the member; without members it is dissolved.
func TestErasureLeavesGroups(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{2, 3}})
	must(t, err)
	_, err = s.SetRole(ctx, c, 1, 3, chatv1.Role_ROLE_ADMIN)
	must(t, err)
	d := draftOf(c, 1, 1, "secret")
	must(t, s.Send(ctx, d))
	forward := updateDraft(t, c, 2, 1, forwardOf(c, "", d.Seq))
	must(t, s.Send(ctx, forward))
	owner := func() (owner uint64, members int) {
		list, err := s.ListMembers(ctx, c, 2, 0, "")
		must(t, err)
		for _, m := range list.Members {
			if m.Role == chatv1.Role_ROLE_OWNER {
				owner = m.User
			}
		}
		return owner, len(list.Members)
	}
	eraseAll(t, s, 1)
	if u, n := owner(); u != 3 || n != 2 {
		t.Errorf("the owner of %d members is %d, not the admin", n, u)
	}
	for _, e := range h.entries(t, c) {
		if strings.Contains(string(e.Content), "secret") {
			t.Errorf("entry %d has what the user wrote: %q", e.seq, e.Content)
		}
	}
	eraseAll(t, s, 3)
	if u, n := owner(); u != 2 || n != 1 {
		t.Errorf("the owner of %d members is %d, not the member who remains", n, u)
	}
	eraseAll(t, s, 2)
	last := h.entries(t, c)
	if got := last[len(last)-2].control.GetAction(); got != chatv1.Control_ACTION_DISSOLVED {
		t.Errorf("without members, the group ends with %v", got)
	}
}

// A user is erased while a conversation is imported: the import goes on at its times, the user is no member of it any more, and nothing is left.
func TestErasureDuringAnImport(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s, other := h.node(t), h.node(t)
	c := importGroup(t, s)
	importEntries(t, s, c, textEntry("m1", importedAt+1, 1, "secret"), textEntry("m2", importedAt+2, 2, "by another"))
	eraseAll(t, other, 1) // also the owner: 2 is the next one
	if _, err := other.ImportEntries(ctx, c, []*operationv1.ImportEntry{textEntry("m3", importedAt+3, 2, "later")}); err != nil {
		t.Fatal(err)
	}
	var results []*operationv1.ImportedEntry
	for range 2 { // this node learns of the change by the first
		var err error
		if results, err = s.ImportEntries(ctx, c, []*operationv1.ImportEntry{textEntry("m4", importedAt+4, 3, "latest")}); err == nil {
			break
		} else if reasonOf(err) != "busy" {
			t.Fatalf("error %v, want the reason busy", err)
		}
	}
	if len(results) != 1 || results[0].Reason != "" {
		t.Fatalf("an entry after the erasure: %v", results)
	}
	_, err := s.EndImport(ctx, c)
	must(t, err)
	stored, actions := h.entries(t, c), ""
	for i, e := range stored {
		if i > 0 && (e.ID.String() <= stored[i-1].ID.String() || e.ID.Ms() > importedAt+4) {
			t.Errorf("entry %d has the id %v of %d after %v", e.seq, e.ID, e.ID.Ms(), stored[i-1].ID)
		}
		if e.control != nil {
			actions += e.control.Action.String() + " "
		}
		if strings.Contains(string(e.Content), "secret") {
			t.Errorf("entry %d is left", e.seq)
		}
	}
	if want := "ACTION_CREATED ACTION_TRANSFERRED ACTION_LEFT ACTION_ACCESS ACTION_ACCESS ACTION_ACCESS "; actions != want {
		t.Errorf("the control entries are %s, want %s", actions, want)
	}
	if list, err := s.ListMembers(ctx, c, 2, 0, ""); err != nil || len(list.Members) != 2 {
		t.Errorf("the members are %v, %v", list, err)
	}
}

// record collects what an export writes.
type record map[string][]string

func (r record) Record(kind string, v any) error {
	text, err := json.Marshal(v)
	r[kind] = append(r[kind], string(text))
	return err
}

func (r record) File(context.Context, string, string) error { return errors.ErrUnsupported }

// What users wrote in conversations before they left the source is found by their exports and erasures, though they are no members, and have no more rights.
func TestImportedAuthorsWhoAreNoMembers(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := importGroup(t, s)
	mention := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "unique secret of the one who left"}}
	importEntries(t, s, c, textEntry("m1", importedAt+1, 1, "by another"),
		&operationv1.ImportEntry{Key: "m2", TimeMs: importedAt + 2, Sender: 5, Content: mention},
		updateEntry("r1", importedAt+3, 5, "m1", reactionOf(0, "👍", false)),
		textEntry("m5", importedAt+4, 1, "by another too"), updateEntry("e1", importedAt+4, 6, "m5", editOf(0, "unique secret of an administrator")),
		textEntry("m3", importedAt+4, 7, "before they joined"),
		controlEntry("j1", importedAt+5, 1, &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Users: []uint64{7}}),
		textEntry("m4", importedAt+6, 7, "after they joined"))
	_, err := s.EndImport(ctx, c)
	must(t, err)
	for u, want := range map[id.User][]string{
		5: {"unique secret of the one who left", ""},
		6: {""},
		7: {"", "after they joined", "", "before they joined"}, // that they joined, what came then, and what they may not read
		8: nil,
	} {
		got := record{}
		must(t, s.UserData().ExportUser(ctx, u, got))
		var texts []string
		for _, line := range got["messages"] {
			m := &chatv1.Message{}
			must(t, protojson.Unmarshal([]byte(line), m))
			texts = append(texts, m.Content.GetText())
		}
		if !slices.Equal(texts, want) {
			t.Errorf("the export of %d has %q, want %q", u, texts, want)
		}
	}
	if _, err := s.History(ctx, 5, &chatv1.HistoryRequest{Conversation: uint64(c)}); reasonOf(err) != "no_conversation" {
		t.Errorf("an author who is no member reads the history: %v", err)
	}
	if list, err := s.MembershipsAfter(ctx, 5, 0, 10); err != nil || len(list) != 0 {
		t.Errorf("an author who is no member has the memberships %v, %v", list, err)
	}
	for _, u := range []id.User{5, 6} {
		if list, err := s.ConversationsOf(ctx, u, 0, 10); err != nil || !slices.Equal(list, []id.Conversation{c}) {
			t.Errorf("the conversations of %d are %v, %v", u, list, err)
		}
		if n := eraseAll(t, s, u); n == 0 {
			t.Errorf("nothing of %d was erased", u)
		}
	}
	for _, e := range h.entries(t, c) {
		if !e.Control && (e.Sender == 5 || e.Sender == 6) && e.Updates == 0 && len(e.Content) > 0 || strings.Contains(string(e.Content), "unique secret") {
			t.Errorf("entry %d is left: %q", e.seq, e.Content)
		}
	}
	list := history(t, s, 1, c)
	if m := list[1]; m.Content.GetText() != "by another" || len(m.Reactions.GetCounts()) != 0 {
		t.Errorf("the other's message is %v", m)
	}
	if m := list[2]; m.Content != nil || m.RecallSeq == 0 {
		t.Errorf("the erased message is %v", m)
	}
}
