package streamedmessage_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Users of the tests' group: its owner, its members, and a bot, which is a member.
var ann, bob, bot = id.Caller{User: 1, Device: 10}, id.Caller{User: 2, Device: 20}, id.Caller{User: 9, Device: 90}

// nodes share a log, a database and a bus. The tests call Push, Renew and Sweep in place of Run.
type nodes struct {
	t     testing.TB
	log   timeline.Log
	db    *sqldb.DB
	bus   bus.Bus
	nowMs atomic.Int64
	ids   atomic.Uint64
	list  []*node
	group id.Conversation
	rules chat.Config
}

// node is one of them.
type node struct {
	*streamedmessage.Service
	chat *chat.Service
	name string
	dead atomic.Bool // as the others see it

	failOn atomic.Bool // OnStreamed fails, as if the process stopped there

	mu     sync.Mutex // guards pushed
	pushed map[id.User][]*chatv1.StreamedText
}

func (n *nodes) Now() time.Time                       { return time.UnixMilli(n.nowMs.Load()) }
func (n *nodes) Next(context.Context) (uint64, error) { return n.ids.Add(1), nil }
func (n *nodes) pass(d time.Duration)                 { n.nowMs.Add(d.Milliseconds()) }

func (n *nodes) Blocked(context.Context, id.User, id.User) (bool, error) { return false, nil }
func (n *nodes) Friends(context.Context, id.User, id.User) (bool, error) { return true, nil }
func (n *nodes) Exist(context.Context, []id.User) error                  { return nil }

func newNodes(t testing.TB, count int, config streamedmessage.Config) *nodes {
	t.Helper()
	return newNodesWith(t, count, config, chat.Config{})
}

func newNodesWith(t testing.TB, count int, config streamedmessage.Config, rules chat.Config) *nodes {
	t.Helper()
	n := &nodes{t: t, log: memlog.New(nil), bus: membus.New(), rules: rules}
	n.nowMs.Store(1_800_000_000_000)
	db, err := sqldb.Open(context.Background(), sqltest.Place(t))
	n.must(err)
	n.db = db
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	messages, err := idgen.NewMessages(context.Background(), idgen.Fixed(n, 0), idgen.MessagesConfig{})
	n.must(err)
	for i := range count {
		n.add(fmt.Sprint("node-", i), messages, count == 1, config)
	}
	n.group, err = n.list[0].chat.CreateGroup(context.Background(), ann.User, &chatv1.CreateGroupRequest{Title: "group", Members: []uint64{uint64(bob.User), uint64(bot.User)}})
	n.must(err)
	return n
}

func (n *nodes) add(name string, messages *idgen.Messages, alone bool, config streamedmessage.Config) {
	logger := slog.New(slog.DiscardHandler)
	o := &node{name: name, pushed: map[id.User][]*chatv1.StreamedText{}}
	onStreamed := func(ctx context.Context, tx *sql.Tx, change message.StreamedChange) (bool, error) {
		if o.failOn.Load() {
			return false, errs.New(errs.Unavailable, "stopped", "")
		}
		return o.OnStreamed(ctx, tx, change)
	}
	var err error
	o.chat, err = chat.New(context.Background(), chat.Deps{Log: n.log, DB: n.db, IDs: n, MessageIDs: messages, Relations: n, Clock: n, Logger: logger, SingleNode: alone, OnStreamed: onStreamed}, n.rules)
	n.must(err)
	deps := streamedmessage.Deps{DB: n.db, Chat: o.chat, Bus: n.bus, Node: name, Send: o.send, Clock: n, Logger: logger}
	if !alone {
		deps.IsAlive = func(name string) bool {
			for _, other := range n.list {
				if other.name == name {
					return !other.dead.Load()
				}
			}
			return false
		}
	}
	o.Service, err = streamedmessage.New(context.Background(), deps, config)
	n.must(err)
	stop, err := n.bus.Respond(bus.NodeSubject(name, "streamed"), o.Respond())
	n.must(err)
	n.t.Cleanup(stop)
	n.list = append(n.list, o)
}

