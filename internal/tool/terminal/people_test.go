package terminal

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/presence/v1/presencev1connect"
)

// registry is a server of accounts: one password and one code are good, and the relations are what the test says.
type registry struct {
	accountv1connect.UnimplementedAccountServiceHandler
	accountv1connect.UnimplementedGraphServiceHandler
	presencev1connect.UnimplementedPresenceServiceHandler
	relations []*chatv1.Relation
	presence  *presencev1.Presence
	logins    int
}

func refusal(code connect.Code, reason, message string) error {
	err := connect.NewError(code, errors.New(message))
	if d, e := connect.NewErrorDetail(&gatewayv1.Error{Reason: reason, Message: message}); e == nil {
		err.AddDetail(d)
	}
	return err
}

func (r *registry) Login(_ context.Context, q *connect.Request[accountv1.LoginRequest]) (*connect.Response[accountv1.Session], error) {
	r.logins++
	if q.Msg.Password != "right" {
		return nil, refusal(connect.CodeUnauthenticated, "bad_login", "handle or password is wrong")
	}
	if q.Msg.Handle == "careful" {
		return connect.NewResponse(&accountv1.Session{SecondFactor: &accountv1.SecondFactor{Challenge: "rc_1"}}), nil
	}
	return connect.NewResponse(&accountv1.Session{User: 1, AccessToken: "x"}), nil
}

func (r *registry) LoginWithSecondFactor(_ context.Context, q *connect.Request[accountv1.LoginWithSecondFactorRequest]) (*connect.Response[accountv1.Session], error) {
	if q.Msg.Challenge != "rc_1" || q.Msg.Code != "654321" {
		return nil, refusal(connect.CodeUnauthenticated, "bad_second_factor", "this code is wrong")
	}
	return connect.NewResponse(&accountv1.Session{User: 1, AccessToken: "x"}), nil
}

func (r *registry) Register(_ context.Context, q *connect.Request[accountv1.RegisterRequest]) (*connect.Response[accountv1.Session], error) {
	if q.Msg.Handle == "taken" {
		return nil, refusal(connect.CodeAlreadyExists, "handle_taken", "this handle is taken")
	}
	if q.Msg.Password == "short" {
		return nil, refusal(connect.CodeInvalidArgument, "bad_password", "a password has 8 to 128 characters")
	}
	return connect.NewResponse(&accountv1.Session{User: 1, AccessToken: "x"}), nil
}

func (r *registry) GetUsers(_ context.Context, q *connect.Request[accountv1.GetUsersRequest]) (*connect.Response[accountv1.GetUsersResponse], error) {
	res := &accountv1.GetUsersResponse{}
	if len(q.Msg.Handles) > 0 || len(q.Msg.Users) > 0 {
		res.Users = []*accountv1.User{{Id: 2, Handle: "bob", DisplayName: "Bob"}}
	}
	return connect.NewResponse(res), nil
}

func (r *registry) ListRelations(context.Context, *connect.Request[accountv1.ListRelationsRequest]) (*connect.Response[accountv1.ListRelationsResponse], error) {
	return connect.NewResponse(&accountv1.ListRelationsResponse{Relations: r.relations}), nil
}

func (r *registry) GetPresence(context.Context, *connect.Request[presencev1.GetPresenceRequest]) (*connect.Response[presencev1.GetPresenceResponse], error) {
	return connect.NewResponse(&presencev1.GetPresenceResponse{Presences: []*presencev1.Presence{r.presence}}), nil
}

// at connects a screen to a registry; what it writes is taken with said.
func (r *registry) at(t *testing.T, s *screen, answers string) (said func() string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(accountv1connect.NewAccountServiceHandler(r))
	mux.Handle(accountv1connect.NewGraphServiceHandler(r))
	mux.Handle(presencev1connect.NewPresenceServiceHandler(r))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	out := &strings.Builder{}
	s.console = &pipe{in: bufio.NewReader(strings.NewReader(answers)), out: out}
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	return func() string {
		text := out.String()
		out.Reset()
		return text
	}
}

