package apptest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a client that receives a user's stream. Each keeps nothing but its position when it is away.
type receiver struct {
	t     *testing.T
	who   *apptest.Person
	at    uint64
	got   []*chatv1.Event
	texts map[string]int // how often each text came
}

func (r *receiver) take(events ...*chatv1.Event) {
	for _, e := range events {
		r.got, r.at = append(r.got, e), e.Seq
		if m := e.GetMessage(); m != nil {
			if r.texts == nil {
				r.texts = map[string]int{}
			}
			r.texts[m.GetContent().GetText()]++
		}
	}
}

// isComplete reports whether a text has come that was sent last to both conversations: a stream has the messages of one in order, but not those of two.
func (r *receiver) isComplete(text string) bool { return r.texts[text] >= 2 }

func (r *receiver) header() http.Header {
	return http.Header{"Authorization": {"Bearer " + r.who.AccessToken}}
}

// receivers are the ways to receive a stream. Each receives from its position on until it is complete, and disconnects. It calls connected once.
var receivers = map[string]func(r *receiver, until string, connected func()) error{
	"ws": func(r *receiver, until string, connected func()) error {
		return r.bySocket("rialto.v1.proto", until, connected)
	},
	"ws-json": func(r *receiver, until string, connected func()) error {
		return r.bySocket("rialto.v1.json", until, connected)
	},
	"tcp":   (*receiver).byTCP,
	"sse":   (*receiver).byEventStream,
	"poll":  (*receiver).byLongPolling,
	"short": (*receiver).byShortPolling,
}

// bySocket follows a socket as docs/protocol.md tells clients to.
func (r *receiver) bySocket(protocol, until string, connected func()) error {
	c, _, err := r.who.Server.Dial(r.t.Context(), protocol, r.header())
	if err != nil {
		return err
	}
	defer c.CloseNow()
	return r.byFrames(apptest.Wrap(r.t, c, protocol == "rialto.v1.json"), until, connected)
}

// byTCP follows a socket without WebSocket.
func (r *receiver) byTCP(until string, connected func()) error {
	c := dialTCP(r.t, r.who.Server, r.who.AccessToken)
	defer c.Close()
	return r.byFrames(tcpFrames{c}, until, connected)
}

// frames is a socket, whatever carries its frames.
type frames interface {
	Write(*gatewayv1.ClientFrame)
	Try() (*gatewayv1.ServerFrame, error)
}

func (r *receiver) byFrames(s frames, until string, connected func()) error {
	sync := &gatewayv1.ClientFrame{Request: 1, Sync: &chatv1.SyncRequest{After: &chatv1.Position{Seq: r.at}}}
	s.Write(sync)
	for syncing := true; !r.isComplete(until); {
		f, err := s.Try()
		switch {
		case err != nil:
			return err
		case f.Sync != nil:
			r.take(f.Sync.Events...)
			if syncing = f.Sync.More; !syncing {
				connected()
				continue
			}
			s.Write(&gatewayv1.ClientFrame{Request: 1, Sync: &chatv1.SyncRequest{After: f.Sync.Next}})
		case f.Hint != nil && !syncing:
			syncing = true
			s.Write(&gatewayv1.ClientFrame{Request: 1, Sync: &chatv1.SyncRequest{After: &chatv1.Position{Seq: r.at}}})
		case syncing:
		default:
			for _, e := range f.Events {
				if e.Seq > r.at && e.Prev == r.at && !r.isComplete(until) {
					r.take(e)
				} else if e.Prev > r.at && !syncing {
					syncing = true
					s.Write(&gatewayv1.ClientFrame{Request: 1, Sync: &chatv1.SyncRequest{After: &chatv1.Position{Seq: r.at}}})
				}
			}
		}
	}
	return nil
}

// byEventStream appends what comes, with no look at positions: the server has to give each event once, and in order.
func (r *receiver) byEventStream(until string, connected func()) error {
	h := r.header()
	h.Set("Last-Event-ID", strconv.FormatUint(r.at, 10))
	s, err := r.who.Server.Events(r.t.Context(), "", h)
	if err != nil {
		return err
	}
	defer s.Close()
	connected()
	for !r.isComplete(until) {
		f, err := s.Next()
		if err != nil {
			return err
		}
		r.take(f.Events...)
		if len(f.Events) > 0 && s.LastID != strconv.FormatUint(r.at, 10) {
			return fmt.Errorf("the event at %d has the id %s", r.at, s.LastID)
		}
	}
	return nil
}

func (r *receiver) byLongPolling(until string, connected func()) error {
	return r.poll(25_000, until, connected)
}

func (r *receiver) byShortPolling(until string, connected func()) error {
	return r.poll(0, until, connected)
}