// send records what users are pushed.
func (o *node) send(users []id.User, frame []byte) {
	var f gatewayv1.ServerFrame
	if proto.Unmarshal(frame, &f) != nil {
		panic("not a frame")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, u := range users {
		o.pushed[u] = append(o.pushed[u], f.Streamed...)
	}
}

// pushes returns and forgets what a user was pushed.
func (o *node) pushes(u id.User) []*chatv1.StreamedText {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.pushed[u]
	delete(o.pushed, u)
	return list
}

func (n *nodes) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// start starts a message of the bot, and returns its seq.
func (n *nodes) start(o *node, clientMsgID string) uint64 {
	n.t.Helper()
	a, err := o.Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(n.group), ClientMsgId: clientMsgID})
	n.must(err)
	return a.Seq
}

// write adds a part of the bot's, and returns the result.
func (n *nodes) write(o *node, seq uint64, offset int, text string) *chatv1.WriteResult {
	n.t.Helper()
	return n.writePart(o, bot, &chatv1.StreamedPart{Conversation: uint64(n.group), Seq: seq, Offset: uint32(offset), Text: text})
}

func (n *nodes) writePart(o *node, by id.Caller, p *chatv1.StreamedPart) *chatv1.WriteResult {
	n.t.Helper()
	a, err := o.Write(context.Background(), by, &chatv1.WriteStreamedMessagesRequest{Parts: []*chatv1.StreamedPart{p}})
	n.must(err)
	return a.Results[0]
}

// push lets time pass, and pushes.
func (n *nodes) push(o *node) {
	n.pass(time.Second)
	o.Push(context.Background())
}

func (n *nodes) end(o *node, seq uint64, text string) (*chatv1.EndStreamedMessageResponse, error) {
	return o.End(context.Background(), bot, &chatv1.EndStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq, Content: textOf(text)})
}

func textOf(text string) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}
}

func (n *nodes) stop(o *node, by id.Caller, seq uint64) (*chatv1.EndStreamedMessageResponse, error) {
	return o.Stop(context.Background(), by, &chatv1.StopStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq})
}

// read returns a message as a user reads it.
func (n *nodes) read(o *node, u id.Caller, seq uint64) *chatv1.Message {
	n.t.Helper()
	a, err := o.chat.GetMessages(context.Background(), u.User, &chatv1.GetMessagesRequest{Conversation: uint64(n.group), Seqs: []uint64{seq}})
	n.must(err)
	if len(a.Messages) != 1 {
		n.t.Fatalf("message %d: %v", seq, a)
	}
	return a.Messages[0]
}

// ends returns the ends that the log has of a message.
func (n *nodes) ends(seq uint64) (list []*chatv1.Content) {
	n.t.Helper()
	entries, err := n.log.Read(context.Background(), timeline.Key{Kind: timeline.Conversation, ID: uint64(n.group)}, 0, 1<<20)
	n.must(err)
	for _, e := range entries {
		var stored message.Entry
		var c chatv1.Content
		n.must(stored.Decode(e.Payload))
		n.must(proto.Unmarshal(stored.Content, &c))
		if c.GetEdit().GetEnds() && stored.Updates == seq {
			list = append(list, c.GetEdit().Content)
		}
	}
	return list
}

// rows counts the messages that are being written.
func (n *nodes) rows() (count int) {
	n.t.Helper()
	n.must(n.db.Read().QueryRowContext(context.Background(), `SELECT count(*) FROM streamed_messages`).Scan(&count))
	return count
}

// is checks a message, or an end, of which the text is not whole.
func (n *nodes) isBrokenOff(c *chatv1.Content, text string, cause chatv1.BrokenOff_Cause) {
	n.t.Helper()
	if c.GetText() != text || c.GetBrokenOff().GetCause() != cause || c.GetBrokenOff() == nil {
		n.t.Errorf("the message is %v, not %q, broken off because of %v", c, text, cause)
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}
