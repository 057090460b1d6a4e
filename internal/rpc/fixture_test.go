package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
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

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/blob/diskblob"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/inbox"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/media"
	"github.com/rialto-im/rialto/internal/presence"
	"github.com/rialto-im/rialto/internal/rpc"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/timeline/memlog"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// clockByHand moves when told.
type clockByHand struct{ ms atomic.Int64 }

func (c *clockByHand) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// conversations is the chat room as the inbox room sees it.
type conversations struct{ *chat.Service }

func (c conversations) Of(ctx context.Context, u id.User) (list []inbox.Membership, err error) {
	of, err := c.Service.Of(ctx, u)
	for _, m := range of {
		list = append(list, inbox.Membership(m))
	}
	return list, err
}

// house is the door with all rooms behind it.
type house struct {
	*rpc.Server
	deps     rpc.Deps
	t        testing.TB
	clock    *clockByHand
	accounts *account.Service
	chat     *chat.Service
	media    *media.Service
	key      string // of a business server
	sessions map[string]person
}

func newHouse(t testing.TB) *house {
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
	h := &house{t: t, clock: &clockByHand{}, sessions: map[string]person{}}
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
		AccessChanged: func(ctx context.Context, a, b id.User) error { return h.chat.AccessChanged(ctx, a, b) }}, account.Config{})
	must(err)
	files, err := diskblob.Open(filepath.Join(dir, "blobs"))
	must(err)
	h.media, err = media.New(t.Context(), media.Deps{DB: db, Store: files, IDs: ids, Message: h.message, Secret: []byte("of URLs"), Clock: h.clock, Logger: logger}, media.Config{})
	must(err)
	h.chat, err = chat.New(t.Context(), chat.Deps{Log: log, DB: db, IDs: ids, MessageIDs: messages, Relations: h.accounts,
		Clock: h.clock, Logger: logger, Uploads: h.media.Use, Expired: h.media.Expired}, chat.Config{})
	must(err)
	no := func(context.Context, id.User) (bool, error) { return false, nil }
	in, err := inbox.New(t.Context(), inbox.Deps{Log: log, DB: db, Outbox: outbox, Conversations: conversations{h.chat}, HidesRead: no, Clock: h.clock, Logger: logger}, inbox.Config{})
	must(err)
	seen, err := presence.New(t.Context(), presence.Deps{DB: db, Friends: h.accounts.Friends, Hides: no, Clock: h.clock, Logger: logger, Node: "node-1"}, presence.Config{})
	must(err)
	service, err := idgen.NewService(t.Context(), idgen.ServiceDeps{DB: db, Leases: idgen.Fixed(h.clock, 2), Clock: h.clock, Logger: logger}, idgen.ServiceConfig{Node: "node-1", Own: true})
	must(err)
	h.deps = rpc.Deps{Accounts: h.accounts, Chat: h.chat, Inbox: in, Presence: seen, Media: h.media, IDs: service, Clock: h.clock, Logger: logger}
	h.Server = rpc.New(h.deps)
	h.key, err = h.accounts.CreateKey(t.Context(), "shop")
	must(err)
	return h
}

// message gives a message that a user may read, as the site plan does.
func (h *house) message(ctx context.Context, u id.User, c id.Conversation, seq uint64) (*chatv1.Message, error) {
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

// person makes a user without a password, which would take its time.
func (h *house) person(name string) person {
	h.t.Helper()
	h.clock.ms.Add(1)
	if _, err := h.accounts.PutUser(h.t.Context(), &accountv1.PutUserRequest{ExternalId: name, Handle: name}); err != nil {
		h.t.Fatal(err)
	}
	return h.session(name)
}

func (h *house) session(name string) person {
	h.t.Helper()
	s, err := h.accounts.CreateSession(h.t.Context(), &accountv1.CreateSessionRequest{ExternalId: name, Client: &accountv1.Client{Type: "test"}})
	if err != nil {
		h.t.Fatal(err)
	}
	return person{s}
}

// sessionFor a call: one for all calls of a person, but where it may end.
func (h *house) sessionFor(call, name string) person {
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

// upload makes a complete upload.
func (h *house) upload(p person, file []byte) uint64 {
	h.t.Helper()
	u, err := h.media.CreateUpload(h.t.Context(), p.user(), &chatv1.CreateUploadRequest{Name: "x.png", Size: uint64(len(file))})
	if err != nil {
		h.t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.media.Handler().ServeHTTP(w, httptest.NewRequestWithContext(h.t.Context(), http.MethodPut, u.Url, bytes.NewReader(file)))
	if w.Code != http.StatusNoContent {
		h.t.Fatal(w.Body)
	}
	if _, err := h.media.CompleteUpload(h.t.Context(), p.user(), id.Upload(u.Upload)); err != nil {
		h.t.Fatal(err)
	}
	return u.Upload
}

// failure is what the body of a failed call says.
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

// reason of a refusal; "" for an answer without one.
func (a answer) reason() string {
	var f failure
	if json.Unmarshal([]byte(a.body), &f) != nil || len(f.Details) != 1 || a.status == http.StatusOK {
		return ""
	}
	return f.Details[0].Debug.Reason
}

// post makes a request; headers are "Name: value".
func (h *house) post(path, contentType string, body []byte, headers ...string) answer {
	h.t.Helper()
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, path, bytes.NewReader(body))
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
func (h *house) call(method string, m proto.Message, headers ...string) answer {
	h.t.Helper()
	body, err := protojson.Marshal(m)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.post(method, "application/json", body, headers...)
}
