package rpc_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/transport/rpc"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// login calls Login from an address.
func (h *harness) login(from string, body io.Reader) answer {
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, accounts+"Login", body)
	r.RemoteAddr = from
	r.Header.Set("Content-Type", asJSON)
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// unfinished is a body that signals its first read, and ends only with the test.
type unfinished struct {
	reading *sync.WaitGroup
	end     <-chan struct{}
	once    sync.Once
}

func (u *unfinished) Read([]byte) (int, error) {
	u.once.Do(u.reading.Done)
	<-u.end
	return 0, io.ErrUnexpectedEOF
}

const (
	networks   = 21 // each makes calls up to its limit: together more than the 2,000 of all networks
	perNetwork = 100
)

// Calls whose bodies never end do not count against the limit of complete calls. They count against the limit of their own network.
func TestIncompleteBodiesDoNotRefuseLogins(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var reading, calls sync.WaitGroup
	end := make(chan struct{})
	defer calls.Wait()
	defer close(end)
	refused := make(chan string, networks*perNetwork)
	for n := range networks * perNetwork {
		reading.Add(1)
		calls.Go(func() {
			body := &unfinished{reading: &reading, end: end}
			defer body.once.Do(reading.Done) // a refused call does not read the body
			got := h.login(fmt.Sprintf("[2001:db8:%x::1]:1", n%networks), body)
			select {
			case <-end:
			default:
				refused <- got.reason()
			}
		})
	}
	reading.Wait()
	if len(refused) > 0 {
		t.Fatalf("%d of the calls are refused: %s", len(refused), <-refused)
	}
	good := &accountv1.LoginRequest{Handle: "alice", Password: "correct horse battery"}
	register := &accountv1.RegisterRequest{Handle: good.Handle, Password: good.Password, Client: &accountv1.Client{Type: "test"}}
	if got := h.from("192.0.2.1:1", accounts+"Register", register); got.status != http.StatusOK {
		t.Errorf("a registration from another address is answered with %d %s", got.status, got.body)
	}
	if got := h.from("192.0.2.1:1", accounts+"Login", good); got.status != http.StatusOK {
		t.Errorf("a login from another address is answered with %d %s", got.status, got.body)
	}
	if got := h.login("[2001:db8:1::1]:1", strings.NewReader("{}")); got.reason() != "busy" {
		t.Errorf("one call too many of a network is answered with %d %s, want busy", got.status, got.body)
	}
}

// Of the calls with complete bodies, those beyond the limit of all networks are refused. The others succeed.
func TestCompleteCallsBeyondTheLimitAreBusy(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const all, most = networks * perNetwork, 2000
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	var working atomic.Int64
	deps := h.deps
	deps.Nodes = func() int { // each call needs this for the limit of its address
		if working.Add(1) > most {
			open() // too many: the test fails below instead of hanging
		}
		<-gate
		return 1
	}
	h.Server = rpc.New(deps)
	answers := make(chan answer, all)
	for n := range all {
		go func() { answers <- h.login(fmt.Sprintf("192.0.2.%d:1", n%networks), strings.NewReader("{}")) }()
	}
	for range all - most { // the others wait at the gate
		if got := <-answers; got.reason() != "busy" || got.header.Get("Retry-After") == "" {
			t.Errorf("a call beyond the limit is answered with %d %v %s, want busy", got.status, got.header, got.body)
		}
	}
	open()
	for range most {
		if got := <-answers; got.reason() == "busy" {
			t.Errorf("a call within the limit is answered with %d %s", got.status, got.body)
		}
	}
	if got := h.login("198.51.100.1:1", strings.NewReader("{}")); got.reason() == "busy" {
		t.Errorf("a call after the flood is answered with %d %s", got.status, got.body)
	}
}
