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

// house is one node that can be started again where it was.
type house struct {
	*nodetest.Node
	name, data, postgres string
}

func (h *house) start(t *testing.T) {
	t.Helper()
	at, admin := "127.0.0.1:0", "127.0.0.1:0"
	if h.Node != nil {
		at, admin = strings.TrimPrefix(h.URL, "http://"), strings.TrimPrefix(h.Admin, "http://")
	}
	cmd := exec.Command(nodetest.Static(t), "serve", "--data", h.data, "--listen", at, "--admin", admin)
	cmd.Env = []string{"RIALTO_NODE=" + h.name, "RIALTO_POSTGRES=" + h.postgres, "RIALTO_GATEWAY_DRAIN_OVER=1s", "RIALTO_STOP_AFTER=1s", "RIALTO_LOG_LEVEL=warn"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	h.Node = nodetest.Start(t, cmd)
}

// connections that a node has.
func (h *house) connections(t *testing.T) int {
	t.Helper()
	_, text := nodetest.Answer(t, h.Admin+"/metrics")
	m := regexp.MustCompile(`(?m)^rialto_connections (\d+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("there is no rialto_connections")
	}
	n, err := strconv.Atoi(m[1])
	must(t, err)
	return n
}

// TestNodesStopBehindTheLoadBalancer: one is killed, one is told to stop, under people who write to each other and under calls. Each text is
// seen once and in its order; a stop refuses no call.
func TestNodesStopBehindTheLoadBalancer(t *testing.T) {
	postgres := nodetest.Postgres(t)
	var all []*house
	var nodes []*nodetest.Node
	for i := range 3 {
		h := &house{name: fmt.Sprint("rialto-", i+1), data: filepath.Join(t.TempDir(), "data"), postgres: postgres}
		h.start(t)
		all, nodes = append(all, h), append(nodes, h.Node)
	}
	p := front(t, nodes)
	for _, h := range all {
		p.wait(h.name, "UP")
	}
	c := p.client()
	if status, protocol, body, err := get(c, p.url+"/healthz"); status != 200 || protocol != "HTTP/2.0" {
		t.Errorf("a call: %d %s %s %v", status, protocol, body, err)
	}
	// What follows the "?" of an address, as a ticket, is not for who reads the log.
	if status, _, _, err := get(c, p.url+"/v1/openapi.json?ticket=secret"); status != 200 {
		t.Errorf("a call with a ticket: %d %v", status, err)
	}
	until(t, "the log has the call", func() bool {
		b, err := os.ReadFile(p.log)
		must(t, err)
		if strings.Contains(string(b), "secret") {
			t.Fatalf("the log has a ticket: %s", b)
		}
		return strings.Contains(string(b), `"GET /v1/openapi.json HTTP/2.0"`)
	})
	if status, _, _, err := get(c, p.plain+"/healthz"); status != http.StatusMovedPermanently {
		t.Errorf("a call without TLS: %d %v", status, err)
	}

	ann, bob := sit(t, p, "anna"), sit(t, p, "bobo")
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
	bob.types("/open @anna") // shows it again
	bob.sees("--- anna ---")

	// The node that holds somebody's socket is killed; what is written at once, and afterwards, arrives.
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

	// A node is told to stop, under calls that go on: none of them is refused.
	quit, calls := make(chan struct{}), sync.WaitGroup{}
	calls.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-quit:
				return
			default:
			}
			if status, _, body, err := get(c, p.url+"/healthz"); err != nil || status != 200 {
				t.Errorf("call %d: %d %s %v", n, status, body, err)
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
		t.Errorf("the node that was told to stop ended with %d", code)
	}
	p.wait(stopped.name, "DOWN")
	bob.sees("stopped-4")
	close(quit)
	calls.Wait()

	screen, at := bob.screen(), -1
	for _, text := range sent {
		next := strings.Index(screen, text)
		if n := strings.Count(screen, text); n != 1 || next < at {
			t.Errorf("%s is on bob's screen %d times, the first at %d, behind %d", text, n, next, at)
		}
		at = next
	}
	_, figures, _ := strings.Cut(metrics(t, p), "haproxy_backend_active_servers")
	if !strings.Contains(figures, `{proxy="nodes"} 2`) {
		t.Error("HAProxy's figures do not say that two nodes are up")
	}
}

// busiest node: the one with the most sockets.
func busiest(t *testing.T, all []*house) *house {
	t.Helper()
	var found *house
	until(t, "a node has a socket", func() bool {
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
	r, err := http.Get(p.figures + "/metrics")
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	must(t, err)
	return string(text)
}
