package presence_test

import (
	"slices"
	"testing"
	"time"
)

// A user who hides is invisible to others, and nothing else changes: deliveries find each connection, and changes of others are pushed.
func TestHiddenUserReceivesPushes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.set(w.hidden, 1, true)
		one, two := caller(1, 10), caller(2, 20)
		located := func(when string, want bool) {
			t.Helper()
			if got := w.Locate(1) != nil; got != want {
				t.Errorf("%s: located %v, want %v", when, got, want)
			}
		}
		w.Connected(one)
		located("connected", true)
		w.watch(t, one, 2)
		w.Connected(two)
		pass(2 * time.Second)
		w.checkPushes(t, push{1, 2, online})
		w.set(w.hidden, 1, false)
		w.VisibilityChanged(1)
		pass(2 * time.Second)
		w.set(w.hidden, 1, true)
		w.VisibilityChanged(1)
		pass(2 * time.Second)
		located("hidden while it is connected", true)
		w.Connected(one)
		w.Disconnected(one, false)
		located("one of two connections is gone", true)
		w.Disconnected(one, false)
		located("both are", false)
	})
}

// The same if another node is the owner: it knows the first connection before Announced returns.
func TestHiddenUserReceivesPushesOfAnotherNode(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b, c := three(m)
		for _, n := range []*member{a, b, c} {
			n.set(n.hidden, 1, true)
		}
		located := func(when string, want ...string) {
			m.t.Helper()
			if got := sorted(b.Locate(1)); !slices.Equal(got, want) {
				m.t.Errorf("%s: located on %v, want %v", when, got, want)
			}
		}
		a.connect(1)
		a.Announced(m.t.Context(), 1)
		located("its first connection is announced", "n0")
		a.VisibilityChanged(1)
		pass(10 * time.Second)
		located("a while later", "n0")
		c.connect(1)
		c.Announced(m.t.Context(), 1)
		located("a connection on another node", "n0", "n2")
		m.move(1, "n2", true) // the new owner learns of it from the nodes
		pass(15 * time.Second)
		if got := sorted(c.Locate(1)); !slices.Equal(got, []string{"n0", "n2"}) {
			m.t.Errorf("with a new owner: located on %v", got)
		}
		a.disconnect(1)
		c.disconnect(1)
		pass(time.Minute)
		if got := c.Locate(1); got != nil {
			m.t.Errorf("gone: located on %v", got)
		}
	})
}
