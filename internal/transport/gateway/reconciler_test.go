package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/bustest"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// checked runs the reconciler in simulated time, with a connection whose stream and large conversation 5 are at 10.
func checked(t *testing.T, test func(c *conn, r *fakeServices)) {
	t.Helper()
	checkedAs(t, func(*conn, *fakeServices) {}, test)
}

// checkedAs calls ready with the fake services before the reconciler runs.
func checkedAs(t *testing.T, ready, test func(c *conn, r *fakeServices)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, r := bench(t)
		r.tail.Store(10)
		r.in(5)
		ctx, cancel := context.WithCancel(t.Context())
		c.register()
		c.newestPushed = 10
		c.server.hub.follow(c, 5, 10)
		ready(c, r)
		done := make(chan struct{})
		go func() { defer close(done); c.server.reconciler.run(ctx) }()
		test(c, r)
		cancel()
		<-done
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// hinted reports whether the connection was told to sync since the last call.
func hinted(t *testing.T, c *conn) (yes bool) {
	t.Helper()
	for list := sent(t, c); list != nil; list = sent(t, c) {
		yes = yes || slices.ContainsFunc(list, func(f *gatewayv1.ServerFrame) bool { return f.Hint != nil })
	}
	return yes
}

func (c *conn) push(at message.Position) { c.pushEvent(at, at-1, &payload{proto: []byte{0x22, 0}}) }

func (c *conn) deliverLarge(seq uint64) {
	d := deliverer{server: c.server}
	e := message.Entry{Sender: 1, Content: message.AppendText(nil, "x")}
	d.deliver((&message.Delivery{Kind: message.DeliverEntry, Large: true, Conversation: 5, Seq: seq, Counted: seq, Body: e.Append(nil)}).Append(nil))
}

// The bus may lose the last push, which no later push reveals. Clients that missed it are told to sync within a round; others are not.
func TestALostLastPushIsFound(t *testing.T) {
	checked(t, func(c *conn, r *fakeServices) {
		pass(time.Hour)
		if hinted(t, c) {
			t.Error("a client that has everything was told to sync")
		}
		r.tail.Store(11)
		c.push(11)
		c.deliverLarge(11)
		pass(time.Hour)
		if hinted(t, c) {
			t.Error("a client that got every push was told to sync")
		}
		r.tail.Store(12)
		c.deliverLarge(12) // its stream lost one
		pass(6 * time.Minute)
		if !hinted(t, c) {
			t.Error("a lost push was not found")
		}
		pass(time.Hour)
		if hinted(t, c) {
			t.Error("the client was told to sync twice")
		}
		r.tail.Store(13)
		c.push(13) // the large conversation lost one
		pass(6 * time.Minute)
		if !hinted(t, c) {
			t.Error("a lost message of a large conversation was not found")
		}
		pass(time.Hour)
		if hinted(t, c) {
			t.Error("the client was told to sync twice")
		}
	})
}

// After a gap on the bus, or when an owner has learned this node's connections, all are compared soon. Deliveries in progress do not count
// as lost.
func TestABusGapIsReconciledSoon(t *testing.T) {
	for name, look := range map[string]func(s *Server){"hole": func(s *Server) { s.reconciler.requestAll() }, "move": func(s *Server) { s.Recheck(0) }} {
		t.Run(name, func(t *testing.T) {
			checked(t, func(c *conn, r *fakeServices) {
				r.tail.Store(11)
				look(c.server)
				synctest.Wait() // it was seen that both are behind
				c.push(11)
				c.deliverLarge(11)
				pass(2 * time.Second)
				if hinted(t, c) {
					t.Error("a delivery in progress was considered lost")
				}
				r.tail.Store(12)
				look(c.server)
				pass(2 * time.Second)
				if !hinted(t, c) || c.newestPushed != 12 {
					t.Errorf("not found, at %d", c.newestPushed)
				}
			})
		})
	}
}

// Only users of the partition are queried.
func TestRecheckCoversOnePartition(t *testing.T) {
	checked(t, func(c *conn, r *fakeServices) {
		c.server.deps.Partition = func(of uint64) int { return int(of % 3) } // user 7 is in 1, conversation 5 in 2
		r.tail.Store(11)
		c.server.Recheck(0)
		pass(2 * time.Second)
		if hinted(t, c) {
			t.Error("another partition was queried")
		}
		c.server.Recheck(1)
		pass(2 * time.Second)
		if !hinted(t, c) || c.newestPushed != 11 {
			t.Error("its own was not")
		}
		c.server.Recheck(2)
		pass(2 * time.Second)
		if !hinted(t, c) {
			t.Error("its conversation's was not")
		}
	})
}

// A delivered follow may be too late for messages that are sent before the conversation's owner knows of the follow, or, if others already
// follow it here, for messages that arrive first.
func TestWhatOvertakesAFollowIsHintedAt(t *testing.T) {
	checked(t, func(c *conn, r *fakeServices) {
		follow := func(of id.Conversation, seq uint64) {
			r.in(append(slices.Clone(r.rows()), of)...)
			d := deliverer{server: c.server}
			d.deliver((&message.Delivery{Kind: message.DeliverFollow, Conversation: of, Seq: seq, Targets: []message.Target{{User: c.caller.User}}}).Append(nil))
		}
		follow(6, 10) // and nothing was sent since
		pass(3 * time.Second)
		if hinted(t, c) {
			t.Error("nothing was missed")
		}
		r.tail.Store(12)
		c.newestPushed = 12
		follow(8, 11) // 12 was sent to those that were known
		pass(3 * time.Second)
		if !hinted(t, c) {
			t.Error("messages from before the owner knew of the follow are missing")
		}

		other := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: 70, Device: 8, Session: 9}}
		other.state, other.newestPushed = stateReady, 12
		other.register()
		c.deliverLarge(12)
		d := deliverer{server: c.server}
		d.deliver((&message.Delivery{Kind: message.DeliverFollow, Conversation: 5, Seq: 11, Targets: []message.Target{{User: 70}}}).Append(nil))
		if !hinted(t, other) {
			t.Error("messages that arrived before the follow are missing")
		}
		if want := []string{"5 true", "6 true", "8 true"}; !slices.Equal(r.follows, want) {
			t.Errorf("followed: %v, want %v", r.follows, want)
		}
		other.onClosed()
		c.onClosed()
		slices.Sort(r.follows[3:])
		if want := []string{"5 false", "6 false", "8 false"}; !slices.Equal(r.follows[3:], want) {
			t.Errorf("at the end: %v, want %v", r.follows[3:], want)
		}
	})
}

