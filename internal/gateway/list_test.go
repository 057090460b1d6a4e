package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/proto"
)

// follows gives what a connection follows, and holds the hub's rooms to it.
func follows(t *testing.T, c *conn) []id.Conversation {
	t.Helper()
	c.mu.Lock()
	list := slices.Sorted(slices.Values(c.large))
	c.mu.Unlock()
	for n := range id.Conversation(10) {
		s := c.server.hub.conversation(n)
		s.mu.RLock()
		r := s.rooms[n]
		if in := r != nil && slices.Contains(r.conns, c); in != slices.Contains(list, n) {
			t.Errorf("it follows %v, and whether it is in %d is %v", list, n, in)
		}
		s.mu.RUnlock()
	}
	return list
}

// told delivers that the connection's user came to be in a large conversation, or is no longer.
func (c *conn) told(kind message.DeliveryKind, of id.Conversation) {
	d := deliverer{server: c.server}
	d.deliver((&message.Delivery{Kind: kind, Conversation: of, Seq: 10, Targets: []message.Target{{User: c.caller.User}}}).Append(nil))
}

// changedBy delivers a control entry of conversation 5 about the connection's user.
func (c *conn) changedBy(t *testing.T, action chatv1.Control_Action, seq uint64) {
	t.Helper()
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: action, Users: []uint64{3, uint64(c.caller.User)}}}})
	if err != nil {
		t.Fatal(err)
	}
	e := message.Entry{Sender: 1, Control: true, Content: content}
	d := deliverer{server: c.server}
	d.deliver((&message.Delivery{Kind: message.DeliverEntry, Large: true, Conversation: 5, Seq: seq, Body: e.Append(nil)}).Append(nil))
}

// The news that a user was removed from a large conversation, or came to be in one, may be lost: who was removed gets no more of it
// for longer than until the loss is noticed, or the slow round has come, and who is in it gets it.
func TestLostNewsOfLargeConversations(t *testing.T) {
	for name, test := range map[string]struct {
		look func(s *Server)
		soon time.Duration
	}{
		"hole":  {func(s *Server) { s.check.all() }, 4 * time.Second},
		"move":  {func(s *Server) { s.Recheck(0) }, 4 * time.Second},
		"round": {func(*Server) {}, 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			checked(t, func(c *conn, r *rooms) {
				r.in()
				test.look(c.server)
				pass(test.soon)
				if list := follows(t, c); len(list) != 0 {
					t.Errorf("one who was removed follows %v", list)
				}
				c.deliverLarge(11)
				if sent(t, c) != nil {
					t.Error("one who was removed got a message")
				}
				if want := []string{"5 true", "5 false"}; !slices.Equal(r.follows, want) {
					t.Errorf("told %v, want %v", r.follows, want)
				}
				r.in(5, 6)
				test.look(c.server)
				pass(test.soon)
				if list := follows(t, c); !slices.Equal(list, r.rows()) {
					t.Errorf("one who is in 5 and 6 follows %v", list)
				}
				if !hinted(t, c) {
					t.Error("what came before it was followed is missing")
				}
				pass(time.Hour)
				if hinted(t, c) {
					t.Error("it was told twice")
				}
			})
		})
	}
}

// Where others here follow a conversation, nothing else tells one who came to it later than told what came before.
func TestOneWhoIsLatePulls(t *testing.T) {
	var other *conn
	checkedAs(t, func(c *conn, r *rooms) {
		other = &conn{server: c.server, via: deaf{}, frameAt: -1, fd: -1, caller: id.Caller{User: 70, Device: 8, Session: 9}}
		other.ready, other.at = true, 10
		other.enter()
		c.server.hub.follow(other, 5, 10)
		c.server.hub.follow(other, 6, 10)
		r.in(5, 6)
	}, func(c *conn, r *rooms) {
		c.server.check.all()
		pass(2 * time.Second)
		if list := follows(t, c); !slices.Equal(list, r.rows()) {
			t.Errorf("it follows %v", list)
		}
		if !hinted(t, c) || hinted(t, other) {
			t.Error("not the one who was late was told to pull")
		}
	})
}

// Where only the home did not know where a user is, the conversation's own messages say that the user was removed, or came back.
func TestAControlEntryHasItsUsersCompared(t *testing.T) {
	for _, action := range []chatv1.Control_Action{chatv1.Control_ACTION_REMOVED, chatv1.Control_ACTION_LEFT} {
		var other *conn
		checkedAs(t, func(c *conn, r *rooms) {
			other = &conn{server: c.server, via: deaf{}, frameAt: -1, fd: -1, caller: id.Caller{User: 70, Device: 8, Session: 9}}
			other.ready, other.at = true, 10
			other.enter()
			r.list = func(_ context.Context, u id.User) ([]id.Conversation, error) {
				if u == 70 {
					return []id.Conversation{5}, nil
				}
				return r.rows(), nil
			}
			c.server.hub.follow(other, 5, 10)
		}, func(c *conn, r *rooms) {
			r.in()
			c.changedBy(t, action, 11)
			pass(2 * time.Second)
			if list := follows(t, c); len(list) != 0 {
				t.Errorf("after %v it follows %v", action, list)
			}
			r.in(5)
			c.changedBy(t, chatv1.Control_ACTION_JOINED, 12)
			pass(2 * time.Second)
			if list := follows(t, c); !slices.Equal(list, r.rows()) {
				t.Errorf("after it came back it follows %v", list)
			}
			if list := follows(t, other); !slices.Equal(list, []id.Conversation{5}) {
				t.Errorf("another follows %v", list)
			}
		})
	}
}

