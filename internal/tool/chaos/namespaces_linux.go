package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace with its own interfaces, addresses and routes. It has no name: the kernel removes it when its last
// process has ended and nobody has it open, however this process ends.
type namespace struct{ file *os.File }

func here() (*os.File, error) { return os.Open("/proc/thread-self/ns/net") }

// newNamespace creates a namespace that has only a loopback interface.
func newNamespace() (n *namespace, err error) {
	err = restoringNamespace(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("creating a network namespace: %w", err)
		}
		f, err := here()
		n = &namespace{f}
		return err
	})
	return n, err
}

// restoringNamespace runs do, which changes the thread's network namespace, and then restores it. A thread that cannot be restored is discarded.
// Meanwhile no other goroutine runs or starts on the thread.
func restoringNamespace(do func() error) error {
	runtime.LockOSThread()
	from, err := here()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = do()
	back := unix.Setns(int(from.Fd()), unix.CLONE_NEWNET)
	if back == nil {
		runtime.UnlockOSThread()
	}
	return errors.Join(err, back, from.Close())
}

// inside runs do in the namespace: sockets and processes that it creates stay there.
func (n *namespace) inside(do func() error) error {
	return restoringNamespace(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return do()
	})
}

// path of the namespace for other processes, while this process lives.
func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// command runs a program in the namespace, with text as its input.
func (n *namespace) command(input, name string, args ...string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		path = "/usr/sbin/" + name // not in the PATH of a normal user
	}
	var out strings.Builder
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &out
	if err := n.inside(cmd.Run); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out.String())
	}
	return nil
}

// ip runs lines of the ip program.
func (n *namespace) ip(lines ...string) error {
	return n.command(strings.Join(lines, "\n")+"\n", "ip", "-batch", "-")
}

// NamespaceNetwork is a number of hosts, each in its own network namespace, and a router between them in another one, which has no
// connection to any other network. The router drops packets silently, as a network does: both ends retransmit, wait, and time out.
//
// It is safe for concurrent use.
type NamespaceNetwork struct {
	router *namespace
	hosts  []*namespace

	mu   sync.Mutex // guards the fields below
	cuts map[direction]int
	slow map[int]int
}

// OpenNamespaces creates a number of hosts. It fails if this process lacks the permission, or the system the features. The caller must
// Close the network after the programs in it have ended.
func OpenNamespaces(hosts int) (_ *NamespaceNetwork, err error) {
	l := &NamespaceNetwork{cuts: map[direction]int{}, slow: map[int]int{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.router, err = newNamespace(); err != nil {
		return nil, err
	}
	if err := l.router.ip("link set lo up"); err != nil {
		return nil, err
	}
	if err := l.router.inside(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644) }); err != nil {
		return nil, err
	}
	for i := range hosts {
		h, err := newNamespace()
		if err != nil {
			return nil, err
		}
		l.hosts = append(l.hosts, h)
		err = l.router.ip(fmt.Sprintf("link add host%d type veth peer name eth%d", i, i), fmt.Sprintf("link set eth%d netns %s", i, h.path()),
			fmt.Sprintf("addr add %s/24 dev host%d", l.gateway(i), i), fmt.Sprintf("link set host%d up", i))
		if err == nil {
			err = h.ip("link set lo up", fmt.Sprintf("addr add %s/24 dev eth%d", l.Address(i), i), fmt.Sprintf("link set eth%d up", i), "route add default via "+l.gateway(i))
		}
		if err != nil {
			return nil, err
		}
	}
	// Fail now if a program or feature is missing that a run needs later.
	heal, err := l.Cut(0, hosts-1)
	if err != nil {
		return nil, err
	}
	if err := heal(); err != nil {
		return nil, err
	}
	if heal, err = l.LimitRate(0, 1<<20, time.Second); err != nil {
		return nil, err
	}
	if err := heal(); err != nil {
		return nil, err
	}
	if heal, err = l.DropShare(0, 0.5, 1); err != nil {
		return nil, err
	}
	return l, heal()
}

