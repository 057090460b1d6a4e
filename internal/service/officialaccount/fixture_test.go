package officialaccount_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/officialaccount"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	shop    = id.User(1) // an official account
	rival   = id.User(2) // another one
	clerk   = id.User(3) // operates shop
	ann     = id.User(101)
	channel = 1000 // channels are at 1000 + the account
)

// fixture has the conversations, streams and users around the service: each conversation stores a client_msg_id once, as the log does. The
// tests call AnswerMessages, SendReplies and SendBroadcasts instead of Run.
type fixture struct {
	t *testing.T
	*officialaccount.Service
	db  *sqldb.DB
	bus *membus.Bus

	mu            sync.Mutex // guards all below
	nowMs         int64
	nextID        uint64
	followers     []id.User // of shop
	failPeer      map[id.Conversation]error
	endless       int   // calls on behalf of a conversation without a deadline
	failFollowers error // of FollowersAmong
	locales       map[id.User]string
	failSync      func(after message.Position, limit int) error
	tailsRead     int                          // by Tails
	failTails     id.User                      // whose stream Tails cannot read
	stream        []*chatv1.Event              // of shop
	log           map[id.Conversation][]stored // by conversation
	onSend        func(d *message.Draft) error // before a send
	afterSend     func(d *message.Draft) error
	announced     int // FriendshipChanged
}

type stored struct {
	sender   id.User
	clientID string
	content  []byte
}

func (w *fixture) Now() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return time.UnixMilli(w.nowMs) }
func (w *fixture) Next(context.Context) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nextID++
	return w.nextID, nil
}
func (w *fixture) CheckContent(_ id.User, content []byte) ([]byte, error) { return content, nil }
func (w *fixture) OpenDirect(_ context.Context, a, b id.User) (id.Conversation, error) {
	return direct(a, b), nil
}
func direct(a, b id.User) id.Conversation { return id.Conversation(min(a, b)*10_000 + max(a, b)) }
func (w *fixture) Peer(ctx context.Context, u id.User, c id.Conversation) (id.User, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteDeadline(ctx)
	if err := w.failPeer[c]; err != nil {
		return 0, false, err
	}
	if low := id.User(c / 10_000); low != u {
		return low, false, nil
	}
	return id.User(c % 10_000), false, nil
}
func (w *fixture) FindSent(_ context.Context, from, to id.User, clientMsgID string) (id.Conversation, uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := direct(from, to)
	at := slices.IndexFunc(w.log[c], func(e stored) bool { return e.sender == from && e.clientID == clientMsgID })
	return c, uint64(at + 1), nil
}
func (w *fixture) CreateGroupFor(_ context.Context, _ string, by id.Caller, _ *chatv1.CreateGroupRequest) (id.Conversation, error) {
	return id.Conversation(channel + by.User), nil
}
func (w *fixture) UpdateGroup(context.Context, id.Conversation, id.User, *chatv1.UpdateGroupRequest) (uint64, error) {
	return 0, nil
}
func (w *fixture) Channel(context.Context, id.Conversation) (message.ChannelInfo, error) {
	return message.ChannelInfo{}, nil
}
func (w *fixture) ChannelByHandle(_ context.Context, handle string) (id.Conversation, error) {
	if handle != "shop" {
		return 0, errs.New(errs.NotFound, "bad_link", "")
	}
	return id.Conversation(channel + shop), nil
}
func (w *fixture) FollowersAfter(_ context.Context, _ id.Conversation, after id.User, limit int) (page []id.User, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.followers {
		if u > after && len(page) < limit {
			page = append(page, u)
		}
	}
	return page, nil
}
func (w *fixture) FollowersAmong(_ context.Context, _ id.Conversation, users []id.User) (list []id.User, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failFollowers != nil {
		return nil, w.failFollowers
	}
	for _, u := range users {
		if slices.Contains(w.followers, u) {
			list = append(list, u)
		}
	}
	return list, nil
}
func (w *fixture) FriendshipChanged(context.Context, id.User, id.User) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.announced++
	return nil
}
func (w *fixture) Exist(context.Context, []id.User) error { return nil }
func (w *fixture) GetUser(_ context.Context, u id.User) (*accountv1.User, error) {
	return &accountv1.User{Id: uint64(u), DisplayName: fmt.Sprint("user ", u)}, nil
}
func (w *fixture) SetOfficial(context.Context, id.User, bool) (*accountv1.User, error) {
	return nil, nil
}
func (w *fixture) SettingsOf(_ context.Context, users []id.User) (map[id.User]*accountv1.Settings, error) {
	settings := map[id.User]*accountv1.Settings{}
	for _, u := range users {
		settings[u] = &accountv1.Settings{Locale: w.locales[u]}
	}
	return settings, nil
}

// noteDeadline counts a call that could wait for ever. The caller holds mu.
func (w *fixture) noteDeadline(ctx context.Context) {
	if _, ok := ctx.Deadline(); !ok {
		w.endless++
	}
}