// TestSignInCanBeRetried: a person may correct a mistake several times; a script gets one attempt. Errors that a retry cannot fix end sign-in.
func TestSignInCanBeRetried(t *testing.T) {
	for _, tc := range []struct {
		what, answers string
		keyed         bool
		o             options
		wantErr       string
		wantErrors    int // number of printed errors
	}{
		{"one mistake", "wrnog\nright\n", true, options{handle: "ann"}, "", 1},
		{"too many", strings.Repeat("wrong\n", 9), true, options{handle: "ann"}, "handle or password is wrong", maxTries - 1},
		{"a script", "wrong\nright\n", false, options{handle: "ann"}, "handle or password is wrong", 0},
		{"two passwords, and a short one", "Ann\none\ntwo\nshort\nshort\nlong enough\nlong enough\n", true, options{handle: "ann", register: true}, "", 2},
		{"a second factor", "wrong\nright\n000000\n654321\n", true, options{handle: "careful"}, "", 2},
		{"a taken handle", "Ann\nlong enough\nlong enough\n", true, options{handle: "taken", register: true}, "this handle is taken", 0},
	} {
		s, r := newScreen(), &registry{}
		said := r.at(t, s, tc.answers)
		s.keyed = tc.keyed
		err := s.signIn(t.Context(), tc.o)
		if got := strings.Count(said(), "! "); got != tc.wantErrors {
			t.Errorf("%s: got %d printed errors, want %d", tc.what, got, tc.wantErrors)
		}
		if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || explain(err) != tc.wantErr) {
			t.Errorf("%s: %v, want %q", tc.what, err, tc.wantErr)
		}
	}
}

// TestHiddenUsersAreNotShownOffline: no status is shown for users who hide it.
func TestHiddenUsersAreNotShownOffline(t *testing.T) {
	for _, tc := range []struct {
		p     *presencev1.Presence
		who   string
		title string
	}{
		{&presencev1.Presence{User: 2, Status: presencev1.Status_STATUS_OFFLINE}, "", "--- Bob ---"},
		{&presencev1.Presence{User: 2, Status: presencev1.Status_STATUS_ONLINE}, "online", "--- Bob --- (online)"},
		{&presencev1.Presence{User: 2, Status: presencev1.Status_STATUS_OFFLINE, LastActiveMs: 1_800_000_000_000}, "offline since", "--- Bob --- (offline)"},
	} {
		s, r := newScreen(), &registry{presence: tc.p}
		said := r.at(t, s, "")
		if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: 1 << 50}); err != nil {
			t.Fatal(err)
		}
		if err := s.who(t.Context(), "@bob"); err != nil {
			t.Fatal(err)
		}
		if text := said(); strings.Contains(text, "line") != (tc.who != "") || !strings.Contains(text, tc.who) {
			t.Errorf("/who shows %q, want %q", text, tc.who)
		}
		chat := &chatv1.Conversation{Id: 7, Peer: 2}
		if _, err := s.onlineOf(t.Context(), []*chatv1.Conversation{chat}); err != nil {
			t.Fatal(err)
		}
		s.setOpen(t.Context(), chat)
		if text := strings.TrimSpace(said()); text != tc.title {
			t.Errorf("an open chat shows %q, want %q", text, tc.title)
		}
	}
}

// TestOldRequestsAreNotAnnounced: events of a sync may be older than the lists that were read. Only what is new in the lists is announced.
func TestOldRequestsAreNotAnnounced(t *testing.T) {
	s := newScreen()
	r := &registry{relations: []*chatv1.Relation{{User: 2, Friend: true}}}
	said := r.at(t, s, "")
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: 1 << 50}); err != nil {
		t.Fatal(err)
	}
	if err := s.readRelations(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.begunWell = true
	old := []rialto.Event{{Relation: &chatv1.Relation{User: 2, Asked: true}}, {Relation: &chatv1.Relation{User: 2, Friend: true}}, {Relation: &chatv1.Relation{User: 3, Asked: true}}}
	for _, e := range old {
		s.show(t.Context(), e)
	}
	s.settleRelations(t.Context())
	if text := said(); text != "" {
		t.Errorf("the first sync announces %q, want nothing", text)
	}
	r.relations = append(r.relations, &chatv1.Relation{User: 4, Asked: true, Message: "hello"})
	s.show(t.Context(), rialto.Event{Relation: &chatv1.Relation{User: 4, Asked: true, Message: "hello"}})
	s.settleRelations(t.Context())
	s.settleRelations(t.Context())
	if text := said(); strings.Count(text, "wants to be your friend") != 1 || strings.Count(text, "\n") != 1 {
		t.Errorf("a request that arrived while this client was offline is announced as %q, want one line", text)
	}
}

