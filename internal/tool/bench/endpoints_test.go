package bench

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// The users of a pair, and the devices of a user, connect to different nodes, and no node has more than its share.
func TestDevicesAreSpreadOverEndpoints(t *testing.T) {
	for endpoints := 1; endpoints <= 5; endpoints++ {
		const pairs, devices = 30, 2
		at := make([]int, endpoints)
		senders := make([]int, endpoints) // of the first user of each pair
		for u := range 2 * pairs {
			for d := range devices {
				at[endpointIndex(u, d, endpoints)]++
			}
			if u%2 == 0 {
				senders[endpointIndex(u, 0, endpoints)]++
			}
			if endpoints > 1 && (endpointIndex(u, 0, endpoints) == endpointIndex(u, 1, endpoints) || u%2 == 0 && endpointIndex(u, 0, endpoints) == endpointIndex(u+1, 0, endpoints)) {
				t.Errorf("with %d endpoints, two devices of user %d or of its pair connect to the same one", endpoints, u)
			}
		}
		for i := range endpoints {
			if off := at[i] - 2*pairs*devices/endpoints; off < -1 || off > 1 || senders[i] != pairs/endpoints && senders[i] != pairs/endpoints+1 {
				t.Errorf("with %d endpoints, endpoint %d has %d connections and %d senders", endpoints, i, at[i], senders[i])
			}
		}
	}
}

func TestAddresses(t *testing.T) {
	for list, good := range map[string]bool{
		"http://127.0.0.1:7070":                 true,
		"http://a:1, https://b:2/":              true,
		"http://a:1,":                           false,
		"http://a:1,ftp://b:2":                  false,
		"http://a:1,http://b:2, http://a:1/":    false,
		"127.0.0.1:7070":                        false,
		"":                                      false,
		"http://a:1,http://b:2,http://user@c:3": true,
	} {
		if err := checkURLs(list); (err == nil) != good {
			t.Errorf("addresses %q: got error %v", list, err)
		}
	}
	if d := newEndpoints(http.DefaultClient, "http://a:1, https://b:2/"); len(d) != 2 || d[0].url != "http://a:1" || d[1].url != "https://b:2" {
		t.Errorf("got endpoints %+v, want http://a:1 and https://b:2", d)
	}
}

// Each endpoint's result counts only its own connections.
func TestEachEndpointCountsItsConnections(t *testing.T) {
	s := newStage(t, false)
	s.deploy.endpoints = newEndpoints(http.DefaultClient, "http://a:1,http://b:2")
	s.clients[1].endpointIndex = 1
	s.stored(3)
	for n := range uint32(2) {
		s.give(1, s.event(uint64(n+1), s.message(uint64(n+2), n+1)))
	}
	s.give(1, s.event(3, s.message(3, 2)))
	r := s.result(1, 3, 2)
	if r.Repeated != 1 || r.Duplicated != 0 {
		t.Errorf("got result %+v, want the repeated message counted", r)
	}
	want := []nodeResult{{"http://a:1", 1, 3, 0}, {"http://b:2", 1, 0, 2}}
	if len(r.Nodes) != 2 || r.Nodes[0] != want[0] || r.Nodes[1] != want[1] {
		t.Errorf("results of the nodes: got %+v, want %+v", r.Nodes, want)
	}
}

// A fault other than a lost connection ends the load; the error names the connection's node.
func TestFaultsNameTheirNode(t *testing.T) {
	s := newStage(t, false)
	s.deploy.endpoints = newEndpoints(http.DefaultClient, "http://a:1,http://b:2")
	s.clients[1].endpointIndex = 1
	s.clients[1].sock = &socket{net: s.out, in: newReader(strings.NewReader("\x82\x01\xff"))}
	s.read(t.Context(), s.clients[1])
	if err := s.failure(); !errors.Is(err, errWire) || !strings.Contains(err.Error(), "http://b:2") {
		t.Errorf("got %v, want a wire error that names http://b:2", err)
	}
	logout := &socket{in: newReader(strings.NewReader("\x88\x05\x10\x06bye"))}
	if _, err := logout.next(); !errors.Is(err, errClosed) || errors.As(err, new(*lostError)) {
		t.Errorf("close code 4102: got %v, want no lost connection", err)
	}
}
