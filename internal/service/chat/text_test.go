package chat_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func contentOf(t tester, c *chatv1.Content) []byte {
	t.Helper()
	b, err := proto.Marshal(c)
	must(t, err)
	return b
}

func mediaContent(t tester, m *chatv1.Media) []byte {
	return contentOf(t, &chatv1.Content{Kind: &chatv1.Content_File{File: m}})
}

func TestTexts(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	n := uint64(0)
	for _, test := range []struct{ name, text, reason string }{
		{"one letter", "a", ""},
		{"100,000 letters", strings.Repeat("a", chat.MaxText), ""},
		{"one letter more", strings.Repeat("a", chat.MaxText+1), "text_too_long"},
		{"100,000 emoji", strings.Repeat("😀", chat.MaxText), ""},
		{"one emoji more", strings.Repeat("😀", chat.MaxText+1), "text_too_long"},
		{"100,001 of two bytes", strings.Repeat("é", chat.MaxText+1), "text_too_long"},
		{"empty", "", "empty_text"},
		{"spaces", " \t\r\n", "empty_text"},
		{"Unicode spaces", "\u00a0\u2003\u3000\u2028", "empty_text"},
		{"zero width", "\u200b\u200d\ufeff\u2060", "empty_text"},
		{"blank letters", "\u3164\u2800\uffa0\u115f\u1160", "empty_text"},
		{"one combining mark", "\u0301", "empty_text"},
		{"marks and selectors", " \u0301\ufe0f\u20dd", "empty_text"},
		{"a letter between zero widths", "\u200bx\u200b", ""},
		{"a letter before zero widths", "x\u200b", ""},
		{"U+0000", "a\x00b", "bad_text"},
		{"U+0000 behind another script", "é\x00", "bad_text"},
		{"a lone byte", "a\xff", "bad_text"},
		{"a lone surrogate", "a\xed\xa0\x80", "bad_text"},
		{"cut", "\xf0\x9f\x98", "bad_text"},
		{"overlong", "\xc0\xaf", "bad_text"},
		{"marks", "z" + strings.Repeat("\u0300", 10_000), ""},
		{"direction overrides", "\u202egpj.exe", ""},
		{"family of 1,000", strings.Repeat("👩\u200d", 1000), ""},
		{"markup", "<script>alert(1)</script>", ""},
		{"controls", "\x1b[31mred\r\n", ""},
	} {
		n++
		d := draftOf(c, 1, n, test.text)
		if err := s.Send(ctx, d); reasonOf(err) != test.reason {
			t.Errorf("%s: error is %v, want %q", test.name, err, test.reason)
			continue
		}
		if test.reason != "" {
			continue
		}
		page, err := s.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c), Limit: 1})
		if err != nil || len(page.Messages) != 1 || page.Messages[0].Content.GetText() != test.text {
			t.Errorf("%s: the stored text differs from the sent one (%v)", test.name, err)
		}
	}
}

// The uploads of all waiting drafts are checked in one call, because the conversation waits for it.
func TestUploadsAreCheckedInOneCall(t *testing.T) {
	const many = 100
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	batches, checking, proceed := []int{}, make(chan struct{}), make(chan struct{})
	deps.CheckUploads = func(_ context.Context, _ id.Conversation, by []id.User, uploads []id.Upload) []error {
		if batches = append(batches, len(uploads)); len(batches) == 1 {
			close(checking)
			<-proceed
		}
		refused := make([]error, len(by))
		for i := range by {
			if by[i] == 2 {
				refused[i] = errForeign
			}
		}
		return refused
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	file := contentOf(t, &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: 7}}})
	done := make(chan *message.Draft, 3*many)
	submit := func(u id.User, n uint64, content []byte) {
		d := draftOf(c, u, n, "text")
		if content != nil {
			d.Content = content
		}
		d.Done = func(d *message.Draft) { done <- d }
		s.Submit(d)
	}
	submit(1, 1, file)
	<-checking
	for n := range uint64(many) {
		submit(1, 2+2*n, file)
		submit(1, 3+2*n, nil)
		submit(2, 1+n, file)
	}
	close(proceed)
	seqs := map[uint64]uint64{} // of the messages of user 1
	for range 1 + 3*many {
		if d := <-done; d.Sender == 2 && reasonOf(d.Err) != "foreign" || d.Sender == 1 && d.Err != nil {
			t.Fatalf("message %d of user %d: %v", d.ClientSeq, d.Sender, d.Err)
		} else if d.Sender == 1 {
			seqs[d.ClientSeq] = d.Seq
		}
	}
	if !slices.Equal(batches, []int{1, 2 * many}) {
		t.Errorf("the calls had %v uploads", batches)
	}
	for n, seq := range seqs {
		if seq != n+1 { // after the entry that created the conversation
			t.Errorf("message %d of the sender is at seq %d", n, seq)
		}
	}
}

func TestContents(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	var checked []id.Upload
	deps.CheckUploads = func(_ context.Context, _ id.Conversation, _ []id.User, uploads []id.Upload) (refused []error) {
		for _, upload := range uploads {
			checked = append(checked, upload)
			if refused = append(refused, nil); upload == 13 {
				refused[len(refused)-1] = errForeign
			}
		}
		return refused
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	text := func(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }
	file := func(m *chatv1.Media) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_File{File: m}} }
	place := func(lat, lon float64, label string) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Location{Location: &chatv1.Location{Latitude: lat, Longitude: lon, Label: label}}}
	}
	custom := func(typ string, n int) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Custom{Custom: &chatv1.Custom{Type: typ, Data: make([]byte, n)}}}
	}
	link := func(url string) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Card{Card: &chatv1.Card{Title: "t", Url: url}}}
	}
	card := func(title, text string) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Card{Card: &chatv1.Card{Title: title, Text: text}}}
	}
	n := uint64(0)
	for _, test := range []struct {
		name    string
		content []byte
		reason  string
	}{
		{"nothing", nil, "no_content"},
		{"no kind", contentOf(t, &chatv1.Content{}), "no_content"},
		{"not protobuf", []byte{0xff, 0xff}, "no_content"},
		{"a text that says more than there is", []byte{10, 200, 'a'}, "no_content"},
		{"two texts, the last one counts", append(contentOf(t, text("a")), contentOf(t, text(" "))...), "empty_text"},
		{"an unknown kind", protowire.AppendBytes(protowire.AppendTag(nil, 77, protowire.BytesType), []byte("x")), "no_content"},
		{"control", contentOf(t, &chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: chatv1.Control_ACTION_DISSOLVED}}}), "bad_content"},
		{"file", contentOf(t, file(&chatv1.Media{Upload: 7, Name: "n", Caption: strings.Repeat("漢", 2000)})), ""},
		{"file of another", contentOf(t, file(&chatv1.Media{Upload: 13, Name: "n"})), "foreign"},
		{"file without upload", contentOf(t, file(&chatv1.Media{Name: "n"})), "bad_content"},
		{"long caption", contentOf(t, file(&chatv1.Media{Upload: 7, Caption: strings.Repeat("a", 2001)})), "bad_content"},
		{"U+0000 in a name", contentOf(t, file(&chatv1.Media{Upload: 7, Name: "a\x00"})), "bad_content"},
		{"place", contentOf(t, place(90, -180, "pole")), ""},
		{"NaN", contentOf(t, place(math.NaN(), 0, "")), "bad_content"},
		{"NaN east", contentOf(t, place(0, math.NaN(), "")), "bad_content"},
		{"infinity", contentOf(t, place(0, math.Inf(1), "")), "bad_content"},
		{"beyond the pole", contentOf(t, place(90.0001, 0, "")), "bad_content"},
		{"long label", contentOf(t, place(0, 0, strings.Repeat("a", 2001))), "bad_content"},
		{"custom", contentOf(t, custom("t", 64<<10)), ""},
		{"custom, a byte more", contentOf(t, custom("t", 64<<10+1)), "bad_content"},
		{"custom without a type", contentOf(t, custom("", 1)), "bad_content"},
		{"card", contentOf(t, card("t", "x")), ""},
		{"card with a link", contentOf(t, link("https://example.com/")), ""},
		{"card with a mail address", contentOf(t, link("mailto:a@example.com")), ""},
		{"card with a script", contentOf(t, link("javascript:alert(1)")), "bad_content"},
		{"card with data", contentOf(t, link("data:text/html,x")), "bad_content"},
		{"card with a title of two lines", contentOf(t, card("a\nb", "x")), "bad_content"},
		{"card with a title that turns", contentOf(t, card("\u202egpj", "x")), "bad_content"},
		{"card with two lines of text", contentOf(t, card("t", "a\nb")), ""},
		{"file whose name turns", mediaContent(t, &chatv1.Media{Upload: 1, Name: "\u202egpj.exe"}), "bad_content"},
		{"file with a caption of two lines", mediaContent(t, &chatv1.Media{Upload: 17, Name: "a.txt", Caption: "a\nb"}), ""},
		{"file with a caption that turns", mediaContent(t, &chatv1.Media{Upload: 1, Caption: "a\u2066b"}), "bad_content"},
		{"file with a caption of stacked marks", mediaContent(t, &chatv1.Media{Upload: 1, Caption: "a" + strings.Repeat("\u0323", 7)}), "bad_content"},
		{"file with a name of stacked marks", mediaContent(t, &chatv1.Media{Upload: 1, Name: "a" + strings.Repeat("\u0323", 7)}), "bad_content"},
		{"label of stacked marks", contentOf(t, place(0, 0, "a"+strings.Repeat("\u0323", 7))), "bad_content"},
		{"custom with a type of stacked marks", contentOf(t, custom("a"+strings.Repeat("\u0323", 7), 1)), "bad_content"},
		{"card with text that turns", contentOf(t, card("t", "a\u202eb")), "bad_content"},
		{"card with text of stacked marks", contentOf(t, card("t", "a"+strings.Repeat("\u0323", 7))), "bad_content"},
		{"card with a hidden title", contentOf(t, card("t\ufe0f", "x")), "bad_content"},
		{"text of stacked marks", contentOf(t, text("a"+strings.Repeat("\u0323", 7))), ""},
		{"card without a title", contentOf(t, card("", "x")), "bad_content"},
		{"long card", contentOf(t, card("t", strings.Repeat("é", 2001))), "bad_content"},
	} {
		n++
		d := draftOf(c, 1, n, "")
		d.Content = test.content
		if err := s.Send(ctx, d); reasonOf(err) != test.reason {
			t.Errorf("%s: error is %v, want %q", test.name, err, test.reason)
		}
	}
	if !slices.Equal(checked, []id.Upload{7, 13, 17}) {
		t.Errorf("checked uploads %v", checked)
	}

	// Unknown fields are not stored: no limit applies to them.
	n++
	d := draftOf(c, 1, n, "")
	d.Content = protowire.AppendBytes(protowire.AppendTag(contentOf(t, card("t", "x")), 999, protowire.BytesType), make([]byte, 500_000))
	must(t, s.Send(ctx, d))
	log := h.entries(t, c)
	if size := len(log[len(log)-1].Content); size > 100 {
		t.Errorf("%d bytes were stored of a card with an unknown field", size)
	}
}

func TestClientIDs(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	for _, test := range []struct {
		seq    uint64
		id     string
		reason string
	}{
		{0, "", "no_client_id"},
		{1, "a", "two_client_ids"},
		{1 << 63, "", "no_client_id"},
		{math.MaxUint64, "", "no_client_id"},
		{0, strings.Repeat("a", 65), "no_client_id"},
		{0, strings.Repeat("a", 64), ""},
		{1<<63 - 1, "", ""},
	} {
		d := draftOf(c, 1, test.seq, "x")
		d.ClientMsgID = test.id
		if err := s.Send(ctx, d); reasonOf(err) != test.reason {
			t.Errorf("client_seq %d, client_msg_id %q: error is %v, want %q", test.seq, test.id, err, test.reason)
		}
	}
	other, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g"})
	must(t, err)
	for name, set := range map[string]func(d *message.Draft){
		"client_seq":    func(d *message.Draft) { d.ClientSeq = 500 },
		"client_msg_id": func(d *message.Draft) { d.ClientSeq, d.ClientMsgID = 0, "order-1" },
	} {
		send := func(c id.Conversation, device id.Device, text string) *message.Draft {
			d := draftOf(c, 1, 0, text)
			set(d)
			d.Device = device
			_ = s.Send(ctx, d) // the draft has the error
			return d
		}
		first, again := send(c, 1, "hello"), send(c, 1, "hello")
		if first.Err != nil || first.Duplicate || again.Err != nil || !again.Duplicate || again.Seq != first.Seq || again.ID != first.ID || again.Counted != first.Counted {
			t.Errorf("%s: the first attempt returned %+v, the retry %+v", name, first, again)
		}
		if d := send(c, 1, "other"); reasonOf(d.Err) != "id_reuse" {
			t.Errorf("%s with another content returned %v", name, d.Err)
		}
		if d := send(c, 2, "hello"); d.Err != nil || d.Duplicate {
			t.Errorf("%s from another device returned %+v", name, d)
		}
		if d := send(other, 1, "hello"); d.Err != nil || d.Duplicate {
			t.Errorf("%s to another conversation returned %+v", name, d)
		}
	}
	if n, err := s.HighestCounter(ctx, id.Caller{User: 1, Device: 2}); err != nil || n != 500 {
		t.Errorf("the highest counter is %d (%v)", n, err)
	}
}
