package fanout_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// everywhere are nodes on all of which all are connected.
type everywhere []string

func (e everywhere) Locate(id.User) []string            { return e }
func (e everywhere) Followers(id.Conversation) []string { return e }

// gateways take what is delivered to the workers' nodes.
type gateways struct {
	*workers
	mu          sync.Mutex // guards all below
	named, sent map[string]int
	pushed      map[string]map[string]bool // by node: user, conversation, seq and text
}

func (g *gateways) take(node int, data []byte) {
	var d message.Delivery
	for len(data) > 0 {
		var err error
		if data, err = d.Next(data); err != nil {
			g.t.Error(err)
			return
		}
		name, count := g.names[node], g.sent
		if d.Kind == message.DeliverNamed {
			count = g.named
			d.Body = g.workers.workers[node].Entry(d.Conversation, d.Seq, d.Record)
		}
		g.mu.Lock()
		count[name]++
		for _, target := range d.Targets {
			g.pushed[name][fmt.Sprintf("%d gets %d of %d: %s", target.User, d.Seq, d.Conversation, d.Body)] = true
		}
		if len(d.Targets) == 0 {
			g.pushed[name][fmt.Sprintf("all get %d of %d: %s", d.Seq, d.Conversation, d.Body)] = true
		}
		g.mu.Unlock()
	}
}

// What a node has appended, or carries, is not sent to it again, whoever has the inboxes; what is pushed there is the same.
func TestWhatANodeHoldsIsNamedToIt(t *testing.T) {
	names := everywhere{"n0", "n1", "n2"}
	w := newWorkersAt(t, 3, names, func() bool { return false })
	g := &gateways{workers: w, named: map[string]int{}, sent: map[string]int{}, pushed: map[string]map[string]bool{}}
	for node, name := range names {
		g.pushed[name] = map[string]bool{}
		for lane := range bus.Lanes {
			_, err := w.bus.Subscribe(bus.Node(name, lane), func(b []byte) { g.take(node, b) }, nil)
			must(t, err)
		}
	}
	w.someConversations()
	w.chat.large[20] = true
	for p := range timeline.Partitions {
		for _, held := range w.held {
			held[p].Store(&w.names[p%3])
		}
		w.workers[p%3].Begin(p)
	}
	for !w.workers[0].Idle() || !w.workers[1].Idle() || !w.workers[2].Idle() { // partitions are taken
		runtime.Gosched()
	}
	const count = 1000
	w.write(0, count)
	want := 0
	for c := range w.chat.of {
		if w.chat.large[c] {
			want += count / len(w.chat.of)
		} else {
			want += count / len(w.chat.of) * len(w.chat.of[c])
		}
	}
	for arrived := false; !arrived; runtime.Gosched() {
		g.mu.Lock()
		arrived = !slices.ContainsFunc(names, func(n string) bool { return len(g.pushed[n]) < want })
		g.mu.Unlock()
	}
	for _, n := range names {
		if g.named[n] < g.sent[n]/4 || g.sent[n] == 0 {
			t.Errorf("%s was told the name of %d, and was sent %d", n, g.named[n], g.sent[n])
		}
	}
	for c, users := range w.chat.of {
		entries, err := w.log.Read(t.Context(), conversation(c), 0, count)
		must(t, err)
		for _, e := range entries {
			for _, u := range users {
				what := fmt.Sprintf("%d gets %d of %d: %s", u, e.Seq, c, e.Payload)
				if w.chat.large[c] {
					what = fmt.Sprintf("all get %d of %d: %s", e.Seq, c, e.Payload)
				}
				for _, n := range names {
					if !g.pushed[n][what] {
						t.Fatalf("not at %s: %q", n, what)
					}
				}
			}
		}
	}
	for i, worker := range w.workers {
		if n := worker.Reread(); n != 0 {
			t.Errorf("%s did not have %d entries that were named to it", w.names[i], n)
		}
	}

	// What a node does not hold any more it reads.
	for node, worker := range w.workers {
		if got := worker.Entry(1, 1, 1<<40); string(got) != string(textEntry("0")) {
			t.Errorf("%s reads %q", w.names[node], got)
		}
		if got := worker.Entry(1, count, 1<<40); got != nil || worker.Reread() != 2 {
			t.Errorf("%s has %q, and has read %d", w.names[node], got, worker.Reread())
		}
	}
	for _, stop := range w.stops {
		stop()
	}
	must(t, w.log.Close())
}

// An inbox does not wait for an entry that is named and cannot be had: it has its place there, and who delivers it looks again.
func TestANameThatIsUnknownHoldsNothingUp(t *testing.T) {
	w := newWorkersAt(t, 1, places{}, func() bool { return false })
	for p := range timeline.Partitions {
		w.held[0][p].Store(&w.names[0])
		w.workers[0].Begin(p)
	}
	w.settleAll()           // its partitions are taken
	const user = id.User(2) // on node a
	named := message.Delivery{Kind: message.DeliverNamed, Conversation: 1, Seq: 5, Counted: 4, Record: 9, Targets: []message.Target{{User: user}}}
	source := message.Delivery{Kind: message.DeliverSource, Record: 9, Body: message.AppendBytes(nil, "n0")}
	if answer, err := w.bus.Request(t.Context(), "node.n0.post", named.Append(source.Append(nil))); err != nil || string(answer) != "s" {
		t.Errorf("it was answered with % x, %v", answer, err)
	}
	entries, err := w.log.Read(t.Context(), inbox(user), 0, 10)
	if must(t, err); len(entries) != 1 {
		t.Errorf("%d entries are stored", len(entries))
	}
	for _, stop := range w.stops {
		stop()
	}
	if len(w.got) != 1 || w.got[0].Kind != message.DeliverNamed || w.got[0].Seq != 5 || w.got[0].Counted != 4 || w.got[0].Record != 9 {
		t.Errorf("delivered %+v", w.got)
	}
	must(t, w.log.Close())
}
