package apptest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Small messages that become large by edits, and small edits of a message that becomes large, do not make a page of more than a megabyte
// and a message. All pages together have everything.
func TestPagesOfLargeEdits(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	large := strings.Repeat("界", 100_000)
	const messages, edits = 8, 40
	var seqs []uint64
	for i := range messages {
		seqs = append(seqs, h.Send(t, alice, c, fmt.Sprint("m", i), "small").Seq)
	}
	for i := range edits {
		mustSend(t, h, alice, c, fmt.Sprint("small edit ", i), editOf(seqs[0], fmt.Sprint("small ", i)))
	}
	for i, seq := range seqs {
		mustSend(t, h, alice, c, fmt.Sprint("e", i), editOf(seq, large))
		mustSend(t, h, alice, c, fmt.Sprint("p", i), pinOf(seq, false))
	}
	last := mustSend(t, h, alice, c, "last", apptest.Text("last")).Seq
	ctx, chat := t.Context(), h.Chat()
	page := func(name string, m proto.Message) {
		t.Helper()
		if n := proto.Size(m); n > outputlimit.MaxPage+400_000 {
			t.Errorf("a page of %s has %d bytes", name, n)
		}
	}
	all := func(name string, got []*chatv1.Message) {
		t.Helper()
		found := map[uint64]int{}
		for _, m := range got {
			if m.Content.GetText() == large {
				found[m.Seq]++
			}
		}
		for _, seq := range seqs {
			if found[seq] != 1 {
				t.Errorf("%s has message %d in its present form %d times, want once", name, seq, found[seq])
			}
		}
	}
	var got []*chatv1.Message
	for before := uint64(0); ; {
		r, err := chat.History(ctx, apptest.As(bob, &chatv1.HistoryRequest{Conversation: c, Before: before, Limit: 200}))
		if err != nil {
			t.Fatal(err)
		}
		page("the history", r.Msg)
		if got = append(got, r.Msg.Messages...); !r.Msg.More {
			break
		}
		if before = r.Msg.Messages[0].Seq; !slices.IsSortedFunc(r.Msg.Messages, func(a, b *chatv1.Message) int { return int(a.Seq) - int(b.Seq) }) {
			t.Fatal("a page is not in the order of seqs")
		}
	}
	all("the history", got)
	if uint64(len(got)) != last {
		t.Errorf("the history has %d entries, want %d", len(got), last)
	}
	got = nil
	for after := uint64(0); ; after = got[len(got)-1].Seq {
		q := &chatv1.HistoryRequest{Conversation: c, After: after, Limit: 200}
		if after == 0 {
			q.TimeMs = 1
		}
		r, err := chat.History(ctx, apptest.As(bob, q))
		if err != nil {
			t.Fatal(err)
		}
		page("the history forward", r.Msg)
		if got = append(got, r.Msg.Messages...); !r.Msg.More {
			break
		}
	}
	all("the history forward", got)
	if uint64(len(got)) != last {
		t.Errorf("the history forward has %d entries, want %d", len(got), last)
	}
	got = nil
	for rest := seqs; ; rest = seqs[len(got):] {
		r, err := chat.GetMessages(ctx, apptest.As(bob, &chatv1.GetMessagesRequest{Conversation: c, Seqs: rest}))
		if err != nil {
			t.Fatal(err)
		}
		page("GetMessages", r.Msg)
		if got = append(got, r.Msg.Messages...); !r.Msg.More {
			break
		}
	}
	all("GetMessages", got)
	got = nil
	for next := ""; ; {
		r, err := chat.ListPins(ctx, apptest.As(bob, &chatv1.ListPinsRequest{Conversation: c, Page: next}))
		if err != nil {
			t.Fatal(err)
		}
		page("the pins", r.Msg)
		got = append(got, r.Msg.Messages...)
		if next = r.Msg.Next; next == "" {
			break
		}
	}
	all("the pins", got)
	got = nil
	var position *chatv1.Position
	for {
		r, err := chat.Sync(ctx, apptest.As(bob, &chatv1.SyncRequest{After: position, Limit: 2000}))
		if err != nil {
			t.Fatal(err)
		}
		page("the sync", r.Msg)
		for _, e := range r.Msg.Events {
			if e.GetMessage() != nil {
				got = append(got, e.GetMessage())
			}
		}
		position = r.Msg.Next
		if n := len(got); n > 0 && got[n-1].Seq == last { // it waits for fan-out
			break
		}
	}
	all("the sync", got)
	if uint64(len(got)) != last {
		t.Errorf("the sync has %d entries, want %d", len(got), last)
	}
	for i := range 10 {
		mustSend(t, h, alice, c, fmt.Sprint("again ", i), editOf(seqs[0], large))
	}
	got = nil
	for next := ""; ; {
		r, err := chat.ListEdits(ctx, apptest.As(bob, &chatv1.ListEditsRequest{Conversation: c, Seq: seqs[0], Page: next}))
		if err != nil {
			t.Fatal(err)
		}
		page("the edits", r.Msg)
		got = append(got, r.Msg.Versions...)
		if next = r.Msg.Next; next == "" {
			break
		}
	}
	if len(got) != 1+edits+11 || got[0].EditSeq != 0 || got[0].Content.GetText() != "small" || got[edits].Content.GetText() != fmt.Sprint("small ", edits-1) || got[edits+11].Content.GetText() != large {
		t.Errorf("there are %d versions", len(got))
	}
	for i := 1; i < len(got); i++ {
		if got[i].EditSeq <= got[i-1].EditSeq {
			t.Errorf("version %d has edit_seq %d after %d", i, got[i].EditSeq, got[i-1].EditSeq)
		}
	}
}
