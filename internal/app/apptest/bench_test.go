package apptest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/tool/bench"
)

// The bench loads a cluster of two nodes, with pairs and devices on different ones: everything arrives, once and in order, and the result
// has each node's share.
func TestBenchOverTwoNodes(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	node := func(name string) *apptest.Server {
		return apptest.Open(t, func(c *config.Config) { c.Postgres, c.Node = place, name })
	}
	one, two := node("one"), node("two")
	for _, load := range [][]string{{"--pairs", "4"}, {"--pairs", "1", "--groups", "2", "--group-size", "6", "--devices", "2", "--window", "2"}} {
		var out, errOut bytes.Buffer
		args := append([]string{"chat", "--json", "--duration", "2s", "--drain", "3m", "--url", one.URL + "," + two.URL}, load...)
		code := bench.Main(args, &out, &errOut)
		var r struct {
			Acked, Delivered uint64
			Connections      int
			Nodes            []struct {
				URL              string
				Connections      int
				Acked, Delivered uint64
			}
		}
		if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil || len(r.Nodes) != 2 {
			t.Fatalf("bench %v: got exit code %d, %v\n%s\n%s", load, code, err, out.String(), errOut.String())
		}
		a, b := r.Nodes[0], r.Nodes[1]
		if a.URL != one.URL || b.URL != two.URL || a.Connections != b.Connections || a.Connections+b.Connections != r.Connections {
			t.Errorf("bench %v: the connections are not divided among the nodes: %s", load, out.String())
		}
		if a.Acked == 0 || b.Acked == 0 || a.Acked+b.Acked != r.Acked || a.Delivered == 0 || b.Delivered == 0 || a.Delivered+b.Delivered != r.Delivered {
			t.Errorf("bench %v: the nodes' counts do not add up: %s", load, out.String())
		}
	}
}

// The bench loads a large group with more messages than may be pushed, beside a pair, over TCP. Members who show the group pull every message, once and in
// order; the others know how far it has come. Each message is stored once.
func TestBenchOfAHotGroup(t *testing.T) {
	t.Parallel()
	s := apptest.Open(t, func(c *config.Config) {
		c.Chat.LargeGroupAbove = 2
		c.Gateway.LargeGroupPushes, c.Gateway.HintEvery = 40, 100*time.Millisecond
	})
	var out, errOut bytes.Buffer
	code := bench.Main([]string{"chat", "--json", "--url", s.URL, "--groups", "1", "--group-size", "8", "--senders", "8", "--open", "3", "--others", "1", "--rate", "100",
		"--protocol", "tcp", "--sockets", s.TCPAddress().String(),
		"--duration", "1s", "--drain", "3m", "--history"}, &out, &errOut)
	var r struct {
		Acked, Delivered, Pushed, Hinted, Hints, History uint64
		Others                                           struct{ Passed bool }
	}
	if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil {
		t.Fatalf("got exit code %d, %v\n%s\n%s", code, err, out.String(), errOut.String())
	}
	if r.Acked == 0 || r.History != r.Acked || r.Pushed == 0 || r.Hinted == 0 || r.Hints == 0 || !r.Others.Passed {
		t.Errorf("pushes, hints, a history of all, and others were wanted: %s", out.String())
	}
}

// The bench breaks the connections of users who are watched, beside a pair that it measured before.
func TestBenchOfFlappingUsers(t *testing.T) {
	t.Parallel()
	s := apptest.Open(t, nil)
	var out, errOut bytes.Buffer
	code := bench.Main([]string{"chat", "--json", "--url", s.URL, "--pairs", "1", "--flapping", "20", "--flap-every", "1s",
		"--duration", "2s", "--drain", "3m"}, &out, &errOut)
	var r struct {
		Acked    uint64
		Flapping struct {
			Users, Breaks, Presences uint64
			Before                   float64 `json:"acked_per_s_before"`
			Passed                   bool
		}
	}
	if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil {
		t.Fatalf("got exit code %d, %v\n%s\n%s", code, err, out.String(), errOut.String())
	}
	if f := r.Flapping; r.Acked == 0 || f.Users != 20 || f.Breaks == 0 || f.Presences == 0 || f.Before == 0 || !f.Passed {
		t.Errorf("broken connections and their presences were wanted: %s", out.String())
	}
}

// openWithKey opens a server, and makes an API key for a load.
func openWithKey(t *testing.T) (*apptest.Server, string) {
	t.Helper()
	var data, postgres string
	s := apptest.Open(t, func(c *config.Config) { data, postgres = c.Data, c.Postgres })
	at := []string{"--data", data}
	if postgres != "" {
		at = []string{"--postgres", postgres}
	}
	var key, errs strings.Builder
	if code := app.AdminMain(t.Context(), append([]string{"key", "create", "--name", "bench"}, at...), &key, &errs); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, errs.String())
	}
	return s, strings.TrimSpace(key.String())
}

// The bench loads a server over each protocol, with the same checks, and beside messages that bots write in parts. All of those end whole.
func TestBenchOverAllProtocols(t *testing.T) {
	t.Parallel()
	s, key := openWithKey(t)
	run := func(args ...string) (r struct {
		Protocol         string
		Acked, Delivered uint64
		Streams          struct {
			Parts, Pushes, Ended, Broken uint64
			Passed                       bool
		}
	}) {
		t.Helper()
		var out, errOut bytes.Buffer
		code := bench.Main(append([]string{"chat", "--json", "--url", s.URL, "--api-key", key, "--pairs", "1", "--drain", "3m"}, args...), &out, &errOut)
		if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil || r.Acked == 0 || r.Delivered != r.Acked {
			t.Fatalf("%v: exit code %d, %v\n%s\n%s", args, code, err, out.String(), errOut.String())
		}
		return r
	}
	for protocol, sockets := range map[string]string{"ws-json": "", "tcp": s.TCPAddress().String(), "stomp": s.StompAddress().String(), "sse": "", "poll": ""} {
		args := []string{"--protocol", protocol, "--duration", "200ms", "--window", "3"}
		if sockets != "" {
			args = append(args, "--sockets", sockets)
		}
		if r := run(args...); r.Protocol != protocol {
			t.Errorf("--protocol %s says %q", protocol, r.Protocol)
		}
	}
	r := run("--duration", "700ms", "--rate", "50", "--streams", "3")
	if r.Streams.Parts < 3 || r.Streams.Pushes == 0 || r.Streams.Ended != 3 || r.Streams.Broken != 0 || !r.Streams.Passed {
		t.Errorf("three messages that grow, and end whole, were wanted: %+v", r.Streams)
	}
}
