package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/bridge"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/fanout"
	"github.com/rialto-im/rialto/internal/service/serverevent"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

// nobody is a directory without connections.
type nobody struct{}

func (nobody) Locate(id.User) []string            { return nil }
func (nobody) Followers(id.Conversation) []string { return nil }

// fixture has bridges above real users, conversations, fan-out and server events: a group of alice, its owner, and bob, and the bridges irc and xmpp.
type fixture struct {
	t *testing.T
	*bridge.Service
	clock      *clocktest.Manual
	accounts   *account.Service
	chat       *chat.Service
	events     *serverevent.Service
	audit      *auditlog.Log
	alice, bob id.User
	irc, xmpp  id.Caller
	group      id.Conversation
	sends      int
	// anybodyOwns lets the bots of bridges own groups, as builds before 0.1.0 did.
	anybodyOwns bool
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *fixture {
	t.Helper()
	db, err := sqldb.Open(context.Background(), sqltest.Place(t))
	must(t, err)
	f := &fixture{t: t, clock: clocktest.NewManual()}
	var worker *fanout.Worker
	log := memlog.New(func(c []timeline.Commit) { worker.Committed(c) })
	logger := slog.New(slog.DiscardHandler)
	ids, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(f.clock, 1), idgen.SnowflakeConfig{})
	must(t, err)
	messages, err := idgen.NewMessages(t.Context(), idgen.Fixed(f.clock, 0), idgen.MessagesConfig{})
	must(t, err)
	outbox, err := job.NewOutbox(t.Context(), db, logger)
	must(t, err)
	f.accounts, err = account.New(t.Context(), account.Deps{DB: db, Outbox: outbox, IDs: ids, Clock: f.clock, Logger: logger, SingleNode: true,
		CheckText:     refuseCasino,
		AccessChanged: func(ctx context.Context, a, b id.User) error { return f.chat.AccessChanged(ctx, a, b) }},
		account.Config{WhoMayAdd: "everyone", PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(t, err)
	f.chat, err = chat.New(t.Context(), chat.Deps{Log: log, DB: db, IDs: ids, MessageIDs: messages, Relations: f.accounts, Clock: f.clock, Logger: logger, SingleNode: true, MayOwn: func(ctx context.Context, u id.User) (bool, error) {
		if f.anybodyOwns {
			return true, nil
		}
		return f.MayOwn(ctx, u)
	}}, chat.Config{})
	must(t, err)
	f.audit, err = auditlog.New(t.Context(), db, f.clock)
	must(t, err)
	f.Service, err = bridge.New(t.Context(), bridge.Deps{DB: db, Chat: f.chat, Accounts: f.accounts, Audit: f.audit, Clock: f.clock, Logger: logger}, bridge.Config{})
	must(t, err)
	f.events, err = serverevent.New(t.Context(), serverevent.Deps{DB: db, Log: log, Chat: f.chat, Accounts: f.accounts, Bridges: f.Bots, IDs: ids, Secret: []byte("of cursors"), Clock: f.clock, Logger: logger}, serverevent.Config{})
	must(t, err)
	b := membus.New()
	worker = fanout.New(fanout.Deps{Log: log, Chat: f.chat, Directory: nobody{}, Bus: b, Logger: logger, Node: "one", EventStreams: true, Posted: func(id.User) {}})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { must(t, worker.Run(ctx)) })
	for p := range timeline.Partitions {
		worker.Assigned(cluster.NewGrant(ctx, p, 1))
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		must(t, b.Close())
		must(t, log.Close())
		must(t, db.Close())
	})
	f.alice, f.bob = f.user("alice"), f.user("bob")
	f.irc, f.xmpp = f.bridge("irc"), f.bridge("xmpp")
	f.group, err = f.chat.CreateGroup(t.Context(), f.alice, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{uint64(f.bob)}})
	must(t, err)
	return f
}

// refuseCasino is a list of one word.
func refuseCasino(texts ...string) (string, error) {
	if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "casino") }) {
		return "", errs.New(errs.Denied, "refused_by_rules", "this text has a word that is not allowed here")
	}
	return "", nil
}

func (f *fixture) user(name string) id.User {
	f.t.Helper()
	u, err := f.accounts.PutUser(f.t.Context(), &accountv1.PutUserRequest{ExternalId: name, Handle: name})
	must(f.t, err)
	return id.User(u.Id)
}

// bridge registers a bridge, whose consumer has its name.
func (f *fixture) bridge(name string) id.Caller {
	f.t.Helper()
	key, err := f.accounts.CreateKey(f.t.Context(), account.NewKey{Name: name, Bot: f.user("bot_" + name), Bridge: name}, nil)
	must(f.t, err)
	c, err := f.accounts.Verify(f.t.Context(), key)
	must(f.t, err)
	_, err = f.PutBridge(f.t.Context(), c, &bridgev1.PutBridgeRequest{DisplayName: name})
	must(f.t, err)
	_, err = f.events.PutConsumer(f.t.Context(), c, &eventv1.PutEventConsumerRequest{Consumer: &eventv1.EventConsumer{Name: name}})
	must(f.t, err)
	return c
}

