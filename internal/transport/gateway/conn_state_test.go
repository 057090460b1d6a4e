package gateway

import (
	"slices"
	"testing"
)

func stateOf(authenticated bool) connState {
	if authenticated {
		return stateReady
	}
	return stateUnauthenticated
}

// recordingTransport records what a connection tells its transport.
type recordingTransport struct {
	discarding
	told *[]string
}

func (r recordingTransport) setReading(_ *conn, on bool) {
	if on {
		*r.told = append(*r.told, "read")
	} else {
		*r.told = append(*r.told, "pause")
	}
}
func (r recordingTransport) hangUp(*conn) { *r.told = append(*r.told, "hang up") }

// A connection only moves forward: a greeting that succeeds late does not bring a closing connection back, and none ends twice.
func TestStatesOnlyMoveForward(t *testing.T) {
	names := []string{"unauthenticated", "greeting", "ready", "closing", "aborted", "closed"}
	allowed := map[string][]string{
		"unauthenticated": {"greeting", "closing", "aborted", "closed"},
		"greeting":        {"ready", "closing", "aborted", "closed"},
		"ready":           {"closing", "aborted", "closed"},
		"closing":         {"aborted", "closed"},
		"aborted":         {"closed"},
	}
	for from := range connStates {
		for to := range connStates {
			c, _ := bench(t)
			c.state = from
			moved := c.advance(to)
			if want := slices.Contains(allowed[names[from]], names[to]); moved != want || moved != (c.state == to && from != to) || !moved && c.state != from {
				t.Errorf("from %s to %s: moved %v to %s", names[from], names[to], moved, names[c.state])
			}
		}
	}
}

// The transport is told to end exactly once, whatever the reason, and not after it has ended.
func TestTheTransportIsEndedOnce(t *testing.T) {
	for _, test := range []struct {
		name string
		do   []func(*conn)
		want []string
	}{
		{"two reasons", []func(*conn){(*conn).hangUp, (*conn).hangUp}, []string{"hang up"}},
		{"a close frame before", []func(*conn){func(c *conn) { c.sayGoodbye(closeDrain, "draining", 0) }, (*conn).hangUp}, []string{"hang up"}},
		{"closed by the other side", []func(*conn){(*conn).onClosed, (*conn).hangUp}, nil},
	} {
		c, _ := bench(t)
		var told []string
		c.transport = recordingTransport{told: &told}
		for _, do := range test.do {
			do(c)
		}
		if !slices.Equal(told, test.want) {
			t.Errorf("%s: the transport got %q, want %q", test.name, told, test.want)
		}
	}
}

// Hello is not sent on a connection that closed during its greeting.
func TestGreetingAClosingConnection(t *testing.T) {
	c, _ := bench(t)
	c.state = stateGreeting
	c.sayGoodbye(closeDrain, "draining", 0)
	if err := c.greet(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := sent(t, c); len(list) != 1 || list[0].Bye == nil {
		t.Errorf("it is sent %v", list)
	}
	if c.state != stateClosing {
		t.Errorf("its state is %d", c.state)
	}
}
