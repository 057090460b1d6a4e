package cluster

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
)

// severable is a node's bus. Requests to a node that is cut off hang, and requests to a busy node fail.
type severable struct {
	bus.Bus
	node  string
	hangs *atomic.Pointer[string] // shared by all nodes: who is cut off
	busy  *atomic.Pointer[string] // shared by all nodes: who is too busy to answer
}

func (b severable) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	to := strings.Split(subject, ".")[1]
	if h := *b.hangs.Load(); h == to || h == b.node {
		<-ctx.Done()
		return nil, bus.ErrNoAnswer
	}
	if *b.busy.Load() == to {
		return nil, bus.ErrBusy
	}
	return b.Bus.Request(ctx, subject, data)
}

// probers runs the probers of three nodes.
type probers struct {
	t           *testing.T
	names       []string
	all         []*Prober
	hangs, busy atomic.Pointer[string]
	live        atomic.Pointer[[]string]
	answers     [3][3]atomic.Int64 // that the first node got from the second
}

// probing runs a test with the probers of three nodes, in faked time.
func probing(t *testing.T, test func(*probers)) {
	synctest.Test(t, func(t *testing.T) {
		p := &probers{t: t, names: []string{"n0", "n1", "n2"}}
		p.hangs.Store(new(string))
		p.busy.Store(new(string))
		p.live.Store(&p.names)
		shared := membus.New()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for i, name := range p.names {
			topic := Topic{ID: 7, Ask: func(node string) ([]byte, func([]byte)) {
				at := slices.Index(p.names, node)
				return fmt.Append(nil, name, " asks ", node), func(answer []byte) {
					if want := fmt.Append(nil, name, " asks ", node, ", answers ", node); !bytes.Equal(answer, want) {
						t.Errorf("answered %q; want %q", answer, want)
					}
					p.answers[i][at].Add(1)
				}
			}, Answer: func(question []byte) []byte { return fmt.Append(slices.Clone(question), ", answers ", name) }}
			quiet := Topic{ID: 8, Ask: func(string) ([]byte, func([]byte)) { return nil, nil }, Answer: func([]byte) []byte { return nil }}
			mute := Topic{ID: 9, Ask: func(string) ([]byte, func([]byte)) {
				return []byte("?"), func([]byte) { t.Error("a question without an answer was answered") }
			}, Answer: func([]byte) []byte { return nil }}
			prober := NewProber(ProberDeps{Bus: severable{shared, name, &p.hangs, &p.busy}, Logger: slog.New(slog.DiscardHandler), Node: name, Topics: []Topic{quiet, topic, mute},
				Peers: func() []string {
					return slices.DeleteFunc(slices.Clone(*p.live.Load()), func(n string) bool { return n == name })
				}})
			p.all = append(p.all, prober)
			running.Go(func() {
				if err := prober.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		test(p)
		cancel()
		running.Wait()
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
}

// unreachable checks which nodes each node reports as unreachable.
func (p *probers) unreachable(when string, want ...string) {
	p.t.Helper()
	synctest.Wait()
	var got []string
	for _, prober := range p.all {
		got = append(got, strings.Join(prober.Unreachable(), " "))
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("%s: unreachable are %q; want %q", when, got, want)
	}
}

// A node that sends heartbeats but cannot be reached, and the other nodes, report each other as unreachable until probes succeed for a
// while. A short interruption or a busy node changes nothing.
func TestUnreachableNodesAreReported(t *testing.T) {
	probing(t, func(p *probers) {
		all, one, none := []string{"", "", ""}, "n1", ""
		time.Sleep(time.Minute)
		p.unreachable("at first", all...)
		p.busy.Store(&one)
		time.Sleep(time.Minute)
		p.unreachable("while a node is busy", all...)
		p.busy.Store(&none)
		p.hangs.Store(&one)
		time.Sleep(unreachableAfter)
		p.hangs.Store(&none)
		time.Sleep(time.Minute)
		p.unreachable("after a short interruption", all...)
		p.hangs.Store(&one)
		time.Sleep(time.Minute)
		p.unreachable("while it lasts", "n1", "n0 n2", "n1")
		p.hangs.Store(&none)
		time.Sleep(recoveredAfter - ProbeInterval)
		p.unreachable("just after it", "n1", "n0 n2", "n1")
		time.Sleep(time.Minute)
		p.unreachable("after it", all...)

		p.hangs.Store(&one)
		time.Sleep(time.Minute)
		left := []string{"n0", "n2"}
		p.live.Store(&left)
		time.Sleep(2 * ProbeInterval)
		p.unreachable("when it has died", "", "n0 n2", "")
		p.live.Store(&p.names)
		p.hangs.Store(&none)
		time.Sleep(2 * ProbeInterval)
		p.unreachable("when a new node has its name", "", "n0 n2", "")
	})
}

// Questions travel with the probes. A slow node does not delay the answers of another.
func TestTopicsTravelWithProbes(t *testing.T) {
	probing(t, func(p *probers) {
		one := "n1"
		p.hangs.Store(&one)
		const rounds = 30
		time.Sleep(rounds*ProbeInterval + ProbeInterval/2)
		synctest.Wait()
		if a, b, c := p.answers[0][2].Load(), p.answers[2][0].Load(), p.answers[0][1].Load(); a != rounds || b != rounds || c != 0 {
			t.Errorf("%d and %d answers of reachable nodes in %d rounds, and %d of another", a, b, rounds, c)
		}
	})
}

// The encoding of probes does not change, so that two releases understand each other. Malformed probes are rejected.
func TestGoldenProbe(t *testing.T) {
	b := appendTopic(appendTopic([]byte{wireProbe}, 1, []byte("ab")), 9, nil)
	if want := "\x01\x01\x02ab\x09\x00"; string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
	var got string
	read := func(b []byte) error {
		got = ""
		return eachTopic(b, func(id byte, data []byte) { got += fmt.Sprintf("%d=%s;", id, data) })
	}
	if err := read(b); err != nil || got != "1=ab;9=;" {
		t.Errorf("the frame is read as %s, want 1=ab;9=; error %v", got, err)
	}
	for n := range b {
		if n == 1 || n == 5 {
			continue // without some topics it is still valid
		}
		if err := read(b[:n]); err == nil {
			t.Errorf("%q was decoded as %s", b[:n], got)
		}
	}
	if err := read([]byte{2}); err == nil {
		t.Error("a probe with another first byte was accepted")
	}
}