func (w *fixture) Send(ctx context.Context, d *message.Draft) error {
	w.mu.Lock()
	w.noteDeadline(ctx)
	w.mu.Unlock()
	if w.onSend != nil {
		if err := w.onSend(d); err != nil {
			return err
		}
	}
	w.mu.Lock()
	entries := w.log[d.Conversation]
	at := slices.IndexFunc(entries, func(e stored) bool { return e.sender == d.Sender && e.clientID == d.ClientMsgID })
	if d.Duplicate = at >= 0; !d.Duplicate {
		at = len(entries)
		w.log[d.Conversation] = append(entries, stored{d.Sender, d.ClientMsgID, d.Content})
	}
	d.Seq = uint64(at + 1)
	same := bytes.Equal(w.log[d.Conversation][at].content, d.Content)
	w.mu.Unlock()
	if !same {
		return errs.New(errs.Conflict, "id_reuse", "")
	}
	if w.afterSend != nil {
		return w.afterSend(d)
	}
	return nil
}

func (w *fixture) Tails(_ context.Context, users []id.User) ([]message.Position, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tailsRead += len(users)
	if slices.Contains(users, w.failTails) {
		return nil, errBusy
	}
	tails := make([]message.Position, len(users))
	for i, u := range users {
		if u == shop {
			tails[i] = message.Position(len(w.stream))
		}
	}
	return tails, nil
}

func (w *fixture) AppendSync(ctx context.Context, b []byte, u id.User, after message.Position, limit int) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteDeadline(ctx)
	if w.failSync != nil {
		if err := w.failSync(after, limit); err != nil {
			return nil, err
		}
	}
	page := &chatv1.SyncResponse{Next: &chatv1.Position{Seq: uint64(after)}}
	if u == shop {
		page.Events = w.stream[after:min(len(w.stream), int(after)+limit)]
		page.Next.Seq = uint64(after) + uint64(len(page.Events))
		page.More = int(page.Next.Seq) < len(w.stream)
	}
	raw, err := proto.Marshal(page)
	return append(b, raw...), err
}

func open(t *testing.T) *fixture {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	w := &fixture{t: t, db: db, bus: membus.New(), nowMs: 1_800_000_000_000, locales: map[id.User]string{}, log: map[id.Conversation][]stored{}}
	t.Cleanup(func() { must(t, w.bus.Close()) })
	w.Service = w.another()
	for _, u := range []id.User{shop, rival} {
		_, err = w.Put(t.Context(), &accountv1.PutOfficialAccountRequest{User: uint64(u)})
		must(t, err)
	}
	_, err = w.SetOperator(t.Context(), shop, &chatv1.SetOfficialOperatorRequest{User: uint64(shop), Operator: uint64(clerk), Role: chatv1.OfficialRole_OFFICIAL_ROLE_OPERATOR})
	must(t, err)
	return w
}

// another is the service of one more node, or of the same one after a restart.
func (w *fixture) another() *officialaccount.Service { return w.node(nil) }

func (w *fixture) node(isCoordinator func() bool) *officialaccount.Service {
	w.t.Helper()
	s, err := officialaccount.New(w.t.Context(), officialaccount.Deps{DB: w.db, Chat: w, Streams: w, Accounts: w, IDs: w, Bus: w.bus, Clock: w, IsCoordinator: isCoordinator, Logger: slog.New(slog.DiscardHandler)},
		officialaccount.Config{BroadcastsPerSecond: 10})
	must(w.t, err)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }

func rule(match chatv1.KeywordRule_Match, reply string, keywords ...string) *chatv1.KeywordRule {
	return &chatv1.KeywordRule{Match: match, Keywords: keywords, Reply: text(reply)}
}

// write stores a message of a user to shop, also in the stream.
func (w *fixture) write(u id.User, body string) {
	w.t.Helper()
	c := direct(u, shop)
	w.mu.Lock()
	defer w.mu.Unlock()
	raw, err := proto.Marshal(text(body))
	must(w.t, err)
	w.log[c] = append(w.log[c], stored{u, fmt.Sprint("own ", len(w.log[c])), raw})
	w.stream = append(w.stream, &chatv1.Event{Body: &chatv1.Event_Message{Message: &chatv1.Message{Conversation: uint64(c), Seq: uint64(len(w.log[c])), Sender: uint64(u), Content: text(body)}}})
}

// answer makes the rounds of Run.
func (w *fixture) answer() {
	w.t.Helper()
	must(w.t, w.AnswerMessages(w.t.Context()))
	must(w.t, w.AnswerDeferred(w.t.Context()))
	must(w.t, w.SendReplies(w.t.Context()))
}

func (w *fixture) pass(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nowMs += by.Milliseconds()
}

// said returns what shop wrote to a user.
func (w *fixture) said(to id.User) (list []string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.log[direct(to, shop)] {
		if e.sender != shop {
			continue
		}
		c := &chatv1.Content{}
		must(w.t, proto.Unmarshal(e.content, c))
		switch k := c.Kind.(type) {
		case *chatv1.Content_Text:
			list = append(list, k.Text)
		case *chatv1.Content_Edit:
			list = append(list, fmt.Sprintf("edit %d %s", k.Edit.Target.Seq, k.Edit.Content.GetText()))
		case *chatv1.Content_Recall:
			list = append(list, fmt.Sprintf("recall %d", k.Recall.Target.Seq))
		}
	}
	return list
}

func (w *fixture) check(to id.User, want ...string) {
	w.t.Helper()
	if got := w.said(to); !slices.Equal(got, want) {
		w.t.Errorf("%d was told %q, want %q", to, got, want)
	}
}

func (w *fixture) replies(r *chatv1.OfficialReplies) {
	w.t.Helper()
	_, err := w.Update(w.t.Context(), clerk, &chatv1.UpdateOfficialAccountRequest{User: uint64(shop), Replies: r})
	must(w.t, err)
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}
