package canary

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/synclist"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// standIn answers as a node does, or otherwise if the test wants.
type standIn struct {
	t       *testing.T
	name    string
	sends   synclist.List[*gatewayv1.Send]
	deletes synclist.List[int64] // times of DeleteBefore
	syncs   synclist.List[*chatv1.Position]
	tokens  synclist.List[string]

	mu       sync.Mutex // guards the fields below
	sessions int
	refused  string // a token that is not accepted
	answer   func(n *standIn, s *gatewayv1.Send) []*gatewayv1.ServerFrame
	seq      uint64 // of the stream
	pages    []*chatv1.Event
}

func (n *standIn) OpenCanary(context.Context, string) (id.Caller, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sessions++
	return id.Caller{User: id.CanaryUser(1), Device: 1, Session: id.Session(n.sessions)}, nil
}

func (n *standIn) CanaryToken(c id.Caller) (string, error) { return c.Session.String(), nil }

func (n *standIn) Open(context.Context, id.User) (id.Conversation, error) { return 7, nil }

func (n *standIn) DeleteBefore(_ context.Context, c id.Conversation, ms int64) error {
	if c != 7 {
		return errors.New("another conversation")
	}
	n.deletes.Add(ms)
	return nil
}

// ServeHTTP is the node's listener.
func (n *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := r.Header.Get("Authorization")
	n.tokens.Add(token)
	n.mu.Lock()
	refused := token == "Bearer "+n.refused
	n.mu.Unlock()
	if refused {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
	if err != nil {
		n.t.Error(err)
		return
	}
	defer conn.CloseNow() //nolint:errcheck // the canary may have closed it
	write := func(f *gatewayv1.ServerFrame) bool {
		b, err := proto.Marshal(f)
		return err == nil && conn.Write(r.Context(), websocket.MessageBinary, b) == nil
	}
	if !write(&gatewayv1.ServerFrame{Hello: &gatewayv1.Hello{Node: n.name, ClientSeq: 40, HeartbeatMs: 60_000, Tail: &chatv1.Position{Epoch: 1}}}) {
		return
	}
	for {
		_, b, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		f := &gatewayv1.ClientFrame{}
		if err := proto.Unmarshal(b, f); err != nil {
			n.t.Error(err)
			return
		}
		for _, out := range n.handle(f) {
			if !write(out) {
				return
			}
		}
	}
}

// handle returns the answers to a frame.
func (n *standIn) handle(f *gatewayv1.ClientFrame) (out []*gatewayv1.ServerFrame) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f.Sync != nil {
		n.syncs.Add(f.Sync.After)
		out = append(out, &gatewayv1.ServerFrame{Sync: &chatv1.SyncResponse{Events: n.pages, Next: &chatv1.Position{Epoch: 1, Seq: n.seq}}})
	}
	for _, s := range f.Sends {
		n.sends.Add(s)
		out = append(out, n.answer(n, s)...)
	}
	return out
}

// event appends a message to the stream.
func (n *standIn) event(s *gatewayv1.Send) *chatv1.Event {
	n.seq++
	e := &chatv1.Event{Epoch: 1, Seq: n.seq, Prev: n.seq - 1, Body: &chatv1.Event_Message{Message: &chatv1.Message{Conversation: s.Conversation, Content: s.Content}}}
	n.pages = append(n.pages, e)
	return e
}

func stored(s *gatewayv1.Send) *gatewayv1.ServerFrame {
	return &gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: s.Conversation, ClientSeq: s.ClientSeq, Seq: 1}}}
}

func pushed(e *chatv1.Event) *gatewayv1.ServerFrame {
	return &gatewayv1.ServerFrame{Events: []*chatv1.Event{e}}
}

// deliver is what a node does.
func deliver(n *standIn, s *gatewayv1.Send) []*gatewayv1.ServerFrame {
	return []*gatewayv1.ServerFrame{stored(s), pushed(n.event(s))}
}

