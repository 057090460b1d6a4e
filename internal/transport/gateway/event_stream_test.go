package gateway

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// streamStore is a user's stream, and one large conversation, of which each page has few events. Who reads it may be overtaken by what is stored meanwhile.
type streamStore struct {
	*fakeServices
	s      *Server
	mu     sync.Mutex // guards all below
	random *rand.Rand
	stream []message.Position
	large  uint64
	quiet  bool // nothing is stored any more
}

const storeUser = id.User(7)

func (k *streamStore) Verify(context.Context, string) (id.Caller, error) {
	return id.Caller{User: storeUser, Device: 8, Session: 9}, nil
}

func (k *streamStore) tail() message.Position {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last()
}

func (k *streamStore) last() message.Position {
	if len(k.stream) == 0 {
		return 0
	}
	return k.stream[len(k.stream)-1]
}

func (k *streamStore) Tails(context.Context, []id.User) ([]message.Position, error) {
	return []message.Position{k.tail()}, nil
}

func (k *streamStore) LargeTails(context.Context, []id.Conversation) ([]uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return []uint64{k.large}, nil
}

func (k *streamStore) prev(i int) message.Position {
	if i == 0 {
		return 0
	}
	return k.stream[i-1]
}

func (k *streamStore) AppendSync(_ context.Context, b []byte, _ id.User, after message.Position, _ int) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	tail := k.last()
	switch k.random.IntN(10) {
	case 0:
		return nil, errs.New(errs.Unavailable, "storage", "away")
	case 1, 2, 3:
		k.store(1)
	}
	next, left := after, 3
	for i, at := range k.stream {
		if at > after && left > 0 {
			b = message.AppendEventField(b, 1, at, k.prev(i), body(5, uint64(i)+1, false).proto)
			next, left = at, left-1
		}
	}
	page := &chatv1.SyncResponse{Next: positionOf(next), More: next < tail}
	if !page.More {
		page.Large = []*chatv1.LargeTail{{Conversation: 6, LastSeq: k.large}}
		k.store(k.random.IntN(2))
	}
	return proto.MarshalOptions{}.MarshalAppend(b, page)
}

// act stores n events and pushes most of them, some twice.
func (k *streamStore) act(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.store(n)
}

func (k *streamStore) store(n int) {
	for range n {
		if k.quiet {
			return
		}
		if k.random.IntN(4) == 0 {
			k.large++
			if k.random.IntN(10) != 0 {
				e := message.Entry{Sender: 1, Content: message.AppendText(nil, "x")}
				k.deliver(&message.Delivery{Kind: message.DeliverEntry, Large: true, Conversation: 6, Seq: k.large, Counted: k.large, Body: e.Append(nil)})
			}
			continue
		}
		k.stream = append(k.stream, k.last()+1+message.Position(k.random.IntN(3)))
		for pushes := []int{0, 1, 1, 1, 1, 1, 1, 1, 1, 2}[k.random.IntN(10)]; pushes > 0; pushes-- {
			i := len(k.stream) - 1
			long := k.random.IntN(20) == 0
			k.deliver(&message.Delivery{Kind: message.DeliverEvent, Body: body(5, uint64(i)+1, long).proto, Targets: []message.Target{{User: storeUser, At: k.stream[i], Prev: k.prev(i)}}})
		}
	}
}

func (k *streamStore) deliver(n *message.Delivery) {
	(&deliverer{server: k.s}).deliver(n.Append(nil))
}

// sseWriter is the response of an event stream, whose client takes a while for each write.
type sseWriter struct {
	*httptest.ResponseRecorder
	random *rand.Rand
}

func (w *sseWriter) Write(b []byte) (int, error) {
	if w.random.IntN(3) == 0 {
		time.Sleep(time.Duration(w.random.IntN(3000)) * time.Millisecond)
	}
	return w.ResponseRecorder.Write(b)
}

// sseClient reads what an event stream has written.
type sseClient struct {
	lastID string
	events []message.Position
	large  uint64 // the newest seq of the large conversation that it was told of
}

func (c *sseClient) read(t *testing.T, text string) {
	t.Helper()
	eventID := ""
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			eventID = value
		case "data":
			var f struct {
				Events []struct {
					Seq, Prev uint64 `json:",string"`
					Message   struct {
						Seq uint64 `json:",string"`
					}
				}
				Hint struct {
					Conversations []struct {
						LastSeq uint64 `json:",string"`
					}
				}
			}
			if err := json.Unmarshal([]byte(value), &f); err != nil {
				t.Fatalf("the frame is not JSON: %v: %.300s", err, value)
			}
			for _, e := range f.Events {
				if e.Seq == 0 {
					c.large = max(c.large, e.Message.Seq)
					continue
				}
				if at := strconv.FormatUint(e.Seq, 10); eventID != at {
					t.Fatalf("the event at %s has the id %q", at, eventID)
				}
				c.events = append(c.events, message.Position(e.Seq))
			}
			for _, l := range f.Hint.Conversations {
				c.large = max(c.large, l.LastSeq)
			}
		case "":
			if eventID != "" {
				c.lastID, eventID = eventID, ""
			}
		}
	}
}

// withStore runs a test in simulated time, with a server that writes its connections, and a user's stream.
func withStore(t *testing.T, seed uint64, test func(t *testing.T, k *streamStore, s *Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		first, fake := bench(t)
		s := first.server
		k := &streamStore{fakeServices: fake, random: rand.New(rand.NewPCG(seed, 1)), s: s}
		fake.in(6)
		s.deps.Inbox, s.deps.Accounts = k, k
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.flush[0].run(ctx) }()
		test(t, k, s)
		cancel()
		<-done
		if n, held := s.stats.Connections.Load(), s.stats.Held.Load(); n != 0 || held != 0 {
			t.Errorf("%d connections remain, %d of them held", n, held)
		}
	})
}

// An event stream has each event once, in the order of the stream, wherever pushes are lost, repeated or overtaken by reading, however slowly its client reads,
// and wherever it reconnects. The client learns how far its large conversations are, and does not look at positions.
func TestEventStreamsHaveEachEventOnce(t *testing.T) {
	schedules, err := strconv.ParseUint(cmp.Or(os.Getenv("EVENT_STREAM_SCHEDULES"), "20"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range schedules {
		withStore(t, seed, func(t *testing.T, k *streamStore, s *Server) {
			random := rand.New(rand.NewPCG(seed, 1)) // the store has its own
			k.act(random.IntN(20))
			client := &sseClient{lastID: "0"}
			for connects := range 4 {
				r := httptest.NewRequestWithContext(t.Context(), "GET", "http://h/v1/events", nil)
				r.Header.Set("Authorization", "Bearer x")
				r.Header.Set("Last-Event-ID", client.lastID)
				ctx, disconnect := context.WithCancel(r.Context())
				w := &sseWriter{httptest.NewRecorder(), rand.New(rand.NewPCG(random.Uint64(), 0))}
				served := make(chan struct{})
				go func() { defer close(served); s.ServeEvents(w, r.WithContext(ctx)) }()
				for range random.IntN(30) {
					k.act(random.IntN(8))
					if random.IntN(2) == 0 {
						pass(time.Duration(random.IntN(4000)) * time.Millisecond)
					}
				}
				if connects == 3 {
					k.mu.Lock()
					k.quiet = true
					k.mu.Unlock()
					pass(2 * time.Minute)
					s.hub.each(storeUser, func(c *conn) { c.hintIfBehind(k.tail()) }) // as the reconciler does for a last push that was lost
					s.hub.hintIfBehind(6, k.large)
					s.Flush()
					pass(2 * time.Minute)
				}
				disconnect()
				<-served
				client.read(t, w.Body.String())
				k.act(random.IntN(5)) // it is away
			}
			if !slices.Equal(client.events, k.stream) {
				t.Errorf("seed %d: received %v, want %v", seed, client.events, k.stream)
			}
			if client.large != k.large {
				t.Errorf("seed %d: the large conversation is at %d, the client knows of %d", seed, k.large, client.large)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// overPipes runs a server of HTTP/1.1 and HTTP/2 for event streams, and a client, in simulated time.
func overPipes(t *testing.T, h2 bool, test func(t *testing.T, k *streamStore, s *Server, get func() *http.Response)) {
	t.Helper()
	withStore(t, 1, func(t *testing.T, k *streamStore, s *Server) {
		protocols := &http.Protocols{}
		protocols.SetHTTP1(!h2)
		protocols.SetUnencryptedHTTP2(h2)
		server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.ServeEvents(outputlimit.WithWriteDeadlines(w, 0), r)
		})}
		l := pipes{make(chan net.Conn)}
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			l.conns <- far
			return near, nil
		}}
		test(t, k, s, func() *http.Response {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/v1/events?ticket=x", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer x")
			res, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			return res
		})
		transport.CloseIdleConnections()
		close(l.conns)
		if err := <-served; !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v, want %v", err, net.ErrClosed)
		}
		_ = server.Close() // the connections; the listener is closed
		pass(time.Minute)
	})
}

type pipes struct{ conns chan net.Conn }

func (l pipes) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l pipes) Close() error   { return nil }
func (l pipes) Addr() net.Addr { return &net.UnixAddr{} }

// No deadline of a server ends a quiet event stream. A comment comes each three heartbeats, so that clients and proxies see that it is there.
func TestAQuietEventStreamLasts(t *testing.T) {
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			overPipes(t, h2, func(t *testing.T, k *streamStore, s *Server, get func() *http.Response) {
				res := get()
				defer res.Body.Close()
				lines := bufio.NewScanner(res.Body)
				comments := make(chan int, 1)
				go func() { // ends with the event, or the stream
					n := 0
					for lines.Scan() && !strings.Contains(lines.Text(), `"events"`) {
						if strings.HasPrefix(lines.Text(), ":") {
							n++
						}
					}
					comments <- n
				}()
				pass(10 * time.Minute)
				k.stream = append(k.stream, 5)
				k.deliver(&message.Delivery{Kind: message.DeliverEvent, Body: body(5, 1, false).proto, Targets: []message.Target{{User: storeUser, At: 5, Prev: 0}}})
				if n := <-comments; lines.Err() != nil || n != 40 && n != 39 {
					t.Errorf("after 10 minutes, %d comments had come: %v", n, lines.Err())
				}
			})
		})
	}
}

// A client that reads nothing is disconnected, and little waits for it until then.
func TestAnEventStreamThatNobodyReadsEnds(t *testing.T) {
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			overPipes(t, h2, func(t *testing.T, k *streamStore, s *Server, get func() *http.Response) {
				res := get()
				defer res.Body.Close()
				for i := range 100 {
					k.stream = append(k.stream, message.Position(i)+1)
					k.deliver(&message.Delivery{Kind: message.DeliverEvent, Body: body(5, 1, true).proto, Targets: []message.Target{{User: storeUser, At: message.Position(i) + 1, Prev: message.Position(i)}}})
					pass(time.Millisecond)
					s.hub.each(storeUser, func(c *conn) {
						c.mu.Lock()
						defer c.mu.Unlock()
						if n := c.pending(); n > hintAbove+100<<10 {
							t.Errorf("%d bytes wait", n)
						}
					})
				}
				pass(stallTime*time.Second + time.Minute)
				if s.hub.has(storeUser) {
					t.Error("the stream lasts")
				}
			})
		})
	}
}

// refusingAccounts accept one token and one ticket.
type refusingAccounts struct{ *fakeServices }

func (refusingAccounts) Verify(_ context.Context, token string) (id.Caller, error) {
	switch token {
	case "good":
		return id.Caller{User: storeUser, Device: 8, Session: 9}, nil
	case "key":
		return id.Caller{Server: true}, nil
	}
	return id.Caller{}, errs.New(errs.Unauthenticated, "bad_token", "no")
}

func (refusingAccounts) VerifyTicket(_ context.Context, ticket string) (id.Caller, error) {
	return refusingAccounts{}.Verify(context.Background(), ticket)
}

