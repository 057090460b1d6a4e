package rpc_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// from makes a call without credentials from an address; forwarded is the header of the proxies.
func (h *harness) from(peer, method string, m proto.Message, forwarded ...string) answer {
	h.t.Helper()
	return h.callFrom(peer, method, m, "", forwarded...)
}

// callFrom makes a call with an access token, or without if it is empty.
func (h *harness) callFrom(peer, method string, m proto.Message, token string, forwarded ...string) answer {
	h.t.Helper()
	body, err := protojson.Marshal(m)
	if err != nil {
		h.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, method, bytes.NewReader(body))
	r.RemoteAddr = peer
	r.Header.Set("Content-Type", asJSON)
	r.Header["X-Forwarded-For"] = forwarded
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// An address that tries one password with many handles is limited, although it tries each handle only once.
func TestGuessesOfOneAddressAreLimited(t *testing.T) {
	h := newHarness(t)
	const peer = "192.0.2.7:1234"
	guess := func(peer string, n int, forwarded ...string) answer {
		return h.from(peer, accounts+"Refresh", &accountv1.RefreshRequest{RefreshToken: fmt.Sprint(strings.Repeat("x", 300), n)}, forwarded...)
	}
	good := &accountv1.LoginRequest{Handle: "anna", Password: "a good password"}
	if got := h.from(peer, accounts+"Register", &accountv1.RegisterRequest{Handle: good.Handle, Password: good.Password}); got.status != http.StatusOK {
		t.Fatalf("the answer is %v, want status 200", got)
	}
	for range 5 { // successful logins do not count
		if got := h.from(peer, accounts+"Login", good); got.status != http.StatusOK {
			t.Fatalf("the answer is %v, want status 200", got)
		}
	}
	for n := range 99 { // with the registration, 100
		if got := guess(peer, n); got.status != http.StatusUnauthorized {
			t.Fatalf("guess %d is answered with %d %s", n, got.status, got.body)
		}
	}
	for what, got := range map[string]answer{"a guess": guess("192.0.2.7:999", 0), "a login": h.from(peer, accounts+"Login", good), "a registration": h.from(peer, accounts+"Register", &accountv1.RegisterRequest{Handle: "bert", Password: good.Password}),
		"a proxy's word that nobody asked for": guess(peer, 1, "198.51.100.1"), "an address in the other form": guess("[::ffff:192.0.2.7]:1", 1)} {
		if got.status != http.StatusTooManyRequests || got.reason() != "too_many_logins" || got.header.Get("Retry-After") != "1" {
			t.Errorf("%s beyond the limit is answered with %d %s", what, got.status, got.body)
		}
	}
	// A known device of the account can log in, whatever other clients at its address do. A device number alone is not enough.
	known, err := h.accounts.Login(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	mine := &accountv1.LoginRequest{Handle: good.Handle, Password: good.Password, Client: &accountv1.Client{Device: known.Device}}
	if got := h.from(peer, accounts+"Login", mine); got.reason() != "too_many_logins" {
		t.Errorf("a login with only a device's number is answered with %d %s", got.status, got.body)
	}
	mine.Client.DeviceKey = known.DeviceKey
	if got := h.from(peer, accounts+"Login", mine); got.status != http.StatusOK {
		t.Errorf("a login of a known device is answered with %d %s", got.status, got.body)
	}
	mine.Handle = "bert"
	if got := h.from(peer, accounts+"Login", mine); got.reason() != "too_many_logins" {
		t.Errorf("a known device with another handle is answered with %d %s", got.status, got.body)
	}
	if got := guess("192.0.2.8:1234", 0); got.status != http.StatusUnauthorized {
		t.Errorf("another address is answered with %d %s", got.status, got.body)
	}
	// Callers with a token are not limited.
	if got := h.call(accounts+"ListSessions", &accountv1.ListSessionsRequest{}, bearer(h.person("carol").AccessToken)); got.status != http.StatusOK {
		t.Errorf("a call with a token is answered with %d %s", got.status, got.body)
	}
	h.clock.ms.Add(time.Minute.Milliseconds())
	if got := h.from(peer, accounts+"Login", good); got.status != http.StatusOK {
		t.Errorf("a login after a minute is answered with %d %s", got.status, got.body)
	}
}

// Guesses count against the client's address that a trusted proxy reports, never against an address that the client claims.
func TestGuessesCountForTheTrustedClientAddress(t *testing.T) {
	h := newHarness(t)
	for name, c := range map[string]struct {
		proxied bool
		// peer and what it says: the same for all, or with %d for another each time.
		peer, forwarded string
		limited         bool
	}{
		"a program on this machine":           {false, "127.0.0.1:80", "", false},
		"a proxy on this machine":             {false, "127.0.0.1:80", "192.0.2.1", true},
		"a proxy on this machine, IPv6":       {false, "[::1]:80", "2001:db8::1", true},
		"its clients":                         {false, "127.0.0.1:80", "192.0.2.%d", false},
		"a client that adds words of its own": {false, "127.0.0.1:80", "10.0.0.%d, 192.0.2.1", true},
		"one who changes what it says":        {false, "203.0.113.1:80", "192.0.2.%d", true},
		"one network of IPv6":                 {false, "[2001:db8::%x]:80", "", true},
		"many networks of IPv6":               {false, "[2001:db8:0:%x::1]:80", "", false},
		"a proxy elsewhere":                   {true, "10.0.0.1:80", "192.0.2.1", true},
		"its clients, too":                    {true, "10.0.0.1:80", "192.0.2.%d", false},
		"no address":                          {false, "@", "", false},
		"a word that is no address":           {false, "127.0.0.1:80", "unknown", false},
	} {
		t.Run(name, func(t *testing.T) {
			h.deps.Proxied = c.proxied
			h.Server = rpc.New(h.deps) // with empty counters
			var got answer
			for n := range 102 {
				with := func(s string) string {
					if strings.Contains(s, "%") {
						return fmt.Sprintf(s, n+1)
					}
					return s
				}
				var forwarded []string
				if c.forwarded != "" {
					forwarded = []string{with(c.forwarded)}
				}
				got = h.from(with(c.peer), accounts+"Refresh", &accountv1.RefreshRequest{RefreshToken: strings.Repeat("x", 300)}, forwarded...)
			}
			if limited := got.reason() == "too_many_logins"; limited != c.limited {
				t.Errorf("the guess is answered with %d %s", got.status, got.body)
			}
		})
	}
}

// The limit of guesses is divided among the nodes, and rounded up for each.
func TestGuessLimitIsDividedAmongNodes(t *testing.T) {
	h := newHarness(t)
	for nodes, want := range map[int]int{1: 100, 3: 34, 30: 25} {
		h.deps.Nodes = func() int { return nodes }
		h.Server = rpc.New(h.deps)
		got := 0
		for h.from("192.0.2.1:80", accounts+"Refresh", &accountv1.RefreshRequest{RefreshToken: strings.Repeat("x", 300)}).status == http.StatusUnauthorized {
			got++
		}
		if got != want {
			t.Errorf("of %d nodes each admits %d guesses of an address, want %d", nodes, got, want)
		}
	}
}

// TestRoutesHaveLimits: by user and by address, over HTTP and for calls on a socket, but not for business servers.
func TestRoutesHaveLimits(t *testing.T) {
	h := newHarness(t)
	anna := h.person("anna")
	const groups = "/rialto.chat.v1.ChatService/"
	friends := []uint64{h.person("carol").User, h.person("dora").User}
	var group chatv1.Conversation
	h.into(&group, h.call(groups+"CreateGroup", &chatv1.CreateGroupRequest{Title: "all", Members: append([]uint64{h.person("bert").User}, friends...)}, bearer(anna.AccessToken)))
	h.into(&chatv1.Change{}, h.call(groups+"SetRole", &chatv1.SetRoleRequest{Conversation: group.Id, User: h.person("bert").User, Role: chatv1.Role_ROLE_ADMIN}, bearer(anna.AccessToken)))
	var root chatv1.SendResponse
	h.into(&root, h.call(groups+"Send", &chatv1.SendRequest{Conversation: group.Id, ClientSeq: 1, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "x"}}}, bearer(anna.AccessToken)))
	for name, c := range map[string]struct {
		user, address ratelimit.Config
		method        string
		request       proto.Message
		fits          int
	}{
		"calls":     {ratelimit.Config{CallUser: "2/h"}, ratelimit.Config{CallAddress: "2/h"}, accounts + "GetSettings", &accountv1.GetSettingsRequest{}, 2},
		"messages":  {ratelimit.Config{SendUser: "2/h"}, ratelimit.Config{SendAddress: "2/h"}, groups + "Send", &chatv1.SendRequest{}, 2},
		"threads":   {ratelimit.Config{SendUser: "2/h"}, ratelimit.Config{SendAddress: "2/h"}, groups + "StartThread", &chatv1.StartThreadRequest{Conversation: group.Id, Seq: root.Seq}, 2},
		"scheduled": {ratelimit.Config{SendUser: "2/h"}, ratelimit.Config{SendAddress: "2/h"}, groups + "ScheduleMessage", &chatv1.ScheduleMessageRequest{}, 2},
		"changes":   {ratelimit.Config{SendUser: "2/h"}, ratelimit.Config{SendAddress: "2/h"}, groups + "UpdateGroup", &chatv1.UpdateGroupRequest{Conversation: group.Id, Title: proto.String("x")}, 2},
		"searches":  {ratelimit.Config{SearchUser: "2/h"}, ratelimit.Config{SearchAddress: "2/h"}, accounts + "SearchUsers", &accountv1.SearchUsersRequest{Query: "x"}, 2},
		"friends":   {ratelimit.Config{FriendUser: "2/h"}, ratelimit.Config{FriendAddress: "2/h"}, "/rialto.account.v1.GraphService/RequestFriend", &accountv1.RequestFriendRequest{User: 1}, 2},
		"invited":   {ratelimit.Config{InviteUser: "4/h"}, ratelimit.Config{InviteAddress: "4/h"}, groups + "Invite", &chatv1.InviteRequest{Conversation: group.Id, Users: friends}, 2},
		"members":   {ratelimit.Config{InviteUser: "4/h"}, ratelimit.Config{InviteAddress: "4/h"}, groups + "CreateGroup", &chatv1.CreateGroupRequest{Title: "x", Members: friends}, 2},
		"groups":    {ratelimit.Config{GroupUser: "2/h"}, ratelimit.Config{GroupAddress: "2/h"}, groups + "CreateGroup", &chatv1.CreateGroupRequest{Title: "x"}, 2},
		"joins":     {ratelimit.Config{JoinUser: "2/h"}, ratelimit.Config{JoinAddress: "2/h"}, groups + "Join", &chatv1.JoinRequest{Conversation: 1}, 2},
		"uploads":   {ratelimit.Config{UploadUser: "2/h"}, ratelimit.Config{UploadAddress: "2/h"}, "/rialto.chat.v1.MediaService/CreateUpload", &chatv1.CreateUploadRequest{Size: 1}, 2},
		"links":     {ratelimit.Config{LinkUser: "2/h"}, ratelimit.Config{LinkAddress: "2/h"}, groups + "CreateJoinLink", &chatv1.CreateJoinLinkRequest{Conversation: group.Id}, 2},
		"bridges":   {ratelimit.Config{BridgeUser: "2/h"}, ratelimit.Config{BridgeAddress: "2/h"}, linkCalls + "LinkBridge", &bridgev1.LinkBridgeRequest{Conversation: group.Id, Bridge: "irc", Address: "#a"}, 2},
		"previews":  {ratelimit.Config{PreviewUser: "2/h"}, ratelimit.Config{PreviewAddress: "2/h"}, groups + "PreviewLink", &chatv1.PreviewLinkRequest{Url: "https://example.com"}, 2},
		"tickets":   {ratelimit.Config{TicketUser: "2/h"}, ratelimit.Config{TicketAddress: "2/h"}, "/rialto.chat.v1.HelpDeskService/RateTicket", &chatv1.RateTicketRequest{Ticket: 1, Rating: 5}, 2},
		"unlimited": {ratelimit.Config{CallUser: "none"}, ratelimit.Config{CallAddress: "none"}, accounts + "GetSettings", &accountv1.GetSettingsRequest{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			open := func(config ratelimit.Config) {
				var err error
				if h.deps.Limits, err = ratelimit.NewTable(config, h.clock, nil); err != nil {
					t.Fatal(err)
				}
				h.Server = rpc.New(h.deps)
			}
			limited := func(got answer) bool {
				if got.reason() != "too_many_requests" {
					return false
				}
				if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
					t.Errorf("the call beyond the limit is answered with %d %v %s", got.status, got.header, got.body)
				}
				return true
			}
			fits := c.fits
			if fits == 0 {
				fits = 50
			}
			open(c.user)
			body, err := proto.Marshal(c.request)
			if err != nil {
				t.Fatal(err)
			}
			for n := range fits {
				if n%2 == 0 { // as a call on a socket
					_, err := h.Invoke(t.Context(), id.Caller{User: id.User(anna.User), Session: id.Session(anna.Session.Session)}, c.method, body, false)
					if err != nil && errs.Of(err).Reason == "too_many_requests" {
						t.Fatalf("call %d on a socket: %v", n+1, err)
					}
				} else if got := h.call(c.method, c.request, bearer(anna.AccessToken)); limited(got) {
					t.Fatalf("call %d is answered with %s", n+1, got.body)
				}
			}
			if got := h.call(c.method, c.request, bearer(anna.AccessToken)); limited(got) == (c.fits == 0) {
				t.Errorf("call %d is answered with %d %s", fits+1, got.status, got.body)
			}
			if got := h.call(c.method, c.request, bearer(h.person("bert").AccessToken)); limited(got) {
				t.Errorf("another user is answered with %s", got.body)
			}
			for range fits + 1 {
				if got := h.call(c.method, c.request, bearer(h.key), fmt.Sprint("Rialto-User: ", anna.User)); limited(got) {
					t.Errorf("a business server is answered with %s", got.body)
				}
			}
			open(c.address)
			for n := range fits + 1 {
				who := h.person([]string{"anna", "bert"}[n%2])
				got := h.callFrom("192.0.2.7:80", c.method, c.request, who.AccessToken)
				if limited(got) != (n == fits && c.fits > 0) {
					t.Errorf("call %d of an address is answered with %d %s", n+1, got.status, got.body)
				}
			}
			if got := h.callFrom("192.0.2.8:80", c.method, c.request, anna.AccessToken); limited(got) {
				t.Errorf("another address is answered with %s", got.body)
			}
		})
	}
}

