package rpc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Each call has a class of workers, and the tables name no call that does not exist.
func TestEachCallHasWorkers(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	all := s.Calls()
	for name := range all {
		if s.Work(name) == "" {
			t.Errorf("%s has no class: add its service to serviceClasses", name)
		}
	}
	for _, name := range rpc.NamedCalls() {
		if all[name] == "" {
			t.Errorf("there is no call %s, which has a priority or a class", name)
		}
	}
	for name, want := range map[string]string{accounts + "Login": "password first", accounts + "Register": "password first", accounts + "ResetPassword": "password first", accounts + "ChangePassword": "password first", accounts + "ConfirmIdentity": "password first", accounts + "LoginWithCode": "login first", "/rialto.gateway.v1.GatewayService/FindGateways": "login first", accounts + "Refresh": "login first", accounts + "Logout": "chat first", chats + "Sync": "chat first", chats + "Mark": "chat first",
		chats + "Send": "message high", chats + "StartStreamedMessage": "message high", chats + "EndStreamedMessage": "message high", chats + "StopStreamedMessage": "message high", chats + "History": "chat normal", chats + "PreviewLink": "search last", presences + "GetPresence": "chat last", feeds + "HomeTimeline": "feed normal",
		feeds + "Publish": "feed high", medias + "CreateUpload": "media high", videos + "GetVideo": "media normal", searches + "Search": "search normal", accounts + "SearchUsers": "search low"} {
		if got := s.Work(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body of a refused request was read")
	return 0, http.ErrBodyReadAfterClose
}

// occupy takes all workers of a class, and all places of those who wait, until release is called.
func occupy(t *testing.T, calls *overload.Calls, class overload.Class, workers int) (release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	var permits []overload.Permit
	for i := range workers {
		p, err := calls.Acquire(ctx, class, overload.High, overload.Caller{User: uint64(i) + 1})
		if err != nil {
			t.Fatal(err)
		}
		permits = append(permits, p)
	}
	for i := range 2 * workers {
		waiting.Go(func() {
			if p, err := calls.Acquire(ctx, class, overload.High, overload.Caller{User: uint64(workers+i) + 1}); err == nil {
				p.Release()
			}
		})
	}
	eventually.True(t, "all places are taken", func() bool { return calls.State(class).Waiting == 2*workers })
	return func() {
		for _, p := range permits {
			p.Release()
		}
		cancel()
		waiting.Wait()
	}
}

// While a class has neither workers nor places, its calls are refused before they are authenticated and their bodies are read, with the time to wait. More important
// calls and other classes are served.
func TestOverloadRefusesEarly(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	anna := h.person("anna")
	h.deps.Overload = overload.NewCalls(overload.Config{CallWorkers: 8, CallWait: 10 * time.Second}, nil)
	h.Server = rpc.New(h.deps)
	release := occupy(t, h.deps.Overload, overload.Chat, 8)
	w := h.postBody(accounts+"GetSettings", untouched{t}, bearer("no token at all"))
	if w.status != http.StatusServiceUnavailable || w.reason() != "busy" || w.header.Get("Retry-After") == "" {
		t.Errorf("a call without room: %d %v %s", w.status, w.header, w.body)
	}
	for call, m := range map[string]proto.Message{feeds + "HomeTimeline": &feedv1.HomeTimelineRequest{}, accounts + "GetLoginMethods": &accountv1.GetLoginMethodsRequest{}} {
		if got := h.call(call, m, bearer(anna.AccessToken)); got.status != http.StatusOK {
			t.Errorf("%s, of another class: %d %s", call, got.status, got.body)
		}
	}
	if got := h.call(accounts+"GetSettings", &accountv1.GetSettingsRequest{}, bearer(h.key), "Rialto-User: "+strconv.FormatUint(anna.User, 10)); got.status != http.StatusOK {
		t.Errorf("the same call by a business server, which has workers of its own: %d %s", got.status, got.body)
	}
	synced := make(chan answer, 1)
	go func() { synced <- h.call(chats+"Sync", &chatv1.SyncRequest{}, bearer(anna.AccessToken)) }()
	eventually.True(t, "the sync takes the place of another", func() bool { return h.deps.Overload.Refused(overload.Chat, overload.High) == 1 })
	release()
	if got := <-synced; got.status != http.StatusOK {
		t.Errorf("a sync: %d %s", got.status, got.body)
	}
	if got := h.call(accounts+"GetSettings", &accountv1.GetSettingsRequest{}, bearer(anna.AccessToken)); got.status != http.StatusOK {
		t.Errorf("after the overload: %d %s", got.status, got.body)
	}
	if state := h.deps.Overload.State(overload.Chat); state.Working != 0 || state.Waiting != 0 {
		t.Errorf("afterwards %+v", state)
	}
}

// A flood of passwords to hash, and messages that wait for a slow webhook or log, leave the calls alone that keep clients connected.
func TestSlowCallsLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	anna := h.person("anna")
	h.deps.Overload = overload.NewCalls(overload.Config{CallWorkers: 16, CallWait: 10 * time.Millisecond}, nil)
	h.Server = rpc.New(h.deps)
	for _, class := range []overload.Class{overload.Password, overload.Message} {
		for i := range h.deps.Overload.State(class).Limit {
			p, err := h.deps.Overload.Acquire(t.Context(), class, overload.First, overload.Caller{User: 1_000_000 + uint64(i)})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
		}
	}
	for _, c := range []struct {
		call    string
		request proto.Message
		headers []string
		busy    bool
	}{
		{accounts + "Login", &accountv1.LoginRequest{Handle: "anna", Password: "none"}, nil, true},
		{accounts + "ConfirmIdentity", &accountv1.ConfirmIdentityRequest{Password: "none"}, []string{bearer(anna.AccessToken)}, true},
		{chats + "Send", &chatv1.SendRequest{}, []string{bearer(anna.AccessToken)}, true},
		{accounts + "LoginWithCode", &accountv1.LoginWithCodeRequest{}, nil, false},
		{"/rialto.gateway.v1.GatewayService/FindGateways", &gatewayv1.FindGatewaysRequest{}, nil, false},
		{chats + "Sync", &chatv1.SyncRequest{}, []string{bearer(anna.AccessToken)}, false},
		{chats + "Mark", &chatv1.MarkRequest{}, []string{bearer(anna.AccessToken)}, false},
		{accounts + "Refresh", &accountv1.RefreshRequest{RefreshToken: anna.RefreshToken}, nil, false},
		{accounts + "Logout", &accountv1.LogoutRequest{}, []string{bearer(anna.AccessToken)}, false},
	} {
		if got := h.call(c.call, c.request, c.headers...); (got.reason() == "busy") != c.busy {
			t.Errorf("%s: %d %s, want it busy: %v", c.call, got.status, got.body, c.busy)
		}
	}
}

// A user with a fifth of the workers is refused with a reason of its own. What was counted against rate limits is refunded.
func TestOneUserHasAFifthOfTheWorkers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	anna, ben := h.person("anna"), h.person("ben")
	h.deps.Overload = overload.NewCalls(overload.Config{CallWorkers: 16, CallWait: 10 * time.Second}, nil)
	var err error
	if h.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{GroupUser: "1/h"}, h.clock, nil); err != nil {
		t.Fatal(err)
	}
	h.Server = rpc.New(h.deps)
	var permits []overload.Permit
	for range 8 {
		p, err := h.deps.Overload.Acquire(t.Context(), overload.Chat, overload.High, overload.Caller{User: anna.User})
		if err != nil {
			t.Fatal(err)
		}
		permits = append(permits, p)
	}
	newGroup := func() answer {
		return h.call(chats+"CreateGroup", &chatv1.CreateGroupRequest{Title: "x"}, bearer(anna.AccessToken))
	}
	if got := newGroup(); got.status != http.StatusTooManyRequests || got.reason() != "too_many_calls" {
		t.Errorf("the user who has them: %d %s", got.status, got.body)
	}
	if got := h.call(accounts+"GetSettings", &accountv1.GetSettingsRequest{}, bearer(ben.AccessToken)); got.status != http.StatusOK {
		t.Errorf("another user: %d %s", got.status, got.body)
	}
	if n := h.deps.Overload.State(overload.Chat).OverShare; n != 1 {
		t.Errorf("%d refusals were counted", n)
	}
	for _, p := range permits {
		p.Release()
	}
	if got := newGroup(); got.status != http.StatusOK {
		t.Errorf("the only group of an hour, after it was refused once: %d %s", got.status, got.body)
	}
}

