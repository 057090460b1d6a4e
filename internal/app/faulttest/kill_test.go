package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/historycheck"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// failpoints at which the server is killed, in turn; the empty one is a kill from outside, at any time.
var failpoints = []string{
	"timeline/before-commit", "timeline/after-commit-before-sync", "timeline/after-sync-before-done", "timeline/mid-done", "timeline/after-done-before-listener",
	"inbox/before-post", "inbox/after-post", "fanout/before-checkpoint", "fanout/after-checkpoint",
	"gateway/before-deliver", "gateway/before-write", "gateway/after-write", "",
}

// cycles returns the number of kills: 200, or that of the environment for the long form.
func cycles(t *testing.T) int {
	return number(t, "KILL_CYCLES", 200)
}

// number returns the positive number in an environment variable, or another one if it is not set.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	v := os.Getenv(variable)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a positive number", variable, v)
	}
	return n
}

// member is a user with one device who chats until the end.
type member struct {
	client *rialto.Client
	device string
	to     []uint64 // conversations
}

// chatters are users who chat in pairs and in one group.
type chatters struct {
	t       *testing.T
	history *historycheck.History
	members []*member
	acks    atomic.Int64
}

func newChatters(t *testing.T, url string) *chatters {
	t.Helper()
	c := &chatters{t: t, history: historycheck.New()}
	ctx := t.Context()
	for i := range 4 {
		m := &member{device: fmt.Sprintf("device %d", i)}
		client, err := rialto.New(rialto.Config{URL: url, MaxWait: 20 * time.Millisecond, Handler: func(e rialto.Event) { c.delivered(m, e) }, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		m.client = client
		if err := client.Register(ctx, fmt.Sprintf("user%d", i), "a good password", fmt.Sprintf("User %d", i)); err != nil {
			t.Fatal(err)
		}
		c.members = append(c.members, m)
	}
	for i := range 2 {
		a, b := c.members[2*i], c.members[2*i+1]
		r, err := a.client.Chat().OpenDirect(ctx, connect.NewRequest(&chatv1.OpenDirectRequest{User: b.client.User()}))
		if err != nil {
			t.Fatal(err)
		}
		c.join(r.Msg.Id, a, b)
	}
	owner := c.members[0].client
	var others []uint64
	for _, m := range c.members[1:] {
		others = append(others, m.client.User())
	}
	g, err := owner.Chat().CreateGroup(ctx, connect.NewRequest(&chatv1.CreateGroupRequest{Title: "all", Members: others}))
	if err != nil {
		t.Fatal(err)
	}
	c.join(g.Msg.Id, c.members...)
	return c
}

func (c *chatters) join(conversation uint64, members ...*member) {
	for _, m := range members {
		m.to = append(m.to, conversation)
		c.history.Member(conversation, m.device)
	}
}

// delivered notes what a device shows. The sender and number of a message are in its text.
func (c *chatters) delivered(m *member, e rialto.Event) {
	if e.Reset {
		c.t.Errorf("%s got a reset", m.device)
	}
	if e.Message == nil || e.Message.Content.GetText() == "" {
		return
	}
	sender, number, ok := strings.Cut(e.Message.Content.GetText(), " ")
	s, err1 := strconv.ParseUint(sender, 10, 64)
	n, err2 := strconv.Atoi(number)
	if !ok || err1 != nil || err2 != nil || s != e.Message.Sender {
		c.t.Errorf("%s showed %q of %d", m.device, e.Message.Content.GetText(), e.Message.Sender)
		return
	}
	c.history.Delivered(m.device, historycheck.Delivery{Message: historycheck.Message{Conversation: e.Message.Conversation, Sender: s, N: n}, Position: historycheck.Position{ID: e.Message.Id, Seq: e.Message.Seq}})
}

// chat has every member send to each of its conversations, a few messages at once, until stop is closed.
func (c *chatters) chat(ctx context.Context, stop <-chan struct{}) *sync.WaitGroup {
	var group sync.WaitGroup
	for _, m := range c.members {
		group.Go(func() {
			if err := m.client.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				c.t.Errorf("%s: error %v, want none or %v", m.device, err, context.Canceled)
			}
		})
		for _, conversation := range m.to {
			group.Go(func() { c.send(ctx, m, conversation, stop) })
		}
	}
	return &group
}

const atOnce = 4

func (c *chatters) send(ctx context.Context, m *member, conversation uint64, stop <-chan struct{}) {
	var under sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for n := 1; ; n++ {
		select {
		case <-stop:
			under.Wait()
			return
		case slots <- struct{}{}:
		}
		msg := historycheck.Message{Conversation: conversation, Sender: m.client.User(), N: n}
		c.history.Sent(msg)
		// Queued here, so that the order of the numbers is that of sending; awaited in another goroutine.
		wait := m.client.Queue(conversation, &chatv1.Content{Kind: &chatv1.Content_Text{Text: fmt.Sprintf("%d %d", msg.Sender, n)}})
		under.Go(func() {
			defer func() { <-slots }()
			r, err := wait(ctx)
			if err != nil {
				c.t.Errorf("%v was refused: %v", msg, err)
				return
			}
			c.acks.Add(1)
			c.history.Acked(msg, historycheck.Position{ID: r.Id, Seq: r.Seq})
		})
	}
}

// The server is killed repeatedly, at each failpoint between a message's arrival and its delivery. The result is as if it had not been killed.
func TestKilledAtEachFailpoint(t *testing.T) {
	p := newProcess(t)
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	c := newChatters(t, p.url())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := make(chan struct{})
	group := c.chat(ctx, stop)
	rng := rand.New(rand.NewPCG(uint64(number(t, "KILL_SEED", 1)), 2)) // when each is killed
	total, hit := cycles(t), map[string]int{}
	for i := range total {
		before := c.acks.Load()
		p.kill()
		name := failpoints[i%len(failpoints)]
		times := 1 + rng.IntN(30)
		if strings.HasPrefix(name, "fanout/") { // one in hundreds of records passes it
			times = 1 + rng.IntN(4)
		}
		if !p.start(fmt.Sprintf("%s:%d", name, times)) {
			hit[name]++
			continue // it died while it dispatched the rest of the previous process
		}
		if name == "" {
			c.until(before+20+rng.Int64N(200), p.gone)
			continue
		}
		// Messages pass until the place is reached.
		if c.until(before+20_000, p.gone) {
			t.Errorf("the failpoint %s was never reached", name)
		}
		hit[name]++
	}
	p.kill()
	if !p.start("") {
		t.Fatal("the server did not start again")
	}
	close(stop)
	c.settle(p.gone)
	cancel()
	group.Wait()
	acked, delivered := c.history.Count()
	t.Logf("%d kills, %d messages acknowledged, %d deliveries; %v", total, acked, delivered, hit)
	for _, v := range c.history.Check() {
		t.Error(v)
	}
	p.stop()
	p.verify()
	if acked < total {
		t.Errorf("only %d messages were acknowledged in %d cycles", acked, total)
	}
}

// until waits for so many acknowledgements; false when the server is gone first.
func (c *chatters) until(acks int64, gone <-chan struct{}) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for c.acks.Load() < acks {
		select {
		case <-gone:
			return false
		case <-tick.C:
		}
	}
	return true
}

// settle waits until every device has all acknowledged messages and no more arrive, or until nothing has arrived for so long that missing
// messages are lost, which the history check reports.
func (c *chatters) settle(gone <-chan struct{}) {
	const look, enough, lost = 50 * time.Millisecond, 20, 1200
	tick := time.NewTicker(look)
	defer tick.Stop()
	quiet := 0
	for last := -1; quiet < enough || c.history.Missing() > 0 && quiet < lost; quiet++ {
		select {
		case <-gone:
			c.t.Error("the server died by itself")
			return
		case <-tick.C:
		}
		acked, delivered := c.history.Count()
		if now := acked + delivered; now != last {
			last, quiet = now, -1
		}
	}
}