// start runs a canary with one node until the test ends.
func start(t *testing.T, answer func(*standIn, *gatewayv1.Send) []*gatewayv1.ServerFrame, change func(*standIn)) (*standIn, *judge) {
	t.Helper()
	n := &standIn{t: t, name: "a", answer: answer}
	if change != nil {
		change(n)
	}
	server := httptest.NewServer(n)
	targets := func() []Target { return []Target{{Node: "a", URL: "ws" + server.URL[len("http"):] + "/v1/socket"}} }
	s := New(Deps{Accounts: n, Conversations: n, Node: "a", Targets: targets, Draining: func() bool { return false }, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, Config{Interval: minInterval})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return n, &judge{t: t, probes: s.probes}
}

// at returns a figure of node a, in the order of figuresOf.
func (j *judge) at(i int) float64 { return j.figuresOf("a")[i] }

// The canary sends signals with numbers above those that the node has stored, each of which comes once. It deletes messages that are older than an hour.
func TestProbesAreSentAndDelivered(t *testing.T) {
	n, j := start(t, deliver, nil)
	eventually.True(t, "probes are delivered", func() bool { return j.at(6) >= 3 })
	for i, s := range n.sends.All() {
		if s.Conversation != 7 || s.ClientSeq != uint64(41+i) || s.Content.GetSignal().GetType() != signalType {
			t.Errorf("probe %d is %v", i, s)
		}
	}
	if j.at(3) != 0 || j.at(4) != 0 {
		t.Errorf("the figures are %v", j.figuresOf("a"))
	}
	eventually.True(t, "old messages are deleted", func() bool { return len(n.deletes.All()) > 0 })
	if got := time.Since(time.UnixMilli(n.deletes.All()[0])); got < keepFor {
		t.Errorf("messages are deleted that are %v old", got)
	}
}

// What is pushed twice is a duplicate.
func TestASocketNoticesDuplicates(t *testing.T) {
	_, j := start(t, func(n *standIn, s *gatewayv1.Send) []*gatewayv1.ServerFrame {
		e := n.event(s)
		return []*gatewayv1.ServerFrame{stored(s), pushed(e), pushed(e)}
	}, nil)
	eventually.True(t, "duplicates are counted", func() bool { return j.at(3) >= 2 })
}

// Where a push is missing, the next one shows it. The canary syncs from where it is, and counts what it finds as delivered, once.
func TestASocketSyncsWhatWasNotPushed(t *testing.T) {
	sent := 0
	n, j := start(t, func(n *standIn, s *gatewayv1.Send) []*gatewayv1.ServerFrame {
		e := n.event(s)
		if sent++; sent == 2 {
			return []*gatewayv1.ServerFrame{stored(s)}
		}
		return []*gatewayv1.ServerFrame{stored(s), pushed(e)}
	}, nil)
	eventually.True(t, "all are delivered", func() bool { return j.at(6) >= 5 && j.at(5) == 0 })
	if syncs := n.syncs.All(); len(syncs) == 0 || syncs[0].Epoch != 1 || syncs[0].Seq != 1 {
		t.Errorf("it synced after %v, want at first after the first event", syncs)
	}
	if j.at(3) != 0 {
		t.Errorf("%v are duplicates", j.at(3))
	}
}

// A hint asks for a sync.
func TestASocketSyncsAfterAHint(t *testing.T) {
	n, j := start(t, func(n *standIn, s *gatewayv1.Send) []*gatewayv1.ServerFrame {
		n.event(s)
		return []*gatewayv1.ServerFrame{stored(s), {Hint: &gatewayv1.Hint{}}}
	}, nil)
	eventually.True(t, "all are delivered", func() bool { return j.at(6) >= 3 })
	if len(n.syncs.All()) < 3 || j.at(3) != 0 {
		t.Errorf("it synced %d times; the figures are %v", len(n.syncs.All()), j.figuresOf("a"))
	}
}

// A probe that the node does not store is not late.
func TestRefusedProbesAreNotAwaited(t *testing.T) {
	_, j := start(t, func(_ *standIn, s *gatewayv1.Send) []*gatewayv1.ServerFrame {
		return []*gatewayv1.ServerFrame{{Receipts: []*gatewayv1.Receipt{{Conversation: s.Conversation, ClientSeq: s.ClientSeq, Error: &gatewayv1.Error{Reason: "busy"}}}}}
	}, nil)
	eventually.True(t, "refusals are counted", func() bool { return j.refusals() >= 2 })
	j.mu.Lock()
	defer j.mu.Unlock()
	if waiting := j.targets["a"].waiting; len(waiting) > 1 {
		t.Errorf("it waits for %d probes", len(waiting))
	}
}

// When its session has ended, the canary opens another one.
func TestACanaryOpensAnotherSession(t *testing.T) {
	n, j := start(t, deliver, func(n *standIn) { n.refused = "1" })
	eventually.True(t, "probes are delivered", func() bool { return j.at(6) >= 1 })
	if tokens := n.tokens.All(); len(tokens) != 2 || tokens[0] != "Bearer 1" || tokens[1] != "Bearer 2" {
		t.Errorf("it came with %q", tokens)
	}
}

// An address that leads to another node is none of the node's.
func TestASocketToAnotherNodeIsNotUsed(t *testing.T) {
	n, j := start(t, deliver, func(n *standIn) { n.name = "b" })
	eventually.True(t, "the node is unreachable", func() bool { return j.at(4) >= 1 })
	if sends := n.sends.All(); len(sends) != 0 {
		t.Errorf("it sent %v", sends)
	}
}

// A certificate is accepted by its fingerprint alone.
func TestCertificatesAreKnownByTheirFingerprints(t *testing.T) {
	if tlsConfig("") != nil {
		t.Error("without a fingerprint the certificate is not verified as usual")
	}
	verify := tlsConfig(Fingerprint([]byte("one"))).VerifyPeerCertificate
	if err := verify([][]byte{[]byte("one")}, nil); err != nil {
		t.Errorf("the node's own certificate: %v", err)
	}
	for _, raw := range [][][]byte{nil, {[]byte("two")}, {[]byte("two"), []byte("one")}} {
		if verify(raw, nil) == nil {
			t.Errorf("the certificates %q are accepted", raw)
		}
	}
}