// While others wait, calls that name a conversation or an organization with more than its share are refused, of users and of business servers. What was counted against
// rate limits is refunded, and other calls wait for a worker.
func TestACrowdGivesWayToOthers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	anna, ben := h.person("anna"), h.person("ben")
	as := []string{bearer(h.key), "Rialto-User: " + strconv.FormatUint(anna.User, 10)}
	const send = chats + "Send"
	departments := "/rialto.chat.v1.OrganizationService/PutDepartments"
	for _, c := range []struct {
		what    string
		class   overload.Class
		crowd   overload.Caller
		call    string
		request proto.Message
		headers []string
		reason  string
	}{
		{"a user's read", overload.Chat, overload.Caller{Conversation: 7}, chats + "History", &chatv1.HistoryRequest{Conversation: 7}, []string{bearer(anna.AccessToken)}, "conversation_busy"},
		{"a user's message", overload.Message, overload.Caller{Conversation: 7}, send, &chatv1.SendRequest{Conversation: 7}, []string{bearer(anna.AccessToken)}, "conversation_busy"},
		{"a business server's message", overload.Server, overload.Caller{Conversation: 7}, send, &chatv1.SendRequest{Conversation: 7}, as, "conversation_busy"},
		{"a change of an organization", overload.Chat, overload.Caller{Organization: 7}, departments, &chatv1.PutDepartmentsRequest{Organization: 7}, []string{bearer(anna.AccessToken)}, "organization_busy"},
		{"that of a business server", overload.Server, overload.Caller{Organization: 7}, departments, &chatv1.PutDepartmentsRequest{Organization: 7}, as, "organization_busy"},
		{"a call of a member", overload.Chat, overload.Caller{Organization: 9}, accounts + "GetSettings", &accountv1.GetSettingsRequest{}, []string{bearer(anna.AccessToken)}, "organization_busy"},
	} {
		h.deps.Overload = overload.NewCalls(overload.Config{CallWorkers: 16, CallWait: time.Minute}, func(u uint64) []uint64 {
			if u == anna.User {
				return []uint64{9}
			}
			return nil
		})
		h.Server = rpc.New(h.deps)
		var permits []overload.Permit
		for i := range 16 {
			caller := overload.Caller{User: 1_000_000 + uint64(i)}
			if i < 6 {
				caller.Conversation, caller.Organization = c.crowd.Conversation, c.crowd.Organization
			}
			p, err := h.deps.Overload.Acquire(t.Context(), c.class, overload.High, caller)
			if err != nil {
				t.Fatal(err)
			}
			permits = append(permits, p)
		}
		waited := make(chan error, 1)
		go func() {
			p, err := h.deps.Overload.Acquire(t.Context(), c.class, overload.Last, overload.Caller{User: ben.User})
			p.Release()
			waited <- err
		}()
		eventually.True(t, "another call waits", func() bool { return h.deps.Overload.State(c.class).Waiting == 1 })
		if got := h.call(c.call, c.request, c.headers...); got.status != http.StatusTooManyRequests || got.reason() != c.reason || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %v %s, want %s", c.what, got.status, got.header, got.body, c.reason)
		}
		for _, p := range permits {
			p.Release()
		}
		if err := <-waited; err != nil {
			t.Errorf("%s: the call that waited: %v", c.what, err)
		}
		if got := h.call(c.call, c.request, c.headers...); got.reason() == c.reason {
			t.Errorf("%s, after the overload: %d %s", c.what, got.status, got.body)
		}
		if state := h.deps.Overload.State(c.class); state.Working != 0 || state.Waiting != 0 || state.OverCrowds[overload.Conversation]+state.OverCrowds[overload.Organization] != 1 {
			t.Errorf("%s: afterwards %+v", c.what, state)
		}
	}
}

