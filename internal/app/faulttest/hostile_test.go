package faulttest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// setting of the environment, for the long form: scripts/hostile.sh.
func setting(t *testing.T, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, which is no number above 0", name, text)
	}
	return n
}

// confined has the server run in a control group that exists, on one core.
func (p *process) confined(group string) {
	p.t.Helper()
	wrapper := filepath.Join(p.t.TempDir(), "confined")
	text := fmt.Sprintf("#!/bin/sh\necho $$ >'%s/cgroup.procs' && exec taskset -c 0 '%s' \"$@\"\n", group, p.Path)
	if err := os.WriteFile(wrapper, []byte(text), 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.Path = wrapper
}

// cpu is how long the server has computed since its start.
func (p *process) cpu() time.Duration {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		p.t.Fatal(err)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // from the third of proc_pid_stat(5) on
	total := 0
	for _, ticks := range fields[11:13] {
		n, err := strconv.Atoi(ticks)
		if err != nil {
			p.t.Fatal(err)
		}
		total += n
	}
	return time.Duration(total) * 10 * time.Millisecond
}

// talk is the load of normal users, with its latencies.
type talk struct {
	mu    sync.Mutex // guards times
	times []time.Duration
	acked atomic.Int64
}

// run sends by the socket, and calls by HTTP, one after the other, until ctx ends.
func (k *talk) run(ctx context.Context, t *testing.T, c *rialto.Client, conversation uint64, pace time.Duration) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := time.Now()
		var err error
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		if n%2 == 0 {
			if _, err = c.SendText(whole, conversation, fmt.Sprint("message ", n)); err == nil {
				k.acked.Add(1)
			}
		} else {
			_, err = c.Chat().GetConversation(whole, connect.NewRequest(&chatv1.GetConversationRequest{Conversation: conversation}))
		}
		cancel()
		if err != nil {
			t.Errorf("a normal user's call failed: %v", err)
			return
		}
		k.mu.Lock()
		k.times = append(k.times, time.Since(began))
		k.mu.Unlock()
	}
}

// p99 returns the 99th percentile of the latencies since its last call.
func (k *talk) p99() (time.Duration, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	times := k.times
	k.times = nil
	if len(times) == 0 {
		return 0, 0
	}
	slices.Sort(times)
	return times[len(times)*99/100], len(times)
}

// Many hostile connections, most of them unauthenticated, do everything that costs memory and time. The server uses little memory for them,
// answers every call of normal users, and loses nothing that was acknowledged.
func TestHostileClients(t *testing.T) {
	count, seconds, maxMiB := setting(t, "HOSTILE_CLIENTS", 400), setting(t, "HOSTILE_SECONDS", 4), setting(t, "HOSTILE_MIB", 320)
	group := os.Getenv("HOSTILE_CGROUP")
	var args []string
	if group == "" {
		args = []string{"--set", "input.memory=16777216"} // as on a small machine
	}
	p := newProcess(t, args...)
	if group != "" {
		p.confined(group)
	}
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	const users = 6
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var clients []*rialto.Client
	for n := range users {
		c := person(t, p, fmt.Sprint("normal", n))
		running.Go(func() {
			if err := c.Run(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
		clients = append(clients, c)
	}
	var groups [users]uint64
	for n, c := range clients {
		r, err := c.Chat().CreateGroup(ctx, connect.NewRequest(&chatv1.CreateGroupRequest{Title: "normal", Members: []uint64{clients[(n+1)%users].User()}}))
		if err != nil {
			t.Fatal(err)
		}
		groups[n] = r.Msg.Id
	}
	talks := &talk{}
	chatting, hush := context.WithCancel(ctx)
	var normal sync.WaitGroup
	for n, c := range clients {
		normal.Go(func() { talks.run(chatting, t, c, groups[n], 50*time.Millisecond) })
	}
	wait := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-p.gone:
			t.Error("the server is gone")
		}
	}
	wait(time.Duration(seconds) * time.Second / 4)
	idle, calm := talks.p99()

	before := p.cpu()
	attacking, peace := context.WithCancel(ctx)
	begun := p.hostile(attacking, t, count, time.Duration(seconds)*time.Second/6)
	wait(time.Duration(seconds) * time.Second)
	under, calls := talks.p99()
	busy := p.cpu() - before
	most := p.peakMemory()
	peace()
	begun.wait.Wait()
	hush()
	normal.Wait()
	for _, k := range begun.kinds {
		t.Logf("%6d times %s", begun.count[k.name].Load(), k.name)
		if begun.count[k.name].Load() == 0 {
			t.Errorf("no connection attempted the attack %s", k.name)
		}
	}
	t.Logf("%d hostile connections for %d s: p99 of normal users %v over %d calls, %v over %d before; the server held %d MiB at most, and computed for %v", count, seconds, under, calls, idle, calm, most, busy)
	if most > maxMiB {
		t.Errorf("memory of the server: got %d MiB, want at most %d", most, maxMiB)
	}
	if group != "" && under > max(10*idle, 300*time.Millisecond) { // below that it is the noise of a machine that is shared with its attackers
		t.Errorf("p99 latency of normal users: got %v under attack, and %v before", under, idle)
	}
	stored := 0
	for n, c := range clients {
		for _, text := range texts(t, c, groups[n]) {
			if text != "" {
				stored++
			}
		}
	}
	if acked := int(talks.acked.Load()); stored < acked || acked == 0 {
		t.Errorf("got %d stored and %d acknowledged messages, want at least as many stored", stored, acked)
	}
	cancel()
	running.Wait()
	p.stop()
	p.verify()
}

// attackers are under way.
type attackers struct {
	wait  sync.WaitGroup
	kinds []attack
	count map[string]*atomic.Int64
}

// hostile starts a number of attackers. Each has a connection, and after a pause another one when that ends.
func (p *process) hostile(ctx context.Context, t *testing.T, count int, pause time.Duration) *attackers {
	t.Helper()
	person(t, p, "villain")
	session := login(t, p, "villain")
	all := newAttacks(t, p, session.AccessToken)
	a := &attackers{kinds: all.kinds(), count: map[string]*atomic.Int64{}}
	for _, k := range a.kinds {
		a.count[k.name] = &atomic.Int64{}
	}
	for n := range count {
		kind := a.kinds[n%len(a.kinds)]
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
	// Twenty a second of the cheapest: a frame of 1 KB each.
	a.wait.Go(func() {
		ticker := time.NewTicker(time.Second / 20)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				a.wait.Go(func() { _ = all.socket(ctx, "", all.bomb) })
				a.wait.Go(func() { _ = all.socket(ctx, all.token, all.bomb) })
			}
		}
	})
	return a
}

// login opens a session.
func login(t *testing.T, p *process, handle string) *accountv1.Session {
	t.Helper()
	r, err := accountv1connect.NewAccountServiceClient(http.DefaultClient, p.url()).Login(t.Context(), connect.NewRequest(&accountv1.LoginRequest{Handle: handle, Password: "a good password"}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg
}
