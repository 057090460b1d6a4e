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
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// callTime is how long a client waits for an answer; after that the outcome is unknown.
const callTime = 5 * time.Second

// password of all users; they exist only during a run.
const password = "only for this run"

// device of a user: an SDK client that is connected to a random node, and records what it receives.
type device struct {
	proc   string
	user   uint64
	client *rialto.Client

	mu      sync.Mutex         // guards stop
	stop    context.CancelFunc // nil while offline
	running sync.Mutex         // held while the client runs: after stop it may need a moment, and may be started again
}

// user has devices that receive and send as apps do, and a separate session for calls to a chosen node.
type user struct {
	name    string
	id      uint64
	devices []*device
	caller  *rialto.Client
}

// userPool creates users and records what they do.
type userPool struct {
	router *Router
	record *Recorder
	run    string
	online sync.WaitGroup // devices
	labels labels
}

// labels numbers the texts, so that each is unique.
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

// client returns an SDK client that goes through the router. The name in its URL is never resolved.
func (c *userPool) client(kind string, handler func(rialto.Event)) (*rialto.Client, error) {
	return rialto.New(rialto.Config{URL: "http://cluster.invalid", Name: "chaos", Type: kind, HTTP: c.router.HTTP(), MaxWait: time.Second, Handler: handler})
}

// register registers a user with a number of devices.
func (c *userPool) register(ctx context.Context, name string, devices int) (*user, error) {
	p := &user{name: name}
	var err error
	if p.caller, err = c.client("server", nil); err != nil {
		return nil, err
	}
	handle := "c" + c.run + "." + name
	if err := untilAnswered(ctx, func(ctx context.Context) error {
		err := p.caller.Register(ctx, handle, password, name)
		if connect.CodeOf(err) == connect.CodeAlreadyExists { // by an attempt whose answer came too late
			err = p.caller.Login(ctx, handle, password)
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("registering %s: %w", name, err)
	}
	p.id = p.caller.User()
	for i := range devices {
		d := &device{proc: fmt.Sprintf("%s.%d", name, i+1), user: p.id}
		if d.client, err = c.client("desktop", func(e rialto.Event) { c.recordDelivery(d, e) }); err != nil {
			return nil, err
		}
		if err := untilAnswered(ctx, func(ctx context.Context) error { return d.client.Login(ctx, handle, password) }); err != nil {
			return nil, fmt.Errorf("logging %s in: %w", d.proc, err)
		}
		p.devices = append(p.devices, d)
	}
	return p, nil
}

// recordDelivery records an event that a device received.
func (c *userPool) recordDelivery(d *device, e rialto.Event) {
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

// entry copies a message into the event.
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

// connect brings a device online until disconnect is called or ctx ends.
func (c *userPool) connect(ctx context.Context, d *device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		return
	}
	ctx, d.stop = context.WithCancel(ctx)
	c.online.Go(func() {
		d.running.Lock()
		defer d.running.Unlock()
		// A device that ends with an error, for example because it was signed out, cannot receive its messages: the checks at the end
		// report it.
		if err := d.client.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			c.record.Note(Event{Proc: d.proc, User: d.user, F: FReset, Err: err.Error()})
		}
	})
}

// disconnect takes a device offline.
func (d *device) disconnect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		d.stop()
		d.stop = nil
	}
}

// outcome of a call: successful, refused by the server, or unknown.
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

// recordCall makes a call to a node, or to another one if it does not serve the call, and records it. call may add fields of the answer to got.
func (c *userPool) recordCall(ctx context.Context, n *Node, e Event, call func(ctx context.Context, got *Event) error) (Event, error) {
	to := &target{node: n}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, toNode{}, to), callTime)
	defer cancel()
	e.Node = n.Name
	e = c.record.Begin(e)
	err := call(ctx, &e)
	if used := to.used.Load(); used != nil {
		e.Node = used.Name
	}
	if err != nil {
		e.Err = err.Error()
		if r := rialto.Reason(err); r != "" {
			e.Err = r
		}
	}
	c.record.End(e, outcome(err))
	return e, err
}

// makeFriends makes two users friends.
func (c *userPool) makeFriends(ctx context.Context, a, b *user) error {
	if err := untilAnswered(ctx, func(ctx context.Context) error {
		_, err := a.caller.Graph().RequestFriend(ctx, connect.NewRequest(&accountv1.RequestFriendRequest{User: b.id}))
		return err
	}); err != nil {
		return err
	}
	return untilAnswered(ctx, func(ctx context.Context) error {
		_, err := b.caller.Graph().AnswerFriend(ctx, connect.NewRequest(&accountv1.AnswerFriendRequest{User: a.id, Accept: true}))
		return err
	})
}

func text(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }
