package rialto_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
	"google.golang.org/protobuf/proto"
)

// server simulates a network and a server as a test directs.
type server struct {
	accountv1connect.UnimplementedAccountServiceHandler
	chatv1connect.UnimplementedChatServiceHandler
	t   *testing.T
	url string

	// script serves the n-th connection, from 1; when it returns, the connection breaks.
	script      func(n int, c *conn)
	heartbeatMs uint32 // 0: 5000
	longestMs   uint32 // of heartbeats in the background
	// silent reports for the n-th attempt, from 1, whether it gets no answer, or nothing after the answer.
	silent func(n int) (before, after bool)
	// drops reports for the n-th attempt, from 1, whether the connection ends without an answer.
	drops func(n int) bool
	// openWithin of its clients.
	openWithin time.Duration
	// compresses accepts compression.
	compresses bool
	// clientSeq is the highest that it has of the device.
	clientSeq uint64
	// node is its name. finder answers FindGateways, nil: nobody does. discover is for its clients.
	node     string
	finder   *finder
	discover bool
	// refuse answers each handshake with this status, until it is 0.
	refuse atomic.Int32
	// waits answers syncs that wait.
	waits func(context.Context, *chatv1.SyncRequest) (*chatv1.SyncResponse, error)
	// streamed is what it has of a streamed message.
	streamed streamedOf
	// drafts, schedule and counter are what it has of these.
	drafts   draftsOf
	schedule scheduleOf
	counter  counter

	mu        sync.Mutex // guards all below
	offered   string     // the extensions that the last handshake offered
	tries     int
	dials     int
	tail      *chatv1.Position
	sync      func(after *chatv1.Position) *chatv1.SyncResponse
	mute      bool // syncs get no answer
	away      int  // syncs, the next ones, that another node would have to answer, which stops
	history   func(*chatv1.HistoryRequest) *chatv1.HistoryResponse
	refreshes int
	access    string
	expires   time.Time
	calls     []*chatv1.SendRequest
	marks     []string
	groups    []*chatv1.CreateGroupRequest
	logins    []string // the device, and its key
	scripts   sync.WaitGroup
}

// conn is the server's end of a socket.
type conn struct {
	*testing.T
	ctx context.Context
	ws  *websocket.Conn
}

// next returns the next frame, and answers pings; nil when the connection has ended.
func (c *conn) next() *gatewayv1.ClientFrame {
	_, b, err := c.ws.Read(c.ctx)
	if err != nil {
		return nil
	}
	var f gatewayv1.ClientFrame
	if err := proto.Unmarshal(b, &f); err != nil {
		c.Error(err)
		return nil
	}
	if f.Ping != nil {
		c.write(&gatewayv1.ServerFrame{Request: f.Request, Pong: &gatewayv1.Pong{TimeMs: 1}})
	}
	return &f
}

// read returns the next frame that is not only a ping; nil when the connection has ended.
func (c *conn) read() *gatewayv1.ClientFrame {
	for {
		if f := c.next(); f == nil || f.Ping == nil {
			return f
		}
	}
}

// sends reads frames until one has messages.
func (c *conn) sends() []*gatewayv1.Send {
	for {
		f := c.read()
		if f == nil || len(f.Sends) > 0 {
			return f.GetSends()
		}
	}
}

func (c *conn) write(f *gatewayv1.ServerFrame) {
	b, err := proto.Marshal(f)
	if err != nil {
		c.Error(err)
		return
	}
	_ = c.ws.Write(c.ctx, websocket.MessageBinary, b) // the client may have closed; only its side is tested
}

func (c *conn) store(sends []*gatewayv1.Send) {
	f := &gatewayv1.ServerFrame{}
	for _, s := range sends {
		f.Receipts = append(f.Receipts, &gatewayv1.Receipt{Conversation: s.Conversation, ClientSeq: s.ClientSeq, Seq: s.ClientSeq, Id: "m"})
	}
	c.write(f)
}

// until reads and drops frames until the client disconnects.
func (c *conn) untilGone() {
	for c.read() != nil {
	}
}