func (r *receiver) poll(waitMs uint32, until string, connected func()) error {
	for polls := 0; !r.isComplete(until); polls++ {
		wait := waitMs
		switch polls {
		case 0:
			wait = 0 // perhaps there is nothing yet
		case 1:
			connected()
		}
		page, err := r.who.Server.Chat().Sync(r.t.Context(), apptest.As(r.who, &chatv1.SyncRequest{After: &chatv1.Position{Seq: r.at}, WaitMs: wait}))
		if err != nil {
			return err
		}
		r.take(page.Msg.Events...)
		if next := page.Msg.GetNext().GetSeq(); next != r.at {
			return fmt.Errorf("the next position is %d after the event at %d", next, r.at)
		}
	}
	connected() // a poll that found everything
	return nil
}

// describe names what an event is: all clients must receive the same. Only the texts that nobody edits or recalls are the same at all times.
func describe(e *chatv1.Event) string {
	m := e.GetMessage()
	text := m.GetContent().GetText()
	if !strings.HasPrefix(text, "more") {
		text = ""
	}
	return fmt.Sprintf("%d %d<%d %T %d:%d %q", e.Epoch, e.Seq, e.Prev, e.Body, m.GetConversation(), m.GetSeq(), text)
}

// All clients of a user receive the same events in the same order, by whatever transport: none is lost and none comes twice, also where a client is
// away in the middle and comes back, in a cluster to another node.
func TestAllTransportsReceiveTheSameStream(t *testing.T) {
	h := apptest.Open(t, nil)
	alice, bob, carol := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol")
	direct, group := h.Direct(t, alice, bob), h.Group(t, alice, bob, carol)
	clients := map[string]*receiver{}
	for name := range receivers {
		clients[name] = &receiver{t: t, who: bob}
	}
	// act sends, edits, recalls, reacts and reads. The last message to each conversation has the text.
	act := func(round int, text string) {
		name := func(n int) string { return fmt.Sprint(round, ".", n) }
		send := func(p *apptest.Person, to uint64, n int, content *chatv1.Content) uint64 {
			t.Helper()
			r, err := h.Chat().Send(t.Context(), apptest.As(p, &chatv1.SendRequest{Conversation: to, ClientMsgId: name(n), Content: content}))
			if err != nil {
				t.Fatal(err)
			}
			return r.Msg.Seq
		}
		first := send(alice, direct, 1, apptest.Text("direct "+name(1)))
		second := send(carol, group, 2, apptest.Text("group "+name(2)))
		send(alice, direct, 3, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: first}, Content: apptest.Text("edited")}}})
		send(carol, group, 4, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: second}}}})
		send(bob, direct, 5, &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: first}, Emoji: "👍"}}})
		for _, p := range []*apptest.Person{alice, bob} {
			if _, err := h.Chat().Mark(t.Context(), apptest.As(p, &chatv1.MarkRequest{Conversation: direct, ReadSeq: first})); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 5 {
			send([]*apptest.Person{alice, carol}[n%2], group, 10+n, apptest.Text("more "+name(n)))
		}
		send(alice, group, 19, apptest.Text(text))
		send(alice, direct, 20, apptest.Text(text))
	}
	// receive has all clients receive until a text while do acts, after all have connected.
	receive := func(until string, do func()) {
		t.Helper()
		results, connected := make(chan error, len(clients)), make(chan string, 10*len(clients))
		for name, r := range clients {
			once := false
			go func() { // ends with the test at the latest
				err := receivers[name](r, until, func() {
					if !once {
						once = true
						connected <- name
					}
				})
				if err != nil {
					err = fmt.Errorf("%s: %w", name, err)
				}
				results <- err
			}()
		}
		wait := func(c <-chan string) {
			t.Helper()
			for range clients {
				select {
				case <-c:
				case err := <-results:
					t.Fatal("a client ended before all had connected: ", err)
				}
			}
		}
		wait(connected)
		do()
		for range clients {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	act(1, "before")
	receive("first", func() { act(2, "first") })
	act(3, "away") // all are away
	receive("end", func() { act(4, "end") })

	// A socket is pushed its events, and waits for none.
	s, _ := bob.Socket(t, "rialto.v1.proto")
	wait := &chatv1.SyncRequest{WaitMs: 1}
	payload, err := proto.Marshal(wait)
	must(t, err)
	for request, f := range []*gatewayv1.ClientFrame{{Sync: wait}, {Call: &gatewayv1.Call{Method: "/rialto.chat.v1.ChatService/Sync", Payload: payload}}} {
		f.Request = uint64(request) + 1
		s.Write(f)
		s.Until(func(a *gatewayv1.ServerFrame) bool {
			if a.Request != f.Request {
				return false
			}
			if a.GetError().GetReason() != "wait_on_socket" {
				t.Errorf("on a socket, %v was answered %v", f, a)
			}
			return true
		})
	}

	page, err := h.Chat().Sync(t.Context(), apptest.As(bob, &chatv1.SyncRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	list := func(events []*chatv1.Event) (lines []string) {
		for _, e := range events {
			lines = append(lines, describe(e))
		}
		return lines
	}
	want := list(page.Msg.Events)
	if len(want) < 4*12 {
		t.Fatalf("the stream has %d events only", len(want))
	}
	for name, r := range clients {
		if got := list(r.got); !slices.Equal(got, want) {
			t.Errorf("%s received %d events, want %d:\n%s\nwant\n%s", name, len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
