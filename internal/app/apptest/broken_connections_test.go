package apptest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/tool/bench"
)

// breaker forwards connections to a server, and resets each socket after some bytes from the server.
type breaker struct {
	to    string
	after int
	l     net.Listener

	mu     sync.Mutex // guards the fields below
	calls  bool       // connections of calls are reset as well
	broken int        // number of broken connections
	most   int        // maximum of broken; later connections last. Negative: the first one closes the listener as well
	open   map[net.Conn]bool
	group  sync.WaitGroup
}

func newBreaker(t *testing.T, url string, after, most int) (*breaker, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &breaker{to: strings.TrimPrefix(url, "http://"), after: after, most: most, l: l, open: map[net.Conn]bool{}}
	b.group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.group.Go(func() { b.pass(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		b.endAll()
		b.group.Wait()
	})
	return b, "http://" + l.Addr().String()
}

// breakCalls also breaks the connections of calls. It is called before any connection is opened.
func (b *breaker) breakCalls() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = true
}

func (b *breaker) endAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.open {
		c.Close()
	}
}

func (b *breaker) pass(in net.Conn) {
	out, err := net.Dial("tcp", b.to)
	if err != nil {
		in.Close()
		return
	}
	b.mu.Lock()
	b.open[in], b.open[out] = true, true
	buf, passed, socket := make([]byte, 4096), 0, b.calls
	b.mu.Unlock()
	defer func() {
		in.Close()
		out.Close()
		b.mu.Lock()
		delete(b.open, in)
		delete(b.open, out)
		b.mu.Unlock()
	}()
	b.group.Go(func() {
		_, _ = io.Copy(out, in) // the other direction has the reason
		out.Close()
	})
	for {
		n, err := out.Read(buf)
		if err != nil {
			return
		}
		socket = socket || bytes.Contains(buf[:n], []byte("101 Switching"))
		if passed += n; socket && passed > b.after && b.ends() {
			_ = in.(*net.TCPConn).SetLinger(0) // a reset, as from a machine that has failed
			return
		}
		if _, err := in.Write(buf[:n]); err != nil {
			return
		}
	}
}

// count returns the number of broken connections.
func (b *breaker) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken
}

// ends reports whether a connection is to be broken.
func (b *breaker) ends() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most < 0 {
		b.l.Close()
		for c := range b.open {
			c.Close()
		}
		return true
	}
	if b.broken == b.most {
		return false
	}
	b.broken++
	return true
}

// The load continues when its connections are reset; nothing is lost, duplicated or reordered, neither in deliveries nor in histories.
func TestBenchOverBrokenConnections(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	for _, load := range [][]string{
		{"--pairs", "4", "--window", "16", "--duration", "3s"},
		{"--groups", "1", "--group-size", "6", "--senders", "3", "--devices", "2", "--rate", "2000", "--duration", "2s"},
	} {
		t.Run(load[0], func(t *testing.T) {
			t.Parallel()
			b, url := newBreaker(t, h.URL, 5_000, 12)
			var acked, reconnects, resent uint64
			for b.count() < b.most { // a slow machine needs more than one round of the load
				var out, errOut bytes.Buffer
				code := bench.Main(append([]string{"chat", "--json", "--drain", "1m", "--url", url}, load...), &out, &errOut)
				var r struct {
					Acked, Lost, Duplicated, Reordered, Gaps, Damaged, Reconnects, Resent, History uint64
				}
				if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil {
					t.Fatalf("bench: got exit code %d, %v\n%s\n%s", code, err, out.String(), errOut.String())
				}
				if r.History != r.Acked || r.Lost+r.Duplicated+r.Reordered+r.Gaps+r.Damaged != 0 {
					t.Fatalf("broken connections: %d, got result %s", b.count(), out.String())
				}
				acked, reconnects, resent = acked+r.Acked, reconnects+r.Reconnects, resent+r.Resent
			}
			// Connections of pairs break with 16 sends in flight; those of groups may break between two sends.
			if reconnects < uint64(b.most) || acked == 0 || load[0] == "--pairs" && resent == 0 {
				t.Errorf("broken connections: %d, got %d reconnects, %d acknowledged and %d repeated sends", b.most, reconnects, acked, resent)
			}
		})
	}
}

// The bench ends with an error if no server can be reached any more.
func TestBenchFailsWhenNoServerComesBack(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	_, url := newBreaker(t, h.URL, 20_000, -1)
	var out, errOut bytes.Buffer
	code := bench.Main([]string{"chat", "--pairs", "2", "--window", "8", "--duration", "10m", "--patience", "300ms", "--url", url}, &out, &errOut)
	if code != 1 || out.Len() > 0 || !strings.Contains(errOut.String(), "no server has accepted a connection for") || !strings.Contains(errOut.String(), url+": ") {
		t.Errorf("bench without a server: got exit code %d, %s\n%s", code, out.String(), errOut.String())
	}
}