func start(t *testing.T, s *server) *server {
	s.t = t
	t.Cleanup(s.open())
	return s
}

// open listens, and returns a function that stops it.
func (s *server) open() (stop func()) {
	h := httptest.NewServer(s.handler())
	s.url = h.URL
	return func() {
		s.scripts.Wait()
		h.Close()
	}
}

// serve serves on a network in memory, until it is closed.
func (s *server) serve(l net.Listener) *http.Server {
	h := &http.Server{Handler: s.handler()}
	go func() { _ = h.Serve(l) }() // ends when it is closed
	return h
}

func (s *server) handler() http.Handler {
	s.access, s.expires = "access0", time.Now().Add(24*time.Hour)
	mux := http.NewServeMux()
	mux.Handle(accountv1connect.NewAccountServiceHandler(s))
	mux.Handle(chatv1connect.NewChatServiceHandler(s))
	mux.Handle(chatv1connect.NewHelpDeskServiceHandler(&s.counter))
	if s.finder != nil {
		mux.Handle(gatewayv1connect.NewGatewayServiceHandler(s.finder))
	}
	mux.HandleFunc("/v1/socket", s.socket)
	return mux
}

func (s *server) allowed(h http.Header) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.Get("Authorization") == "Bearer "+s.access
}

func (s *server) socket(w http.ResponseWriter, r *http.Request) {
	if status := s.refuse.Load(); status != 0 {
		w.WriteHeader(int(status))
		return
	}
	if !s.allowed(r.Header) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.scripts.Add(1)
	defer s.scripts.Done()
	s.mu.Lock()
	s.tries++
	try := s.tries
	s.mu.Unlock()
	if s.drops != nil && s.drops(try) {
		panic(http.ErrAbortHandler)
	}
	before, after := false, false
	if s.silent != nil {
		before, after = s.silent(try)
	}
	if before {
		<-r.Context().Done()
		return
	}
	options := &websocket.AcceptOptions{Subprotocols: []string{"rialto.v1.proto"}}
	if s.compresses {
		options.CompressionMode = websocket.CompressionNoContextTakeover
	}
	s.mu.Lock()
	s.offered = r.Header.Get("Sec-WebSocket-Extensions")
	s.mu.Unlock()
	ws, err := websocket.Accept(w, r, options)
	if err != nil {
		s.t.Error(err)
		return
	}
	ws.SetReadLimit(1 << 20)
	defer ws.CloseNow()
	if after {
		(&conn{s.t, r.Context(), ws}).untilGone()
		return
	}
	s.mu.Lock()
	s.dials++
	n, tail := s.dials, s.tail
	s.mu.Unlock()
	c := &conn{s.t, r.Context(), ws}
	c.write(&gatewayv1.ServerFrame{Hello: &gatewayv1.Hello{User: 1, Device: 2, Tail: tail, HeartbeatMs: cmp.Or(s.heartbeatMs, 5000), LongestHeartbeatMs: s.longestMs, Node: s.node, ClientSeq: s.clientSeq}})
	s.script(n, c)
}

func (s *server) session() *accountv1.Session {
	return &accountv1.Session{User: 1, Device: 2, AccessToken: s.access, ExpiresMs: s.expires.UnixMilli(), RefreshToken: "refresh", DeviceKey: "rd_key"}
}

func (s *server) Login(_ context.Context, r *connect.Request[accountv1.LoginRequest]) (*connect.Response[accountv1.Session], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins = append(s.logins, fmt.Sprint(r.Msg.Client.Device, " ", r.Msg.Client.DeviceKey))
	return connect.NewResponse(s.session()), nil
}

func (s *server) Refresh(context.Context, *connect.Request[accountv1.RefreshRequest]) (*connect.Response[accountv1.Session], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshes++
	s.access, s.expires = s.access+"+", time.Now().Add(time.Hour)
	return connect.NewResponse(s.session()), nil
}

func (s *server) GetConversation(_ context.Context, r *connect.Request[chatv1.GetConversationRequest]) (*connect.Response[chatv1.Conversation], error) {
	if !s.allowed(r.Header()) {
		return nil, connect.NewError(connect.CodeUnauthenticated, nil)
	}
	return connect.NewResponse(&chatv1.Conversation{Id: r.Msg.Conversation}), nil
}

