package chaos

import (
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLab: what goes from one host to another is dropped while that way is cut, in that direction alone, without a word to either end;
// what was dropped is repeated when it is healed; and a reset ends the connection. Where namespaces are not allowed, a run goes by proxies,
// and says why.
func TestLab(t *testing.T) {
	lab, err := OpenLab(2)
	if err != nil {
		lab, ways, other := openNetwork(Auto, 3)
		if lab != nil || other != nil || !strings.Contains(ways, "proxies, as ") {
			t.Errorf("without namespaces (%v) a run goes by %q: %v", err, ways, other)
		}
		return
	}
	defer func() { must(t, lab.Close()) }()
	var server net.Listener
	must(t, lab.Inside(0, func() (err error) {
		server, err = net.Listen("tcp", lab.Address(0)+":0")
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
	c, err := lab.Dial(t.Context(), 1, "tcp", server.Addr().String())
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
		t.Fatal("two hosts do not reach each other")
	}
	heal, err := lab.Cut(0, 1)
	must(t, err)
	again, err := lab.Cut(0, 1) // by another fault
	must(t, err)
	say(2)
	if <-got != 2 {
		t.Error("the other direction does not pass")
	}
	var late net.Error
	if err := answer(300 * time.Millisecond); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("an answer came through a way that is cut: %v", err)
	}
	brief, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	if _, err := lab.Dial(brief, 1, "tcp", server.Addr().String()); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("a new connection hears of the cut, as no network would tell: %v", err)
	}
	cancel()
	must(t, heal())
	if err := answer(300 * time.Millisecond); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("what two cut was healed by one: %v", err)
	}
	must(t, again())
	if err := answer(time.Minute); err != nil {
		t.Errorf("what was dropped was not repeated: %v", err)
	}
	must(t, lab.Reset(0, 1))
	if err := answer(time.Minute); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after a reset: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWaysThatAreCut: of each fault, the router drops what it is said to, and nothing when it is healed; also of a primary that vanishes.
func TestWaysThatAreCut(t *testing.T) {
	lab, err := OpenLab(3 + bases + 1)
	if err != nil {
		return // as TestLab has it
	}
	defer func() { must(t, lab.Close()) }()
	c := &Cluster{lab: lab, Nodes: []*Node{{}, {}, {}}}
	name := func(address string) string { // of hosts: 3 nodes, 2 servers of PostgreSQL, and people
		for i, n := range []string{"n1", "n2", "n3", "a", "b", "people"} {
			if address == lab.Address(i) {
				return n
			}
		}
		return address
	}
	dropped := func() string {
		var out strings.Builder
		cmd := exec.Command("ip", "rule")
		cmd.Stdout = &out
		must(t, lab.router.inside(cmd.Run))
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
		Alone: "n1>n2 n2>n1 n2>n3 n3>n2", Deaf: "n1>n2 n3>n2", Mute: "n2>n1 n2>n3",
		NoBase: "a>n2 b>n2 n2>a n2>b", DeafBase: "a>n2 b>n2", MuteBase: "n2>a n2>b",
		NoPeople: "n2>people people>n2", DeafPeople: "people>n2", MutePeople: "n2>people",
		Cut: "a>n2 b>n2 n1>n2 n2>a n2>b n2>n1 n2>n3 n2>people n3>n2 people>n2", Slow: "", Lossy: "",
		Vanish: "b>n1 b>n2 b>n3 n1>b n2>b n3>b",
	} {
		hurt := func() (func() error, error) {
			return c.troubleInLab(Fault{Kind: kind, Node: 1, Much: 100 * time.Millisecond, Share: 0.05})
		}
		if kind == Vanish {
			hurt = func() (func() error, error) { return c.without(1) }
		}
		heal, err := hurt()
		must(t, err)
		if got := dropped(); got != want {
			t.Errorf("%s drops %q, and should drop %q", kind, got, want)
		}
		must(t, heal())
		if got := dropped(); got != "" {
			t.Errorf("%s was healed, and %q is still dropped", kind, got)
		}
	}
}

// TestWaysThatLose: of many packets, to a host and from it, the router drops about the share that it is told to, by chance; and none when it
// is healed.
func TestWaysThatLose(t *testing.T) {
	lab, err := OpenLab(2)
	if err != nil {
		return // as TestLab has it
	}
	defer func() { must(t, lab.Close()) }()
	var ends [2]net.PacketConn
	for i := range ends {
		must(t, lab.Inside(i, func() (err error) {
			ends[i], err = net.ListenPacket("udp", lab.Address(i)+":0")
			return err
		}))
		defer ends[i].Close()
	}
	const sent = 200 // no more than a socket keeps
	heal := func() error { return nil }
	arrive := func(from int) (n int) { // of those that were sent until it was healed
		for range sent {
			_, err := ends[from].WriteTo([]byte{0}, ends[1-from].LocalAddr())
			must(t, err)
		}
		must(t, heal())
		_, err := ends[from].WriteTo([]byte{1}, ends[1-from].LocalAddr()) // behind them all
		must(t, err)
		must(t, ends[1-from].SetReadDeadline(time.Now().Add(time.Minute)))
		for b := []byte{0}; ; n++ {
			_, _, err := ends[1-from].ReadFrom(b)
			must(t, err)
			if b[0] == 1 {
				return n
			}
		}
	}
	for from := range ends { // they get to know each other's hardware, for which packets wait
		if n := arrive(from); n != sent {
			t.Fatalf("of %d packets %d arrive", sent, n)
		}
	}
	for from, name := range []string{"from it", "to it"} {
		heal, err = lab.Lose(0, 0.5)
		must(t, err)
		if n := arrive(from); n < sent/4 || n > sent*3/4 {
			t.Errorf("of %d packets %s %d arrive, of which every other one is to be lost", sent, name, n)
		}
		heal = func() error { return nil }
		if n := arrive(from); n != sent {
			t.Errorf("of %d packets %s %d arrive when nothing is to be lost any more", sent, name, n)
		}
	}
}
