package streamedmessage_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A message grows while members read it: those who are there get what was added, one who comes late the text so far, and all its end.
func TestAMessageGrowsAndEnds(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	seq := n.start(o, "1")
	if m := n.read(o, bob, seq); m.Content.GetStreamed() == nil || m.EditSeq != 0 {
		t.Errorf("a message that was started is %v", m)
	}
	n.writePart(o, bot, &chatv1.StreamedPart{Conversation: uint64(n.group), Seq: seq, State: chatv1.WritingState_WRITING_STATE_TOOL, Note: "search"})
	n.push(o)
	if got := o.pushes(bob.User); len(got) != 1 || got[0].State != chatv1.WritingState_WRITING_STATE_TOOL || got[0].Note != "search" || got[0].Text != "" {
		t.Errorf("a reader was pushed the state %v", got)
	}
	if r := n.write(o, seq, 0, "Hé"); r.Length != 2 || r.Reason != "" {
		t.Errorf("a part was answered %v", r)
	}
	n.write(o, seq, 2, "llo")
	n.push(o)
	n.write(o, seq, 5, " world")
	n.push(o)
	got := o.pushes(bob.User)
	if len(got) != 2 || got[0].Text != "Héllo" || got[0].Offset != 0 || got[1].Text != " world" || got[1].Offset != 5 || got[1].Seq != seq {
		t.Errorf("a reader was pushed %v", got)
	}
	if got := o.pushes(bot.User); len(got) != 0 {
		t.Errorf("the sender was pushed %v", got)
	}
	late, err := o.Get(context.Background(), ann, &chatv1.GetStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq})
	if err != nil || late.Text != "Héllo world" || late.Ended {
		t.Errorf("who comes late reads %v, %v", late, err)
	}
	if _, err := n.end(o, seq, "Héllo world."); err != nil {
		t.Fatal(err)
	}
	m := n.read(o, bob, seq)
	if m.Content.GetText() != "Héllo world." || m.Content.BrokenOff != nil || m.EditSeq == 0 || m.EditedMs != 0 || m.Counted != 1 {
		t.Errorf("the message has ended as %v", m)
	}
	page, err := o.chat.History(context.Background(), bob.User, &chatv1.HistoryRequest{Conversation: uint64(n.group)})
	n.must(err)
	if last := page.Messages[len(page.Messages)-1]; last.Counted != 1 {
		t.Errorf("%d messages count as unread, not 1", last.Counted)
	}
	if messages, bytes := o.Held(); messages != 0 || bytes != 0 || n.rows() != 0 {
		t.Errorf("after the end, %d messages with %d bytes are held, and %d rows are there", messages, bytes, n.rows())
	}
	if late, err := o.Get(context.Background(), ann, &chatv1.GetStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq}); err != nil || !late.Ended || late.Text != "" {
		t.Errorf("after the end, who comes late reads %v, %v", late, err)
	}
}

