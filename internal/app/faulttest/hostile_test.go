package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
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

// normalUser is a user, who sends to a group of two, with the next user, and notes what arrives.
type normalUser struct {
	*rialto.Client
	group uint64

	mu  sync.Mutex          // guards got
	got map[uint64][]string // texts by conversation, in the order of their arrival
}

func newNormalUser(t *testing.T, p *process, handle string) *normalUser {
	t.Helper()
	m := &normalUser{got: map[uint64][]string{}}
	var err error
	// A transport of its own, as each device has: of a shared one, most calls would open a connection.
	device := &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
	t.Cleanup(device.CloseIdleConnections)
	m.Client, err = rialto.New(rialto.Config{URL: p.url(), HTTP: device, MaxWait: 20 * time.Millisecond, Logger: quiet(), Handler: m.handle})
	if err == nil {
		err = m.Register(t.Context(), handle, "a good password", handle)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *normalUser) handle(e rialto.Event) {
	if text := e.Message.GetContent().GetText(); text != "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.got[e.Message.Conversation] = append(m.got[e.Message.Conversation], text)
	}
}

// arrived returns the texts of a conversation that have arrived.
func (m *normalUser) arrived(conversation uint64) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.got[conversation])
}

// longText makes each page that begins with it one that is counted as an answer.
var longText = strings.Repeat("long ", 4<<10)

// talk is the load of normal users, with its latencies.
type talk struct {
	mu    sync.Mutex // guards the fields below
	times []time.Duration
	acked map[uint64][]string // texts by conversation
}

// call makes the next call of a user.
func (k *talk) call(ctx context.Context, m *normalUser, n int) error {
	switch n % 3 {
	case 0:
		text := fmt.Sprint("message ", n)
		if _, err := m.SendText(ctx, m.group, text); err != nil {
			return err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.acked[m.group] = append(k.acked[m.group], text)
		return nil
	case 1:
		_, err := m.Chat().GetConversation(ctx, connect.NewRequest(&chatv1.GetConversationRequest{Conversation: m.group}))
		return err
	}
	r, err := m.Chat().History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: m.group, After: 1, Limit: 3}))
	if err == nil && r.Msg.Messages[0].Content.GetText() != longText {
		err = errors.New("a page does not begin with the first message")
	}
	return err
}

// run sends by the socket, and calls by HTTP, one after the other, until ctx ends.
func (k *talk) run(ctx context.Context, t *testing.T, m *normalUser, pace time.Duration) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := time.Now()
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		err := k.call(whole, m, n)
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

// checkArrivals requires that all that was acknowledged is stored, and that all that is stored has arrived at both members of its group, once and in order.
func (k *talk) checkArrivals(t *testing.T, members []*normalUser) {
	t.Helper()
	for n, m := range members {
		stored := slices.DeleteFunc(texts(t, m.Client, m.group), func(text string) bool { return text == "" })
		if len(k.acked[m.group]) == 0 {
			t.Errorf("no message of user %d was acknowledged", n)
		}
		for _, text := range k.acked[m.group] {
			if !slices.Contains(stored, text) {
				t.Errorf("user %d: %q was acknowledged, and is not stored", n, text)
			}
		}
		for _, reader := range []*normalUser{m, members[(n+1)%len(members)]} {
			eventually.True(t, "all messages arrive", func() bool { return len(reader.arrived(m.group)) >= len(stored) })
			if got := reader.arrived(m.group); !slices.Equal(got, stored) {
				t.Errorf("group %d: %d texts arrived, %d are stored; or their order differs", n, len(got), len(stored))
			}
		}
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
	if os.Getenv(attackedPort) != "" {
		attackUntilEOF(t, setting(t, attackedPort, 0), count, seconds)
		return
	}
	group := os.Getenv("HOSTILE_CGROUP")
	p := newProcess(t, "--set", "stomp.websocket=true")
	if group == "" {
		p.env = []string{"GOMEMLIMIT=200MiB"} // as on a small machine
	} else {
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
	var members []*normalUser
	for n := range users {
		m := newNormalUser(t, p, fmt.Sprint("normal", n))
		running.Go(func() {
			if err := m.Run(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
		members = append(members, m)
	}
	for n, m := range members {
		r, err := m.Chat().CreateGroup(ctx, connect.NewRequest(&chatv1.CreateGroupRequest{Title: "normal", Members: []uint64{members[(n+1)%users].User()}}))
		if err != nil {
			t.Fatal(err)
		}
		m.group = r.Msg.Id
		if _, err := m.SendText(ctx, m.group, longText); err != nil {
			t.Fatal(err)
		}
	}
	talks := &talk{acked: map[uint64][]string{}}
	chatting, hush := context.WithCancel(ctx)
	var normal sync.WaitGroup
	defer normal.Wait()
	defer hush()
	for _, m := range members {
		normal.Go(func() { talks.run(chatting, t, m, 50*time.Millisecond) })
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
	attack := p.attackedByProcess(ctx, t)
	talks.p99() // forget those while the attackers registered
	wait(time.Duration(seconds) * time.Second)
	under, calls := talks.p99()
	busy := p.cpu() - before
	most := p.peakMemory()
	attack.end(t)
	hush()
	normal.Wait()
	t.Logf("%d hostile connections for %d s: p99 of normal users %v over %d calls, %v over %d before; the server held %d MiB at most, and computed for %v", count, seconds, under, calls, idle, calm, most, busy)
	if most > maxMiB {
		t.Errorf("memory of the server: got %d MiB, want at most %d", most, maxMiB)
	}
	if group != "" && under > max(10*idle, 100*time.Millisecond) { // below that it is the noise of a machine that is shared with its attackers
		t.Errorf("p99 latency of normal users: got %v under attack, and %v before", under, idle)
	}
	talks.checkArrivals(t, members)
	select {
	case <-p.gone:
		t.Error("the server has ended")
	default:
	}
	cancel()
	running.Wait()
	p.stop()
	p.verify()
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