// link links the group, and has the other system accept that.
func (f *fixture) link(with id.Caller, address string) {
	f.t.Helper()
	_, err := f.LinkBridge(f.t.Context(), id.Caller{User: f.alice}, &bridgev1.LinkBridgeRequest{Conversation: uint64(f.group), Bridge: with.Bridge, Address: address})
	must(f.t, err)
	_, err = f.ReportBridgeLink(f.t.Context(), with, &bridgev1.ReportBridgeLinkRequest{Conversation: uint64(f.group), State: bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_ACTIVE})
	must(f.t, err)
}

// say sends a text of a user here, and returns its seq.
func (f *fixture) say(u id.User, text string) uint64 {
	f.t.Helper()
	f.sends++
	d := &message.Draft{Conversation: f.group, Sender: u, ClientMsgID: fmt.Sprint("m", f.sends), Content: message.AppendText(nil, text)}
	must(f.t, f.chat.Send(f.t.Context(), d))
	return d.Seq
}

func (f *fixture) text(external, address, text string) *bridgev1.SendBridgedMessageRequest {
	return &bridgev1.SendBridgedMessageRequest{Conversation: uint64(f.group), ExternalId: external, Sender: &bridgev1.BridgedSender{Address: address}, Entry: &bridgev1.SendBridgedMessageRequest_Text{Text: text}}
}

func (f *fixture) edit(external, target, text string) *bridgev1.SendBridgedMessageRequest {
	return &bridgev1.SendBridgedMessageRequest{Conversation: uint64(f.group), ExternalId: external, Entry: &bridgev1.SendBridgedMessageRequest_Edit{Edit: &bridgev1.BridgedEdit{Target: target, Text: text}}}
}

func (f *fixture) recall(external, target string) *bridgev1.SendBridgedMessageRequest {
	return &bridgev1.SendBridgedMessageRequest{Conversation: uint64(f.group), ExternalId: external, Entry: &bridgev1.SendBridgedMessageRequest_Recall{Recall: &bridgev1.BridgedRecall{Target: target}}}
}

// receive stores what came over a bridge, and returns its answer.
func (f *fixture) receive(by id.Caller, r *bridgev1.SendBridgedMessageRequest) *bridgev1.SendBridgedMessageResponse {
	f.t.Helper()
	res, err := f.SendBridgedMessage(f.t.Context(), by, r)
	must(f.t, err)
	return res
}

func (f *fixture) delivered(by id.Caller, seq uint64, external string) {
	f.t.Helper()
	_, err := f.ReportDelivery(f.t.Context(), by, &bridgev1.ReportDeliveryRequest{Conversation: uint64(f.group), Seq: seq, ExternalId: external})
	must(f.t, err)
}

// at returns a message as bob sees it.
func (f *fixture) at(seq uint64) *chatv1.Message {
	f.t.Helper()
	res, err := f.chat.GetMessages(f.t.Context(), f.bob, &chatv1.GetMessagesRequest{Conversation: uint64(f.group), Seqs: []uint64{seq}})
	must(f.t, err)
	if len(res.Messages) != 1 {
		f.t.Fatalf("there are %d messages at %d", len(res.Messages), seq)
	}
	return res.Messages[0]
}

// tail is the seq of the newest entry.
func (f *fixture) tail() uint64 {
	f.t.Helper()
	res, err := f.chat.History(f.t.Context(), f.bob, &chatv1.HistoryRequest{Conversation: uint64(f.group)})
	must(f.t, err)
	return res.Messages[len(res.Messages)-1].Seq
}

// events of messages, edits and recalls that a bridge receives until one of the entry at seq: kind and seq, such as "MESSAGE 4".
func (f *fixture) received(by id.Caller, seq uint64) (list []string) {
	f.t.Helper()
	eventually.True(f.t, fmt.Sprint(by.Bridge, " receives entry ", seq), func() bool {
		page, err := f.events.Pull(f.t.Context(), by, &eventv1.PullEventsRequest{Consumer: by.Bridge, Limit: 500})
		must(f.t, err)
		list = nil
		found := false
		for _, e := range page.Events {
			switch e.Kind {
			case eventv1.EventKind_EVENT_KIND_MESSAGE, eventv1.EventKind_EVENT_KIND_EDIT, eventv1.EventKind_EVENT_KIND_RECALL, eventv1.EventKind_EVENT_KIND_BRIDGE_REPORT:
				list = append(list, fmt.Sprint(e.Kind.String()[len("EVENT_KIND_"):], " ", e.Seq))
			}
			found = found || e.Seq == seq
		}
		return found
	})
	return list
}

// groupOf makes a group of a user.
func (f *fixture) groupOf(u id.User, title string) id.Conversation {
	f.t.Helper()
	c, err := f.chat.CreateGroup(f.t.Context(), u, &chatv1.CreateGroupRequest{Title: title})
	must(f.t, err)
	return c
}

// chatInvite makes a user an admin of a group of alice.
func (f *fixture) chatInvite(c id.Conversation, u id.User) error {
	f.t.Helper()
	if _, err := f.chat.Invite(f.t.Context(), c, f.alice, []uint64{uint64(u)}); err != nil {
		return err
	}
	return second(f.chat.SetRole(f.t.Context(), c, f.alice, u, chatv1.Role_ROLE_ADMIN))
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}