func (s *server) Sync(ctx context.Context, r *connect.Request[chatv1.SyncRequest]) (*connect.Response[chatv1.SyncResponse], error) {
	if s.waits != nil && r.Msg.WaitMs > 0 {
		page, err := s.waits(ctx, r.Msg)
		return connect.NewResponse(page), err
	}
	s.mu.Lock()
	if s.mute {
		s.mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	defer s.mu.Unlock()
	if s.away > 0 {
		s.away--
		return nil, connect.NewError(connect.CodeUnavailable, nil)
	}
	if s.sync == nil {
		return connect.NewResponse(&chatv1.SyncResponse{Next: r.Msg.After}), nil
	}
	return connect.NewResponse(s.sync(r.Msg.After)), nil
}

func (s *server) History(_ context.Context, r *connect.Request[chatv1.HistoryRequest]) (*connect.Response[chatv1.HistoryResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return connect.NewResponse(s.history(r.Msg)), nil
}

func (s *server) Mark(_ context.Context, r *connect.Request[chatv1.MarkRequest]) (*connect.Response[chatv1.MarkResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = append(s.marks, fmt.Sprint(r.Msg.Conversation, ":", r.Msg.DeliveredSeq, ",", r.Msg.ReadSeq))
	return connect.NewResponse(&chatv1.MarkResponse{}), nil
}

func (s *server) Send(_ context.Context, r *connect.Request[chatv1.SendRequest]) (*connect.Response[chatv1.SendResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r.Msg)
	if r.Msg.Content.GetText() == "forbidden" {
		return nil, connect.NewError(connect.CodePermissionDenied, nil)
	}
	if r.Msg.Content.GetText() == "blocked" {
		return nil, refusal(connect.CodePermissionDenied, &gatewayv1.Error{Code: "permission_denied", Reason: "blocked", Message: "no"})
	}
	if n := len(s.calls); r.Msg.Content.GetText() == "busy" && (n < 2 || s.calls[n-2].ClientSeq != r.Msg.ClientSeq) { // once
		return nil, refusal(connect.CodeResourceExhausted, &gatewayv1.Error{Code: "resource_exhausted", Reason: "busy", Message: "later", RetryMs: 1})
	}
	return connect.NewResponse(&chatv1.SendResponse{Id: "m", Seq: uint64(len(s.calls))}), nil
}

func refusal(code connect.Code, e *gatewayv1.Error) error {
	err := connect.NewError(code, errors.New(e.Message))
	if d, derr := connect.NewErrorDetail(e); derr == nil {
		err.AddDetail(d)
	}
	return err
}

// client is logged in and not running yet. Events come on the channel, connection changes left out.
func (s *server) client(store rialto.Store) (*rialto.Client, <-chan rialto.Event) {
	s.t.Helper()
	events := make(chan rialto.Event, 10_000)
	c, err := rialto.New(rialto.Config{URL: s.url, Store: store, MaxWait: time.Millisecond, OpenWithin: s.openWithin, Discover: s.discover, Handler: func(e rialto.Event) {
		if e.Online == nil {
			events <- e
		}
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	if !c.SignedIn() {
		if err := c.Login(s.t.Context(), "alice", "a good password"); err != nil {
			s.t.Fatal(err)
		}
	}
	return c, events
}

// run runs a client until the test ends, and returns a channel with Run's result.
func run(t *testing.T, c *rialto.Client) <-chan error {
	ctx, cancel := context.WithCancel(t.Context())
	ended, left := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(left)
		ended <- c.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-left
	})
	return ended
}

func message(conversation, seq uint64) *chatv1.Message {
	return &chatv1.Message{Conversation: conversation, Seq: seq, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}}
}

// event with the stream's seq as the message's.
func event(seq, prev uint64) *chatv1.Event {
	return &chatv1.Event{Epoch: 1, Seq: seq, Prev: prev, Body: &chatv1.Event_Message{Message: message(7, seq)}}
}
