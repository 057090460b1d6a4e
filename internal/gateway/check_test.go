package gateway

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/bus/bustest"
	"github.com/rialto-im/rialto/internal/bus/membus"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// checked has a connection known, whose stream and large conversation 5 are at 10, and the checker running, in faked time.
func checked(t *testing.T, test func(c *conn, r *rooms)) {
	t.Helper()
	checkedAs(t, func(*conn, *rooms) {}, test)
}

// checkedAs has the rooms made ready before the checker runs.
func checkedAs(t *testing.T, ready, test func(c *conn, r *rooms)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, r := bench(t)
		r.tail.Store(10)
		r.in(5)
		ctx, cancel := context.WithCancel(t.Context())
		c.enter()
		c.at = 10
		c.server.hub.follow(c, 5, 10)
		ready(c, r)
		done := make(chan struct{})
		go func() { defer close(done); c.server.check.run(ctx) }()
		test(c, r)
		cancel()
		<-done
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// hinted tells whether the connection was told to pull, since it was last asked.
func hinted(t *testing.T, c *conn) (yes bool) {
	t.Helper()
	for list := sent(t, c); list != nil; list = sent(t, c) {
		yes = yes || slices.ContainsFunc(list, func(f *gatewayv1.ServerFrame) bool { return f.Hint != nil })
	}
	return yes
}

func (c *conn) push(at message.Position) { c.event(at, at-1, &payload{proto: []byte{0x22, 0}}) }

func (c *conn) deliverLarge(seq uint64) {
	d := deliverer{server: c.server}
	e := message.Entry{Sender: 1, Content: message.AppendText(nil, "x")}
	d.deliver((&message.Delivery{Kind: message.DeliverEntry, Large: true, Conversation: 5, Seq: seq, Counted: seq, Body: e.Append(nil)}).Append(nil))
}

// The bus may lose the last push, of which no later one tells. Whoever should have got it is told within the time of a round; who got
// it is not.
func TestALostLastPushIsFound(t *testing.T) {
	checked(t, func(c *conn, r *rooms) {
		pass(time.Hour)
		if hinted(t, c) {
			t.Error("one who has everything was told to pull")
		}
		r.tail.Store(11)
		c.push(11)
		c.deliverLarge(11)
		pass(time.Hour)
		if hinted(t, c) {
			t.Error("one who was pushed all was told to pull")
		}
		r.tail.Store(12)
		c.deliverLarge(12) // its stream lost one
		pass(6 * time.Minute)
		if !hinted(t, c) {
			t.Error("a lost push was not found")
		}
		pass(time.Hour)
		if hinted(t, c) {
			t.Error("it was told twice")
		}
		r.tail.Store(13)
		c.push(13) // the large conversation lost one
		pass(6 * time.Minute)
		if !hinted(t, c) {
			t.Error("a lost message of a large conversation was not found")
		}
		pass(time.Hour)
		if hinted(t, c) {
			t.Error("it was told twice")
		}
	})
}

// After a hole on the bus, or when a home has come to know what is here, all are compared soon; what is only under way is no loss.
func TestAHoleIsLookedAtSoon(t *testing.T) {
	for name, look := range map[string]func(s *Server){"hole": func(s *Server) { s.check.all() }, "move": func(s *Server) { s.Recheck(0) }} {
		t.Run(name, func(t *testing.T) {
			checked(t, func(c *conn, r *rooms) {
				r.tail.Store(11)
				look(c.server)
				synctest.Wait() // it was seen that both are behind
				c.push(11)
				c.deliverLarge(11)
				pass(2 * time.Second)
				if hinted(t, c) {
					t.Error("what was under way was taken for lost")
				}
				r.tail.Store(12)
				look(c.server)
				pass(2 * time.Second)
				if !hinted(t, c) || c.at != 12 {
					t.Errorf("not found, at %d", c.at)
				}
			})
		})
	}
}

// Only those of the partition are asked about.
func TestARecheckIsOfAPartition(t *testing.T) {
	checked(t, func(c *conn, r *rooms) {
		c.server.deps.Partition = func(of uint64) int { return int(of % 3) } // user 7 is in 1, conversation 5 in 2
		r.tail.Store(11)
		c.server.Recheck(0)
		pass(2 * time.Second)
		if hinted(t, c) {
			t.Error("another partition was looked at")
		}
		c.server.Recheck(1)
		pass(2 * time.Second)
		if !hinted(t, c) || c.at != 11 {
			t.Error("its own was not")
		}
		c.server.Recheck(2)
		pass(2 * time.Second)
		if !hinted(t, c) {
			t.Error("its conversation's was not")
		}
	})
}

// A follow that comes by a delivery may be overtaken: by what is sent before the conversation's node knows that it is followed here,
// and, where others follow it here already, by what comes from there.
func TestWhatOvertakesAFollowIsHintedAt(t *testing.T) {
	checked(t, func(c *conn, r *rooms) {
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
		c.at = 12
		follow(8, 11) // 12 was sent to those that were known
		pass(3 * time.Second)
		if !hinted(t, c) {
			t.Error("what came before the follow was known is missing")
		}

		other := &conn{server: c.server, via: deaf{}, frameAt: -1, fd: -1, caller: id.Caller{User: 70, Device: 8, Session: 9}}
		other.ready, other.at = true, 12
		other.enter()
		c.deliverLarge(12)
		d := deliverer{server: c.server}
		d.deliver((&message.Delivery{Kind: message.DeliverFollow, Conversation: 5, Seq: 11, Targets: []message.Target{{User: 70}}}).Append(nil))
		if !hinted(t, other) {
			t.Error("what overtook the follow is missing")
		}
		if want := []string{"5 true", "6 true", "8 true"}; !slices.Equal(r.follows, want) {
			t.Errorf("followed: %v, want %v", r.follows, want)
		}
		other.closed()
		c.closed()
		slices.Sort(r.follows[3:])
		if want := []string{"5 false", "6 false", "8 false"}; !slices.Equal(r.follows[3:], want) {
			t.Errorf("at the end: %v, want %v", r.follows[3:], want)
		}
	})
}

// The bus says that it lost a delivery: its lane's subscription leads to the comparison.
func TestTheBusSaysThatItLost(t *testing.T) {
	for lane := range bus.Lanes {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			c, r := bench(t)
			lossy := &bustest.Lossy{Bus: membus.New(), Lose: func() bool { return true }}
			c.server.deps.Bus = lossy
			c.server.deps.Node = "n"
			c.enter()
			r.tail.Store(1)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- c.server.Run(ctx) }()
			for found := false; !found; runtime.Gosched() {
				if err := lossy.Publish(bus.Node("n", lane), nil); err != nil {
					t.Fatal(err)
				}
				c.mu.Lock()
				found = c.at == 1
				c.mu.Unlock()
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// crowd has users 1000 and above connected, each as far as the others, and in no large conversation.
func crowd(c *conn, r *rooms, users int) (conns []*conn) {
	r.list = func(_ context.Context, u id.User) ([]id.Conversation, error) {
		if u == 7 {
			return []id.Conversation{5}, nil
		}
		return nil, nil
	}
	for n := range users {
		o := &conn{server: c.server, via: deaf{}, frameAt: -1, fd: -1, caller: id.Caller{User: id.User(1000 + n), Device: 8, Session: 9}}
		o.ready, o.at = true, 10
		o.enter()
		conns = append(conns, o)
	}
	return conns
}

// After a hole many are asked for together, and each is told of its own.
func TestManyAreComparedTogether(t *testing.T) {
	const users = 20_000
	var conns []*conn
	var asked atomic.Int32
	checkedAs(t, func(c *conn, r *rooms) {
		conns = crowd(c, r, users)
		r.read = func(context.Context, []id.User) error { asked.Add(1); return nil }
	}, func(c *conn, r *rooms) {
		for i, o := range conns {
			if i%3 == 0 {
				o.at = 11
			}
		}
		r.tail.Store(11)
		c.server.check.all()
		pass(2 * time.Second)
		for i, o := range conns {
			if hinted(t, o) == (i%3 == 0) {
				t.Fatalf("user %d, of whom some are behind, was told: %v", i, i%3 != 0)
			}
		}
		if most := int32(hubShards + users/checkTogether + 1); asked.Load() > most {
			t.Errorf("it was asked %d times, for %d at once that is at most %d", asked.Load(), checkTogether, most)
		}
	})
}

// What cannot be read of one, for good, is not missing to those that it is asked for with; a store that is away is not asked for each.
func TestOneOfManyCannotBeRead(t *testing.T) {
	var conns []*conn
	var asked atomic.Int32
	checkedAs(t, func(c *conn, r *rooms) {
		conns = crowd(c, r, 1000)
		r.read = func(_ context.Context, users []id.User) error {
			if slices.Contains(users, 1500) {
				return errs.New(errs.Internal, "damaged", "it cannot be read")
			}
			return nil
		}
	}, func(c *conn, r *rooms) {
		r.tail.Store(11)
		c.server.check.all()
		pass(2 * time.Second)
		for _, o := range conns {
			if hinted(t, o) == (o.caller.User == 1500) {
				t.Fatalf("user %d was not told what the others were", o.caller.User)
			}
		}
	})
	checkedAs(t, func(c *conn, r *rooms) {
		conns = crowd(c, r, 1000)
		r.read = func(context.Context, []id.User) error {
			asked.Add(1)
			return errs.New(errs.Unavailable, "away", "the store is away")
		}
	}, func(c *conn, r *rooms) {
		c.server.check.all()
		pass(checkDoubt / 2)
		if asked.Load() > hubShards {
			t.Errorf("a store that is away was asked %d times", asked.Load())
		}
	})
}
