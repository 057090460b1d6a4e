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
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

// chat is LOAD1: a person sends to conversations of a few people, one message after the other, as an app does: until it is stored.
func (t *town) chat(ctx, ever context.Context, p *person) {
	d := p.devices[0]
	rng := t.chance(d.proc)
	var mine []*room
	for _, r := range t.rooms {
		if slices.Contains(r.members, p) {
			mine = append(mine, r)
		}
	}
	zipf := rand.NewZipf(rng, 1.1, 1, uint64(len(mine)-1))
	for t.rest(ctx, rng, 250*time.Millisecond) {
		t.send(ever, d, mine[zipf.Uint64()])
	}
}

// crowdIn is LOAD2: one room in which all are, and many send at once.
func (t *town) crowdIn(ctx, ever context.Context, p *person) {
	d := p.devices[1]
	rng := t.chance(d.proc)
	for t.rest(ctx, rng, 400*time.Millisecond) {
		for range 1 + rng.IntN(3) {
			t.send(ever, d, t.hot)
		}
	}
}

// send has a device send a message, and waits until it is stored.
func (t *town) send(ctx context.Context, d *device, r *room) {
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

// look reads the newest of a conversation at any node.
func (t *town) look(ctx context.Context, p *person) {
	rng := t.chance(p.name + " reads")
	for t.rest(ctx, rng, 500*time.Millisecond) {
		r := t.hot
		if rng.IntN(3) > 0 {
			r = t.rooms[rng.IntN(len(t.rooms))]
		}
		if slices.Contains(r.members, p) {
			t.read(ctx, p, r)
		}
	}
}

func (t *town) read(ctx context.Context, p *person, r *room) {
	// What came of it is recorded, and an error is an outcome like any other.
	_, _ = t.do(ctx, t.router.Any(), Event{Proc: p.name, F: FRead, User: p.id, Conv: r.id}, func(ctx context.Context, got *Event) error {
		page, err := p.caller.Chat().History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: r.id, Limit: 1}))
		if err == nil && len(page.Msg.Messages) > 0 {
			got.entry(page.Msg.Messages[len(page.Msg.Messages)-1])
		}
		return err
	})
}

// name of a message, for the server to know a retry by.
type name struct {
	seq uint64
	id  string
}

// call sends a message once, at a node.
func (t *town) call(ctx context.Context, n *Node, p *person, proc string, r *room, what string, key name) (Event, error) {
	return t.do(ctx, n, Event{Proc: proc, F: FSend, User: p.id, Conv: r.id, Text: what}, func(ctx context.Context, got *Event) error {
		a, err := p.caller.Chat().Send(ctx, connect.NewRequest(&chatv1.SendRequest{Conversation: r.id, ClientSeq: key.seq, ClientMsgId: key.id, Content: text(what)}))
		if err == nil {
			got.ID, got.Seq, got.TimeMs = a.Msg.Id, a.Msg.Seq, a.Msg.TimeMs
		}
		return err
	})
}

// repeat is LOAD4: every message is sent two to five times, at different nodes, at once or one after the other, and out of order.
func (t *town) repeat(ctx context.Context, p *person) {
	rng := t.chance(p.name)
	var under sync.WaitGroup
	defer under.Wait()
	slots := make(chan struct{}, 4)
	for count := uint64(1); t.rest(ctx, rng, 300*time.Millisecond); count++ {
		what := t.labels.next(p.name)
		key := name{seq: count}
		if rng.IntN(2) == 0 {
			key = name{id: what}
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
				n := t.cluster.Nodes[(int(count)+i)%len(t.cluster.Nodes)]
				tries.Go(func() {
					if pause(ctx, w) {
						_, _ = t.call(ctx, n, p, p.name+"/"+strconv.Itoa(i), t.storm, what, key) // an error is an outcome like any other
					}
				})
			}
			tries.Wait()
		})
	}
}

// probe makes cheap calls and sends at one node, to see who serves.
func (t *town) probe(ctx context.Context, n *Node) {
	p := t.prober
	rng := t.chance("probe " + n.Name)
	for t.rest(ctx, rng, 200*time.Millisecond) {
		what := t.labels.next("probe." + n.Name)
		_, _ = t.call(ctx, n, p, "probe."+n.Name, t.probed, what, name{id: what}) // an error is an outcome like any other
		_, _ = t.do(ctx, n, Event{Proc: "probe." + n.Name, F: FProbe, User: p.id}, func(ctx context.Context, _ *Event) error {
			_, err := p.caller.Account().GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Users: []uint64{p.id}}))
			return err
		})
	}
}

// flap is LOAD10: devices come and go, and each watches the others.
func (t *town) flap(ctx, ever context.Context, p *person) {
	d := p.devices[0]
	rng := t.chance(p.name)
	var others []uint64
	for _, o := range t.flappers {
		if o != p {
			others = append(others, o.id)
		}
	}
	d.client.Watch(others...)
	for t.rest(ctx, rng, 3*time.Second) {
		d.hangUp()
		if !t.rest(ctx, rng, 2*time.Second) {
			break
		}
		t.connect(ever, d)
	}
	// At the end some are there and some are not.
	if p == t.flappers[0] || p == t.flappers[1] {
		t.connect(ever, d)
	} else {
		d.hangUp()
	}
}
