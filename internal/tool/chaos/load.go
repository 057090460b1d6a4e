package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// chat is LOAD1: a user sends to small conversations, one message after the other, each until it is stored, as an app does.
func (t *workload) chat(ctx, online context.Context, p *user) {
	d := p.devices[0]
	rng := t.rng(d.proc)
	var mine []*conversationLoad
	for _, r := range t.chatConversations {
		if slices.Contains(r.members, p) {
			mine = append(mine, r)
		}
	}
	zipf := rand.NewZipf(rng, 1.1, 1, uint64(len(mine)-1))
	for t.wait(ctx, rng, 250*time.Millisecond) {
		t.send(online, d, mine[zipf.Uint64()])
	}
}

// hotConversation is LOAD2: many users send to one conversation at once.
func (t *workload) hotConversation(ctx, online context.Context, p *user) {
	d := p.devices[1]
	rng := t.rng(d.proc)
	for t.wait(ctx, rng, 400*time.Millisecond) {
		for range 1 + rng.IntN(3) {
			t.send(online, d, t.hot)
		}
	}
}

// send sends a message from a device, and waits until it is stored.
func (t *workload) send(ctx context.Context, d *device, r *conversationLoad) {
	e := t.record.Begin(Event{Proc: d.proc, F: FSend, User: d.user, Conv: r.id, Text: t.labels.next(d.proc)})
	got, err := d.client.SendText(ctx, r.id, e.Text)
	if err != nil {
		e.Err = err.Error()
		how := Info
		if refused := (*rialto.SendError)(nil); errors.As(err, &refused) {
			how, e.Err = Fail, refused.Reason
		}
		t.record.End(e, how)
		return
	}
	e.ID, e.Seq, e.TimeMs = got.Id, got.Seq, got.TimeMs
	t.record.End(e, Ok)
}

// readNewest reads the newest message of a conversation from a random node.
func (t *workload) readNewest(ctx context.Context, p *user) {
	rng := t.rng(p.name + " reads")
	for t.wait(ctx, rng, 500*time.Millisecond) {
		r := t.hot
		if rng.IntN(3) > 0 {
			r = t.chatConversations[rng.IntN(len(t.chatConversations))]
		}
		if slices.Contains(r.members, p) {
			t.read(ctx, p, r)
		}
	}
}

func (t *workload) read(ctx context.Context, p *user, r *conversationLoad) {
	// The outcome is recorded, including errors.
	_, _ = t.recordCall(ctx, t.router.RandomNode(), Event{Proc: p.name, F: FRead, User: p.id, Conv: r.id}, func(ctx context.Context, got *Event) error {
		page, err := p.caller.Chat().History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: r.id, Limit: 1}))
		if err == nil && len(page.Msg.Messages) > 0 {
			got.entry(page.Msg.Messages[len(page.Msg.Messages)-1])
		}
		return err
	})
}

// messageKey is the idempotency key of a message: client_seq or client_msg_id.
type messageKey struct {
	seq uint64
	id  string
}

// call sends a message once, to a node.
func (t *workload) call(ctx context.Context, n *Node, p *user, proc string, r *conversationLoad, what string, key messageKey) (Event, error) {
	return t.recordCall(ctx, n, Event{Proc: proc, F: FSend, User: p.id, Conv: r.id, Text: what}, func(ctx context.Context, got *Event) error {
		a, err := p.caller.Chat().Send(ctx, connect.NewRequest(&chatv1.SendRequest{Conversation: r.id, ClientSeq: key.seq, ClientMsgId: key.id, Content: text(what)}))
		if err == nil {
			got.ID, got.Seq, got.TimeMs = a.Msg.Id, a.Msg.Seq, a.Msg.TimeMs
		}
		return err
	})
}

// sendRepeatedly is LOAD4: every message is sent two to five times, to different nodes, concurrently or in sequence, and out of order.
func (t *workload) sendRepeatedly(ctx context.Context, p *user) {
	rng := t.rng(p.name)
	var under sync.WaitGroup
	defer under.Wait()
	slots, nodes := make(chan struct{}, 4), t.router.Serving(roleChat)
	for count := uint64(1); t.wait(ctx, rng, 300*time.Millisecond); count++ {
		what := t.labels.next(p.name)
		key := messageKey{seq: count}
		if rng.IntN(2) == 0 {
			key = messageKey{id: what}
		}
		times := 2 + rng.IntN(4)
		waits := make([]time.Duration, times)
		for i := range waits {
			if rng.IntN(3) > 0 {
				waits[i] = time.Duration(rng.Int64N(int64(800 * time.Millisecond)))
			}
		}
		slots <- struct{}{}
		under.Go(func() {
			defer func() { <-slots }()
			var tries sync.WaitGroup
			for i, w := range waits {
				n := nodes[(int(count)+i)%len(nodes)]
				tries.Go(func() {
					if pause(ctx, w) {
						_, _ = t.call(ctx, n, p, p.name+"/"+strconv.Itoa(i), t.storm, what, key) // the error is recorded as the outcome
					}
				})
			}
			tries.Wait()
		})
	}
}

// probe makes cheap calls and sends to one node, to see whether it serves.
func (t *workload) probe(ctx context.Context, n *Node) {
	p := t.prober
	rng := t.rng("probe " + n.Name)
	for t.wait(ctx, rng, 200*time.Millisecond) {
		what := t.labels.next("probe." + n.Name)
		_, _ = t.call(ctx, n, p, "probe."+n.Name, t.probed, what, messageKey{id: what}) // the error is recorded as the outcome
		_, _ = t.recordCall(ctx, n, Event{Proc: "probe." + n.Name, F: FProbe, User: p.id}, func(ctx context.Context, _ *Event) error {
			_, err := p.caller.Account().GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Users: []uint64{p.id}}))
			return err
		})
	}
}

// flap is LOAD10: devices connect and disconnect, and users watch each other.
func (t *workload) flap(ctx, online context.Context, p *user) {
	d := p.devices[0]
	rng := t.rng(p.name)
	var others []uint64
	for _, o := range t.flappers {
		if o != p {
			others = append(others, o.id)
		}
	}
	d.client.Watch(others...)
	for t.wait(ctx, rng, 3*time.Second) {
		d.disconnect()
		if !t.wait(ctx, rng, 2*time.Second) {
			break
		}
		t.connect(online, d)
	}
	// At the end some are online and some are not.
	if p == t.flappers[0] || p == t.flappers[1] {
		t.connect(online, d)
	} else {
		d.disconnect()
	}
}
