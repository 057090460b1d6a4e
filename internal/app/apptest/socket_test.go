package apptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// both runs a scenario on a plain connection (event loop) and under TLS (goroutines).
func both(t *testing.T, scenario func(t *testing.T, h *apptest.Server)) {
	t.Run("plain", func(t *testing.T) { scenario(t, apptest.Open(t, nil)) })
	t.Run("tls", func(t *testing.T) { scenario(t, apptest.OpenTLS(t)) })
}

func TestTwoPeopleChatInBothEncodings(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.Server) {
		alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
		c := h.Direct(t, alice, bob)
		a, _ := alice.Socket(t, "rialto.v1.proto")
		b, hello := bob.Socket(t, "rialto.v1.json")
		a.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: c, ClientSeq: 1, Content: apptest.Text("one 一")}, {Conversation: c, ClientSeq: 2, Content: apptest.Text("two 👋🏽")}}})
		var receipts []*gatewayv1.Receipt
		own := 0
		a.Until(func(f *gatewayv1.ServerFrame) bool {
			receipts = append(receipts, f.Receipts...)
			for _, e := range f.Events { // the events of the new conversation may precede them
				if e.GetMessage().GetContent().GetText() != "" {
					own++
				}
			}
			return len(receipts) == 2 && own == 2
		})
		prev, seen := hello.Tail.Seq, []string{}
		b.Until(func(f *gatewayv1.ServerFrame) bool {
			for _, e := range f.Events {
				if e.Prev != prev {
					t.Errorf("event %d: got predecessor %d, want %d", e.Seq, e.Prev, prev)
				}
				prev = e.Seq
				m := e.GetMessage()
				if m.Content.GetControl() != nil {
					continue
				}
				r := receipts[len(seen)]
				if m.Id != r.Id || m.Seq != r.Seq || m.Counted != r.Counted || m.TimeMs != r.TimeMs || m.Sender != alice.User {
					t.Errorf("got receipt %v and event %v", r, m)
				}
				seen = append(seen, m.Content.GetText())
			}
			return len(seen) == 2
		})
		if seen[0] != "one 一" || seen[1] != "two 👋🏽" {
			t.Errorf("got messages %q", seen)
		}
		// A retry gets the first receipt; other content with the same number is refused.
		b.Write(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}, Request: 9})
		b.Until(func(f *gatewayv1.ServerFrame) bool { return f.Pong != nil && f.Request == 9 })
		a.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: c, ClientSeq: 1, Content: apptest.Text("one 一")}, {Conversation: c, ClientSeq: 2, Content: apptest.Text("other")}}})
		var again []*gatewayv1.Receipt
		a.Until(func(f *gatewayv1.ServerFrame) bool {
			again = append(again, f.Receipts...)
			return len(again) == 2
		})
		for _, r := range again {
			switch {
			case r.ClientSeq == 1 && (!r.Duplicate || r.Seq != receipts[0].Seq || r.Id != receipts[0].Id):
				t.Errorf("retry: got %v", r)
			case r.ClientSeq == 2 && r.Error.GetReason() != "id_reuse":
				t.Errorf("other content with the same number: got %v", r)
			}
		}
	})
}

func TestCallsOnTheSocket(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.Server) {
		alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
		c := h.Direct(t, alice, bob)
		h.Send(t, alice, c, "x", "hello")
		p, _ := alice.Socket(t, "rialto.v1.proto")
		payload, err := proto.Marshal(&chatv1.HistoryRequest{Conversation: c})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(20) { // many at once, matched by the request number
			p.Write(&gatewayv1.ClientFrame{Request: 100 + i, Call: &gatewayv1.Call{Method: "/rialto.chat.v1.ChatService/History", Payload: payload}})
		}
		answered := map[uint64]bool{}
		p.Until(func(f *gatewayv1.ServerFrame) bool {
			if f.Request == 0 { // pushed events of earlier sends
				return false
			}
			var page chatv1.HistoryResponse
			if f.Result == nil || proto.Unmarshal(f.Result.Payload, &page) != nil || len(page.Messages) != 2 {
				t.Errorf("call %d: got %v", f.Request, f)
			}
			answered[f.Request] = true
			return len(answered) == 20
		})
		j, _ := bob.Socket(t, "rialto.v1.json")
		body, err := structpb.NewStruct(map[string]any{"conversation": fmt.Sprint(c)})
		if err != nil {
			t.Fatal(err)
		}
		j.Write(&gatewayv1.ClientFrame{Request: 5, Call: &gatewayv1.Call{Method: "/rialto.chat.v1.ChatService/GetConversation", Body: body}})
		j.Until(func(f *gatewayv1.ServerFrame) bool {
			return f.Request == 5 && f.Result.Body.Fields["unread"].GetStringValue() == "1"
		})
		for _, method := range []string{"/rialto.account.v1.AdminService/PutUser", "/rialto.account.v1.AccountService/Login", "/nothing"} {
			j.Write(&gatewayv1.ClientFrame{Request: 6, Call: &gatewayv1.Call{Method: method}})
			j.Until(func(f *gatewayv1.ServerFrame) bool {
				if f.Error.GetReason() != "no_method" {
					t.Errorf("call %s: got %v", method, f)
				}
				return f.Request == 6
			})
		}
		request := uint64(7)
		eventually.True(t, "a sync returns what was fanned out", func() (all bool) {
			request++
			j.Write(&gatewayv1.ClientFrame{Request: request, Sync: &chatv1.SyncRequest{}})
			j.Until(func(f *gatewayv1.ServerFrame) bool {
				all = len(f.Sync.GetEvents()) >= 2 && !f.Sync.More
				return f.Request == request
			})
			return all
		})
	})
}