// Nobody types a password for a server that cannot be reached.
func TestNothingIsAskedForAServerThatIsDown(t *testing.T) {
	s, out := newScreen(), &strings.Builder{}
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	s.console = &pipe{in: bufio.NewReader(strings.NewReader("right\n")), out: out}
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: down.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.signIn(t.Context(), options{handle: "ann"}); err == nil || !strings.HasPrefix(explain(err), "the server cannot be reached: ") || out.Len() > 0 {
		t.Errorf("the error is %v, and before it %q is printed", err, out)
	}
}

// People of other systems are named with their bridge, wherever they are. Chats with equal names are told apart: by handles, numbers of members, or ids.
func TestNamesThatAreEqual(t *testing.T) {
	s, said := seated(t)
	s.keepName(&accountv1.User{Id: 3, Handle: "bob2", DisplayName: "Bob"})
	s.keepName(&accountv1.User{Id: 4, Handle: "irc_bob", DisplayName: "Bob", Bridge: "irc"})
	m := message(7, 6)
	m.Sender = 4
	if line := s.line(t.Context(), m); !strings.HasSuffix(line, "  Bob · irc: no. 6") {
		t.Errorf("a message of another system is shown as %q", line)
	}
	chats := []*chatv1.Conversation{{Id: 1, Peer: 2}, {Id: 2, Peer: 3}, {Id: 3, Peer: 4}, {Id: 4, Title: "Bob"}, {Id: 5, Title: "tea", MemberCount: 3}, {Id: 61234, Title: "tea", MemberCount: 1}, {Id: 71234, Title: "tea", MemberCount: 1}, {Id: 8, Parent: 5}, {Id: 9, Parent: 6}}
	var got []string
	titles := s.titlesOf(t.Context(), chats)
	for _, c := range chats {
		got = append(got, titles[c.Id])
	}
	if want := []string{"Bob @bob", "Bob @bob2", "Bob · irc", "Bob", "tea (3 members)", "tea (1 member, id …61234)", "tea (1 member, id …71234)", "thread", "thread"}; !slices.Equal(got, want) {
		t.Errorf("the titles are %q, want %q", got, want)
	}
	s.say("%s", s.entry(t.Context(), &chatv1.Conversation{Id: 2, Peer: 3, Unread: 1}, titles[2]))
	if text := said(); text != "Bob @bob2  (1 new)\n" {
		t.Errorf("a row of the list is %q", text)
	}
}

// The bridge behind a long name is cut away nowhere: not in lists, and not in the prompt.
func TestMarksOfBridgesStay(t *testing.T) {
	s, _ := seated(t)
	m := message(7, 6)
	s.keepName(&accountv1.User{Id: 5, Handle: "irc_eve", DisplayName: strings.Repeat("Bob ", 16), Bridge: "irc"})
	long := s.name(t.Context(), 5)
	if want := strings.Repeat("Bob ", 10) + "B… · irc"; long != want {
		t.Errorf("a long name of another system is shown as %q, want %q", long, want)
	}
	m.Sender = 5
	if row := s.entry(t.Context(), &chatv1.Conversation{Id: 2, Peer: 5, LastMessage: m}, "x"); !strings.Contains(row, " · irc") {
		t.Errorf("the row of a chat is %q, without the bridge", row)
	}
	if prompt, group := promptOf(long, 5), promptOf(strings.Repeat("tea · ", 9), 0); prompt != strings.Repeat("Bob ", 4)+"Bob… · irc> " || group != "tea · tea · tea · t…> " {
		t.Errorf("the prompts are %q and %q", prompt, group)
	}
}
