package bench

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestDevicesAreSpread: the two of a pair, and the devices of a user, are on different nodes, and no node has more than its share.
func TestDevicesAreSpread(t *testing.T) {
	for doors := 1; doors <= 5; doors++ {
		const pairs, devices = 30, 2
		at := make([]int, doors)
		senders := make([]int, doors) // of the first of each pair
		for u := range 2 * pairs {
			for d := range devices {
				at[doorOf(u, d, doors)]++
			}
			if u%2 == 0 {
				senders[doorOf(u, 0, doors)]++
			}
			if doors > 1 && (doorOf(u, 0, doors) == doorOf(u, 1, doors) || u%2 == 0 && doorOf(u, 0, doors) == doorOf(u+1, 0, doors)) {
				t.Errorf("of %d nodes user %d has one twice", doors, u)
			}
		}
		for i := range doors {
			if off := at[i] - 2*pairs*devices/doors; off < -1 || off > 1 || senders[i] != pairs/doors && senders[i] != pairs/doors+1 {
				t.Errorf("of %d nodes the one at %d has %d connections, %d senders", doors, i, at[i], senders[i])
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
			t.Errorf("%q: %v", list, err)
		}
	}
	if d := doors(http.DefaultClient, "http://a:1, https://b:2/"); len(d) != 2 || d[0].url != "http://a:1" || d[1].url != "https://b:2" {
		t.Errorf("%+v", d)
	}
}

// TestNodesAreCountedApart: each address has what came over its own connections.
func TestNodesAreCountedApart(t *testing.T) {
	s := newStage(t, false)
	s.deploy.doors = doors(http.DefaultClient, "http://a:1,http://b:2")
	s.clients[1].door = 1
	s.stored(3)
	for n := range uint32(2) {
		s.give(1, s.event(uint64(n+1), s.message(uint64(n+2), n+1)))
	}
	s.give(1, s.event(3, s.message(3, 2)))
	r := s.result(1, 3, 2)
	if r.Repeated != 1 || r.Duplicated != 0 {
		t.Errorf("what came again is %+v", r)
	}
	want := []nodeResult{{"http://a:1", 1, 3, 0}, {"http://b:2", 1, 0, 2}}
	if len(r.Nodes) != 2 || r.Nodes[0] != want[0] || r.Nodes[1] != want[1] {
		t.Errorf("%+v; want %+v", r.Nodes, want)
	}
}

// TestALostConnection: the load says of which node it was.
func TestALostConnection(t *testing.T) {
	s := newStage(t, false)
	s.deploy.doors = doors(http.DefaultClient, "http://a:1,http://b:2")
	s.clients[1].door = 1
	s.clients[1].sock.in = bufio.NewReader(s.out) // has nothing: as of a node that was killed
	s.read(s.clients[1])
	if err := s.failure(); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "http://b:2") {
		t.Error(err)
	}
}