// News that is delivered while the rows are read, or before what was read is gone by, is newer than that.
func TestNewsDuringAReadingHolds(t *testing.T) {
	for name, test := range map[string]struct {
		rows []id.Conversation // as they were read
		kind message.DeliveryKind
		of   id.Conversation
		then []id.Conversation // as they are
	}{
		"follow":   {[]id.Conversation{5}, message.DeliverFollow, 6, []id.Conversation{5, 6}},
		"unfollow": {[]id.Conversation{5}, message.DeliverUnfollow, 5, nil},
		// What is told of one does not make what was read of another be forgotten.
		"both": {[]id.Conversation{5, 8}, message.DeliverFollow, 6, []id.Conversation{5, 6, 8}},
		"gone": {nil, message.DeliverFollow, 6, []id.Conversation{6}},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", late), func(t *testing.T) {
				var reading, read chan struct{}
				checkedAs(t, func(c *conn, r *rooms) {
					reading, read = make(chan struct{}, 100), make(chan struct{})
					r.in(test.rows...)
					r.list = func(context.Context, id.User) ([]id.Conversation, error) {
						rows := r.rows()
						reading <- struct{}{}
						<-read
						return rows, nil
					}
				}, func(c *conn, r *rooms) {
					c.server.check.all()
					<-reading
					tell := func() {
						r.in(test.then...)
						c.told(test.kind, test.of)
					}
					if !late {
						tell()
					}
					close(read)
					pass(checkDoubt / 2)
					if late {
						tell()
					}
					pass(checkDoubt)
					if in := slices.Contains(follows(t, c), test.of); in != (test.kind == message.DeliverFollow) {
						t.Errorf("what was told of %d was undone", test.of)
					}
					pass(2 * time.Second)
					if list := follows(t, c); !slices.Equal(list, test.then) {
						t.Errorf("it follows %v, want %v", list, test.then)
					}
				})
			})
		}
	}
}

// Of two readings the one that began later counts: what the earlier found is old, also where no news told so.
func TestOfTwoReadingsTheLaterCounts(t *testing.T) {
	for name, test := range map[string]struct{ first, second []id.Conversation }{
		"the later finds nothing": {[]id.Conversation{5, 6}, []id.Conversation{5}},
		"both find something":     {[]id.Conversation{5, 6}, nil},
	} {
		for _, turned := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", turned), func(t *testing.T) {
				c, r := bench(t)
				c.enter()
				c.server.hub.follow(c, 5, 10)
				one, two := &look{server: c.server}, &look{server: c.server}
				r.in(test.first...)
				one.lists(t.Context(), []id.User{7})
				r.in(test.second...)
				two.lists(t.Context(), []id.User{7})
				if turned {
					one, two = two, one
				}
				one.judge(time.Now())
				two.judge(time.Now())
				if list := follows(t, c); !slices.Equal(list, test.second) {
					t.Errorf("it follows %v, want %v", list, test.second)
				}
			})
		}
	}
}

// A greeting has its own order: what it reads and is told is not compared before it is over.
func TestAGreetingIsNotCompared(t *testing.T) {
	c, r := bench(t)
	c.ready = false
	c.enter()
	c.server.hub.unfollow(c, 6)
	c.server.hub.follow(c, 5, 0)
	r.in(6)
	l := &look{server: c.server}
	l.lists(t.Context(), []id.User{7})
	c.ready, c.left = true, nil
	l.judge(time.Now())
	if list := follows(t, c); !slices.Equal(list, []id.Conversation{5}) {
		t.Errorf("it follows %v", list)
	}
}

// What is due soon does not wait for the slow round, is read by some at once, and by no more.
func TestWhatIsDueSoonIsReadSideBySide(t *testing.T) {
	var conns []*conn
	var now, most atomic.Int32
	checkedAs(t, func(c *conn, r *rooms) {
		c.server.deps.Partition = func(of uint64) int { return int(of % 3) } // user 7 is in 1, conversation 5 in 2, and the others in 0
		for n := range 80 {
			o := &conn{server: c.server, via: deaf{}, frameAt: -1, fd: -1, caller: id.Caller{User: id.User(3*n + 30), Device: 8, Session: 9}}
			o.ready, o.at = true, 10
			o.enter()
			conns = append(conns, o)
			c.server.hub.follow(o, 5, 10)
		}
		r.read = func(ctx context.Context, users []id.User) error {
			if slices.Contains(users, 7) {
				<-ctx.Done() // the store does not answer the slow round
				return ctx.Err()
			}
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			<-time.After(time.Second)
			return nil
		}
	}, func(c *conn, r *rooms) {
		pass(20 * time.Minute)
		most.Store(0)
		r.tail.Store(11)
		c.server.Recheck(0)
		pass(80/checkReaders*time.Second + 2*checkDoubt)
		for _, o := range conns {
			if !hinted(t, o) {
				t.Fatalf("user %d was not told in time", o.caller.User)
			}
		}
		if most.Load() != checkReaders {
			t.Errorf("%d readings at once, want %d", most.Load(), checkReaders)
		}
	})
}

// What cannot be read after a hole is read later, and not only by the slow round.
func TestAReadingThatFailsIsTriedAgain(t *testing.T) {
	var down atomic.Bool
	checkedAs(t, func(c *conn, r *rooms) {
		down.Store(true)
		r.list = func(context.Context, id.User) ([]id.Conversation, error) {
			if down.Load() {
				return nil, errors.New("away")
			}
			return nil, nil
		}
	}, func(c *conn, r *rooms) {
		c.server.check.all()
		pass(30 * time.Second)
		if list := follows(t, c); !slices.Equal(list, []id.Conversation{5}) {
			t.Errorf("without the rows it follows %v", list)
		}
		down.Store(false)
		pass(3 * time.Second)
		if list := follows(t, c); len(list) != 0 {
			t.Errorf("it follows %v", list)
		}
	})
}
