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
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/config"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// both runs a scenario on a plain connection (event loop) and under TLS (goroutines).
func both(t *testing.T, scenario func(t *testing.T, h *apptest.House)) {
	t.Run("plain", func(t *testing.T) { scenario(t, apptest.Open(t, nil)) })
	t.Run("tls", func(t *testing.T) { scenario(t, apptest.OpenTLS(t)) })
}

func TestTwoPeopleChatInBothForms(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.House) {
		alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
		c := h.Direct(t, alice, bob)
		a, _ := alice.Socket(t, "rialto.v1.proto")
		b, hello := bob.Socket(t, "rialto.v1.json")
		a.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: c, ClientSeq: 1, Content: apptest.Text("one 一")}, {Conversation: c, ClientSeq: 2, Content: apptest.Text("two 👋🏽")}}})
		var receipts []*gatewayv1.Receipt
		own := 0
		a.Until(func(f *gatewayv1.ServerFrame) bool {
			receipts = append(receipts, f.Receipts...)
			for _, e := range f.Events { // that the conversation began may come before them
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
					t.Errorf("event %d follows %d, not %d", e.Seq, e.Prev, prev)
				}
				prev = e.Seq
				m := e.GetMessage()
				if m.Content.GetControl() != nil {
					continue
				}
				r := receipts[len(seen)]
				if m.Id != r.Id || m.Seq != r.Seq || m.Counted != r.Counted || m.TimeMs != r.TimeMs || m.Sender != alice.User {
					t.Errorf("the receipt says %v, the event %v", r, m)
				}
				seen = append(seen, m.Content.GetText())
			}
			return len(seen) == 2
		})
		if seen[0] != "one 一" || seen[1] != "two 👋🏽" {
			t.Errorf("%q", seen)
		}
		// The same again is answered by the first receipt; another content under the number is refused.
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
				t.Errorf("the retry was answered %v", r)
			case r.ClientSeq == 2 && r.Error.GetReason() != "id_reuse":
				t.Errorf("another content was answered %v", r)
			}
		}
	})
}

func TestCallsOnTheSocket(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.House) {
		alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
		c := h.Direct(t, alice, bob)
		h.Send(t, alice, c, "x", "hello")
		p, _ := alice.Socket(t, "rialto.v1.proto")
		payload, err := proto.Marshal(&chatv1.HistoryRequest{Conversation: c})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(20) { // many at once, matched by number
			p.Write(&gatewayv1.ClientFrame{Request: 100 + i, Call: &gatewayv1.Call{Method: "/rialto.chat.v1.ChatService/History", Payload: payload}})
		}
		answered := map[uint64]bool{}
		p.Until(func(f *gatewayv1.ServerFrame) bool {
			if f.Request == 0 { // what was sent before is pushed meanwhile
				return false
			}
			var page chatv1.HistoryResponse
			if f.Result == nil || proto.Unmarshal(f.Result.Payload, &page) != nil || len(page.Messages) != 2 {
				t.Errorf("call %d was answered %v", f.Request, f)
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
					t.Errorf("%s was answered %v", method, f)
				}
				return f.Request == 6
			})
		}
		j.Write(&gatewayv1.ClientFrame{Request: 7, Sync: &chatv1.SyncRequest{}})
		j.Until(func(f *gatewayv1.ServerFrame) bool {
			return f.Request == 7 && len(f.Sync.GetEvents()) >= 2 && !f.Sync.More
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
		{"a token in the cookie of a page of ours", "", "rialto.v1.json", http.Header{"Cookie": {"rialto_access=" + alice.AccessToken}, "Origin": {h.URL}}, 101},
		{"a token in the cookie of who knows", "", "rialto.v1.json", http.Header{"Cookie": {"rialto_access=" + alice.AccessToken}}, 403},
		{"a token in the address", "?token=" + alice.AccessToken, "rialto.v1.json", nil, 400},
		{"no subprotocol is JSON", "", "", http.Header{"Authorization": {"Bearer " + alice.AccessToken}}, 101},
		{"a ticket", "?ticket=" + spent, "rialto.v1.json", nil, 101},
		{"a ticket twice", "?ticket=" + spent, "rialto.v1.json", nil, 401},
		{"a ticket that was never given", "?ticket=rt_no", "rialto.v1.json", nil, 401},
		{"a bad token", "", "rialto.v1.json", http.Header{"Authorization": {"Bearer nonsense"}}, 401},
		{"a token with another's signature", "", "rialto.v1.json", http.Header{"Authorization": {"Bearer " + alice.AccessToken[:len(alice.AccessToken)-4] + "AAAA"}}, 401},
		{"a foreign origin", "", "rialto.v1.json", http.Header{"Authorization": {"Bearer " + alice.AccessToken}, "Origin": {"https://evil.example"}}, 403},
		{"the own origin", "", "rialto.v1.json", http.Header{"Authorization": {"Bearer " + alice.AccessToken}, "Origin": {h.URL}}, 101},
		{"an unknown subprotocol", "", "stomp", http.Header{"Authorization": {"Bearer " + alice.AccessToken}}, 400},
	} {
		status, err := dial(c.query, c.protocol, c.header)
		if err != nil || status != c.status {
			t.Errorf("%s: status %d (%v), want %d", c.name, status, err, c.status)
		}
	}
	// Who asks without a WebSocket client is told, in the form of every other refusal.
	res, err := h.HTTP.Get(h.URL + "/v1/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var refusal struct{ Code, Reason string }
	if err := json.NewDecoder(res.Body).Decode(&refusal); err != nil || res.StatusCode != 400 || refusal.Reason != "not_a_socket" {
		t.Errorf("a plain GET: status %d, %v (%v)", res.StatusCode, refusal, err)
	}
}

func TestAuthenticationByTheFirstFrame(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.House) {
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
		s.Write(&gatewayv1.ClientFrame{Request: 4, Ping: &gatewayv1.Ping{}}) // held until the first is done
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
			t.Errorf("the answers came as %v", order)
		}
		bad := open()
		bad.Write(&gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: "nonsense"}})
		if code, bye := bad.CloseCode(); code != 4101 || bye == nil {
			t.Errorf("a bad token was answered %d, %v", code, bye)
		}
		early := open()
		early.Write(&gatewayv1.ClientFrame{Typing: 1})
		if code, _ := early.CloseCode(); code != 4101 {
			t.Errorf("a frame before auth was answered %d", code)
		}
	})
}

