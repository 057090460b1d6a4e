package fanout_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Members who joined after a message get its edits without content, and those who can read it with.
func TestEditsHaveNoContentForMembersWhoJoinedLater(t *testing.T) {
	ctx := context.Background()
	s := newStage(t, inMemory)
	db, err := sqldb.Open(ctx, sqltest.Place(t))
	must(t, err)
	defer db.Close()
	ids, err := idgen.NewSnowflake(ctx, idgen.Fixed(clock.System{}, 0), idgen.SnowflakeConfig{})
	must(t, err)
	messages, err := idgen.NewMessages(ctx, idgen.Fixed(clock.System{}, 0), idgen.MessagesConfig{})
	must(t, err)
	service, err := chat.New(ctx, chat.Deps{Log: s.log, DB: db, IDs: ids, MessageIDs: messages, Relations: anyone{}, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler), SingleNode: true}, chat.Config{})
	must(t, err)
	c, err := service.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
	must(t, err)
	text := func(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }
	n := uint64(0)
	send := func(content *chatv1.Content) uint64 {
		t.Helper()
		raw, err := proto.Marshal(content)
		must(t, err)
		n++
		d := &message.Draft{Conversation: c, Sender: 1, Device: 1, ClientSeq: n, Content: raw}
		must(t, service.Send(ctx, d))
		return d.Seq
	}
	edit := func(seq uint64) uint64 {
		return send(&chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: text("edited")}}})
	}
	before := send(text("before"))
	_, err = service.Invite(ctx, c, 1, []uint64{4})
	must(t, err)
	after := send(text("after"))
	edits := map[uint64]uint64{edit(before): before, edit(after): after}
	s.run(service)
	s.settle()
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	type receipt struct {
		user   id.User
		target uint64
	}
	got := map[receipt]string{}
	for _, g := range s.got {
		m := &chatv1.Message{}
		switch g.Kind {
		case message.DeliverEntry:
			stored := message.Stored{Conversation: c, Seq: g.Seq}
			must(t, stored.Entry.Decode(g.Body))
			must(t, proto.Unmarshal(stored.AppendProto(nil), m))
		case message.DeliverEvent:
			var event chatv1.Event
			must(t, proto.Unmarshal(g.Body, &event))
			m = event.GetMessage()
		}
		if target, is := edits[m.GetSeq()]; is {
			for _, to := range g.Targets {
				got[receipt{to.User, target}] = m.Content.GetEdit().GetContent().GetText()
			}
		}
	}
	for of, want := range map[receipt]string{{2, before}: "edited", {4, before}: "", {2, after}: "edited", {4, after}: "edited"} {
		if text, pushed := got[of]; !pushed || text != want {
			t.Errorf("user %d is pushed %q (%v) for message %d, want %q", of.user, text, pushed, of.target, want)
		}
	}
}