// An event stream is opened with the credentials of a socket, from its origins, and within its limits.
func TestWhoMayOpenAnEventStream(t *testing.T) {
	for _, test := range []struct {
		name, query string
		header      map[string]string
		limit       func(s *Server)
		status      int
		reason      string
	}{
		{"a token", "", map[string]string{"Authorization": "Bearer good"}, nil, 200, ""},
		{"a ticket", "?ticket=good", nil, nil, 200, ""},
		{"a cookie of the server's own page", "", map[string]string{"Cookie": "rialto_access=good", "Sec-Fetch-Site": "same-origin"}, nil, 200, ""},
		{"a cookie of an allowed page", "", map[string]string{"Cookie": "rialto_access=good", "Origin": "https://app.example.com"}, nil, 200, ""},
		{"a cookie of some page", "", map[string]string{"Cookie": "rialto_access=good", "Sec-Fetch-Site": "cross-site"}, nil, 403, "origin"},
		{"a cookie of no page", "", map[string]string{"Cookie": "rialto_access=good"}, nil, 403, "origin"},
		{"another page", "", map[string]string{"Authorization": "Bearer good", "Origin": "https://evil.example"}, nil, 403, "origin"},
		{"nothing", "", nil, nil, 401, "no_token"},
		{"a bad token", "", map[string]string{"Authorization": "Bearer bad"}, nil, 401, "bad_token"},
		{"a key", "", map[string]string{"Authorization": "Bearer key"}, nil, 401, "no_user"},
		{"a token in the address", "?access_token=good", nil, nil, 400, "token_in_url"},
		{"no position", "?ticket=good&after=x", nil, nil, 400, "bad_position"},
		{"a negative position", "?ticket=good", map[string]string{"Last-Event-ID": "-1"}, nil, 400, "bad_position"},
		{"a full node", "?ticket=good", nil, func(s *Server) { s.stats.Connections.Store(int64(s.config.MaxConnections)) }, 503, "full"},
		{"too many requests are held", "?ticket=good", nil, func(s *Server) { s.stats.Held.Store(int64(s.config.MaxHeldRequests)) }, 503, "full"},
		{"a user with too many", "?ticket=good", nil, func(s *Server) { s.config.MaxConnectionsUser = 0 }, 429, "too_many_connections"},
		{"a node that stops", "?ticket=good", nil, func(s *Server) { s.draining = true }, 503, "closing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			first, fake := bench(t)
			s := first.server
			s.deps.Accounts, s.config.Origins = refusingAccounts{fake}, []string{"https://app.example.com"}
			if test.limit != nil {
				test.limit(s)
			}
			before := fmt.Sprint(s.stats.Connections.Load(), s.stats.Held.Load())
			ctx, disconnect := context.WithCancel(t.Context())
			disconnect() // at once: what is tested comes before
			r := httptest.NewRequestWithContext(ctx, "GET", "http://h/v1/events"+test.query, nil)
			for name, value := range test.header {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			s.ServeEvents(w, r)
			var refusal struct{ Reason string }
			_ = json.Unmarshal(w.Body.Bytes(), &refusal) // a stream is no JSON
			if w.Code != test.status || refusal.Reason != test.reason {
				t.Errorf("answered %d %s, want %d %s", w.Code, w.Body, test.status, test.reason)
			}
			if after := fmt.Sprint(s.stats.Connections.Load(), s.stats.Held.Load()); after != before {
				t.Errorf("connections and held requests: %s before, %s after", before, after)
			}
		})
	}
}

// An event stream ends with its session, and when the node stops: then its client is told when to come back.
func TestEventStreamsAreEnded(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(s *Server)
		want string
	}{
		"the session": {func(s *Server) { s.EndSession(storeUser, 9, "revoked") }, `"code":4102,"reason":"revoked"`},
		"the node":    {func(s *Server) { s.ReleaseHeld() }, `"code":4000,"reason":"draining"`},
	} {
		t.Run(name, func(t *testing.T) {
			withStore(t, 1, func(t *testing.T, k *streamStore, s *Server) {
				r := httptest.NewRequestWithContext(t.Context(), "GET", "http://h/v1/events?ticket=x", nil)
				r.Header.Set("Authorization", "Bearer x")
				w, served := httptest.NewRecorder(), make(chan struct{})
				go func() { defer close(served); s.ServeEvents(w, r) }()
				pass(time.Second)
				test.end(s)
				<-served
				text := w.Body.String()
				if !strings.Contains(strings.ReplaceAll(text, " ", ""), test.want) || !strings.HasSuffix(text, "}\n\n") {
					t.Errorf("the stream ends with %q, want %q", text, test.want)
				}
				if retries := strings.Count(text, "retry: "); retries != 1 && name == "the session" || retries != 2 && name == "the node" {
					t.Errorf("the client is told %d times when to come back: %q", retries, text)
				}
			})
		})
	}
}
