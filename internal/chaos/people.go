package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

// callTime is how long a client waits for an answer. What comes later is an outcome that is not known.
const callTime = 5 * time.Second

// password of all: they exist for the length of a run.
const password = "only for this run"

// device of a user: a client of the SDK, which keeps a connection to any node, and tells the recorder what it is given.
type device struct {
	proc   string
	user   uint64
	client *rialto.Client

	mu   sync.Mutex         // guards stop
	stop context.CancelFunc // nil while it is offline
	one  sync.Mutex         // held while the client runs: one that was told to go may need a moment, and then it may come back
}

// person is a user: devices that listen and send as apps do, and a session apart for calls to a chosen node.
type person struct {
	name    string
	id      uint64
	devices []*device
	caller  *rialto.Client
}

// crowd makes persons and keeps what they do.
type crowd struct {
	router *Router
	record *Recorder
	run    string
	online sync.WaitGroup // devices
	labels labels
}

// labels gives each text that is sent a number.
type labels struct {
	mu sync.Mutex // guards n
	n  int
}

func (l *labels) next(proc string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return proc + " " + strconv.Itoa(l.n)
}

// client of the SDK that goes through the router. Nobody resolves the name in its URL.
func (c *crowd) client(kind string, handler func(rialto.Event)) (*rialto.Client, error) {
	return rialto.New(rialto.Config{URL: "http://cluster.invalid", Name: "chaos", Type: kind, HTTP: c.router.HTTP(), MaxWait: time.Second, Handler: handler})
}

// person registers a user with so many devices.
func (c *crowd) person(ctx context.Context, name string, devices int) (*person, error) {
	p := &person{name: name}
	var err error
	if p.caller, err = c.client("server", nil); err != nil {
		return nil, err
	}
	handle := "c" + c.run + "." + name
	if err := p.caller.Register(ctx, handle, password, name); err != nil {
		return nil, fmt.Errorf("registering %s: %w", name, err)
	}
	p.id = p.caller.User()
	for i := range devices {
		d := &device{proc: fmt.Sprintf("%s.%d", name, i+1), user: p.id}
		if d.client, err = c.client("desktop", func(e rialto.Event) { c.given(d, e) }); err != nil {
			return nil, err
		}
		if err := d.client.Login(ctx, handle, password); err != nil {
			return nil, fmt.Errorf("logging %s in: %w", d.proc, err)
		}
		p.devices = append(p.devices, d)
	}
	return p, nil
}

// given notes what a device is given.
func (c *crowd) given(d *device, e rialto.Event) {
	n := Event{Proc: d.proc, User: d.user}
	switch {
	case e.Message != nil:
		n.F = FDeliver
		n.entry(e.Message)
	case e.Reset:
		n.F = FReset
	case e.Online != nil:
		n.F = FOnline
		if *e.Online {
			n.N = 1
		}
	case e.Presence != nil:
		n.F, n.Other = FPresence, e.Presence.User
		if e.Presence.Status == presencev1.Status_STATUS_ONLINE {
			n.N = 1
		}
	default:
		return
	}
	c.record.Note(n)
}

// entry takes over what is said of an entry of a conversation.
func (e *Event) entry(m *chatv1.Message) {
	e.Conv, e.Seq, e.ID, e.From, e.TimeMs = m.Conversation, m.Seq, m.Id, m.Sender, m.TimeMs
	e.Text = m.GetContent().GetText()
	if c := m.GetContent().GetControl(); c != nil {
		e.Control, e.Users = c.Action.String(), c.Users
		if c.Action == chatv1.Control_ACTION_CREATED && c.Actor != 0 && !slices.Contains(c.Users, c.Actor) {
			e.Users = append([]uint64{c.Actor}, c.Users...)
		}
	}
}

// connect has a device come online, until it is told to go or ctx ends.
func (c *crowd) connect(ctx context.Context, d *device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		return
	}
	ctx, d.stop = context.WithCancel(ctx)
	c.online.Go(func() {
		d.one.Lock()
		defer d.one.Unlock()
		// A device that is told to stay away, or that is signed out, cannot show what it must: the end finds it.
		if err := d.client.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			c.record.Note(Event{Proc: d.proc, User: d.user, F: FReset, Err: err.Error()})
		}
	})
}

// hangUp has a device go offline.
func (d *device) hangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		d.stop()
		d.stop = nil
	}
}

// outcome of a call: done, refused by the server, or not known.
func outcome(err error) Type {
	if err == nil {
		return Ok
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeUnknown, connect.CodeInternal, connect.CodeAborted:
		return Info
	}
	return Fail
}

// do makes a call at a node, and records it. got adds what the answer said.
func (c *crowd) do(ctx context.Context, n *Node, e Event, call func(ctx context.Context, got *Event) error) (Event, error) {
	ctx, cancel := context.WithTimeout(To(ctx, n), callTime)
	defer cancel()
	e.Node = n.Name
	e = c.record.Begin(e)
	err := call(ctx, &e)
	if err != nil {
		e.Err = err.Error()
		if r := rialto.Reason(err); r != "" {
			e.Err = r
		}
	}
	c.record.End(e, outcome(err))
	return e, err
}

// friends makes two users friends.
func (c *crowd) friends(ctx context.Context, a, b *person) error {
	if _, err := a.caller.Graph().RequestFriend(ctx, connect.NewRequest(&accountv1.RequestFriendRequest{User: b.id})); err != nil {
		return err
	}
	_, err := b.caller.Graph().AnswerFriend(ctx, connect.NewRequest(&accountv1.AnswerFriendRequest{User: a.id, Accept: true}))
	return err
}

func text(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }
