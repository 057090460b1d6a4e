package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// namespace is a network of its own, in the kernel: with its interfaces, addresses and routes. It has no name anywhere: it is gone, with
// all that is in it, when the last process in it has ended and nobody has it open, however this process ends.
type namespace struct{ file *os.File }

func here() (*os.File, error) { return os.Open("/proc/thread-self/ns/net") }

// newNamespace makes one without any interface but its loopback.
func newNamespace() (n *namespace, err error) {
	err = returning(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		f, err := here()
		n = &namespace{f}
		return err
	})
	return n, err
}

// returning has do change the network of its thread, and brings that back; a thread that cannot be brought back is used no more. While
// it lasts, no other goroutine runs on the thread, and none begins there.
func returning(do func() error) error {
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

// inside has do run in the namespace: sockets that it opens, and processes that it starts, are there, and stay.
func (n *namespace) inside(do func() error) error {
	return returning(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return do()
	})
}

// path by which others find the namespace while this process lives.
func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// command runs in the namespace, with text for its input.
func (n *namespace) command(input, name string, args ...string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		path = "/usr/sbin/" + name // where the path of a user does not lead
	}
	var out strings.Builder
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &out
	if err := n.inside(cmd.Run); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out.String())
	}
	return nil
}

// ip runs lines of the program ip.
func (n *namespace) ip(lines ...string) error {
	return n.command(strings.Join(lines, "\n")+"\n", "ip", "-batch", "-")
}

// Lab is a number of hosts, each in a network namespace of its own, and a router between them, in one as well, which has no way to
// anywhere else: addresses in it are nobody's outside. What the router is told to drop is dropped without a word, as by a network: both
// ends repeat what was not answered, wait, and give up when they do.
//
// Its methods may be called from many goroutines.
type Lab struct {
	router *namespace
	hosts  []*namespace

	mu   sync.Mutex // guards all below
	cuts map[way]int
	slow map[int]int
}

// OpenLab makes so many hosts. It fails where this process may not, or the system lacks what it takes. The caller must Close it, after
// what runs in it has ended.
func OpenLab(hosts int) (_ *Lab, err error) {
	l := &Lab{cuts: map[way]int{}, slow: map[int]int{}}
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
			fmt.Sprintf("addr add %s/24 dev host%d", l.gate(i), i), fmt.Sprintf("link set host%d up", i))
		if err == nil {
			err = h.ip("link set lo up", fmt.Sprintf("addr add %s/24 dev eth%d", l.Address(i), i), fmt.Sprintf("link set eth%d up", i), "route add default via "+l.gate(i))
		}
		if err != nil {
			return nil, err
		}
	}
	// What a run needs later is found to be missing now.
	heal, err := l.Cut(0, hosts-1)
	if err != nil {
		return nil, err
	}
	if err := heal(); err != nil {
		return nil, err
	}
	if heal, err = l.Narrow(0, 1<<20, time.Second); err != nil {
		return nil, err
	}
	if err := heal(); err != nil {
		return nil, err
	}
	if heal, err = l.Lose(0, 0.5); err != nil {
		return nil, err
	}
	return l, heal()
}

// Address of a host.
func (l *Lab) Address(host int) string { return fmt.Sprintf("10.99.%d.2", host+1) }

// gate is the router's address on a host's side.
func (l *Lab) gate(host int) string { return fmt.Sprintf("10.99.%d.1", host+1) }

// Inside has do run on a host: processes that it starts are there, and stay.
func (l *Lab) Inside(host int, do func() error) error { return l.hosts[host].inside(do) }

// Cut drops all that goes from one host to another, until it is healed.
func (l *Lab) Cut(from, to int) (heal func() error, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := way{from, to}
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

// Narrow lets no more than some bytes in a second pass to a host, and from it, until it is healed. What comes quicker waits, and is
// dropped where it would wait for longer than so long.
func (l *Lab) Narrow(host, rate int, wait time.Duration) (heal func() error, err error) {
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

// kernelRandom is where the kernel's packet machine has a number by chance (linux/filter.h: SKF_AD_OFF and SKF_AD_RANDOM).
const kernelRandom = 1<<32 - 0x1000 + 56

// Lose drops packets by chance, a share of those that come to a host and of those that it sends, until it is healed: a filter of the
// router's, a program for the kernel's packet machine, asks the kernel's generator about each. One at a time may lose a host's. What a
// host sends at once, in segments that the kernel cuts on the way out only, is lost at once.
func (l *Lab) Lose(host int, share float64) (heal func() error, err error) {
	device := fmt.Sprintf("host%d", host)
	del := func() error { return l.router.command("", "tc", "qdisc", "del", "dev", device, "clsact") }
	if err := l.router.command("", "tc", "qdisc", "add", "dev", device, "clsact"); err != nil {
		return nil, err
	}
	// A number by chance; where it is below the limit the packet is dropped (2), else what comes after the filter has it (-1).
	program := fmt.Sprintf("4,32 0 0 %d,53 1 0 %d,6 0 0 2,6 0 0 %d", uint32(kernelRandom), uint32(share*math.MaxUint32), uint32(math.MaxUint32))
	for _, way := range []string{"ingress", "egress"} {
		if err := l.router.command("", "tc", "filter", "add", "dev", device, way, "bpf", "da", "bytecode", program); err != nil {
			return nil, errors.Join(err, del())
		}
	}
	return del, nil
}

// Reset ends a host's connections with some others, as a firewall that forgot them does.
func (l *Lab) Reset(host int, others ...int) error {
	var errs []error
	for _, o := range others {
		errs = append(errs, l.hosts[host].command("", "ss", "-K", "-tn", "dst", l.Address(o)))
	}
	return errors.Join(errs...)
}

// Dial opens a connection from a host.
func (l *Lab) Dial(ctx context.Context, host int, network, address string) (net.Conn, error) {
	var c net.Conn
	err := l.hosts[host].inside(func() (err error) {
		c, err = (&net.Dialer{Timeout: callTime, FallbackDelay: -1}).DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// Close ends the lab. What still runs in it keeps its namespace until it ends.
func (l *Lab) Close() error {
	var errs []error
	for _, n := range append(l.hosts, l.router) {
		if n != nil {
			errs = append(errs, n.file.Close())
		}
	}
	return errors.Join(errs...)
}
