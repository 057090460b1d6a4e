package apptest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func ref(seq uint64) *chatv1.Ref { return &chatv1.Ref{Seq: seq} }

func editOf(seq uint64, text string) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: ref(seq), Content: apptest.Text(text)}}}
}

func recallOf(seq uint64) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: ref(seq)}}}
}

func reactionOf(seq uint64, emoji string, remove bool) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: ref(seq), Emoji: emoji, Remove: remove}}}
}

func pinOf(seq uint64, remove bool) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: ref(seq), Remove: remove}}}
}

// views is every way in which a person can read a conversation.
type views struct {
	t            *testing.T
	h            *apptest.Server
	p            *apptest.Person
	conversation uint64
}

func (v views) list() *chatv1.Conversation {
	v.t.Helper()
	r, err := v.h.Chat().ListConversations(v.t.Context(), apptest.As(v.p, &chatv1.ListConversationsRequest{}))
	if err != nil {
		v.t.Fatal(err)
	}
	i := slices.IndexFunc(r.Msg.Conversations, func(c *chatv1.Conversation) bool { return c.Id == v.conversation })
	if i < 0 {
		v.t.Fatal("the conversation is not listed")
	}
	return r.Msg.Conversations[i]
}

func (v views) message(seq uint64) *chatv1.Message {
	v.t.Helper()
	r, err := v.h.Chat().GetMessages(v.t.Context(), apptest.As(v.p, &chatv1.GetMessagesRequest{Conversation: v.conversation, Seqs: []uint64{seq}}))
	if err != nil || len(r.Msg.Messages) != 1 {
		v.t.Fatalf("GetMessages of seq %d returned %v, %v, want one message", seq, r, err)
	}
	return r.Msg.Messages[0]
}

// everything is what a person can read, as text.
func (v views) everything() string {
	v.t.Helper()
	var all strings.Builder
	add := func(name string, m proto.Message) { fmt.Fprintln(&all, name, protojson.Format(m)) }
	ctx := v.t.Context()
	history, err := v.h.Chat().History(ctx, apptest.As(v.p, &chatv1.HistoryRequest{Conversation: v.conversation, Limit: 200}))
	if err != nil {
		v.t.Fatal(err)
	}
	add("history", history.Msg)
	for _, m := range history.Msg.Messages {
		add("message", v.message(m.Seq))
	}
	sync, err := v.h.Chat().Sync(ctx, apptest.As(v.p, &chatv1.SyncRequest{Limit: 2000}))
	if err != nil {
		v.t.Fatal(err)
	}
	add("sync", sync.Msg)
	pins, err := v.h.Chat().ListPins(ctx, apptest.As(v.p, &chatv1.ListPinsRequest{Conversation: v.conversation}))
	if err != nil {
		v.t.Fatal(err)
	}
	add("pins", pins.Msg)
	add("list", v.list())
	one, err := v.h.Chat().GetConversation(ctx, apptest.As(v.p, &chatv1.GetConversationRequest{Conversation: v.conversation}))
	if err != nil {
		v.t.Fatal(err)
	}
	add("conversation", one.Msg)
	return all.String()
}

// sendContent sends a content and returns its receipt or the reason of the refusal.
func sendContent(t *testing.T, h *apptest.Server, p *apptest.Person, c uint64, id string, content *chatv1.Content) (*chatv1.SendResponse, string) {
	t.Helper()
	r, err := h.Chat().Send(t.Context(), apptest.As(p, &chatv1.SendRequest{Conversation: c, ClientMsgId: id, Content: content}))
	if err != nil {
		return nil, reasonOf(err)
	}
	return r.Msg, ""
}

func mustSend(t *testing.T, h *apptest.Server, p *apptest.Person, c uint64, id string, content *chatv1.Content) *chatv1.SendResponse {
	t.Helper()
	r, why := sendContent(t, h, p, c, id, content)
	if why != "" {
		t.Fatalf("%s was refused: %s", id, why)
	}
	return r
}

