package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNamespaceNetwork: a cut drops packets in one direction only, silently; they are retransmitted after it is healed; and a reset ends the
// connection. Without permission for namespaces, a run uses proxies and says why.
func TestNamespaceNetwork(t *testing.T) {
	namespaces, err := OpenNamespaces(2)
	if err != nil {
		namespaces, description, other := openNetwork(Auto, 3)
		if namespaces != nil || other != nil || !strings.Contains(description, "proxies, as ") {
			t.Errorf("without namespaces (%v): got network %q, error %v, want proxies", err, description, other)
		}
		return
	}
	defer func() { must(t, namespaces.Close()) }()
	var server net.Listener
	must(t, namespaces.Inside(0, func() (err error) {
		server, err = net.Listen("tcp", namespaces.Address(0)+":0")
		return err
	}))
	defer server.Close()
	got := make(chan byte, 10)
	go func() { // ends with the listener and the connection
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for b := make([]byte, 1); ; {
					if _, err := c.Read(b); err != nil {
						return
					}
					got <- b[0]
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			}()
		}
	}()
	c, err := namespaces.Dial(t.Context(), 1, "tcp", server.Addr().String())
	must(t, err)
	defer c.Close()
	answer := func(within time.Duration) error {
		must(t, c.SetReadDeadline(time.Now().Add(within)))
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	say := func(b byte) {
		t.Helper()
		_, err := c.Write([]byte{b})
		must(t, err)
	}
	say(1)
	if <-got != 1 || answer(time.Minute) != nil {
		t.Fatal("two hosts cannot connect")
	}
	heal, err := namespaces.Cut(0, 1)
	must(t, err)
	again, err := namespaces.Cut(0, 1) // by another fault
	must(t, err)
	say(2)
	if <-got != 2 {
		t.Error("a cut in one direction blocks the other one")
	}
	var late net.Error
	if err := answer(300 * time.Millisecond); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("read through a cut: got %v, want a timeout", err)
	}
	brief, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	if _, err := namespaces.Dial(brief, 1, "tcp", server.Addr().String()); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("dial through a cut: got %v, want a timeout", err)
	}
	cancel()
	must(t, heal())
	if err := answer(300 * time.Millisecond); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("after one of two cuts was healed: got %v, want a timeout", err)
	}
	must(t, again())
	if err := answer(time.Minute); err != nil {
		t.Errorf("read after all cuts were healed: got %v, want the retransmitted byte", err)
	}
	must(t, namespaces.Reset(0, 1))
	if err := answer(time.Minute); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read after a reset: got %v, want ECONNRESET", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The router drops exactly the packets of each fault, and nothing after it is healed; also for an unreachable primary.