func TestBadFrames(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.House) {
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
					t.Logf("%s: %v", c.name, err) // it may be closed before all is written
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
				t.Errorf("%s was answered %v", bad, f)
			}
		}
		s.Write(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}}) // and the connection is still good
		s.Until(func(f *gatewayv1.ServerFrame) bool { return f.Pong != nil })
		for range 5 {
			if err := s.Conn.Write(t.Context(), websocket.MessageText, []byte("nonsense")); err != nil {
				t.Fatal(err)
			}
		}
		if code, _ := s.CloseCode(); code != 4100 {
			t.Errorf("after ten bad frames it was closed with %d", code)
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
			t.Errorf("%s: %v, want %s", r.name, err, r.reason)
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
		{"a stranger", &chatv1.SendRequest{Conversation: c, ClientMsgId: "n", Content: apptest.Text("x")}, eve, connect.CodeNotFound},
		{"no conversation", &chatv1.SendRequest{Conversation: 12345, ClientMsgId: "n", Content: apptest.Text("x")}, alice, connect.CodeNotFound},
	} {
		if _, err := h.Chat().Send(t.Context(), apptest.As(r.by, r.send)); connect.CodeOf(err) != r.code {
			t.Errorf("%s: %v, want %v", r.name, err, r.code)
		}
	}
	longest := strings.Repeat("好", 100_000)
	if got := h.Send(t, alice, c, "longest", longest).Seq; got != before+1 {
		t.Errorf("after the refusals the next seq is %d, want %d: something was stored", got, before+1)
	}
	page, err := h.Chat().History(t.Context(), apptest.As(bob, &chatv1.HistoryRequest{Conversation: c, Limit: 1}))
	if err != nil || page.Msg.Messages[0].Content.GetText() != longest {
		t.Errorf("the longest text did not come back: %v", err)
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

// Each message is sent up to five times, from two connections, in any order: one message each.
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
					t.Errorf("message %d stands at %d and at %d", r.ClientSeq, was, r.Seq)
				}
				places[r.ClientSeq] = r.Seq
				if !r.Duplicate {
					fresh++
				}
			}
		}
	}
	if fresh != count || len(places) != count {
		t.Errorf("%d messages were stored %d times", len(places), fresh)
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
				t.Errorf("seq %d after %d", m.Seq, after)
			}
			after, last = m.Seq, m.Seq
		}
		if !page.Msg.More {
			break
		}
	}
	if len(shown) != count || last != count+1 {
		t.Errorf("%d different messages to seq %d, want %d", len(shown), last, count)
	}
}

