package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// order records the order in which the greeting calls the services.
type order struct {
	*fakeServices
	mu   sync.Mutex // guards list
	list []string
	come bool // Followed reports that messages reach this node
}

func (o *order) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, what)
}

func (o *order) Connected(id.Caller) bool           { o.note("connected"); return false }
func (o *order) Announced(context.Context, id.User) { o.note("announced") }
func (o *order) Follow(id.Conversation, bool)       { o.note("follow") }
func (o *order) Followed(context.Context, id.Conversation) bool {
	o.note("followed")
	return o.come
}
func (o *order) LargeGroups(context.Context, []id.User) ([][]id.Conversation, error) {
	o.note("large")
	return [][]id.Conversation{{5}}, nil
}
func (o *order) LargeTails(context.Context, []id.Conversation) ([]uint64, error) {
	o.note("its tail")
	return []uint64{3}, nil
}
func (o *order) Tails(context.Context, []id.User) ([]message.Position, error) {
	o.note("tail")
	return []message.Position{4}, nil
}

// A greeting reads the tails after the node is registered for deliveries. Otherwise an event between the two would be lost.
func TestGreetingReadsTailsAfterRegistration(t *testing.T) {
	for come, want := range map[bool][]string{
		true:  {"connected", "announced", "large", "follow", "followed", "its tail", "tail"},
		false: {"connected", "announced", "large", "follow", "followed", "its tail", "tail"},
	} {
		c, r := bench(t)
		c.state = stateGreeting
		o := &order{fakeServices: r, come: come}
		c.server.deps.Directory, c.server.deps.Inbox, c.server.hub.followers = o, o, o
		if err := c.greet(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(o.list, want) || c.newestPushed != 4 {
			t.Errorf("calls %v, want %v; newest pushed %d, want 4", o.list, want, c.newestPushed)
		}
		// Without the registration no tail is recorded, so that the reconciler assumes a loss.
		if at := c.server.hub.conversation(5).audiences[5].newestSeq.Load(); come != (at == 3) || !come && at != 0 {
			t.Errorf("registered %v: the recorded tail is %d", come, at)
		}
	}
}

// busy pushes an event at each read of the stream's tail, until it has pushed enough.
type busy struct {
	*fakeServices
	c     *conn
	reads int
	until int
}

func (b *busy) Tails(context.Context, []id.User) ([]message.Position, error) {
	if b.reads++; b.reads <= b.until {
		b.c.push(message.Position(10 + b.reads))
	}
	return []message.Position{message.Position(10 + b.reads - 1)}, nil
}

// The tail in Hello covers events that were pushed during the greeting. If events were pushed at every retry, a hint follows.
func TestHelloOrHintCoversEventsPushedDuringGreeting(t *testing.T) {
	for until, want := range map[int]struct {
		reads int
		tail  uint64
		hints int
	}{0: {1, 10, 0}, 1: {2, 11, 0}, 3: {4, 13, 0}, 4: {4, 13, 1}, 100: {4, 13, 1}} {
		c, r := bench(t)
		c.state = stateGreeting
		b := &busy{fakeServices: r, c: c, until: until}
		c.server.deps.Inbox = b
		if err := c.greet(t.Context()); err != nil {
			t.Fatal(err)
		}
		hints, tail := 0, uint64(0)
		for list := sent(t, c); list != nil; list = sent(t, c) {
			for _, f := range list {
				switch {
				case f.Hello != nil:
					tail = f.Hello.Tail.Seq
				case f.Hint != nil && tail != 0:
					hints++
				default:
					t.Errorf("%d events: unexpected frame %v", until, f)
				}
			}
		}
		if b.reads != want.reads || tail != want.tail || hints != want.hints {
			t.Errorf("%d events: %d reads, tail %d and %d hints; want %v", until, b.reads, tail, hints, want)
		}
	}
}

// One connection more than a user may have is closed with a code and a retry delay. Other users' connections are accepted, and so are later
// ones after a close.
func TestConnectionsOfAUserAreBounded(t *testing.T) {
	first, _ := bench(t)
	s := first.server
	s.config.MaxConnectionsUser = 3
	open := func(u id.User) *conn {
		c := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, json: true, caller: id.Caller{User: u, Device: 8, Session: 9}, state: stateGreeting}
		if err := c.greet(t.Context()); err != nil {
			c.refuse(err)
		}
		return c
	}
	var conns []*conn
	for range 3 {
		conns = append(conns, open(7))
	}
	refused := open(7)
	if !refused.isEnding() || refused.state == stateReady || !strings.Contains(string(refused.out.b), `"retryMs":30000`) && !strings.Contains(string(refused.out.b), `"retryMs": 30000`) {
		t.Errorf("a connection above the limit is answered %q", refused.out.b)
	}
	refused.onClosed() // it does not free a slot
	if c := open(7); !c.isEnding() {
		t.Error("a connection above the limit is accepted")
	}
	if c := open(70); c.isEnding() || c.state != stateReady {
		t.Error("another user's connection is refused")
	}
	conns[1].onClosed()
	if c := open(7); c.isEnding() || c.state != stateReady {
		t.Error("a connection is refused after another one was closed")
	}
}