func TestHandshakes(t *testing.T) {
	h := apptest.Open(t, nil)
	alice := h.Register(t, "alice")
	ticket := func() string {
		r, err := h.Accounts().CreateTicket(t.Context(), apptest.As(alice, &accountv1.CreateTicketRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg.Ticket
	}
	spent := ticket()
	dial := func(query, protocol string, header http.Header) (int, error) {
		o := &websocket.DialOptions{HTTPHeader: header}
		if protocol != "" {
			o.Subprotocols = []string{protocol}
		}
		c, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(h.URL, "http")+"/v1/socket"+query, o)
		if err != nil {
			if res == nil {
				return 0, err
			}
			return res.StatusCode, nil
		}
		defer c.CloseNow()
		_, b, err := c.Read(t.Context())
		if err == nil && !strings.Contains(string(b), "hello") && protocol != "rialto.v1.proto" {
			err = fmt.Errorf("the first frame is %s", b)
		}
		return 101, err
	}
	for _, c := range []struct {
		name, query, protocol string
		header                http.Header
		status                int
	}{
		{"a token in the header", "", "rialto.v1.proto", http.Header{"Authorization": {"Bearer " + alice.AccessToken}}, 101},
		{"a token in the cookie, from our origin", "", "rialto.v1.json", http.Header{"Cookie": {"rialto_access=" + alice.AccessToken}, "Origin": {h.URL}}, 101},
		{"a token in the cookie, without an origin", "", "rialto.v1.json", http.Header{"Cookie": {"rialto_access=" + alice.AccessToken}}, 403},
		{"a token in the address", "?token=" + alice.AccessToken, "rialto.v1.json", nil, 400},
		{"without a subprotocol: JSON", "", "", http.Header{"Authorization": {"Bearer " + alice.AccessToken}}, 101},
		{"a ticket", "?ticket=" + spent, "rialto.v1.json", nil, 101},
		{"a used ticket", "?ticket=" + spent, "rialto.v1.json", nil, 401},
		{"an unknown ticket", "?ticket=rt_no", "rialto.v1.json", nil, 401},
		{"a bad token", "", "rialto.v1.json", http.Header{"Authorization": {"Bearer nonsense"}}, 401},
		{"a token with another's signature", "", "rialto.v1.json", http.Header{"Authorization": {"Bearer " + alice.AccessToken[:len(alice.AccessToken)-4] + "AAAA"}}, 401},
		{"a foreign origin", "", "rialto.v1.json", http.Header{"Authorization": {"Bearer " + alice.AccessToken}, "Origin": {"https://evil.example"}}, 403},
		{"the own origin", "", "rialto.v1.json", http.Header{"Authorization": {"Bearer " + alice.AccessToken}, "Origin": {h.URL}}, 101},
		{"an unknown subprotocol", "", "stomp", http.Header{"Authorization": {"Bearer " + alice.AccessToken}}, 400},
	} {
		status, err := dial(c.query, c.protocol, c.header)
		if err != nil || status != c.status {
			t.Errorf("%s: got status %d (%v), want %d", c.name, status, err, c.status)
		}
	}
	// A plain HTTP request gets an error in the usual form.
	res, err := h.HTTP.Get(h.URL + "/v1/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var refusal struct{ Code, Reason string }
	if err := json.NewDecoder(res.Body).Decode(&refusal); err != nil || res.StatusCode != 400 || refusal.Reason != "not_a_socket" {
		t.Errorf("a plain GET: got status %d, %v (%v)", res.StatusCode, refusal, err)
	}
}

func TestAuthenticationByTheFirstFrame(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.Server) {
		alice := h.Register(t, "alice")
		open := func() *apptest.Socket {
			c, _, err := h.Dial(t.Context(), "rialto.v1.json", nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.CloseNow() })
			return apptest.Wrap(t, c, true)
		}
		s := open()
		s.Write(&gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: alice.AccessToken}, Request: 3, Ping: &gatewayv1.Ping{}})
		s.Write(&gatewayv1.ClientFrame{Request: 4, Ping: &gatewayv1.Ping{}}) // held until the first frame is handled
		order := []string{}
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			if f.Hello != nil {
				order = append(order, "hello")
			}
			if f.Pong != nil {
				order = append(order, fmt.Sprint(f.Request))
			}
			return len(order) == 3
		})
		if strings.Join(order, " ") != "hello 3 4" {
			t.Errorf("got answers in the order %v", order)
		}
		bad := open()
		bad.Write(&gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: "nonsense"}})
		if code, bye := bad.CloseCode(); code != 4101 || bye == nil {
			t.Errorf("a bad token: got close code %d, %v", code, bye)
		}
		early := open()
		early.Write(&gatewayv1.ClientFrame{Typing: 1})
		if code, _ := early.CloseCode(); code != 4101 {
			t.Errorf("a frame before auth: got close code %d", code)
		}
	})
}