// Each call may be repeated.
func TestRetriesAreHarmless(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	seq := n.start(o, "1")
	n.write(o, seq, 0, "Hello")
	again, err := o.Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(n.group), ClientMsgId: "1"})
	if err != nil || again.Seq != seq || !again.Duplicate || again.Length != 5 || again.Ended {
		t.Errorf("a second start is answered %v, %v", again, err)
	}
	if r := n.write(o, seq, 0, "Hello"); r.Length != 5 || r.Reason != "" {
		t.Errorf("a repeated part is answered %v", r)
	}
	whole := &chatv1.EndStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq, Length: 5}
	first, err := o.End(context.Background(), bot, whole)
	n.must(err)
	for _, q := range []*chatv1.EndStreamedMessageRequest{whole, {Conversation: uint64(n.group), Seq: seq, Content: textOf("Hello")}} {
		if a, err := o.End(context.Background(), bot, q); err != nil || a.EditSeq != first.EditSeq || a.BrokenOff != nil {
			t.Errorf("a repeated end is answered %v, %v", a, err)
		}
	}
	if _, err := n.end(o, seq, "another text"); reason(err) != "id_reuse" {
		t.Errorf("an end with another text: %v", err)
	}
	if a, err := n.stop(o, bob, seq); err != nil || a.EditSeq != first.EditSeq || a.BrokenOff != nil {
		t.Errorf("a stop after the end is answered %v, %v", a, err)
	}
	if r := n.write(o, seq, 5, " more"); !r.Ended || r.Reason != "ended" {
		t.Errorf("a part after the end is answered %v", r)
	}
	again, err = o.Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(n.group), ClientMsgId: "1"})
	if err != nil || again.Seq != seq || !again.Ended || n.rows() != 0 {
		t.Errorf("a start after the end is answered %v, %v, and leaves %d rows", again, err, n.rows())
	}
	if ends := n.ends(seq); len(ends) != 1 || ends[0].GetText() != "Hello" {
		t.Errorf("the log has the ends %v", ends)
	}
}

// What does not follow on the text is refused, and the answer says where to go on. Nothing that a message may not have is accepted.
func TestPartsThatAreRefused(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	seq := n.start(o, "1")
	n.write(o, seq, 0, "Héllo")
	for what, c := range map[string]struct {
		offset int
		text   string
		reason string
	}{
		"a gap":                {6, "x", "bad_offset"},
		"another text":         {1, "ello", "bad_offset"},
		"a longer, other one":  {1, "ello world", "bad_offset"},
		"a repeated middle":    {1, "él", ""},
		"no UTF-8":             {5, "\xff", "bad_text"},
		"a zero":               {5, "\x00", "bad_text"},
		"more than a text":     {5, strings.Repeat("x", 100_000), "text_too_long"},
		"far more than a text": {5, strings.Repeat("x", 400_001), "text_too_long"},
	} {
		if r := n.write(o, seq, c.offset, c.text); r.Reason != c.reason || r.Ended || c.reason == "bad_offset" && r.Length != 5 {
			t.Errorf("%s is answered %v", what, r)
		}
	}
	for what, p := range map[string]*chatv1.StreamedPart{
		"bad_note":   {Note: "two\nlines"},
		"bad_parts":  {State: 77},
		"not_sender": {Text: "x", Offset: 5},
	} {
		by := bot
		if what == "not_sender" {
			by = ann
		}
		p.Conversation, p.Seq = uint64(n.group), seq
		if r := n.writePart(o, by, p); r.Reason != what {
			t.Errorf("%s is answered %v", what, r)
		}
	}
	if r := n.writePart(o, bot, &chatv1.StreamedPart{Conversation: uint64(n.group), Seq: 1}); r.Reason != "no_message" {
		t.Errorf("a part of the group's first entry is answered %v", r)
	}
	if r := n.write(o, seq, 4, "o, world"); r.Reason != "" || r.Length != 12 {
		t.Errorf("a part that overlaps is answered %v", r)
	}
	if _, err := o.End(context.Background(), bot, &chatv1.EndStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq, Length: 11}); reason(err) != "bad_offset" {
		t.Errorf("an end that lacks a part: %v", err)
	}
	if _, err := n.end(o, seq, " \n"); reason(err) != "empty_text" {
		t.Errorf("an end without a visible text: %v", err)
	}
	if _, err := n.end(o, seq, strings.Repeat("x", 100_001)); reason(err) != "text_too_long" {
		t.Errorf("an end with too long a text: %v", err)
	}
	if _, err := o.Write(context.Background(), bot, &chatv1.WriteStreamedMessagesRequest{Parts: make([]*chatv1.StreamedPart, 101)}); reason(err) != "bad_count" {
		t.Errorf("101 parts: %v", err)
	}
	if len(n.ends(seq)) != 0 {
		t.Error("a refused call has ended the message")
	}
}