// A page request beyond the user's limit is refused at once: it does not queue behind the pages that are being read.
func TestLimitsApplyBeforePagesQueue(t *testing.T) {
	h := newHarness(t)
	anna := h.person("anna")
	var err error
	if h.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{CallUser: "1/h"}, h.clock, nil); err != nil {
		t.Fatal(err)
	}
	h.deps.Answers = outputlimit.New(outputlimit.Config{}, 1<<30)
	h.Server = rpc.New(h.deps)
	const list = "/rialto.chat.v1.ChatService/ListConversations"
	if got := h.call(list, &chatv1.ListConversationsRequest{}, bearer(anna.AccessToken)); got.status != http.StatusOK {
		t.Fatalf("the first page is answered with %d %s", got.status, got.body)
	}
	for range 2 { // as many pages as one user may read concurrently
		done, err := h.deps.Answers.AcquirePage(t.Context(), budget.Owner{User: anna.User})
		if err != nil {
			t.Fatal(err)
		}
		defer done()
	}
	if got := h.call(list, &chatv1.ListConversationsRequest{}, bearer(anna.AccessToken)); got.reason() != "too_many_requests" {
		t.Errorf("a page beyond the limit is answered with %d %s", got.status, got.body)
	}
}

// TestCallsOfUsersAreObserved: with their user and network, also those that are refused; not those from an unknown address or without a user.
func TestCallsOfUsersAreObserved(t *testing.T) {
	h := newHarness(t)
	anna := h.person("anna")
	var err error
	if h.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{CallUser: "1/h"}, h.clock, nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	h.deps.Observe = func(user uint64, from netip.Prefix) { got = append(got, fmt.Sprint(user, " ", from)) }
	h.Server = rpc.New(h.deps)
	const list, methods = "/rialto.chat.v1.ChatService/ListConversations", "/rialto.account.v1.AccountService/GetLoginMethods"
	h.callFrom("192.0.2.7:80", list, &chatv1.ListConversationsRequest{}, anna.AccessToken)
	h.callFrom("[2001:db8::1]:80", list, &chatv1.ListConversationsRequest{}, anna.AccessToken)
	h.callFrom("127.0.0.1:80", list, &chatv1.ListConversationsRequest{}, anna.AccessToken)
	h.callFrom("192.0.2.7:80", list, &chatv1.ListConversationsRequest{}, "no token")
	h.from("192.0.2.7:80", methods, &accountv1.GetLoginMethodsRequest{})
	if want := []string{fmt.Sprint(anna.User, " 192.0.2.7/32"), fmt.Sprint(anna.User, " 2001:db8::/64")}; !slices.Equal(got, want) {
		t.Errorf("observed were %v, want %v", got, want)
	}
}