func TestFaultsCutTheirDirections(t *testing.T) {
	namespaces, err := OpenNamespaces(3 + postgresServers + 1)
	if err != nil {
		return // see TestNamespaceNetwork
	}
	defer func() { must(t, namespaces.Close()) }()
	c := &Cluster{namespaces: namespaces, Nodes: []*Node{{}, {}, {}}}
	name := func(address string) string { // 3 nodes, 2 PostgreSQL servers, and clients
		for i, n := range []string{"n1", "n2", "n3", "a", "b", "people"} {
			if address == namespaces.Address(i) {
				return n
			}
		}
		return address
	}
	dropped := func() string {
		var out strings.Builder
		cmd := exec.Command("ip", "rule")
		cmd.Stdout = &out
		must(t, namespaces.router.inside(cmd.Run))
		var list []string
		for _, line := range strings.Split(out.String(), "\n") {
			if w := strings.Fields(line); len(w) == 6 && w[5] == "blackhole" { // 32765: from A to B blackhole
				list = append(list, name(w[2])+">"+name(w[4]))
			}
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	for kind, want := range map[string]string{
		Isolated: "n1>n2 n2>n1 n2>n3 n3>n2", InboundLost: "n1>n2 n3>n2", OutboundLost: "n2>n1 n2>n3",
		PostgresUnreachable: "a>n2 b>n2 n2>a n2>b", PostgresInboundLost: "a>n2 b>n2", PostgresOutboundLost: "n2>a n2>b",
		ClientsUnreachable: "n2>people people>n2", ClientsInboundLost: "people>n2", ClientsOutboundLost: "n2>people",
		IsolatedFromAll: "a>n2 b>n2 n1>n2 n2>a n2>b n2>n1 n2>n3 n2>people n3>n2 people>n2", Slow: "", Lossy: "",
		PostgresUnreachablePrimary: "b>n1 b>n2 b>n3 n1>b n2>b n3>b",
	} {
		hurt := func() (func() error, error) {
			return c.impairNamespace(Fault{Kind: kind, Node: 1, Amount: 100 * time.Millisecond, Share: 0.05})
		}
		if kind == PostgresUnreachablePrimary {
			hurt = func() (func() error, error) { return c.isolateServer(1) }
		}
		heal, err := hurt()
		must(t, err)
		if got := dropped(); got != want {
			t.Errorf("fault %s: got dropped directions %q, want %q", kind, got, want)
		}
		must(t, heal())
		if got := dropped(); got != "" {
			t.Errorf("fault %s after heal: got dropped directions %q, want none", kind, got)
		}
	}
}

// The router drops exactly the packets that the seed selects, in both directions: the same ones with the same seed, others with another
// seed, and none after it is healed.
func TestLossIsSelectedBySeed(t *testing.T) {
	namespaces, err := OpenNamespaces(2)
	if err != nil {
		return // see TestNamespaceNetwork
	}
	defer func() { must(t, namespaces.Close()) }()
	var ends [2]net.PacketConn
	for i := range ends {
		must(t, namespaces.Inside(i, func() (err error) {
			ends[i], err = net.ListenPacket("udp", namespaces.Address(i)+":0")
			return err
		}))
		defer ends[i].Close()
	}
	const sent, last = 200, 255 // fits in a socket's buffer
	heal := func() error { return nil }
	lost := func(from int) (list []int) { // of the packets sent before heal
		arrived := map[byte]bool{}
		for i := range sent {
			_, err := ends[from].WriteTo([]byte{byte(i)}, ends[1-from].LocalAddr())
			must(t, err)
		}
		must(t, heal())
		_, err := ends[from].WriteTo([]byte{last}, ends[1-from].LocalAddr()) // after all others
		must(t, err)
		must(t, ends[1-from].SetReadDeadline(time.Now().Add(time.Minute)))
		for b := []byte{0}; b[0] != last; arrived[b[0]] = true {
			_, _, err := ends[1-from].ReadFrom(b)
			must(t, err)
		}
		for i := range sent {
			if !arrived[byte(i)] {
				list = append(list, i)
			}
		}
		return list
	}
	for from := range ends {
		if got := lost(from); len(got) > 0 {
			t.Fatalf("without a fault: got lost packets %v, want none", got)
		}
	}
	for from, way := range []string{lossFrom, lossTo} {
		seen := map[string]bool{}
		for _, seed := range []uint64{1, 2, 1} {
			heal, err = namespaces.DropShare(0, 0.3, seed)
			must(t, err)
			got := lost(from)
			heal = func() error { return nil }
			var want []int
			for n := range sent {
				if isLost(directionSeed(seed, way), uint64(n), 0.3) {
					want = append(want, n)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, seed %d: got lost packets %v, want %v", way, seed, got, want)
			}
			seen[fmt.Sprint(got)] = true
			if got := lost(from); len(got) > 0 {
				t.Errorf("%s, after heal: got lost packets %v, want none", way, got)
			}
		}
		if len(seen) != 2 {
			t.Errorf("%s: got %d different lists for two seeds, want 2", way, len(seen))
		}
	}
}

// The share of lost packets is as configured, for any seed.
func TestLossShare(t *testing.T) {
	for seed := range uint64(20) {
		n := 0
		for i := range uint64(10_000) {
			if isLost(lossSeed(seed, time.Duration(seed)*time.Second, int(seed%3)), i, 0.05) {
				n++
			}
		}
		if n < 400 || n > 600 {
			t.Errorf("seed %d: got %d of 10,000 packets lost, want about 500", seed, n)
		}
	}
	if isLost(1, 1, 0) {
		t.Error("with a share of 0: got a lost packet, want none")
	}
}
