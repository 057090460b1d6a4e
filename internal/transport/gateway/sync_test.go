package gateway

import (
	"context"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// world is one user's stream and one large group, the connection that both are pushed to, and a client that uses every freedom that
// docs/protocol.md grants. Who acts next is drawn; syncs stop where the store is read, and go on when they are drawn again.
type world struct {
	*fakeServices
	t    *testing.T
	rand *rand.Rand
	c    *conn

	stream      []message.Position
	pushed      int
	large       uint64
	largePushed uint64
	syncs       []*pausedSync // that the server works at

	wire     []*gatewayv1.ServerFrame // written, not read by the client
	requests []*gatewayv1.ClientFrame // sent, not read by the server

	client struct {
		request   uint64
		waits     map[uint64]bool // requests without an answer
		solo      bool            // the one that waits has been alone since it was sent
		at        message.Position
		large     uint64
		dropped   int
		joint     message.Position // a last page ended here, and nothing above it came since
		jointOpen bool
	}
}

type pausedSync struct{ next func() (struct{}, bool) }

type pauseKey struct{}

func (w *world) tail() message.Position {
	if len(w.stream) == 0 {
		return 0
	}
	return w.stream[len(w.stream)-1]
}

func (w *world) prev(i int) message.Position {
	if i == 0 {
		return 0
	}
	return w.stream[i-1]
}

func body(conversation id.Conversation, seq uint64, long bool) *payload {
	text := "x"
	if long {
		text = strings.Repeat("x", 70<<10)
	}
	m := message.Stored{Conversation: conversation, Seq: seq, Entry: message.Entry{Sender: 1, Content: message.AppendText(nil, text)}}
	return &payload{proto: message.AppendBody(nil, message.FieldMessage, m.AppendProto(nil))}
}

// AppendSync reads as the inbox does: first the tail, then entries, which may go beyond it, then how far the large group is.
func (w *world) AppendSync(ctx context.Context, b []byte, _ id.User, after message.Position, limit int) ([]byte, error) {
	pause := ctx.Value(pauseKey{}).(func())
	pause()
	tail := w.tail()
	pause()
	if w.rand.IntN(20) == 0 {
		return nil, errs.New(errs.Unavailable, "storage", "away")
	}
	next := after
	for i, at := range w.stream {
		if at > after && limit > 0 {
			b = message.AppendEventField(b, 1, at, w.prev(i), body(5, uint64(i)+1, false).proto)
			next = at
			limit--
		}
	}
	pause()
	page := &chatv1.SyncResponse{Next: positionOf(next), More: next < tail}
	if !page.More {
		page.Large = []*chatv1.LargeTail{{Conversation: 6, LastSeq: w.large}}
	}
	pause()
	return proto.MarshalOptions{}.MarshalAppend(b, page)
}

func (w *world) Invoke(ctx context.Context, c id.Caller, _ string, in []byte, _ bool) ([]byte, error) {
	var r chatv1.SyncRequest
	if err := proto.Unmarshal(in, &r); err != nil {
		return nil, err
	}
	return w.AppendSync(ctx, nil, c.User, message.Position(r.GetAfter().GetSeq()), int(r.Limit))
}

// begin has the server read a request. The sync runs until it pauses.
func (w *world) begin() {
	f := w.requests[0]
	w.requests = w.requests[1:]
	next, _ := iter.Pull(func(yield func(struct{}) bool) {
		ctx := context.WithValue(context.Background(), pauseKey{}, func() {
			if w.rand.IntN(4) == 0 {
				w.surge()
			}
			yield(struct{}{})
		})
		var err error
		if f.Call != nil {
			err = w.c.invoke(ctx, f.Request, f.Call)
		} else {
			err = w.c.sync(ctx, f.Request, f.Sync)
		}
		if err != nil {
			w.c.sendFrame(&gatewayv1.ServerFrame{Request: f.Request, Error: errorOf(err)})
		}
	})
	w.syncs = append(w.syncs, &pausedSync{next})
}

func (w *world) goOn(i int) {
	if _, more := w.syncs[i].next(); !more {
		w.syncs = append(w.syncs[:i], w.syncs[i+1:]...)
	}
}

func (w *world) push() {
	i := w.pushed
	w.pushed++
	w.c.pushEvent(w.stream[i], w.prev(i), body(5, uint64(i)+1, w.rand.IntN(16) == 0))
}

func (w *world) pushLarge() {
	w.largePushed++
	b := body(6, w.largePushed, w.rand.IntN(16) == 0)
	w.c.follows, w.c.followsAbove = []id.Conversation{6}, []uint64{0}
	w.c.pushBatch(&largeBatch{conversation: 6, entries: []largeEntry{{seq: w.largePushed, body: *b}}, fields: message.AppendEventField(nil, 4, 0, 0, b.proto)})
}

// ask has the client send a sync from where it is.
func (w *world) ask() {
	k := &w.client
	k.solo, k.jointOpen = len(k.waits) == 0, false
	k.request++
	k.waits[k.request] = true
	r := &chatv1.SyncRequest{After: positionOf(k.at), Limit: uint32(1 + w.rand.IntN(4))}
	f := &gatewayv1.ClientFrame{Request: k.request, Sync: r}
	if !w.c.json && w.rand.IntN(4) == 0 {
		payload, err := proto.Marshal(r)
		if err != nil {
			w.t.Fatal(err)
		}
		f.Sync, f.Call, k.solo = nil, &gatewayv1.Call{Method: syncMethod, Payload: payload}, false
	}
	w.requests = append(w.requests, f)
}

// take has the client read a frame.
func (w *world) take() {
	f := w.wire[0]
	w.wire = w.wire[1:]
	k := &w.client
	for _, e := range f.Events {
		w.event(e)
	}
	if f.Hint != nil {
		k.jointOpen = false
		if len(k.waits) == 0 || w.rand.IntN(2) == 0 {
			w.ask()
		}
	}
	if !k.waits[f.Request] {
		return
	}
	delete(k.waits, f.Request)
	page := f.Sync
	if f.Result != nil {
		page = &chatv1.SyncResponse{}
		if err := proto.Unmarshal(f.Result.Payload, page); err != nil {
			w.t.Fatal(err)
		}
	}
	if page == nil || page.More {
		k.at = max(k.at, message.Position(page.GetNext().GetSeq()))
		w.ask()
		return
	}
	k.at = max(k.at, message.Position(page.Next.GetSeq()))
	for _, l := range page.Large {
		k.large = max(k.large, l.LastSeq) // by History
	}
	if k.solo && len(k.waits) == 0 {
		k.joint, k.jointOpen = k.at, true
	}
}

func (w *world) event(e *chatv1.Event) {
	k := &w.client
	at, prev := message.Position(e.Seq), message.Position(e.Prev)
	if k.jointOpen && at > k.joint {
		k.jointOpen = false
		if prev != k.joint {
			w.t.Errorf("the last page ended at %d, and the first event after it is %d after %d", k.joint, at, prev)
		}
	}
	switch {
	case len(k.waits) > 0 && w.rand.IntN(3) > 0:
		k.dropped++
	case at == 0:
		k.large = max(k.large, e.GetMessage().GetSeq()) // what is missing before it, by History
	case at <= k.at:
	case prev == k.at:
		k.at = at
	case len(k.waits) == 0 || w.rand.IntN(4) == 0 && len(k.waits) < 4:
		w.ask()
	}
}

// act does one thing that can be done, by a number; false where it cannot be.
func (w *world) act(what int) bool {
	switch {
	case what == 0 && len(w.requests) > 0:
		w.begin()
	case what <= 2 && len(w.syncs) > 0:
		w.goOn(w.rand.IntN(len(w.syncs)))
	case what <= 4 && w.pushed < len(w.stream):
		w.push()
	case what == 5 && w.largePushed < w.large:
		w.pushLarge()
	case what == 6:
		list := sent(w.t, w.c)
		w.wire = append(w.wire, list...)
		return len(list) > 0
	case what <= 8 && len(w.wire) > 0:
		w.take()
	default:
		return false
	}
	return true
}

// surge posts and pushes at once.
func (w *world) surge() {
	if w.rand.IntN(2) == 0 {
		w.large++
		for w.largePushed < w.large {
			w.pushLarge()
		}
		return
	}
	w.stream = append(w.stream, w.tail()+1)
	for w.pushed < len(w.stream) {
		w.push()
	}
}

func (w *world) disturb() {
	switch w.rand.IntN(14) {
	case 0, 1:
		w.stream = append(w.stream, w.tail()+1+message.Position(w.rand.IntN(3)))
	case 2, 3:
		w.large++
	case 4:
		if len(w.client.waits) < 4 {
			w.ask()
		}
	case 5:
		if w.rand.IntN(10) == 0 {
			w.c.requestHint()
		}
	default:
		w.act(w.rand.IntN(9))
	}
}

// settle lets all that is under way end, in an order that is drawn.
func (w *world) settle() {
	w.t.Helper()
	for idle, n := 0, 0; idle < 60; n++ {
		if n == 10_000 {
			w.t.Fatal("it does not come to rest")
		}
		idle++
		if w.act(w.rand.IntN(9)) {
			idle = 0
		}
	}
	for what := range 9 {
		if w.act(what) {
			w.settle()
			return
		}
	}
	k := &w.client
	if k.at != w.tail() || k.large != w.large || len(k.waits) > 0 || w.c.withheld != nil {
		w.t.Errorf("the client is at %d of %d, of the large group at %d of %d; %d answers are missing", k.at, w.tail(), k.large, w.large, len(k.waits))
	}
}

// The rule of docs/protocol.md: with the answer of a sync without `more` a client has all that was pushed before it, whatever it
// dropped meanwhile, and what comes above `next` begins there.
func TestALastPageHasAllThatWasPushedBeforeIt(t *testing.T) {
	first, _ := bench(t)
	dropped, syncs := 0, uint64(0)
	for seed := range uint64(400) {
		c := &conn{server: first.server, transport: discarding{}, frameAt: -1, fd: -1, caller: first.caller, json: seed%4 == 0}
		c.state = stateReady
		w := &world{fakeServices: &fakeServices{}, t: t, rand: rand.New(rand.NewPCG(seed, 1)), c: c}
		w.client.waits = map[uint64]bool{}
		c.server.deps.Inbox, c.server.deps.Invoker = w, w
		for range 15 {
			for range 3 + w.rand.IntN(20) {
				w.disturb()
			}
			w.settle()
			if t.Failed() {
				t.Fatalf("seed %d, JSON %v", seed, c.json)
			}
		}
		dropped, syncs = dropped+w.client.dropped, syncs+w.client.request
	}
	hints := first.server.stats.Hints.Load()
	t.Logf("%d syncs, %d events dropped, %d hints", syncs, dropped, hints)
	if dropped < 3_000 || syncs < 10_000 || hints < 300 {
		t.Error("too few to say anything")
	}
}

// What is withheld is bounded: a hint takes its place, and comes behind the page.
func TestWhatIsWithheldIsBounded(t *testing.T) {
	for _, json := range []bool{false, true} {
		c, _ := bench(t)
		c.json = json
		c.withhold()
		for i := range 1000 {
			c.pushEvent(message.Position(i+1), message.Position(i), body(5, uint64(i)+1, i%10 == 0))
			if c.withheld.bytes > maxWithheld {
				t.Fatalf("%d bytes are withheld", c.withheld.bytes)
			}
		}
		if list := sent(t, c); list != nil {
			t.Errorf("JSON %v: before the page came %v", json, list)
		}
		c.sendFrame(&gatewayv1.ServerFrame{Sync: &chatv1.SyncResponse{}})
		c.releaseWithheld()
		if list := sent(t, c); len(list) != 1 || list[0].Sync == nil {
			t.Errorf("JSON %v: then %v, and not the page", json, list)
		}
		if list := sent(t, c); len(list) != 1 || list[0].Hint == nil {
			t.Errorf("JSON %v: and then %v, and not a hint", json, list)
		}
	}
}