// TestHistoryPagesAreBoundedInBytes: a page of history has at most a megabyte of JSON, and the pages together have all messages.
func TestHistoryPagesAreBoundedInBytes(t *testing.T) {
	h := newHarness(t)
	h.deps.Answers = outputlimit.New(outputlimit.Config{}, 1<<30)
	h.Server = rpc.New(h.deps)
	anna, bert := h.person("anna"), h.person("bert")
	const service = "/rialto.chat.v1.ChatService/"
	var c chatv1.Conversation
	h.into(&c, h.call(service+"OpenDirect", &chatv1.OpenDirectRequest{User: bert.User}, bearer(anna.AccessToken)))
	for n := range 8 {
		h.into(&chatv1.SendResponse{}, h.call(service+"Send", &chatv1.SendRequest{Conversation: c.Id, ClientSeq: uint64(n + 1),
			Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat(`"`, 100_000)}}}, bearer(anna.AccessToken)))
	}
	var seqs []uint64
	for after, more := uint64(1), true; more; {
		got := h.call(service+"History", &chatv1.HistoryRequest{Conversation: c.Id, After: after, Limit: 200}, bearer(anna.AccessToken))
		var page chatv1.HistoryResponse
		h.into(&page, got)
		if len(got.body) > outputlimit.MaxPage || len(page.Messages) == 0 || len(page.Messages) > 5 {
			t.Fatalf("a page has %d messages in %d bytes", len(page.Messages), len(got.body))
		}
		for _, m := range page.Messages {
			seqs, after = append(seqs, m.Seq), m.Seq
		}
		more = page.More
	}
	if fmt.Sprint(seqs) != "[2 3 4 5 6 7 8 9]" {
		t.Errorf("the pages have the seqs %v", seqs)
	}
	body, err := protojson.Marshal(&chatv1.HistoryRequest{Conversation: c.Id, Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Invoke(t.Context(), id.Caller{User: id.User(anna.User)}, service+"History", body, true)
	if err != nil || len(out) > outputlimit.MaxPage {
		t.Errorf("a page on a socket has %d bytes (%v)", len(out), err)
	}
	if n := h.deps.Answers.Held(); n != 0 {
		t.Errorf("%d bytes of written answers are still counted", n)
	}
	if err := h.deps.Answers.Hold(budget.Owner{User: anna.User}, 8<<20); err != nil {
		t.Fatal(err)
	}
	if got := h.call(service+"History", &chatv1.HistoryRequest{Conversation: c.Id}, bearer(anna.AccessToken)); got.status != http.StatusTooManyRequests || got.reason() != "unread_answers" {
		t.Errorf("a client that does not read its answers is answered with %d %s", got.status, got.reason())
	}
}

// TestListPagesAreBoundedInBytes: a page of a list has at most a megabyte of JSON, and the next continues.
func TestListPagesAreBoundedInBytes(t *testing.T) {
	h := newHarness(t)
	anna := h.person("anna")
	const service, conversations = "/rialto.chat.v1.ChatService/", 8
	for n := range conversations {
		var c chatv1.Conversation
		h.into(&c, h.call(service+"OpenDirect", &chatv1.OpenDirectRequest{User: h.person(fmt.Sprint("friend", n)).User}, bearer(anna.AccessToken)))
		h.into(&chatv1.SendResponse{}, h.call(service+"Send", &chatv1.SendRequest{Conversation: c.Id, ClientSeq: uint64(n + 1),
			Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat(`"`, 100_000)}}}, bearer(anna.AccessToken)))
	}
	seen := map[uint64]bool{}
	pages := 0
	for page := ""; pages == 0 || page != ""; pages++ {
		got := h.call(service+"ListConversations", &chatv1.ListConversationsRequest{Page: page}, bearer(anna.AccessToken))
		var list chatv1.ListConversationsResponse
		h.into(&list, got)
		if most := outputlimit.MaxPage + 210_000; len(got.body) > most || len(list.Conversations) == 0 {
			t.Fatalf("a page has %d conversations in %d bytes", len(list.Conversations), len(got.body))
		}
		for _, c := range list.Conversations {
			seen[c.Id] = true
		}
		page = list.Next
	}
	if pages != 2 || len(seen) != conversations {
		t.Errorf("got %d conversations on %d pages", len(seen), pages)
	}
}

