package apptest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/backoff"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// freeClient is a device that uses every freedom of docs/protocol.md: it drops pushed events while it syncs, sends several syncs at once
// in both forms, ignores hints while it syncs, acknowledges rarely or never, and breaks connections.
type freeClient struct {
	t     *testing.T
	who   *apptest.Person
	rand  *rand.Rand
	large uint64 // a large group
	paces *pace
	syncs int // answered last pages
	hints int // that named the large group
	again int // number of connections

	at        uint64            // its position
	seen      map[uint64]uint64 // the last seq of each conversation
	largeSeen uint64

	// State of the connection:
	s       *apptest.Socket
	frames  chan *gatewayv1.ServerFrame
	request uint64
	waits   map[uint64]bool
	pushed  uint64 // highest pushed position
	largest uint64 // highest pushed seq of the large group
}

// connect opens a connection, and syncs if the stream has events beyond the position.
func (k *freeClient) connect() {
	form := []string{"rialto.v1.proto", "rialto.v1.json"}[k.rand.IntN(2)]
	c, _, err := k.who.Server.Dial(k.t.Context(), form, http.Header{"Authorization": {"Bearer " + k.who.AccessToken}})
	if err != nil {
		k.t.Error(err)
		return
	}
	c.SetReadLimit(32 << 20)
	s := apptest.Wrap(k.t, c, form != "rialto.v1.proto")
	frames := make(chan *gatewayv1.ServerFrame, 64)
	k.s, k.frames, k.waits, k.pushed, k.largest = s, frames, map[uint64]bool{}, 0, 0
	k.again++
	go func() { // ends with the connection
		defer close(frames)
		for {
			f, err := s.Try()
			if err != nil {
				return
			}
			select {
			case frames <- f:
			case <-k.t.Context().Done():
				return
			}
		}
	}()
	f, ok := <-frames
	if !ok || f.Hello == nil {
		k.t.Errorf("first frame: got %v, want Hello", f)
		return
	}
	k.ask() // always, because the user is in a large group
}

// hangUp breaks the connection; frames in flight are read to the end.
func (k *freeClient) hangUp() {
	if k.s == nil {
		return
	}
	_ = k.s.Conn.CloseNow() // it is over in any case
	for range k.frames {
	}
}

func (k *freeClient) ask() {
	k.request++
	k.waits[k.request] = true
	r := &chatv1.SyncRequest{After: &chatv1.Position{Epoch: uint32(k.at >> 32), Seq: k.at}, Limit: []uint32{0, 1, 3, 20}[k.rand.IntN(4)]}
	f := &gatewayv1.ClientFrame{Request: k.request, Sync: r}
	if !k.s.JSON() && k.rand.IntN(4) == 0 {
		payload, err := proto.Marshal(r)
		if err != nil {
			k.t.Error(err)
		}
		f.Sync, f.Call = nil, &gatewayv1.Call{Method: "/rialto.chat.v1.ChatService/Sync", Payload: payload}
	}
	if k.rand.IntN(30) == 0 {
		f.Ack = r.After
	}
	k.s.Write(f)
}

// take handles a frame.
func (k *freeClient) take(f *gatewayv1.ServerFrame) {
	for _, e := range f.Events {
		k.event(e)
	}
	if names := f.GetHint().GetConversations(); len(names) > 0 {
		k.hints++
		if len(k.waits) == 0 {
			k.largeSeen = max(k.largeSeen, names[0].LastSeq) // read by History
		}
		k.largest = max(k.largest, names[0].LastSeq)
	} else if f.Hint != nil && len(k.waits) == 0 {
		k.ask()
	}
	if f.Error.GetRetryMs() > 0 && k.waits[f.Request] { // as under load
		delete(k.waits, f.Request)
		if backoff.Sleep(k.t.Context(), time.Duration(f.Error.RetryMs)*time.Millisecond) == nil {
			k.ask()
		}
	} else if f.Bye != nil || f.Error != nil {
		k.t.Errorf("got frame %v", f)
	}
	page := f.Sync
	if f.Result != nil {
		page = &chatv1.SyncResponse{}
		if err := proto.Unmarshal(f.Result.Payload, page); err != nil {
			k.t.Error(err)
		}
	}
	if page == nil || !k.waits[f.Request] {
		return
	}
	delete(k.waits, f.Request)
	for _, e := range page.Events {
		if e.Seq > k.at {
			k.apply(e)
		}
	}
	if page.Reset_ {
		k.t.Error("the stream was reset")
	}
	k.at = max(k.at, page.GetNext().GetSeq())
	if page.More {
		k.ask()
		return
	}
	k.syncs++
	k.paces.synced()
	if k.pushed > k.at {
		k.t.Errorf("the last page ends at %d, but %d was pushed before it", k.at, k.pushed)
	}
	for _, l := range page.Large {
		if l.Conversation == k.large {
			k.largeSeen = max(k.largeSeen, l.LastSeq) // read by History
		}
	}
	if k.largest > k.largeSeen {
		k.t.Errorf("the last page has the large group up to %d, but %d was pushed before it", k.largeSeen, k.largest)
	}
}