// Address of a host.
func (l *NamespaceNetwork) Address(host int) string { return fmt.Sprintf("10.99.%d.2", host+1) }

// gateway is the router's address on the link to a host.
func (l *NamespaceNetwork) gateway(host int) string { return fmt.Sprintf("10.99.%d.1", host+1) }

// Inside runs do on a host: sockets and processes that it creates stay there.
func (l *NamespaceNetwork) Inside(host int, do func() error) error { return l.hosts[host].inside(do) }

// Cut drops all packets from one host to another until heal is called.
func (l *NamespaceNetwork) Cut(from, to int) (heal func() error, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := direction{from, to}
	rule := func(do string) error {
		return l.router.ip(fmt.Sprintf("rule %s from %s to %s blackhole", do, l.Address(from), l.Address(to)))
	}
	if l.cuts[w] == 0 {
		if err := rule("add"); err != nil {
			return nil, err
		}
	}
	l.cuts[w]++
	return func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.cuts[w]--; l.cuts[w] > 0 {
			return nil
		}
		return rule("del")
	}, nil
}

// LimitRate limits the traffic to and from a host to some bytes a second until heal is called. Packets above the rate are queued, and
// dropped if they would wait longer than wait.
func (l *NamespaceNetwork) LimitRate(host, rate int, wait time.Duration) (heal func() error, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ends := map[string]*namespace{fmt.Sprintf("host%d", host): l.router, fmt.Sprintf("eth%d", host): l.hosts[host]}
	if l.slow[host] == 0 {
		for device, n := range ends {
			if err := n.command("", "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", fmt.Sprint(8*rate), "burst", "16kb", "latency", fmt.Sprintf("%dms", wait.Milliseconds())); err != nil {
				return nil, err
			}
		}
	}
	l.slow[host]++
	return func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.slow[host]--; l.slow[host] > 0 {
			return nil
		}
		var errs []error
		for device, n := range ends {
			errs = append(errs, n.command("", "tc", "qdisc", "del", "dev", device, "root"))
		}
		return errors.Join(errs...)
	}, nil
}

// DropShare drops a share of the IPv4 packets to and from a host until heal is called. isLost selects them by the seed and their number in
// each direction. A host can have only one such fault at a time. Segments that the kernel splits only on output are lost together.
func (l *NamespaceNetwork) DropShare(host int, share float64, seed uint64) (heal func() error, err error) {
	device := fmt.Sprintf("host%d", host)
	del := func() error { return l.router.command("", "tc", "qdisc", "del", "dev", device, "clsact") }
	if err := l.router.command("", "tc", "qdisc", "add", "dev", device, "clsact"); err != nil {
		return nil, err
	}
	for way, out := range map[string]bool{lossFrom: false, lossTo: true} {
		program, err := loadLoss(directionSeed(seed, way), lossLimit(share))
		if err == nil {
			err = errors.Join(l.router.inside(func() error { return attachLoss(device, out, program) }), unix.Close(program))
		}
		if err != nil {
			return nil, errors.Join(err, del())
		}
	}
	return del, nil
}

// Reset resets a host's connections with some others, as a firewall that lost its state does.
func (l *NamespaceNetwork) Reset(host int, others ...int) error {
	var errs []error
	for _, o := range others {
		errs = append(errs, l.hosts[host].command("", "ss", "-K", "-tn", "dst", l.Address(o)))
	}
	return errors.Join(errs...)
}

// Dial opens a connection from a host.
func (l *NamespaceNetwork) Dial(ctx context.Context, host int, network, address string) (net.Conn, error) {
	var c net.Conn
	err := l.hosts[host].inside(func() (err error) {
		c, err = (&net.Dialer{Timeout: callTime, FallbackDelay: -1}).DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// Close releases the network. Programs that still run keep their namespace until they end.
func (l *NamespaceNetwork) Close() error {
	var errs []error
	for _, n := range append(l.hosts, l.router) {
		if n != nil {
			errs = append(errs, n.file.Close())
		}
	}
	return errors.Join(errs...)
}