// From its acknowledgement on, an edit or a recall is what everybody reads, and the old text is nowhere.
func TestUpdatesTakeEffectEverywhere(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	s, _ := bob.Socket(t, "rialto.v1.proto")
	late := time.AfterFunc(60*time.Second, func() { _ = s.Conn.CloseNow() }) // then reading fails
	defer late.Stop()
	received := map[uint64]*chatv1.Message{} // a frame may have several
	pushed := func(kind string, seq uint64) *chatv1.Message {
		t.Helper()
		if received[seq] == nil {
			s.Until(func(f *gatewayv1.ServerFrame) bool {
				for _, e := range f.Events {
					received[e.GetMessage().GetSeq()] = e.GetMessage()
				}
				return received[seq] != nil
			})
		}
		m := received[seq]
		if strings.Contains(m.String(), "secret") && kind != "message" {
			t.Errorf("%s: the old text was pushed: %v", kind, m)
		}
		return m
	}
	first := h.Send(t, alice, c, "1", "secret one")
	second := h.Send(t, alice, c, "2", "secret two")
	third := h.Send(t, alice, c, "3", "third")
	pushed("message", third.Seq)
	mustSend(t, h, bob, c, "r", reactionOf(first.Seq, "👍", false))
	mustSend(t, h, alice, c, "p", pinOf(first.Seq, false))
	if got := (views{t, h, bob, c}).everything(); !strings.Contains(got, "secret one") || !strings.Contains(got, "secret two") {
		t.Fatalf("the texts cannot be read before they are changed:\n%s", got)
	}
	unread := views{t, h, bob, c}.list().Unread
	if unread != 3 {
		t.Errorf("%d are unread, want 3", unread)
	}

	edit := mustSend(t, h, alice, c, "e", editOf(first.Seq, "edited one"))
	recall := mustSend(t, h, alice, c, "x", recallOf(second.Seq))
	for _, p := range []*apptest.Person{alice, bob} {
		v := views{t, h, p, c}
		if got := v.everything(); strings.Contains(got, "secret") {
			t.Errorf("the old text can still be read:\n%s", got)
		}
		m := v.message(first.Seq)
		if m.Content.GetText() != "edited one" || m.EditSeq != edit.Seq || m.EditedMs != edit.TimeMs || !m.Pinned {
			t.Errorf("the edited message is %v", m)
		}
		if got := m.Reactions.GetCounts(); len(got) != 1 || got[0].Emoji != "👍" || got[0].Count != 1 || (len(m.Reactions.Mine) == 1) != (p == bob) {
			t.Errorf("its reactions are %v", m.Reactions)
		}
		if m := v.message(second.Seq); m.Content != nil || m.RecallSeq != recall.Seq || m.RecalledBy != alice.User {
			t.Errorf("the recalled message is %v", m)
		}
		list := v.list()
		if list.LastMessage.GetSeq() != third.Seq || list.LastSeq != third.Seq {
			t.Errorf("the last message is %v", list.LastMessage)
		}
		if want := map[bool]uint64{true: 2, false: 0}[p == bob]; list.Unread != want {
			t.Errorf("%d are unread, want %d", list.Unread, want)
		}
	}
	if m := pushed("edit", edit.Seq); m.Content.GetEdit().GetContent().GetText() != "edited one" || m.Counted != third.Counted {
		t.Errorf("the edit was pushed as %v", m)
	}
	if m := pushed("recall", recall.Seq); m.Content.GetRecall().GetTarget().GetSeq() != second.Seq {
		t.Errorf("the recall was pushed as %v", m)
	}

	if r := mustSend(t, h, alice, c, "x", recallOf(second.Seq)); r.Seq != recall.Seq || !r.Duplicate {
		t.Errorf("a retry of the recall got %v, want a duplicate of the recall", r)
	}
	if r := mustSend(t, h, alice, c, "e", editOf(first.Seq, "edited one")); r.Seq != edit.Seq || !r.Duplicate {
		t.Errorf("a retry of the edit got %v, want a duplicate of the edit", r)
	}
	mustSend(t, h, alice, c, "e2", editOf(first.Seq, "edited again"))
	versions, err := h.Chat().ListEdits(t.Context(), apptest.As(bob, &chatv1.ListEditsRequest{Conversation: c, Seq: first.Seq}))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, v := range versions.Msg.Versions {
		texts = append(texts, v.Content.GetText())
	}
	if want := []string{"secret one", "edited one", "edited again"}; !slices.Equal(texts, want) {
		t.Errorf("the versions are %q, want %q", texts, want)
	}
	mustSend(t, h, alice, c, "x1", recallOf(first.Seq))
	for _, p := range []*apptest.Person{alice, bob} {
		if got := (views{t, h, p, c}).everything(); strings.Contains(got, "edited") {
			t.Errorf("the edited text can be read after the recall:\n%s", got)
		}
		if m := (views{t, h, p, c}).message(first.Seq); m.RecallSeq == 0 || m.Pinned {
			t.Errorf("the pinned message after its recall: %v", m)
		}
		if _, err := h.Chat().ListEdits(t.Context(), apptest.As(p, &chatv1.ListEditsRequest{Conversation: c, Seq: first.Seq})); reasonOf(err) != "recalled" {
			t.Errorf("the versions of a recalled message: %v", err)
		}
	}
}

