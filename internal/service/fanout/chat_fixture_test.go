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

// anyone is a social graph in which every user is a friend of every other.
type anyone struct{}

func (anyone) Blocked(context.Context, id.User, id.User) (bool, error) { return false, nil }
func (anyone) Friends(context.Context, id.User, id.User) (bool, error) { return false, nil }
func (anyone) Exist(context.Context, []id.User) error                  { return nil }

// chatDeps returns what a real chat service needs, with the stage's log and a new database, which the caller closes.
func (s *stage) chatDeps(t *testing.T) chat.Deps {
	t.Helper()
	ctx := context.Background()
	db, err := sqldb.Open(ctx, sqltest.Place(t))
	must(t, err)
	ids, err := idgen.NewSnowflake(ctx, idgen.Fixed(clock.System{}, 0), idgen.SnowflakeConfig{})
	must(t, err)
	messages, err := idgen.NewMessages(ctx, idgen.Fixed(clock.System{}, 0), idgen.MessagesConfig{})
	must(t, err)
	return chat.Deps{Log: s.log, DB: db, IDs: ids, MessageIDs: messages, Relations: anyone{}, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}
}

// group is a group of a real chat service, in which user 1 writes.
type group struct {
	t            *testing.T
	service      *chat.Service
	conversation id.Conversation
	sent         uint64
}

func newGroup(t *testing.T, service *chat.Service, members ...uint64) *group {
	t.Helper()
	c, err := service.CreateGroup(context.Background(), 1, &chatv1.CreateGroupRequest{Title: "g", Members: members})
	must(t, err)
	return &group{t: t, service: service, conversation: c}
}

func (g *group) send(content *chatv1.Content) (seq uint64) {
	g.t.Helper()
	raw, err := proto.Marshal(content)
	must(g.t, err)
	g.sent++
	d := &message.Draft{Conversation: g.conversation, Sender: 1, Device: 1, ClientSeq: g.sent, Content: raw}
	must(g.t, g.service.Send(context.Background(), d))
	return d.Seq
}

// pushed returns the message that a delivery of the group has, nil if it has none.
func (g *group) pushed(d got) *chatv1.Message {
	g.t.Helper()
	switch d.Kind {
	case message.DeliverEntry:
		stored, m := message.Stored{Conversation: g.conversation, Seq: d.Seq}, &chatv1.Message{}
		must(g.t, stored.Entry.Decode(d.Body))
		must(g.t, proto.Unmarshal(stored.AppendProto(nil), m))
		return m
	case message.DeliverEvent:
		var event chatv1.Event
		must(g.t, proto.Unmarshal(d.Body, &event))
		return event.GetMessage()
	}
	return nil
}

func textOf(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }

func editOf(seq uint64, to string) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: textOf(to)}}}
}