func TestBadFrames(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.Server) {
		alice := h.Register(t, "alice")
		for _, c := range []struct {
			name, protocol string
			kind           websocket.MessageType
			payload        []byte
			times          int // until the connection is closed
			code           int
		}{
			{"text in the protobuf form", "rialto.v1.proto", websocket.MessageText, []byte("{}"), 10, 4100},
			{"bytes in the JSON form", "rialto.v1.json", websocket.MessageBinary, []byte{1}, 10, 4100},
			{"a frame over 1 MiB", "rialto.v1.proto", websocket.MessageBinary, make([]byte, 1<<20+1), 1, 4103},
			{"JSON that is not UTF-8", "rialto.v1.json", websocket.MessageText, []byte{'"', 0xff, '"'}, 10, 4100},
		} {
			s, _ := alice.Socket(t, c.protocol)
			for n := range c.times {
				if err := s.Conn.Write(t.Context(), c.kind, c.payload); err != nil {
					t.Logf("%s: %v", c.name, err) // the server may close before everything is written
				}
				if n < c.times-1 {
					s.Until(func(f *gatewayv1.ServerFrame) bool { return f.Error != nil })
				}
			}
			if code, _ := s.CloseCode(); code != c.code {
				t.Errorf("%s: closed with %d, want %d", c.name, code, c.code)
			}
		}
		s, _ := alice.Socket(t, "rialto.v1.json")
		for _, bad := range []string{`{`, `{"sends":7}`, `{"nothing":1}`, `[]`, `{"sends":[{"conversation":"x"}]}`} {
			if err := s.Conn.Write(t.Context(), websocket.MessageText, []byte(bad)); err != nil {
				t.Fatal(err)
			}
			if f := s.Read(); f.Error.GetReason() != "bad_json" {
				t.Errorf("frame %s: got %v", bad, f)
			}
		}
		s.Write(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}}) // the connection is still open
		s.Until(func(f *gatewayv1.ServerFrame) bool { return f.Pong != nil })
		for range 5 {
			if err := s.Conn.Write(t.Context(), websocket.MessageText, []byte("nonsense")); err != nil {
				t.Fatal(err)
			}
		}
		if code, _ := s.CloseCode(); code != 4100 {
			t.Errorf("after ten bad frames: got close code %d", code)
		}
	})
}