// However many parts come, readers get few pushes, each with all that was added.
func TestTinyPartsAreCoalesced(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	seq := n.start(o, "1")
	n.push(o)
	o.pushes(bob.User)
	for i := range 3000 {
		if r := n.write(o, seq, i, "x"); r.Reason != "" {
			t.Fatalf("part %d: %v", i, r)
		}
		if o.Push(context.Background()); i%1000 == 999 {
			n.pass(time.Duration(o.Interval()) * time.Millisecond)
			o.Push(context.Background())
		}
	}
	if got := o.pushes(bob.User); len(got) != 3 || len(got[0].Text)+len(got[1].Text)+len(got[2].Text) != 3000 {
		t.Errorf("3000 parts in three intervals were pushed as %d", len(got))
	}
	n.write(o, seq, 3000, strings.Repeat("é", 40_000))
	total := 0
	for pushes := 1; total < 40_000; pushes++ {
		n.push(o)
		for _, p := range o.pushes(bob.User) {
			if len(p.Text) > 32<<10 || int(p.Offset) != 3000+total || pushes > 4 {
				t.Fatalf("push %d has %d bytes from %d", pushes, len(p.Text), p.Offset)
			}
			total += len([]rune(p.Text))
		}
	}
}

// Of one user, of a conversation, and on a node, few messages are written at once.
func TestTooManyAtOnce(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{MaxPerUser: 2})
	o := n.list[0]
	start := func(client string) error {
		_, err := o.Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(n.group), ClientMsgId: client})
		return err
	}
	seq := n.start(o, "1")
	n.start(o, "2")
	if err := start("3"); reason(err) != "too_many_streamed" || n.rows() != 2 {
		t.Errorf("a third message: %v, and %d rows", err, n.rows())
	}
	if _, err := n.end(o, seq, "done"); err != nil {
		t.Error(err)
	}
	if err := start("3"); err != nil {
		t.Errorf("after an end: %v", err)
	}
	many := newNodes(t, 1, streamedmessage.Config{})
	for i := range 8 {
		many.start(many.list[0], string(rune('a'+i)))
	}
	if _, err := many.list[0].Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(many.group), ClientMsgId: "9"}); reason(err) != "too_many_streamed" {
		t.Errorf("a ninth message in a conversation: %v", err)
	}
}

// One user's texts leave room for those of others, and what has ended gives its room back.
func TestOneUserHasAShareOfTheMemory(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	text := strings.Repeat("𝄞", 100_000)
	var last *chatv1.WriteResult
	for i := range 24 { // 400,000 bytes each
		group, err := o.chat.CreateGroup(context.Background(), bot.User, &chatv1.CreateGroupRequest{Title: "group"})
		n.must(err)
		a, err := o.Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(group), ClientMsgId: "1"})
		n.must(err)
		if last = n.writePart(o, bot, &chatv1.StreamedPart{Conversation: uint64(group), Seq: a.Seq, Text: text}); last.Reason != "" {
			if i != 20 || last.Reason != "too_many_streamed" {
				t.Fatalf("text %d of 400,000 bytes is answered %v", i, last)
			}
			_, err := o.End(context.Background(), bot, &chatv1.EndStreamedMessageRequest{Conversation: uint64(group), Seq: a.Seq, Content: textOf(text)})
			n.must(err) // the whole text is not held
			break
		}
	}
	if messages, bytes := o.Held(); messages != 20 || bytes != 20*400_000 {
		t.Errorf("%d messages with %d bytes are held", messages, bytes)
	}
	other, err := o.Start(context.Background(), ann, &chatv1.StartStreamedMessageRequest{Conversation: uint64(n.group), ClientMsgId: "1"})
	n.must(err)
	if r := n.writePart(o, ann, &chatv1.StreamedPart{Conversation: uint64(n.group), Seq: other.Seq, Text: "of another user"}); r.Reason != "" {
		t.Errorf("another user's part is answered %v", r)
	}
}