// One who stops reading holds up nobody; when they read again they are told to pull, and have everything.
func TestSlowReader(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.House) {
		alice, bob, slow := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "slow")
		g := h.Group(t, alice, bob, slow)
		a, _ := alice.Socket(t, "rialto.v1.proto")
		b, _ := bob.Socket(t, "rialto.v1.proto")
		s, hello := slow.Socket(t, "rialto.v1.proto")
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
		acked, delivered := 0, 0
		for acked < count {
			acked += len(a.Read().Receipts)
		}
		// Bob reads all the while, and misses nothing: pushed, or hinted and pulled.
		bobAt := seqs{}
		bobAt.take(t, h, bob, b, &delivered, count)
		// The slow one did not read at all so far.
		at := seqs{position: hello.Tail}
		got := 0
		at.take(t, h, slow, s, &got, count)
	})
}

// seqs follows a stream as a client does.
type seqs struct {
	position *chatv1.Position
	last     uint64
}

// take reads until so many texts have come, syncing where events are missing.
func (q *seqs) take(t *testing.T, h *apptest.House, p *apptest.Person, s *apptest.Socket, got *int, want int) {
	t.Helper()
	event := func(e *chatv1.Event) {
		q.position = &chatv1.Position{Epoch: e.Epoch, Seq: e.Seq}
		if m := e.GetMessage(); m.GetContent().GetText() != "" {
			if q.last != 0 && m.Seq != q.last+1 {
				t.Fatalf("%d: seq %d after %d", p.User, m.Seq, q.last)
			}
			q.last = m.Seq
			*got++
		}
	}
	sync := func() {
		for {
			page, err := h.Chat().Sync(t.Context(), apptest.As(p, &chatv1.SyncRequest{After: q.position, Limit: 2000}))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Msg.Events {
				event(e)
			}
			if !page.Msg.More {
				return
			}
		}
	}
	for *got < want {
		f := s.Read()
		for _, e := range f.Events {
			switch {
			case q.position != nil && e.Seq <= q.position.Seq:
			case q.position == nil || e.Prev == q.position.Seq:
				event(e)
			default:
				sync()
			}
		}
		if f.Hint != nil {
			sync()
		}
	}
}

func TestSessionsThatEnd(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.House) {
		alice := h.Register(t, "alice")
		s, _ := alice.Socket(t, "rialto.v1.proto")
		other := h.Login(t, "alice")
		o, _ := other.Socket(t, "rialto.v1.json")
		if _, err := h.Accounts().RevokeSession(t.Context(), apptest.As(other, &accountv1.RevokeSessionRequest{Session: alice.Session.Session})); err != nil {
			t.Fatal(err)
		}
		if code, bye := s.CloseCode(); code != 4102 || bye.GetReason() == "" {
			t.Errorf("the revoked session's socket was closed with %d, %v", code, bye)
		}
		if _, err := h.Accounts().ListSessions(t.Context(), apptest.As(alice, &accountv1.ListSessionsRequest{})); connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("the revoked session's token is still good: %v", err)
		}
		o.Write(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}})
		o.Until(func(f *gatewayv1.ServerFrame) bool { return f.Pong != nil })
	})
}

func TestASingleDeviceTellsTheLoserWhy(t *testing.T) {
	h := apptest.Open(t, func(c *config.Config) { c.Account.DevicePolicy = "single" })
	alice := h.Register(t, "alice")
	s, _ := alice.Socket(t, "rialto.v1.json")
	h.Login(t, "alice")
	if code, bye := s.CloseCode(); code != 4102 || bye.GetReason() != "replaced" {
		t.Errorf("closed with %d, %v", code, bye)
	}
}

func TestAStoppingHouseSendsItsClientsElsewhere(t *testing.T) {
	h := apptest.Open(t, nil)
	alice := h.Register(t, "alice")
	s, _ := alice.Socket(t, "rialto.v1.proto")
	done := make(chan error, 1)
	go func() { done <- h.Close() }()
	code, bye := s.CloseCode()
	if code != 4000 || bye.GetRetryMs() > 5000 {
		t.Errorf("closed with %d, %v", code, bye)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, _, err := h.Dial(context.Background(), "rialto.v1.proto", nil); err == nil {
		t.Error("a stopped house takes connections")
	}
}