func TestRefusedTexts(t *testing.T) {
	h := apptest.Open(t, nil)
	alice, bob, eve := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "eve")
	c := h.Direct(t, alice, bob)
	before := h.Send(t, alice, c, "first", "first").Seq
	for _, r := range []struct {
		name, text, reason string
	}{
		{"nothing", "", "empty_text"},
		{"white space", " \n\t\u00a0\u3000\u200b", "empty_text"},
		{"a character too many", strings.Repeat("好", 100_001), "text_too_long"},
		{"a null", "a\x00b", "bad_text"},
	} {
		_, err := h.Chat().Send(t.Context(), apptest.As(alice, &chatv1.SendRequest{Conversation: c, ClientMsgId: r.name, Content: apptest.Text(r.text)}))
		if reason := reasonOf(err); reason != r.reason {
			t.Errorf("%s: got %v, want %s", r.name, err, r.reason)
		}
	}
	for _, r := range []struct {
		name string
		send *chatv1.SendRequest
		by   *apptest.Person
		code connect.Code
	}{
		{"no id", &chatv1.SendRequest{Conversation: c, Content: apptest.Text("x")}, alice, connect.CodeInvalidArgument},
		{"a long id", &chatv1.SendRequest{Conversation: c, ClientMsgId: strings.Repeat("x", 65), Content: apptest.Text("x")}, alice, connect.CodeInvalidArgument},
		{"no content", &chatv1.SendRequest{Conversation: c, ClientMsgId: "n"}, alice, connect.CodeInvalidArgument},
		{"a control entry", &chatv1.SendRequest{Conversation: c, ClientMsgId: "n", Content: &chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: chatv1.Control_ACTION_DISSOLVED}}}}, alice, connect.CodeInvalidArgument},
		{"another's upload", &chatv1.SendRequest{Conversation: c, ClientMsgId: "n", Content: &chatv1.Content{Kind: &chatv1.Content_Image{Image: &chatv1.Media{Upload: 5, Name: "x"}}}}, alice, connect.CodeNotFound},
		{"a non-member", &chatv1.SendRequest{Conversation: c, ClientMsgId: "n", Content: apptest.Text("x")}, eve, connect.CodeNotFound},
		{"no conversation", &chatv1.SendRequest{Conversation: 12345, ClientMsgId: "n", Content: apptest.Text("x")}, alice, connect.CodeNotFound},
	} {
		if _, err := h.Chat().Send(t.Context(), apptest.As(r.by, r.send)); connect.CodeOf(err) != r.code {
			t.Errorf("%s: got %v, want %v", r.name, err, r.code)
		}
	}
	longest := strings.Repeat("好", 100_000)
	if got := h.Send(t, alice, c, "longest", longest).Seq; got != before+1 {
		t.Errorf("next seq after the refusals: got %d, want %d, because nothing was stored", got, before+1)
	}
	page, err := h.Chat().History(t.Context(), apptest.As(bob, &chatv1.HistoryRequest{Conversation: c, Limit: 1}))
	if err != nil || page.Msg.Messages[0].Content.GetText() != longest {
		t.Errorf("the longest text: got another one, %v", err)
	}
}

func reasonOf(err error) string {
	var e *connect.Error
	if ce, ok := err.(*connect.Error); ok {
		e = ce
	}
	if e == nil {
		return ""
	}
	for _, d := range e.Details() {
		if v, err := d.Value(); err == nil {
			if g, ok := v.(*gatewayv1.Error); ok {
				return g.Reason
			}
		}
	}
	return ""
}

// Each message is sent up to five times, over two connections, in any order: it is stored once.
func TestRetryStorm(t *testing.T) {
	h := apptest.Open(t, nil)
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	const count = 300
	rng := rand.New(rand.NewPCG(3, 4))
	var sends []uint64
	for n := range uint64(count) {
		for range 1 + rng.IntN(5) {
			sends = append(sends, n+1)
		}
	}
	rng.Shuffle(len(sends), func(i, j int) { sends[i], sends[j] = sends[j], sends[i] })
	sockets := []*apptest.Socket{}
	for range 2 {
		s, _ := alice.Socket(t, "rialto.v1.proto")
		sockets = append(sockets, s)
	}
	wanted := []int{0, 0}
	for i, n := range sends {
		sockets[i%2].Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: c, ClientSeq: n, Content: apptest.Text(fmt.Sprint("message ", n))}}})
		wanted[i%2]++
	}
	places := map[uint64]uint64{}
	fresh := 0
	for i, s := range sockets {
		for got := 0; got < wanted[i]; {
			for _, r := range s.Read().Receipts {
				got++
				if r.Error != nil {
					t.Fatalf("message %d was refused: %v", r.ClientSeq, r.Error)
				}
				if was, ok := places[r.ClientSeq]; ok && was != r.Seq {
					t.Errorf("message %d: got seqs %d and %d", r.ClientSeq, was, r.Seq)
				}
				places[r.ClientSeq] = r.Seq
				if !r.Duplicate {
					fresh++
				}
			}
		}
	}
	if fresh != count || len(places) != count {
		t.Errorf("got %d messages and %d receipts of new ones", len(places), fresh)
	}
	shown := map[string]int{}
	var last uint64
	for after := uint64(1); ; {
		page, err := h.Chat().History(t.Context(), apptest.As(bob, &chatv1.HistoryRequest{Conversation: c, After: after, Limit: 200}))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Msg.Messages {
			shown[m.Content.GetText()]++
			if m.Seq != after+1 {
				t.Errorf("got seq %d after %d", m.Seq, after)
			}
			after, last = m.Seq, m.Seq
		}
		if !page.Msg.More {
			break
		}
	}
	if len(shown) != count || last != count+1 {
		t.Errorf("got %d different messages up to seq %d, want %d", len(shown), last, count)
	}
}