// Who may change which messages.
func TestRefusedUpdates(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	alice, bob, carol := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol")
	dave, erin := h.Register(t, "dave"), h.Register(t, "erin")
	g := h.Group(t, alice, bob, dave, erin) // alice is the owner
	other := h.Direct(t, alice, carol)
	created := uint64(1)
	a := h.Send(t, alice, g, "a", "by alice").Seq
	b := h.Send(t, bob, g, "b", "by bob").Seq
	foreign := h.Send(t, carol, other, "c", "elsewhere")
	gone := h.Send(t, bob, g, "gone", "recalled").Seq
	recall := mustSend(t, h, bob, g, "x", recallOf(gone)).Seq
	long := strings.Repeat("👨‍👩‍👧‍👦", 2)
	for n, test := range []struct {
		by      *apptest.Person
		content *chatv1.Content
		want    string
	}{
		{bob, editOf(a, "x"), "not_sender"},
		{alice, editOf(b, "x"), "not_sender"}, // nor the owner
		{bob, recallOf(a), "not_allowed"},
		{alice, recallOf(b), ""}, // the owner
		{bob, recallOf(b), "recalled"},
		{bob, editOf(b, "x"), "recalled"},
		{alice, reactionOf(gone, "👍", false), "recalled"},
		{bob, pinOf(a, false), "not_allowed"},
		{alice, pinOf(gone, false), "recalled"},
		{bob, editOf(created, "x"), "no_message"},
		{bob, recallOf(recall), "no_message"},
		{bob, recallOf(foreign.Seq + 1000), "no_message"},
		{carol, reactionOf(a, "👍", false), "no_conversation"},
		{bob, reactionOf(a, "", false), "bad_emoji"},
		{bob, reactionOf(a, "a b", false), "bad_emoji"},
		{bob, reactionOf(a, long, false), "bad_emoji"},
		{bob, recallOf(0), "bad_ref"},
		{alice, editOf(a, ""), "empty_text"},
		{alice, editOf(a, " "), "empty_text"},
		{alice, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: ref(a)}}}, "no_content"},
		{alice, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: ref(a), Content: recallOf(a)}}}, "bad_edit"},
		{alice, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: ref(a), Content: &chatv1.Content{Kind: &chatv1.Content_Card{Card: &chatv1.Card{Title: "x"}}}}}}, "bad_edit"},
		{alice, &chatv1.Content{Kind: recallOf(a).Kind, ReplyTo: ref(a)}, "bad_content"},
		{alice, &chatv1.Content{Kind: apptest.Text("x").Kind, ReplyTo: &chatv1.Ref{ClientSeq: 1}}, "bad_ref"}, // this sender does not count
		{alice, &chatv1.Content{Kind: apptest.Text("x").Kind, ReplyTo: ref(gone)}, "recalled"},
		{alice, &chatv1.Content{Kind: apptest.Text("x").Kind, ReplyTo: ref(a)}, ""},
	} {
		if _, why := sendContent(t, h, test.by, g, fmt.Sprint("refused ", n), test.content); why != test.want {
			t.Errorf("%d: %v was answered %q, want %q", n, test.content, why, test.want)
		}
	}
	for n := range 50 {
		by := []*apptest.Person{bob, dave, erin}[n/17]
		mustSend(t, h, by, g, fmt.Sprint("emoji ", n), reactionOf(a, fmt.Sprint("e", n), false))
	}
	if _, why := sendContent(t, h, bob, g, "emoji 50", reactionOf(a, "e50", false)); why != "too_many_emoji" {
		t.Errorf("the 51st emoji of a message was answered %q", why)
	}
	mustSend(t, h, alice, g, "emoji 3 again", reactionOf(a, "e3", false))
	bare := h.Send(t, alice, g, "bare", "without reactions").Seq
	for n := range 20 {
		mustSend(t, h, bob, g, fmt.Sprint("own ", n), reactionOf(bare, fmt.Sprint("e", n), false))
	}
	if _, why := sendContent(t, h, bob, g, "own 20", reactionOf(bare, "e20", false)); why != "too_many_own_emoji" {
		t.Errorf("the 21st emoji of a user was answered %q, want too_many_own_emoji", why)
	}
}