// into decodes a successful answer.
func (h *harness) into(m proto.Message, got answer) {
	h.t.Helper()
	if err := protojson.Unmarshal([]byte(got.body), m); got.status != http.StatusOK || err != nil {
		h.t.Fatalf("status %d, want 200 with JSON: %s, error %v", got.status, got.body, err)
	}
}

// TestRefusedChangesAreRefunded: a refused change does not count against the limits of such changes, over HTTP and on a socket. If one
// route refuses, the counts of the other routes are refunded. The call itself counts.
func TestRefusedChangesAreRefunded(t *testing.T) {
	h := newHarness(t)
	anna, bert := h.person("anna"), h.person("bert").User
	const groups = "/rialto.chat.v1.ChatService/"
	var group chatv1.Conversation
	h.into(&group, h.call(groups+"CreateGroup", &chatv1.CreateGroupRequest{Title: "x"}, bearer(anna.AccessToken)))
	var err error
	if h.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{GroupUser: "1/h", InviteUser: "1/h", InviteAddress: "1/h", LinkUser: "1/h", UploadUser: "1/h", CallUser: "19/h"}, h.clock, nil); err != nil {
		t.Fatal(err)
	}
	h.Server = rpc.New(h.deps)
	call := func(method string, m proto.Message, want string) {
		t.Helper()
		if got := h.callFrom("192.0.2.7:80", method, m, anna.AccessToken); got.reason() != want {
			t.Errorf("%s is answered %q, want %q: %s", method, got.reason(), want, got.body)
		}
	}
	for range 3 {
		call(groups+"CreateGroup", &chatv1.CreateGroupRequest{Members: []uint64{bert}}, "bad_title")
		call(groups+"Invite", &chatv1.InviteRequest{Conversation: group.Id, Users: []uint64{1}}, "no_user")
		call(groups+"CreateJoinLink", &chatv1.CreateJoinLinkRequest{Conversation: 1}, "no_conversation")
		call("/rialto.chat.v1.MediaService/CreateUpload", &chatv1.CreateUploadRequest{}, "bad_size")
	}
	body, err := proto.Marshal(&chatv1.InviteRequest{Conversation: group.Id, Users: []uint64{1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Invoke(t.Context(), id.Caller{User: id.User(anna.User)}, groups+"Invite", body, false); errs.Of(err).Reason != "no_user" {
		t.Errorf("an invitation on a socket is answered %v", err)
	}
	call(groups+"Invite", &chatv1.InviteRequest{Conversation: group.Id, Users: []uint64{bert}}, "")
	call(groups+"CreateGroup", &chatv1.CreateGroupRequest{Title: "x", Members: []uint64{bert}}, "too_many_requests") // by the limit of invitations
	call(groups+"CreateGroup", &chatv1.CreateGroupRequest{Title: "x"}, "")
	call(groups+"CreateJoinLink", &chatv1.CreateJoinLinkRequest{Conversation: group.Id}, "")
	call("/rialto.chat.v1.MediaService/CreateUpload", &chatv1.CreateUploadRequest{Size: 1}, "")
	call(groups+"CreateGroup", &chatv1.CreateGroupRequest{Title: "x"}, "too_many_requests")
	call(accounts+"GetSettings", &accountv1.GetSettingsRequest{}, "too_many_requests") // 19 calls were made
}

// TestCallCosts: a call counts once for each ten users or handles in it, and for each 32 KiB of its body.
func TestCallCosts(t *testing.T) {
	h := newHarness(t)
	anna := h.person("anna")
	ids := func(n int) []uint64 { return make([]uint64, n) }
	const groups = "/rialto.chat.v1.ChatService/"
	for _, test := range []struct {
		method string
		m      proto.Message
		cost   int
	}{
		{accounts + "GetUsers", &accountv1.GetUsersRequest{Users: ids(10)}, 1},
		{accounts + "GetUsers", &accountv1.GetUsersRequest{Users: ids(91)}, 10},
		{accounts + "GetUsers", &accountv1.GetUsersRequest{Handles: make([]string, 200)}, 20},
		{"/rialto.presence.v1.PresenceService/GetPresence", &presencev1.GetPresenceRequest{Users: ids(200)}, 20},
		{groups + "Invite", &chatv1.InviteRequest{Conversation: 1, Users: ids(500)}, 50},
		{groups + "CreateGroup", &chatv1.CreateGroupRequest{Members: ids(500)}, 50},
		{groups + "Remove", &chatv1.RemoveRequest{Conversation: 1, Users: ids(500)}, 50},
		{groups + "Ban", &chatv1.BanRequest{Conversation: 1, Users: ids(500)}, 50},
		{groups + "Unban", &chatv1.UnbanRequest{Conversation: 1, Users: ids(500)}, 50},
		{groups + "MuteMembers", &chatv1.MuteMembersRequest{Conversation: 1, Users: ids(500)}, 50},
		{accounts + "SearchUsers", &accountv1.SearchUsersRequest{Query: strings.Repeat("x", 100<<10)}, 4},
		{"/rialto.comment.v1.CommentService/CreateComment", &commentv1.CreateCommentRequest{Content: &commentv1.CommentContent{Mentions: make([]*chatv1.Mention, 50)}}, 5},
		{"/rialto.feed.v1.FeedService/Publish", &feedv1.PublishRequest{Content: &feedv1.PostContent{Users: ids(500)}}, 50},
	} {
		var err error
		if h.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{CallUser: fmt.Sprint(test.cost+1, "/h")}, h.clock, nil); err != nil {
			t.Fatal(err)
		}
		h.Server = rpc.New(h.deps)
		var reasons []string
		for _, call := range []struct {
			method string
			m      proto.Message
		}{{test.method, test.m}, {accounts + "GetSettings", &accountv1.GetSettingsRequest{}}, {accounts + "GetSettings", &accountv1.GetSettingsRequest{}}} {
			reasons = append(reasons, h.callFrom("192.0.2.7:80", call.method, call.m, anna.AccessToken).reason())
		}
		if reasons[0] == "too_many_requests" || reasons[1] != "" || reasons[2] != "too_many_requests" {
			t.Errorf("%s with %d calls allowed, and two more calls, are answered %q", test.method, test.cost+1, reasons)
		}
	}
}

// TestBytesOfSentMessagesCount: a message that is sent by a call counts with its bytes, over HTTP and on a socket.
func TestBytesOfSentMessagesCount(t *testing.T) {
	h := newHarness(t)
	anna := h.person("anna")
	const send = "/rialto.chat.v1.ChatService/Send"
	m := &chatv1.SendRequest{Conversation: 1, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("x", 50<<10)}}}
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if h.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{SendUser: "100/h"}, h.clock, nil); err != nil {
		t.Fatal(err)
	}
	h.Server = rpc.New(h.deps)
	first := h.callFrom("192.0.2.7:80", send, m, anna.AccessToken).reason()
	_, err = h.Invoke(t.Context(), id.Caller{User: id.User(anna.User)}, send, body, false)
	third := h.callFrom("192.0.2.7:80", send, m, anna.AccessToken).reason()
	if second := errs.Of(err).Reason; first == "too_many_requests" || second != first || third != "too_many_requests" {
		t.Errorf("three messages of 50 KiB, with 100 KiB allowed, are answered %q, %q and %q", first, second, third)
	}
}
