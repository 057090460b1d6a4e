package push_test

import (
	"cmp"
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/directory"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/push"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
	"google.golang.org/protobuf/proto"
)

const (
	ann, bob, eve id.User = 11, 12, 13
	// talk is the conversation of ann and bob, crowd a large group.
	talk, crowd id.Conversation = 7, 8

	webPush = pushv1.PushProvider_PUSH_PROVIDER_WEB_PUSH
	byHook  = pushv1.PushProvider_PUSH_PROVIDER_WEBHOOK
)

// world has the messages of users, and who is connected.
type world struct {
	t      testing.TB
	place  string
	db     *sqldb.DB
	clock  *clocktest.Manual
	config push.Config
	calls  *outgoing.Calls
	*push.Service
	jobs *job.Service
	at   *service // the push service of the browsers

	mu             sync.Mutex // guards the fields below
	streams        map[id.User][]*chatv1.Event
	messages       map[id.Conversation][]*chatv1.Message
	state          map[id.Conversation]*chatv1.Conversation // as bob sees it
	statuses       map[id.User]directory.Status
	connected      map[id.User]bool
	acked          map[id.User]message.Position
	silenced       map[id.User]bool
	ended          map[id.Session]bool
	members        []id.User
	broken, moving map[id.User]bool        // users with streams that cannot be read, and whose directory is moving
	availability   presencev1.Availability // that bob chose
	bridgeOfAnn    string                  // over which she writes; empty: she is here
	nameOfAnn      string                  // if not Ann
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

func open(t testing.TB, change func(*push.Config)) *world {
	t.Helper()
	w := &world{t: t, calls: outgoingtest.New(), clock: clocktest.NewManual(), at: newService(t), place: sqltest.Place(t), streams: map[id.User][]*chatv1.Event{}, messages: map[id.Conversation][]*chatv1.Message{},
		state: map[id.Conversation]*chatv1.Conversation{}, statuses: map[id.User]directory.Status{}, connected: map[id.User]bool{}, acked: map[id.User]message.Position{},
		silenced: map[id.User]bool{}, ended: map[id.Session]bool{}}
	w.state[talk] = &chatv1.Conversation{Id: uint64(talk), Peer: uint64(ann), State: &chatv1.ConversationState{}}
	w.state[crowd] = &chatv1.Conversation{Id: uint64(crowd), Title: "crowd", Large: true, State: &chatv1.ConversationState{}}
	w.config = push.Config{InternalHosts: []string{w.at.host}}
	if change != nil {
		change(&w.config)
	}
	var err error
	w.db, err = sqldb.Open(t.Context(), w.place)
	must(t, err)
	t.Cleanup(func() {
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
	})
	w.jobs, err = job.New(t.Context(), job.Deps{DB: w.db, Clock: w.clock, Logger: slog.New(slog.DiscardHandler), Node: "node"}, job.Config{})
	must(t, err)
	w.Service = w.process()
	return w
}

// process is a new process.
func (w *world) process() *push.Service {
	w.t.Helper()
	s, err := push.New(w.t.Context(), push.Deps{DB: w.db, Inbox: w, Chat: w, Accounts: w, Directory: w, Jobs: w.jobs, Secret: make([]byte, 32), Calls: w.calls, Clock: w.clock, Logger: slog.New(slog.DiscardHandler)}, w.config)
	must(w.t, err)
	return s
}

// run runs jobs until the test ends.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	workers := job.NewWorkers(map[string]int{push.Queue: 4})
	w.AddWorkers(workers)
	group.Go(func() {
		if err := w.jobs.Run(ctx, workers); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

// browser registers a browser of a user, in a session of that number.
func (w *world) browser(u id.User, session id.Session) *browser {
	w.t.Helper()
	b := newBrowser(w.t, w.at)
	got, err := w.Register(w.t.Context(), id.Caller{User: u, Session: session}, &pushv1.RegisterPushRequest{Provider: webPush, Token: b.endpoint, P256Dh: b.key.PublicKey().Bytes(), Auth: b.auth})
	must(w.t, err)
	b.id = got.Id
	return b
}

// write stores a text in a conversation, which reaches the streams of some users.
func (w *world) write(by id.User, c id.Conversation, text string, to ...id.User) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &chatv1.Message{Conversation: uint64(c), Seq: uint64(len(w.messages[c]) + 1), Sender: uint64(by), TimeMs: w.clock.Now().UnixMilli(), Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}
	w.messages[c] = append(w.messages[c], m)
	for _, u := range to {
		w.streams[u] = append(w.streams[u], &chatv1.Event{Seq: uint64(len(w.streams[u]) + 1), Body: &chatv1.Event_Message{Message: m}})
	}
	return m.Seq
}

// say has ann write to bob.
func (w *world) say(text string) uint64 { return w.write(ann, talk, text, bob) }

// change changes the world.
func (w *world) change(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// examine has the service examine all streams.
func (w *world) examine() {
	w.t.Helper()
	must(w.t, w.Sweep(w.t.Context()))
}

// attempts returns what became of the attempts for bob, the oldest first.
func (w *world) attempts() (list []*pushv1.PushAttempt) {
	w.t.Helper()
	r, err := w.ListAttempts(w.t.Context(), &pushv1.ListPushAttemptsRequest{User: uint64(bob), Limit: 100})
	must(w.t, err)
	for _, a := range r.Attempts {
		list = append([]*pushv1.PushAttempt{a}, list...)
	}
	return list
}

// results waits for as many attempts, and returns their results.
func (w *world) results(n int) string {
	w.t.Helper()
	var names []string
	eventually.True(w.t, "the attempts are made", func() bool {
		names = names[:0]
		for _, a := range w.attempts() {
			names = append(names, strings.ToLower(strings.TrimPrefix(a.Result.String(), "PUSH_RESULT_")))
		}
		return len(names) >= n
	})
	return strings.Join(names, " ")
}

// idle waits until no job is due or running.
func (w *world) idle() {
	w.t.Helper()
	eventually.True(w.t, "no job is left", func() bool {
		var n int
		must(w.t, w.db.Read().QueryRowContext(w.t.Context(), `SELECT count(*) FROM jobs WHERE state = 'running' OR state = 'available' AND due_ms <= $1`, w.clock.Now().UnixMilli()).Scan(&n))
		return n == 0
	})
}

func (w *world) AppendSync(_ context.Context, b []byte, u id.User, after message.Position, limit int) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken[u] {
		return nil, errs.New(errs.Internal, "corrupt", "the stream is corrupt")
	}
	page := &chatv1.SyncResponse{Next: &chatv1.Position{Seq: uint64(after)}}
	for _, e := range w.streams[u] {
		if e.Seq <= uint64(after) {
			continue
		}
		if page.More = len(page.Events) == limit; page.More {
			break
		}
		page.Events, page.Next.Seq = append(page.Events, e), e.Seq
	}
	return proto.MarshalOptions{}.MarshalAppend(b, page)
}

func (w *world) Tails(_ context.Context, users []id.User) ([]message.Position, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tails := make([]message.Position, len(users))
	for i, u := range users {
		tails[i] = message.Position(len(w.streams[u]))
	}
	return tails, nil
}

func (w *world) Acknowledged(context.Context, []id.User) (map[id.User]message.Position, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := map[id.User]message.Position{}
	for u, p := range w.acked {
		at[u] = p
	}
	return at, nil
}

func (w *world) GetConversation(_ context.Context, _ id.User, c id.Conversation) (*chatv1.Conversation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state[c] == nil {
		return nil, errs.New(errs.NotFound, "no_conversation", "there is no such conversation")
	}
	return proto.Clone(w.state[c]).(*chatv1.Conversation), nil
}

// ListConversations gives the badge: what is above the read cursors.
func (w *world) ListConversations(_ context.Context, u id.User, _ *chatv1.ListConversationsRequest) (*chatv1.ListConversationsResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &chatv1.ListConversationsResponse{}
	for c, list := range w.messages {
		for _, m := range list {
			if m.Seq > w.state[c].State.ReadSeq && m.Sender != uint64(u) && m.RecallSeq == 0 {
				r.Badge++
			}
		}
	}
	return r, nil
}

func (w *world) GetMessages(_ context.Context, _ id.User, r *chatv1.GetMessagesRequest) (*chatv1.GetMessagesResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := &chatv1.GetMessagesResponse{}
	for _, seq := range r.Seqs {
		out.Messages = append(out.Messages, proto.Clone(w.messages[id.Conversation(r.Conversation)][seq-1]).(*chatv1.Message))
	}
	return out, nil
}

func (w *world) AudiencePage(_ context.Context, _ id.Conversation, _ uint64, after id.User, _ int) (users []id.User, next id.User, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.members { // one on each page
		if u > after {
			if users != nil {
				return users, users[0], nil
			}
			users = []id.User{u}
		}
	}
	return users, 0, nil
}

func (w *world) MutedOrBlockedAmong(_ context.Context, _ *sql.Tx, _ id.User, among []id.User) (map[id.User]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[id.User]bool{}
	for _, u := range among {
		if w.silenced[u] {
			found[u] = true
		}
	}
	return found, nil
}

func (w *world) EndedSessions(_ context.Context, sessions []id.Session) (over []id.Session, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range sessions {
		if w.ended[s] {
			over = append(over, s)
		}
	}
	return over, nil
}

func (w *world) SettingsOf(context.Context, []id.User) (map[id.User]*accountv1.Settings, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return map[id.User]*accountv1.Settings{bob: {Availability: w.availability}}, nil
}

func (w *world) GetUsers(_ context.Context, r *accountv1.GetUsersRequest) (list []*accountv1.User, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range r.Users {
		known := &accountv1.User{Id: u, DisplayName: map[id.User]string{ann: "Ann", bob: "Bob", eve: "Eve"}[id.User(u)]}
		if id.User(u) == ann {
			known.Bridge, known.DisplayName = w.bridgeOfAnn, cmp.Or(w.nameOfAnn, known.DisplayName)
		}
		list = append(list, known)
	}
	return list, nil
}

func (w *world) CachedStatus(u id.User) (directory.Status, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.statuses[u]
	s.Known = !w.moving[u]
	return s, true
}

func (w *world) Statuses(_ context.Context, users []id.User) (list []directory.Status, err error) {
	for _, u := range users {
		s, _ := w.CachedStatus(u)
		list = append(list, s)
	}
	return list, nil
}

func (w *world) Locate(u id.User) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.connected[u] {
		return []string{"node"}
	}
	return nil
}

// connect makes a user active; away: in the background only.
func (w *world) connect(u id.User, away bool) {
	w.change(func() { w.connected[u], w.statuses[u] = true, directory.Status{Online: true, Away: away} })
}

func (w *world) disconnect(u id.User) {
	w.change(func() { w.connected[u], w.statuses[u] = false, directory.Status{} })
}

// service is an HTTP server that answers as it is told, and keeps what it got.
type service struct {
	*httptest.Server
	host string

	mu      sync.Mutex // guards the fields below
	got     []*received
	answers []answer // of the next requests; then 201
}

type received struct {
	path   string
	header http.Header
	body   []byte
}

type answer struct {
	status int
	header map[string]string
	body   string
	after  <-chan struct{} // the answer comes when it is closed; nil: at once
}

func newService(t testing.TB) *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	s.host = strings.TrimPrefix(s.URL, "http://")
	return s
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a := s.next(&received{r.Method + " " + r.URL.Path, r.Header, body})
	if a.after != nil {
		<-a.after
	}
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// next keeps a request, and returns its answer.
func (s *service) next(r *received) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, r)
	a := answer{status: http.StatusCreated}
	if len(s.answers) > 0 {
		a, s.answers = s.answers[0], s.answers[1:]
	}
	return a
}

func (s *service) answer(list ...answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, list...)
}

func (s *service) requests() []*received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// pass moves the clock, and has the jobs that are due then run.
func (w *world) pass(d time.Duration) {
	w.clock.Advance(d)
	w.jobs.Wake()
}