// A reply may name a message of the same device that has no seq yet.
func TestReplyToAMessageWithoutASeq(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	s, _ := alice.Socket(t, "rialto.v1.json")
	late := time.AfterFunc(60*time.Second, func() { _ = s.Conn.CloseNow() }) // then reading fails
	defer late.Stop()
	reply := func(seq, to uint64) *gatewayv1.Send {
		return &gatewayv1.Send{Conversation: c, ClientSeq: seq, Content: &chatv1.Content{Kind: apptest.Text(fmt.Sprint("reply ", seq)).Kind, ReplyTo: &chatv1.Ref{ClientSeq: to}}}
	}
	s.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{
		{Conversation: c, ClientSeq: 1, Content: apptest.Text("first")},
		reply(2, 1),
		{Conversation: c, ClientSeq: 3, Content: &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{ClientSeq: 2}, Emoji: "🎉"}}}},
		{Conversation: c, ClientSeq: 4, Content: apptest.Text("between")},
		reply(5, 4),
		reply(6, 7),
	}})
	seqs := map[uint64]uint64{}
	refused := ""
	s.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, r := range f.Receipts {
			if r.Error != nil {
				refused = r.Error.Reason
				continue
			}
			seqs[r.ClientSeq] = r.Seq
		}
		return len(seqs) == 5 && refused != ""
	})
	if refused != "bad_ref" {
		t.Errorf("a reply to a later message was answered %q", refused)
	}
	for n := uint64(1); n < 5; n++ {
		if seqs[n] >= seqs[n+1] {
			t.Errorf("the seqs are not in the order of sending: %v", seqs)
		}
	}
	v := views{t, h, bob, c}
	for by, to := range map[uint64]uint64{2: 1, 5: 4} {
		if got := v.message(seqs[by]).Content.GetReplyTo(); got.GetSeq() != seqs[to] || got.GetClientSeq() != 0 {
			t.Errorf("message %d replies to %v, want seq %d", by, got, seqs[to])
		}
	}
	if got := v.message(seqs[2]).Reactions.GetCounts(); len(got) != 1 || got[0].Emoji != "🎉" {
		t.Errorf("the reactions are %v", got)
	}
}

// Each user counts once for each emoji, whatever is repeated, and the counts of pushes rise in version.
func TestReactions(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	alice, bob, carol := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol")
	g := h.Group(t, alice, bob, carol)
	m := h.Send(t, alice, g, "m", "hello").Seq
	for n, r := range []struct {
		by     *apptest.Person
		emoji  string
		remove bool
	}{{bob, "👍", false}, {bob, "👍", false}, {carol, "👍", false}, {carol, "❤️", false}, {carol, "👍", true}, {carol, "👍", true}, {alice, "👍", true}, {alice, "👍", false}} {
		mustSend(t, h, r.by, g, fmt.Sprint(n), reactionOf(m, r.emoji, r.remove))
	}
	counts := map[string]uint32{}
	for _, n := range (views{t, h, alice, g}).message(m).Reactions.Counts {
		counts[n.Emoji] = n.Count
	}
	if len(counts) != 2 || counts["👍"] != 2 || counts["❤️"] != 1 {
		t.Errorf("the counts are %v", counts)
	}
	var users []uint64
	for page, first := "", true; first || page != ""; first = false {
		r, err := h.Chat().ListReactions(t.Context(), apptest.As(carol, &chatv1.ListReactionsRequest{Conversation: g, Seq: m, Emoji: "👍", Limit: 1, Page: page}))
		if err != nil {
			t.Fatal(err)
		}
		users, page = append(users, r.Msg.Users...), r.Msg.Next
	}
	want := []uint64{alice.User, bob.User}
	slices.Sort(want)
	if !slices.Equal(users, want) {
		t.Errorf("the users are %v, want %v", users, want)
	}
	if _, err := h.Chat().ListReactions(t.Context(), apptest.As(carol, &chatv1.ListReactionsRequest{Conversation: g, Seq: m})); reasonOf(err) != "bad_emoji" {
		t.Errorf("the users of no emoji: %v", err)
	}
	for p, want := range map[*apptest.Person][]string{alice: {"👍"}, bob: {"👍"}, carol: {"❤️"}} {
		if got := (views{t, h, p, g}).message(m).Reactions.Mine; !slices.Equal(got, want) {
			t.Errorf("%d reacted with %v, want %v", p.User, got, want)
		}
	}
}