// A login that finds no worker has checked no password: it is no attempt of its address.
func TestLoginsWithoutWorkersAreNoAttempts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.deps.Overload = overload.NewCalls(overload.Config{CallWorkers: 16, CallWait: 10 * time.Millisecond}, nil)
	h.Server = rpc.New(h.deps)
	var permits []overload.Permit
	for i := range h.deps.Overload.State(overload.Password).Limit {
		p, err := h.deps.Overload.Acquire(t.Context(), overload.Password, overload.First, overload.Caller{User: uint64(i) + 1})
		if err != nil {
			t.Fatal(err)
		}
		permits = append(permits, p)
	}
	const attempts = 100 // of an address in a minute
	var calls sync.WaitGroup
	answers := make(chan answer, 2*attempts)
	for range 4 {
		for range attempts / 2 {
			calls.Go(func() { answers <- h.login("192.0.2.1:1", strings.NewReader(`{"handle":"anna","password":"none"}`)) })
		}
		calls.Wait()
	}
	for range 2 * attempts {
		if got := <-answers; got.status == http.StatusOK || got.reason() == "too_many_logins" || got.reason() == "wrong_password" {
			t.Fatalf("a login without a worker: %d %s", got.status, got.body)
		}
	}
	for _, p := range permits {
		p.Release()
	}
	if got := h.login("192.0.2.1:1", strings.NewReader(`{"handle":"anna","password":"none"}`)); got.reason() == "too_many_logins" || got.reason() == "busy" {
		t.Errorf("a login once there are workers: %d %s", got.status, got.body)
	}
}

func (h *harness) postBody(path string, body untouched, headers ...string) answer {
	h.t.Helper()
	r, w := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, path, body), httptest.NewRecorder()
	r.Header.Set("Content-Type", asJSON)
	for _, v := range headers {
		name, value, _ := strings.Cut(v, ": ")
		r.Header.Set(name, value)
	}
	h.Handler().ServeHTTP(w, r)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}
