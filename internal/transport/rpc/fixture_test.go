package rpc_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/platform/directory"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/bridge"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/chatroom"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/detail"
	"github.com/rialto-im/rialto/internal/service/engagement"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/helpdesk"
	"github.com/rialto-im/rialto/internal/service/inbox"
	"github.com/rialto-im/rialto/internal/service/linkpreview"
	"github.com/rialto-im/rialto/internal/service/media"
	"github.com/rialto-im/rialto/internal/service/messagetrace"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	"github.com/rialto-im/rialto/internal/service/moderation"
	"github.com/rialto-im/rialto/internal/service/notification"
	"github.com/rialto-im/rialto/internal/service/officialaccount"
	"github.com/rialto-im/rialto/internal/service/organization"
	"github.com/rialto-im/rialto/internal/service/presence"
	"github.com/rialto-im/rialto/internal/service/push"
	"github.com/rialto-im/rialto/internal/service/ranking"
	"github.com/rialto-im/rialto/internal/service/schedule"
	"github.com/rialto-im/rialto/internal/service/search"
	"github.com/rialto-im/rialto/internal/service/serverevent"
	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	"github.com/rialto-im/rialto/internal/service/video"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// manualClock is advanced by the test.
type manualClock struct{ ms atomic.Int64 }

func (c *manualClock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// harness is an rpc server with all its services.
type harness struct {
	*rpc.Server
	deps          rpc.Deps
	t             testing.TB
	clock         *manualClock
	accounts      *account.Service
	chat          *chat.Service
	organizations *organization.Service
	inbox         *inbox.Service
	log           timeline.Log
	db            *sqldb.DB
	media         *media.Service
	feed          *feed.Service
	comments      *comment.Service
	engagement    *engagement.Service
	moderation    *moderation.Service
	key           string // API key of a business server
	sessions      map[string]person
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	dir := t.TempDir()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	log := memlog.New(nil)
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	h := &harness{t: t, clock: &manualClock{}, sessions: map[string]person{}}
	h.clock.ms.Store(1_800_000_000_000)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	outbox, err := job.NewOutbox(t.Context(), db, logger)
	must(err)
	ids, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(h.clock, 1), idgen.SnowflakeConfig{})
	must(err)
	messages, err := idgen.NewMessages(t.Context(), idgen.Fixed(h.clock, 0), idgen.MessagesConfig{})
	must(err)
	h.accounts, err = account.New(t.Context(), account.Deps{DB: db, Outbox: outbox, IDs: ids, Clock: h.clock, Logger: logger,
		CheckBan: func(ctx context.Context, q sqldb.Reader, u id.User, device id.Device) error {
			return h.moderation.CheckBan(ctx, q, u, device)
		},
		AccessChanged: func(ctx context.Context, a, b id.User) error { return h.chat.AccessChanged(ctx, a, b) },
		KeepPicture: func(ctx context.Context, tx *sql.Tx, by id.User, n id.Upload) error {
			return h.media.KeepPictureWith(ctx, tx, by, n)
		}}, account.Config{WhoMayAdd: "everyone", Hashes: 32, PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(err)
	files, err := diskblob.Open(filepath.Join(dir, "blobs"))
	must(err)
	h.media, err = media.New(t.Context(), media.Deps{DB: db, Store: files, IDs: ids, Message: h.message, Avatar: h.accounts.Avatar,
		GroupPicture: func(ctx context.Context, by id.User, c id.Conversation) (id.Upload, error) {
			return h.chat.Picture(ctx, by, c)
		}, PostNames: func(ctx context.Context, by id.User, post uint64, n id.Upload) (bool, error) {
			return h.feed.NamesFile(ctx, by, post, n)
		}, CommentNames: func(ctx context.Context, by id.User, comment uint64, n id.Upload) (bool, error) {
			return h.comments.NamesFile(ctx, by, comment, n)
		}, PostShows: func(ctx context.Context, post uint64, n id.Upload) (bool, error) {
			return h.feed.ShowsFile(ctx, post, n)
		}, CommentShows: func(ctx context.Context, comment uint64, n id.Upload) (bool, error) {
			shows, _, err := h.comments.ShowsFile(ctx, comment, n)
			return shows, err
		}, EndedSessions: h.accounts.EndedSessions, Secret: []byte("of URLs"), Clock: h.clock, Logger: logger}, media.Config{})
	must(err)
	h.organizations, err = organization.New(t.Context(), organization.Deps{DB: db, IDs: ids, Accounts: h.accounts, Groups: groupsOf{h}, Bus: membus.New(), Node: "node-1", Clock: h.clock, Logger: logger})
	must(err)
	h.chat, err = chat.New(t.Context(), chat.Deps{Log: log, DB: db, IDs: ids, MessageIDs: messages, Relations: h.accounts, Organizations: h.organizations, CheckMembers: h.organizations.CheckMembers,
		CheckAdd: func(ctx context.Context, by id.User, users []id.User) (refused, invited []id.User, refund func(), err error) {
			refused, invited, _, err = h.accounts.MayAdd(ctx, by, users)
			return refused, invited, func() {}, err
		},
		Clock: h.clock, Logger: logger, CheckUploads: h.media.Use, CheckPicture: h.media.CheckPicture, KeepPicture: h.media.KeepPicture, OnExpired: h.media.Expired}, chat.Config{})
	must(err)
	no := func(context.Context, id.User) (bool, error) { return false, nil }
	h.log, h.db = log, db
	seen, err := presence.New(t.Context(), presence.Deps{DB: db, Directory: directory.New(directory.Deps{Clock: h.clock, Logger: logger, Node: "node-1"}, directory.Config{}), FriendsAmong: h.accounts.FriendsAmong, BlockedAmong: h.accounts.BlockedAmong, SettingsOf: h.accounts.SettingsOf, Clock: h.clock, Logger: logger})
	must(err)
	h.inbox, err = inbox.New(t.Context(), inbox.Deps{Log: log, DB: db, Outbox: outbox, Conversations: h.chat, HidesRead: no, SeesPresence: seen.Sees, DeviceTypes: h.accounts.DeviceTypes, Clock: h.clock, Logger: logger}, inbox.Config{})
	must(err)
	streamed, err := streamedmessage.New(t.Context(), streamedmessage.Deps{DB: db, Chat: h.chat, Node: "node-1", Clock: h.clock, Logger: logger}, streamedmessage.Config{})
	if err != nil {
		t.Fatal(err)
	}
	scheduled, err := schedule.New(t.Context(), schedule.Deps{DB: db, Chat: h.chat, IDs: ids, Clock: h.clock, Logger: logger})
	must(err)
	service, err := idservice.NewService(t.Context(), idservice.ServiceDeps{DB: db, Leases: idgen.Fixed(h.clock, 2), Clock: h.clock, Logger: logger}, idservice.ServiceConfig{Node: "node-1", Exclusive: true})
	must(err)
	previews, err := linkpreview.New(linkpreview.Deps{IsOff: no, Clock: h.clock, Logger: logger}, linkpreview.Config{Off: true}) // tests read no pages
	must(err)
	rooms, err := chatroom.New(t.Context(), chatroom.Deps{DB: db, IDs: ids, Accounts: h.accounts, Bus: membus.New(), Node: "node-1", Partition: func(uint64) int { return 0 },
		Owner: func(int) string { return "node-1" }, Flush: func() {}, Clock: h.clock, Logger: logger})
	must(err)
	h.serveRooms(rooms)
	officials, err := officialaccount.New(t.Context(), officialaccount.Deps{DB: db, Chat: h.chat, Streams: h.inbox, Accounts: h.accounts, IDs: ids, Clock: h.clock, Logger: logger}, officialaccount.Config{})
	must(err)
	desks, err := helpdesk.New(t.Context(), helpdesk.Deps{DB: db, Outbox: outbox, Accounts: h.accounts, IDs: ids, Clock: h.clock, Logger: logger})
	must(err)
	jobs, err := job.New(t.Context(), job.Deps{DB: db, Clock: h.clock, Logger: logger, Node: "node-1"}, job.Config{})
	must(err)
	switches, err := runtimeswitch.New(t.Context(), runtimeswitch.Deps{DB: db, Clock: h.clock, Logger: logger})
	must(err)
	h.feed, err = feed.New(t.Context(), feed.Deps{DB: db, Log: log, Switches: switches, Graph: h.accounts, Jobs: jobs, IDs: ids, KeepPicture: h.media.KeepPictureWith, Clock: h.clock, Logger: logger}, feed.Config{PostsPerDay: 10_000})
	must(err)
	h.comments, err = comment.New(t.Context(), comment.Deps{Videos: noVideos{}, DB: db, Graph: h.accounts, Subjects: map[commentv1.SubjectKind]comment.Subjects{commentv1.SubjectKind_SUBJECT_KIND_POST: h.feed}, IDs: ids, KeepPicture: h.media.KeepPictureWith, ReadOnly: h.feed.CommentsReadOnly, Clock: h.clock})
	must(err)
	counters, err := counter.New(t.Context(), counter.Deps{DB: db, Clock: h.clock, Logger: logger, OnChange: func(ctx context.Context, tx *sql.Tx, changes []counter.Change) error {
		return h.engagement.Changed(ctx, tx, changes)
	}})
	must(err)
	h.engagement, err = engagement.New(t.Context(), engagement.Deps{DB: db, Counters: counters, Posts: h.feed, Comments: h.comments, Graph: h.accounts, LikesOff: h.feed.LikesOff, Clock: h.clock, Logger: logger})
	must(err)
	details := detail.New(detail.Deps{DB: db, Counters: counters, Comments: h.comments.CountOfPosts, Reposts: h.feed.CountReposts, Post: h.feed.GetPost, Logger: logger})
	told, err := notification.New(t.Context(), notification.Deps{DB: db, Graph: h.accounts, Posts: h.feed, Comments: h.comments, Jobs: jobs, Clock: h.clock, Logger: logger})
	must(err)
	pushes, err := push.New(t.Context(), push.Deps{DB: db, Inbox: h.inbox, Chat: h.chat, Accounts: h.accounts, Jobs: jobs, Secret: make([]byte, 32), Clock: h.clock, Logger: logger}, push.Config{})
	must(err)
	found, err := search.New(t.Context(), search.Deps{DB: db, Log: log, Chat: h.chat, Accounts: h.accounts, Posts: h.feed, Open: func(context.Context, string) (searchindex.Index, error) { return nil, errors.New("it is not opened") }, Clock: h.clock, Logger: logger}, search.Config{})
	must(err)
	shown, err := video.New(t.Context(), video.Deps{DB: db, Store: files, Uploads: h.media, Posts: h.feed, Jobs: jobs, IDs: ids, Dir: filepath.Join(dir, "video"), Clock: h.clock, Logger: logger}, video.Config{})
	must(err)
	ranked, err := ranking.New(t.Context(), ranking.Deps{DB: db, Counters: counters, Posts: h.feed, Comments: h.comments, Engagement: h.engagement, Graph: h.accounts, Numbers: switches, Clock: h.clock, Logger: logger})
	must(err)
	bridges, err := bridge.New(t.Context(), bridge.Deps{DB: db, Chat: h.chat, Accounts: h.accounts, Clock: h.clock, Logger: logger}, bridge.Config{})
	must(err)
	events, err := serverevent.New(t.Context(), serverevent.Deps{Bridges: bridges.Bots, DB: db, Log: log, Chat: h.chat, Accounts: h.accounts, IDs: ids, Clock: h.clock, Logger: logger}, serverevent.Config{})
	must(err)
	_, err = events.PutConsumer(t.Context(), id.Caller{Server: true}, &eventv1.PutEventConsumerRequest{Consumer: &eventv1.EventConsumer{Name: "matrix"}})
	must(err)
	transactions, err := messagetransaction.New(t.Context(), messagetransaction.Deps{DB: db, Chat: h.chat, Jobs: jobs, IDs: ids, Clock: h.clock, Logger: logger}, messagetransaction.Config{})
	must(err)
	h.moderation = h.newModeration(moderation.Deps{IDs: ids, Logger: logger})
	h.deps = rpc.Deps{Operations: h.newOperations(jobs, shown, logger), Interchange: h.newInterchange(h.media, shown), Privacy: h.newPrivacy(jobs, ids, files, logger), Moderation: h.moderation, Transactions: transactions, Bridges: bridges, Discovery: newDiscovery(), Ranking: ranked, Videos: shown, Feed: h.feed, Comments: h.comments, Engagement: h.engagement, Details: details, Notifications: told, Pushes: pushes, Search: found, ServerEvents: events, MessageTraces: messagetrace.New(messagetrace.Deps{}), Officials: officials, HelpDesks: desks, Accounts: h.accounts, Chat: h.chat, Inbox: h.inbox, Presence: seen, Schedule: scheduled, Streamed: streamed, Rooms: rooms, Organizations: h.organizations, Media: h.media, Previews: previews, IDs: service, Clock: h.clock, Logger: logger}
	h.Server = rpc.New(h.deps)
	h.key, err = h.accounts.CreateKey(t.Context(), account.NewKey{Name: "shop"}, nil)
	must(err)
	return h
}

// groupsOf are the groups of a harness, whose chat is made after the organizations.
type groupsOf struct{ h *harness }

func (g groupsOf) CreateGroupFor(ctx context.Context, service string, by id.Caller, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	return g.h.chat.CreateGroupFor(ctx, service, by, r)
}

func (g groupsOf) ReplaceOwner(ctx context.Context, c id.Conversation, successor id.User, leaves func(id.User) (bool, error)) error {
	return g.h.chat.ReplaceOwner(ctx, c, successor, leaves)
}

func (g groupsOf) AlignMembers(ctx context.Context, c id.Conversation, decide func([]id.User) []id.User) error {
	return g.h.chat.AlignMembers(ctx, c, decide)
}

func (g groupsOf) DissolvedAmong(ctx context.Context, groups []id.Conversation) ([]id.Conversation, error) {
	return g.h.chat.DissolvedAmong(ctx, groups)
}

// serveRooms runs the service of rooms until the test ends.
func (h *harness) serveRooms(rooms *chatroom.Service) {
	ctx, cancel := context.WithCancel(context.Background())
	rooms.Assigned(cluster.NewGrant(ctx, 0, 1))
	done := make(chan error, 1)
	go func() { done <- rooms.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
	eventually.True(h.t, "the service of rooms answers", rooms.Ready)
}

// message returns a message that a user may read, as the site plan does.
func (h *harness) message(ctx context.Context, u id.User, c id.Conversation, seq uint64) (*chatv1.Message, error) {
	page, err := h.chat.History(ctx, u, &chatv1.HistoryRequest{Conversation: uint64(c), Before: seq + 1, Limit: 1})
	if err == nil && (len(page.Messages) != 1 || page.Messages[0].Seq != seq) {
		err = errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
	}
	if err != nil {
		return nil, err
	}
	return page.Messages[0], nil
}

// person is a user with one session.
type person struct{ *accountv1.Session }

func (p person) caller() id.Caller {
	return id.Caller{User: id.User(p.User), Device: id.Device(p.Device), Session: id.Session(p.Session.Session)}
}

func (p person) user() id.User { return id.User(p.User) }

// person creates a user without a password, whose hash would take time.
func (h *harness) person(name string) person {
	h.t.Helper()
	h.clock.ms.Add(1)
	if _, err := h.accounts.PutUser(h.t.Context(), &accountv1.PutUserRequest{ExternalId: name, Handle: name}); err != nil {
		h.t.Fatal(err)
	}
	return h.session(name)
}

func (h *harness) session(name string) person {
	h.t.Helper()
	s, err := h.accounts.CreateSession(h.t.Context(), &accountv1.CreateSessionRequest{ExternalId: name, Client: &accountv1.Client{Type: "test"}})
	if err != nil {
		h.t.Fatal(err)
	}
	return person{s}
}

// sessionFor returns the session for a call: the same for all calls of a person, except those that may end it.
func (h *harness) sessionFor(call, name string) person {
	h.t.Helper()
	if call == accounts+"Logout" {
		return h.session(name)
	}
	if _, ok := h.sessions[name]; !ok {
		h.sessions[name] = h.session(name)
	}
	return h.sessions[name]
}

// pixel is an image.
func pixel(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// upload creates a complete upload.
func (h *harness) upload(p person, file []byte) uint64 {
	h.t.Helper()
	u, err := h.media.CreateUpload(h.t.Context(), p.user(), &chatv1.CreateUploadRequest{Name: "x.png", Size: uint64(len(file))})
	if err != nil {
		h.t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.media.Handler().ServeHTTP(w, httptest.NewRequestWithContext(h.t.Context(), http.MethodPut, u.Url, bytes.NewReader(file)))
	if w.Code != http.StatusNoContent {
		h.t.Fatalf("status %d, want 204: %s", w.Code, w.Body)
	}
	if _, err := h.media.CompleteUpload(h.t.Context(), p.user(), id.Upload(u.Upload)); err != nil {
		h.t.Fatal(err)
	}
	return u.Upload
}

// failure is the body of a failed call.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details []struct {
		Type  string `json:"type"`
		Value string `json:"value"`
		Debug struct {
			Code, Reason, Message string
			RetryMs               int `json:"retryMs"`
		} `json:"debug"`
	} `json:"details"`
}

// answer of a call.
type answer struct {
	status int
	header http.Header
	body   string
}

// reason returns the reason of a refusal; "" for an answer without one.
func (a answer) reason() string {
	var f failure
	if json.Unmarshal([]byte(a.body), &f) != nil || len(f.Details) != 1 || a.status == http.StatusOK {
		return ""
	}
	return f.Details[0].Debug.Reason
}

// post sends a request; headers are "Name: value".
func (h *harness) post(path, contentType string, body []byte, headers ...string) answer {
	h.t.Helper()
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, path, bytes.NewReader(body))
	r.Host = "localhost" // where passkeys work without a setting
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for _, v := range headers {
		name, value, _ := strings.Cut(v, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}

func bearer(token string) string { return "Authorization: Bearer " + token }

// call makes a call with a request and with credentials as headers.
func (h *harness) call(method string, m proto.Message, headers ...string) answer {
	h.t.Helper()
	body, err := protojson.Marshal(m)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.post(method, "application/json", body, headers...)
}
