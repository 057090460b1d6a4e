package cluster

import (
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// gateway is what a node of the world says of itself.
func (w *world) gateway(name string) Gateway {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Gateway{WS: "wss://" + name, Region: "eu", Connections: 7, Capacity: 10, Draining: w.draining[name]}
}

// offered returns the nodes that a node offers to clients.
func (w *world) offered(by string) (names []string) {
	w.t.Helper()
	for _, g := range w.nodes[by].Gateways() {
		want := w.gateway(g.Node)
		want.Node = g.Node
		if want.Draining = g.Draining; !reflect.DeepEqual(g, want) {
			w.t.Errorf("%s offers %+v, want %+v", by, g, want)
		}
		if !g.Draining {
			names = append(names, g.Node)
		}
	}
	return names
}

// Nodes learn of each other's gateways by heartbeats. One that stops is not offered from the next heartbeats on, and one that is dead, or cannot send
// heartbeats, from the end of its lease on: also by a node that cannot read heartbeats itself.
func TestDeadGatewaysAreNotOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*testNode{}, owners: map[int]string{}, terms: map[int]uint64{}, draining: map[string]bool{}}
		for range 3 {
			w.join()
		}
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		expect := func(when, by string, want ...string) {
			t.Helper()
			if got := w.offered(by); !slices.Equal(got, want) {
				t.Errorf("%s: %s offers %v, want %v", when, by, got, want)
			}
		}
		pass(3*time.Second + time.Millisecond)
		expect("at first", "node-1", "node-1", "node-2", "node-3")
		w.mu.Lock()
		w.draining["node-3"] = true
		w.mu.Unlock()
		w.nodes["node-3"].AnnounceGateway()
		expect("before a heartbeat", "node-3", "node-1", "node-2") // a node knows of itself
		pass(time.Second)
		expect("while one stops", "node-1", "node-1", "node-2")
		w.stop("node-3")
		pass(time.Second)
		if n := len(w.nodes["node-1"].Gateways()); n != 2 {
			t.Errorf("after one has stopped: %d gateways are known, want 2", n)
		}
		w.setReachable("node-2", false) // to node-1 it is as if node-2 had died, and the other way round
		pass(2 * time.Second)
		expect("before the lease ends", "node-1", "node-1", "node-2")
		expect("before the lease ends", "node-2", "node-1", "node-2")
		pass(5 * time.Second)
		expect("after the lease has ended", "node-1", "node-1")
		expect("by a node without the store", "node-2", "node-2")
		w.setReachable("node-2", true)
		pass(5 * time.Second)
		expect("when it is back", "node-1", "node-1", "node-2")
		w.end()
	})
}

// What a later release says of its gateway, and this one cannot read, is not offered, and does no harm.
func TestAGatewayThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*testNode{}, owners: map[int]string{}, terms: map[int]uint64{}}
		w.join()
		synctest.Wait() // Run's goroutine uses the same
		live := []*member{{Node: Node{Name: "earlier"}}, {Node: Node{Name: "later"}, gateway: `{"ws":["a","b"]}`}, {Node: Node{Name: "same"}, gateway: `{"ws":"wss://same","more":1}`}}
		var got []string
		for _, g := range w.nodes["node-1"].leaseGateways(live) {
			got = append(got, g.Node+" "+g.WS)
		}
		if want := []string{"earlier ", "later ", "same wss://same"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		w.end()
	})
}
