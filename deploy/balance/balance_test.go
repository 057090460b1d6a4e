package balance_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rialto-im/rialto/deploy/nodetest"
)

// node can be restarted at the same addresses.
type node struct {
	*nodetest.Node
	name, data, postgres string
}

func (h *node) start(t *testing.T) {
	t.Helper()
	at, admin := "127.0.0.1:0", "127.0.0.1:0"
	if h.Node != nil {
		at, admin = strings.TrimPrefix(h.URL, "http://"), strings.TrimPrefix(h.Admin, "http://")
	}
	cmd := exec.Command(nodetest.Static(t), "serve", "--data", h.data, "--listen", at, "--admin", admin)
	cmd.Env = []string{"RIALTO_NODE=" + h.name, "RIALTO_POSTGRES=" + h.postgres, "RIALTO_GATEWAY_DRAIN_OVER=1s", "RIALTO_STOP_AFTER=1s", "RIALTO_LOG_LEVEL=warn", "RIALTO_CANARY_OFF=true"} // connections are counted
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	h.Node = nodetest.Start(t, cmd)
}

// connections returns the number of open connections of a node.
func (h *node) connections(t *testing.T) int {
	t.Helper()
	_, text := nodetest.Answer(t, h.Admin+"/metrics")
	m := regexp.MustCompile(`(?m)^rialto_connections (\d+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the metrics lack rialto_connections")
	}
	n, err := strconv.Atoi(m[1])
	must(t, err)
	return n
}

// One node is killed and one is stopped while users write to each other and calls continue. Each text arrives once and in order, and no call
// is refused during the stop.
func TestNodesStopBehindTheLoadBalancer(t *testing.T) {
	postgres := nodetest.Postgres(t)
	var all []*node
	var nodes []*nodetest.Node
	for i := range 3 {
		h := &node{name: fmt.Sprint("rialto-", i+1), data: filepath.Join(t.TempDir(), "data"), postgres: postgres}
		h.start(t)
		all, nodes = append(all, h), append(nodes, h.Node)
	}
	p := startProxy(t, nodes)
	for _, h := range all {
		p.wait(h.name, "UP")
	}
	c := p.client()
	if status, protocol, body, err := get(c, p.url+"/healthz"); status != 200 || protocol != "HTTP/2.0" {
		t.Errorf("call over TLS: got %d %s %s, %v, want 200 over HTTP/2", status, protocol, body, err)
	}
	// The query of a URL may contain a ticket, so it must not be logged.
	if status, _, _, err := get(c, p.url+"/v1/openapi.json?ticket=secret"); status != 200 {
		t.Errorf("call with a ticket: got %d, %v, want 200", status, err)
	}
	until(t, "the call is logged", func() bool {
		b, err := os.ReadFile(p.log)
		must(t, err)
		if strings.Contains(string(b), "secret") {
			t.Fatalf("the log contains a ticket: %s", b)
		}
		return strings.Contains(string(b), `"GET /v1/openapi.json HTTP/2.0"`)
	})
	if status, _, _, err := get(c, p.plain+"/healthz"); status != http.StatusMovedPermanently {
		t.Errorf("call without TLS: got %d, %v, want a redirect", status, err)
	}

	ann, bob := register(t, p, "anna"), register(t, p, "bobo")
	for _, who := range []*person{ann, bob} {
		who.types(who.name)
		who.types("a good password")
		who.sees("Signed in")
	}
	ann.types("/open @bobo")
	var sent []string
	say := func(text string) {
		sent = append(sent, text)
		ann.types(text)
	}
	ann.types("hello")
	bob.sees("hello")
	bob.types("/open @anna") // shows the message again
	bob.sees("--- anna ---")

	// The node with most sockets is killed. Messages written at once and afterwards arrive.
	victim := busiest(t, all)
	victim.Signal(syscall.SIGKILL)
	victim.Ended()
	for i := range 5 {
		say(fmt.Sprintf("killed-%d", i))
	}
	bob.sees("killed-4")
	p.wait(victim.name, "DOWN")
	victim.start(t)
	p.wait(victim.name, "UP")

	// A node is stopped while calls continue. None of them is refused.
	quit, calls := make(chan struct{}), sync.WaitGroup{}
	calls.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-quit:
				return
			default:
			}
			if status, _, body, err := get(c, p.url+"/healthz"); err != nil || status != 200 {
				t.Errorf("call %d during the stop: got %d %s, %v, want 200", n, status, body, err)
				return
			}
		}
	})
	stopped := busiest(t, all)
	stopped.Signal(syscall.SIGTERM)
	for i := range 5 {
		say(fmt.Sprintf("stopped-%d", i))
	}
	if code := stopped.Ended(); code != 0 {
		t.Errorf("exit code of the stopped node: got %d, want 0", code)
	}
	p.wait(stopped.name, "DOWN")
	bob.sees("stopped-4")
	close(quit)
	calls.Wait()

	screen, at := bob.screen(), -1
	for _, text := range sent {
		next := strings.Index(screen, text)
		if n := strings.Count(screen, text); n != 1 || next < at {
			t.Errorf("%s is on bob's screen %d times, first at offset %d, want once after offset %d", text, n, next, at)
		}
		at = next
	}
	_, rest, _ := strings.Cut(metrics(t, p), "haproxy_backend_active_servers")
	if !strings.Contains(rest, `{proxy="nodes"} 2`) {
		t.Error("HAProxy's metrics do not report two active nodes")
	}
}

// busiest returns the node with the most sockets.
func busiest(t *testing.T, all []*node) *node {
	t.Helper()
	var found *node
	until(t, "a node has an open socket", func() bool {
		most := 0
		for _, h := range all {
			if n := h.connections(t); n > most {
				found, most = h, n
			}
		}
		return found != nil
	})
	return found
}

func metrics(t *testing.T, p *proxy) string {
	t.Helper()
	r, err := http.Get(p.metrics + "/metrics")
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	must(t, err)
	return string(text)
}