// A client that does not read delays nobody; when it reads again, it gets a hint, and then everything.
func TestSlowReader(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.Server) {
		alice, bob, slow := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "slow")
		g := h.Group(t, alice, bob, slow)
		a, _ := alice.Socket(t, "rialto.v1.proto")
		b, _ := bob.Socket(t, "rialto.v1.proto")
		s, _ := slow.Socket(t, "rialto.v1.proto")
		const count, batch = 4000, 100
		text := strings.Repeat("x", 4000)
		go func() { // ends with the sending
			for n := 0; n < count; n += batch {
				f := &gatewayv1.ClientFrame{}
				for i := range batch {
					f.Sends = append(f.Sends, &gatewayv1.Send{Conversation: g, ClientSeq: uint64(n + i + 1), Content: apptest.Text(text)})
				}
				a.Write(f)
			}
		}()
		acked := 0
		for acked < count {
			acked += len(a.Read().Receipts)
		}
		// Bob reads all the time, and gets everything, by pushes or by syncs after hints.
		readTexts(t, b, count)
		// The slow client has not read anything yet.
		readTexts(t, s, count)
		if s.Hints == 0 {
			t.Error("the slow client got no hint")
		}
	})
}

// readTexts reads a number of texts of one conversation, which have consecutive seqs.
func readTexts(t *testing.T, s *apptest.Socket, want int) {
	t.Helper()
	got, last := 0, uint64(0)
	s.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			m := e.GetMessage()
			if m.GetContent().GetText() == "" {
				continue
			}
			if last != 0 && m.Seq != last+1 {
				t.Fatalf("got seq %d after %d", m.Seq, last)
			}
			last = m.Seq
			got++
		}
		return got >= want
	})
	if got > want {
		t.Errorf("got %d texts, want %d", got, want)
	}
}

func TestSessionsThatEnd(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.Server) {
		alice := h.Register(t, "alice")
		s, _ := alice.Socket(t, "rialto.v1.proto")
		other := h.Login(t, "alice")
		o, _ := other.Socket(t, "rialto.v1.json")
		if _, err := h.Accounts().RevokeSession(t.Context(), apptest.As(other, &accountv1.RevokeSessionRequest{Session: alice.Session.Session})); err != nil {
			t.Fatal(err)
		}
		if code, bye := s.CloseCode(); code != 4102 || bye.GetReason() == "" {
			t.Errorf("socket of the revoked session: got close code %d, %v", code, bye)
		}
		if _, err := h.Accounts().ListSessions(t.Context(), apptest.As(alice, &accountv1.ListSessionsRequest{})); connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("token of the revoked session: got %v", err)
		}
		o.Write(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}})
		o.Until(func(f *gatewayv1.ServerFrame) bool { return f.Pong != nil })
	})
}

func TestAReplacedDeviceIsToldWhy(t *testing.T) {
	h := apptest.Open(t, func(c *config.Config) { c.Account.DevicePolicy = "single" })
	alice := h.Register(t, "alice")
	s, _ := alice.Socket(t, "rialto.v1.json")
	h.Login(t, "alice")
	if code, bye := s.CloseCode(); code != 4102 || bye.GetReason() != "replaced" {
		t.Errorf("the replaced device: got close code %d, %v", code, bye)
	}
}

func TestAStoppingNodeSendsItsClientsElsewhere(t *testing.T) {
	h := apptest.Open(t, nil)
	alice := h.Register(t, "alice")
	s, _ := alice.Socket(t, "rialto.v1.proto")
	done := make(chan error, 1)
	go func() { done <- h.Close() }()
	code, bye := s.CloseCode()
	if code != 4000 || bye.GetRetryMs() > 5000 {
		t.Errorf("a stopping node: got close code %d, %v", code, bye)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, _, err := h.Dial(context.Background(), "rialto.v1.proto", nil); err == nil {
		t.Error("a stopped server accepts connections")
	}
}