// The bus reports a lost delivery: the subscription of its lane triggers the comparison.
func TestABusLossIsReconciled(t *testing.T) {
	for lane := range bus.Lanes {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			c, r := bench(t)
			lossy := &bustest.Lossy{Bus: membus.New(), Lose: func() bool { return true }}
			c.server.deps.Bus = lossy
			c.server.deps.Node = "n"
			c.register()
			r.tail.Store(1)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- c.server.Run(ctx) }()
			eventually.True(t, "the connection gets the end of its user's stream", func() bool {
				if err := lossy.Publish(bus.Node("n", lane), nil); err != nil {
					t.Fatal(err)
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.newestPushed == 1
			})
			cancel()
			if err := eventually.Receive(t, "the server's end", done); err != nil {
				t.Error(err)
			}
		})
	}
}

// crowd has users 1000 and above connected, each as far as the others, and in no large conversation.
func crowd(c *conn, r *fakeServices, users int) (conns []*conn) {
	r.list = func(_ context.Context, u id.User) ([]id.Conversation, error) {
		if u == 7 {
			return []id.Conversation{5}, nil
		}
		return nil, nil
	}
	for n := range users {
		o := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: id.User(1000 + n), Device: 8, Session: 9}}
		o.state, o.newestPushed = stateReady, 10
		o.register()
		conns = append(conns, o)
	}
	return conns
}

// After a gap, tails are read in batches, and each client is told about its own.
func TestReconcilingReadsInBatches(t *testing.T) {
	const users = 20_000
	var conns []*conn
	var asked atomic.Int32
	checkedAs(t, func(c *conn, r *fakeServices) {
		conns = crowd(c, r, users)
		r.read = func(context.Context, []id.User) error { asked.Add(1); return nil }
	}, func(c *conn, r *fakeServices) {
		for i, o := range conns {
			if i%3 == 0 {
				o.newestPushed = 11
			}
		}
		r.tail.Store(11)
		c.server.reconciler.requestAll()
		pass(2 * time.Second)
		for i, o := range conns {
			if hinted(t, o) == (i%3 == 0) {
				t.Fatalf("user %d was told to sync: %v", i, i%3 != 0)
			}
		}
		if most := int32(hubShards + users/reconcileBatch + 1); asked.Load() > most {
			t.Errorf("it was asked %d times, for %d at once that is at most %d", asked.Load(), reconcileBatch, most)
		}
	})
}

// A corrupt row of one user does not affect others in the same batch. An unavailable store is not queried for each user.
func TestADamagedRowDoesNotStopTheBatch(t *testing.T) {
	var conns []*conn
	var asked atomic.Int32
	checkedAs(t, func(c *conn, r *fakeServices) {
		conns = crowd(c, r, 1000)
		r.read = func(_ context.Context, users []id.User) error {
			if slices.Contains(users, 1500) {
				return errs.New(errs.Internal, "damaged", "it cannot be read")
			}
			return nil
		}
	}, func(c *conn, r *fakeServices) {
		r.tail.Store(11)
		c.server.reconciler.requestAll()
		pass(2 * time.Second)
		for _, o := range conns {
			if hinted(t, o) == (o.caller.User == 1500) {
				t.Fatalf("user %d was not told to sync like the others", o.caller.User)
			}
		}
	})
	checkedAs(t, func(c *conn, r *fakeServices) {
		conns = crowd(c, r, 1000)
		r.read = func(context.Context, []id.User) error {
			asked.Add(1)
			return errs.New(errs.Unavailable, "away", "the store is away")
		}
	}, func(c *conn, r *fakeServices) {
		c.server.reconciler.requestAll()
		pass(confirmAfter / 2)
		if asked.Load() > hubShards {
			t.Errorf("an unavailable store was queried %d times", asked.Load())
		}
	})
}