// event handles a pushed event.
func (k *freeClient) event(e *chatv1.Event) {
	if e.Seq == 0 {
		seq := e.GetMessage().GetSeq()
		k.largest = max(k.largest, seq)
		if len(k.waits) == 0 {
			k.largeSeen = max(k.largeSeen, seq) // missing earlier ones are read by History
		}
		return
	}
	k.pushed = max(k.pushed, e.Seq)
	switch {
	case len(k.waits) > 0: // the sync includes it
	case e.Seq <= k.at:
	case e.Prev == k.at:
		k.apply(e)
		k.at = e.Seq
	default:
		k.ask()
	}
}

// apply checks that no message is missing before an event.
func (k *freeClient) apply(e *chatv1.Event) {
	m := e.GetMessage()
	if m == nil || m.Conversation == k.large {
		return
	}
	if m.Seq != k.seen[m.Conversation]+1 {
		k.t.Errorf("conversation %d: got seq %d followed by %d", m.Conversation, k.seen[m.Conversation], m.Seq)
	}
	k.seen[m.Conversation] = m.Seq
}

// run syncs a number of times under load, and then only listens, until it reaches the given ends of the stream and the large group.
func (k *freeClient) run(syncs int, done func(), ends <-chan [2]uint64) {
	done = sync.OnceFunc(done)
	defer done()
	heartbeat := time.NewTicker(5 * time.Second)
	defer heartbeat.Stop()
	quiet := time.NewTicker(50 * time.Millisecond) // the senders wait for syncs, and a client that waits for a frame must not wait for them
	defer quiet.Stop()
	k.connect()
	for k.syncs < syncs && !k.t.Failed() {
		select {
		case <-heartbeat.C:
			k.s.Write(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}})
			continue
		case <-quiet.C:
			if len(k.waits) == 0 {
				k.ask()
			}
			continue
		case f, ok := <-k.frames:
			if !ok {
				k.t.Error("the connection ended")
				return
			}
			k.take(f)
		}
		for len(k.waits) < 3 && k.rand.IntN(4) == 0 {
			k.ask()
		}
		if k.rand.IntN(300) == 0 || k.again == 1 && k.syncs > syncs/2 { // at least once, however few the frames are
			k.hangUp()
			k.connect()
		}
	}
	done()
	var end *[2]uint64
	var tooLate <-chan time.Time
	for !k.t.Failed() && (end == nil || k.at != end[0] || k.largeSeen != end[1]) {
		select {
		case <-heartbeat.C:
			k.s.Write(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}})
		case f, ok := <-k.frames:
			if !ok {
				k.t.Error("the connection ended")
				return
			}
			k.take(f)
		case e := <-ends:
			end, ends, tooLate = &e, nil, time.After(2*time.Minute)
		case <-tooLate:
			k.t.Errorf("got position %d, large group %d, want %v, without a gap or a hint", k.at, k.largeSeen, *end)
		}
	}
	k.hangUp()
}

// Clients drop pushed events while they sync, under load: each last page has everything that was pushed before it, and later pushes
// continue from there. The environment variable FREE_SYNCS is the number of syncs.
func TestSyncsUnderLoadMissNothing(t *testing.T) {
	t.Parallel()
	syncs := 250 // make test runs ten thousand without the race detector
	if s := os.Getenv("FREE_SYNCS"); s != "" {
		var err error
		if syncs, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	h := apptest.Open(t, func(c *config.Config) {
		c.Chat.LargeGroupAbove, c.Limits.CallUser = 2, "1000000/s"
		c.Gateway.LargeGroupPushes, c.Gateway.HintEvery = 100, 100*time.Millisecond // the large group is hot most of the time, also where cores are short
	})
	alice, bob, carol := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol")
	conversations := []uint64{h.Direct(t, alice, bob), h.Group(t, alice, bob), h.Group(t, alice, bob, carol)}
	large := conversations[2]
	s, begun := bob.Socket(t, "rialto.v1.proto")
	if err := s.Conn.CloseNow(); err != nil {
		t.Fatal(err)
	}
	const clients = 5
	paces := newPace()
	var ready, ended sync.WaitGroup
	ends := make([]chan [2]uint64, clients)
	list := make([]*freeClient, clients)
	for i := range clients {
		k := &freeClient{t: t, who: bob, rand: rand.New(rand.NewPCG(uint64(i), 7)), seen: map[uint64]uint64{}, large: large, paces: paces}
		ends[i], list[i] = make(chan [2]uint64, 1), k
		ready.Add(1)
		ended.Go(func() { k.run(syncs/clients, ready.Done, ends[i]) })
	}
	var senders sync.WaitGroup
	for i, c := range conversations {
		s, _ := alice.Socket(t, "rialto.v1.proto")
		senders.Go(func() { sendPaced(t, s, c, fmt.Sprint("load ", i), paces) })
	}
	ready.Wait()
	paces.stop()
	senders.Wait()
	end := tailOf(t, bob, begun.Tail.GetSeq(), conversations)
	for i := range ends {
		ends[i] <- end
	}
	ended.Wait()
	total, connections, hints := 0, 0, 0
	for _, k := range list {
		total, connections, hints = total+k.syncs, connections+k.again, hints+k.hints
	}
	t.Logf("%d syncs on %d connections, %d messages", total, connections, end[0]&0xffffffff+end[1])
	if !t.Failed() && (total < syncs/clients*clients || connections < 2*clients || hints == 0) {
		t.Errorf("got only %d syncs on %d connections, and %d hints about the large group", total, connections, hints)
	}
}

// pace bounds the load by the progress of the clients: where cores are short, senders would outrun syncs, and no last page would come.
type pace struct {
	mu      sync.Mutex // guards the fields below
	more    *sync.Cond // some of them has changed
	left    int        // messages that may be sent
	stopped bool
}

// Messages that may be sent before the first sync ends, and for each one that ended. Where cores are free, 7 are sent for each.
const (
	atFirst = 500
	perSync = 20
)

func newPace() *pace {
	p := &pace{left: atFirst}
	p.more = sync.NewCond(&p.mu)
	return p
}

func (p *pace) synced() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += perSync
	p.more.Broadcast()
}

func (p *pace) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.more.Broadcast()
}

// take returns how many of n messages may be sent now, and whether the load is over. With wait it blocks until either is so.
func (p *pace) take(n int, wait bool) (taken int, stopped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for wait && p.left == 0 && !p.stopped {
		p.more.Wait()
	}
	if !p.stopped {
		taken = min(n, p.left)
	}
	p.left -= taken
	return taken, p.stopped
}

// sendPaced keeps some messages in flight, and returns when all sent ones are stored.
func sendPaced(t *testing.T, s *apptest.Socket, conversation uint64, prefix string, paces *pace) {
	sent, stored := 0, 0
	for {
		taken, stopped := paces.take(stored+8-sent, stored == sent)
		for range taken {
			s.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: conversation, ClientMsgId: fmt.Sprint(prefix, " ", sent), Content: apptest.Text("hello")}}})
			sent++
		}
		if stored == sent {
			if stopped {
				return
			}
			continue
		}
		f, err := s.Try()
		if err != nil {
			t.Error(err)
			return
		}
		for _, r := range f.Receipts {
			if r.Error != nil {
				t.Errorf("a send was refused: %v", r.Error)
				return
			}
			stored++
		}
	}
}

// tailOf returns the end of a user's stream that contains everything sent, and the end of the last conversation, a large group.
func tailOf(t *testing.T, p *apptest.Person, from uint64, conversations []uint64) (end [2]uint64) {
	t.Helper()
	missing := map[uint64]uint64{}
	for i, c := range conversations {
		r, err := p.Server.Chat().GetConversation(t.Context(), apptest.As(p, &chatv1.GetConversationRequest{Conversation: c}))
		if err != nil {
			t.Fatal(err)
		}
		if missing[c] = r.Msg.LastSeq; i == len(conversations)-1 {
			end[1] = r.Msg.LastSeq
			delete(missing, c)
		}
	}
	s, _ := p.Socket(t, "rialto.v1.proto")
	ask := func() {
		s.Write(&gatewayv1.ClientFrame{Request: 1, Sync: &chatv1.SyncRequest{After: &chatv1.Position{Epoch: uint32(end[0] >> 32), Seq: end[0]}}})
	}
	end[0] = from
	ask()
	for len(missing) > 0 {
		f := s.Read()
		if wait := f.Error.GetRetryMs(); wait > 0 && backoff.Sleep(t.Context(), time.Duration(wait)*time.Millisecond) == nil {
			ask() // it was refused for a time, as under load
		}
		for _, e := range append(f.Events, f.GetSync().GetEvents()...) {
			end[0] = max(end[0], e.Seq)
			if m := e.GetMessage(); m != nil && m.Seq >= missing[m.Conversation] {
				delete(missing, m.Conversation)
			}
		}
		if f.GetSync().GetMore() {
			ask()
		}
	}
	return end
}
