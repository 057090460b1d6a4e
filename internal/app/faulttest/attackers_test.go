package faulttest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
)

// Attackers are a process of their own, in the long form of the lowest priority: the times of normal users are those of the server, and not
// those that a crowd of clients beside them needs. It is this test again, with the port of the server in the environment.
const (
	attackedPort = "HOSTILE_PORT"
	haveBegun    = "the attacks have begun"
)

// attackProcess is the process of the attackers.
type attackProcess struct {
	stdin io.Closer
	ended chan error
}

// attackedByProcess starts the attackers, and returns once they attack.
func (p *process) attackedByProcess(ctx context.Context, t *testing.T) *attackProcess {
	t.Helper()
	priority := "0"
	if os.Getenv("HOSTILE_CGROUP") != "" {
		priority = "19" // elsewhere other tests may leave them nothing
	}
	cmd := exec.CommandContext(ctx, "nice", "-n", priority, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=20m")
	cmd.Env = append(os.Environ(), fmt.Sprint(attackedPort, "=", p.port))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun, a := make(chan struct{}), &attackProcess{stdin: stdin, ended: make(chan error, 1)}
	var reading sync.WaitGroup
	reading.Go(func() { // ends with the process, which the context ends
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if strings.Contains(lines.Text(), haveBegun) {
				close(begun)
			}
			t.Log("attackers: ", lines.Text())
		}
		a.ended <- cmd.Wait()
	})
	t.Cleanup(reading.Wait)
	select {
	case <-begun:
	case err := <-a.ended:
		t.Fatalf("the attackers ended: %v", err)
	case <-time.After(eventually.Timeout):
		t.Fatal("the attackers do not begin")
	}
	return a
}

// end has the attackers end, and requires that each attack had the outcome that it must have.
func (a *attackProcess) end(t *testing.T) {
	t.Helper()
	if err := a.stdin.Close(); err != nil {
		t.Error(err)
	}
	if err := eventually.Receive(t, "the attackers end", a.ended); err != nil {
		t.Errorf("the attackers: %v", err)
	}
}

// attackUntilEOF attacks a server until the standard input ends.
func attackUntilEOF(t *testing.T, port, count, seconds int) {
	t.Helper()
	guessing, stopGuessing := context.WithCancel(t.Context())
	defer stopGuessing()
	attacking, peace := context.WithCancel(guessing)
	begun := (&process{t: t, port: port}).hostile(attacking, guessing, t, count, time.Duration(seconds)*time.Second/6)
	var owner sync.WaitGroup
	bounded, giveUp := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second+eventually.Timeout)
	defer giveUp()
	owner.Go(func() { begun.owner.getsIn(bounded, t, &begun.seen) })
	fmt.Println(haveBegun)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Error(err)
	}
	peace()
	owner.Wait() // on a slow machine the owner logs in when only the guesses go on
	stopGuessing()
	begun.wait.Wait()
	begun.complete(bounded)
	for _, k := range begun.kinds {
		t.Logf("%6d times %s", begun.count[k.name].Load(), k.name)
		if begun.count[k.name].Load() == 0 {
			t.Errorf("no connection attempted the attack %s", k.name)
		}
	}
	begun.checkOutcomes(t)
}

// attackers are under way.
type attackers struct {
	*attacks
	wait  sync.WaitGroup
	kinds []attack
	count map[string]*atomic.Int64
}

// complete repeats, one after the other, the attacks that got no answer: on a slow machine the crowd ends before.
func (a *attackers) complete(ctx context.Context) {
	again := func(kind, token, required string, b bomb) {
		for a.seen.count(kind, required) == 0 && ctx.Err() == nil {
			_ = a.compressed(kind, token, b)(ctx) // whatever the server does to it
		}
	}
	again(before, "", closed(4100), a.bombs[0])
	for _, b := range a.bombs {
		if b.reason != "" {
			again(b.kind(), a.token(), b.reason, b)
		}
	}
}

// checkOutcomes requires that no frame was inflated before authentication, that each frame with too many elements was refused after it, and
// that no guess was right.
func (a *attackers) checkOutcomes(t *testing.T) {
	t.Helper()
	a.seen.check(t, before, closed(4100), late)
	for _, b := range a.bombs {
		if b.reason == "" {
			continue
		}
		// 4000: beyond 200 sockets of a user; 4009 and 4011: in a long run, where the limits of the user pause its sockets.
		a.seen.check(t, b.kind(), b.reason, closed(4100), closed(4000), closed(4009), closed(4011))
	}
	a.seen.check(t, guesses, "too_many_logins", "bad_login", "busy", "timeout")
}

// hostile starts a number of attackers. Each has a connection, and after a pause another one when that ends. Those that guess passwords go on until guessing ends.
func (p *process) hostile(ctx, guessing context.Context, t *testing.T, count int, pause time.Duration) *attackers {
	t.Helper()
	all := newAttacks(t, p)
	a := &attackers{attacks: all, kinds: all.kinds(), count: map[string]*atomic.Int64{}}
	for _, k := range a.kinds {
		a.count[k.name] = &atomic.Int64{}
	}
	for n := range count {
		kind, ctx := a.kinds[n%len(a.kinds)], ctx
		if kind.name == guesses {
			ctx = guessing
		}
		a.wait.Go(func() {
			for first := true; ctx.Err() == nil; first = false {
				d := pause
				if first {
					d = time.Duration(rand.Int64N(int64(pause)))
				}
				select {
				case <-time.After(d):
				case <-ctx.Done():
					return
				}
				_ = kind.do(ctx) // whatever the server does to it
				a.count[kind.name].Add(1)
			}
		})
	}
	// Twenty a second of the cheapest: frames of 1 KB.
	a.wait.Go(func() {
		ticker := time.NewTicker(time.Second / 20)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				a.wait.Go(func() { _ = all.compressed(before, "", all.bombs[0])(ctx) })
				a.wait.Go(func() { _ = all.compressed(all.bombs[0].kind(), all.token(), all.bombs[0])(ctx) })
			}
		}
	})
	return a
}
