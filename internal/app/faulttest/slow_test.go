package faulttest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/gobwas/ws"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// peakMemory returns the maximum memory of the server since its start, in MiB.
func (p *process) peakMemory() int {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return kib >> 10
}

// Fifty connections read nothing, or a byte now and then, of the 40 MiB that each is sent: 2 GiB in total. The server holds a small part of
// that. The sender and another member get everything meanwhile, and the slow clients later get what they missed.
func TestSlowReadersCostLittle(t *testing.T) {
	const slow, messages, size, maxMiB = 50, 2500, 16 << 10, 600 // between two collections of garbage, the heap doubles, and a busy machine collects late
	p := newProcess(t)
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	alice, late := person(t, p, "alice"), person(t, p, "late")
	var got sync.WaitGroup
	got.Add(messages)
	bob, err := rialto.New(rialto.Config{URL: p.url(), Logger: quiet(), Handler: func(e rialto.Event) {
		if e.Message != nil && e.Message.Content.GetText() != "" {
			got.Done()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := bob.Register(t.Context(), "bob", "a good password", "bob"); err != nil {
		t.Fatal(err)
	}
	g, err := alice.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "all", Members: []uint64{bob.User(), late.User()}}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for _, c := range []*rialto.Client{alice, bob} {
		group.Go(func() {
			if err := c.Run(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	var bytes []func()
	for i := range slow {
		ticket, err := late.Account().CreateTicket(ctx, connect.NewRequest(&accountv1.CreateTicketRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		d := ws.Dialer{Protocols: []string{"rialto.v1.proto"}, Header: ws.HandshakeHeaderHTTP(http.Header{})}
		conn, _, _, err := d.Dial(ctx, fmt.Sprintf("ws://127.0.0.1:%d/v1/socket?ticket=%s", p.port, ticket.Msg.Ticket))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			bytes = append(bytes, func() { _, _ = conn.Read(make([]byte, 1)) }) // it may have been let go
		}
	}
	text := strings.Repeat("x", size)
	var waits []func(context.Context) error
	for range messages {
		wait := alice.Queue(g.Msg.Id, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
		waits = append(waits, func(ctx context.Context) error { _, err := wait(ctx); return err })
	}
	for n, wait := range waits {
		if err := wait(ctx); err != nil {
			t.Fatal(err)
		}
		if n%100 == 0 {
			for _, read := range bytes {
				read()
			}
		}
	}
	got.Wait()
	if n := p.peakMemory(); n > maxMiB {
		t.Errorf("memory of the server: got %d MiB, want at most %d", n, maxMiB)
	} else {
		t.Logf("the server held %d MiB", n)
	}
	if n := len(texts(t, late, g.Msg.Id)); n != messages {
		t.Errorf("messages read by the slow client: got %d, want %d", n, messages)
	}
}
