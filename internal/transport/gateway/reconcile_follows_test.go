package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// follows gives the conversations that a connection follows, and checks that the hub's audiences agree.
func follows(t *testing.T, c *conn) []id.Conversation {
	t.Helper()
	c.mu.Lock()
	list := slices.Sorted(slices.Values(c.follows))
	c.mu.Unlock()
	for n := range id.Conversation(10) {
		s := c.server.hub.conversation(n)
		s.mu.RLock()
		r := s.audiences[n]
		if in := r != nil && slices.Contains(r.conns, c); in != slices.Contains(list, n) {
			t.Errorf("it follows %v, and whether it is in %d is %v", list, n, in)
		}
		s.mu.RUnlock()
	}
	return list
}

// told delivers that the connection's user joined or left a large conversation.
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

// followChange delivers the event of the user's stream by which a user began or ended to follow a channel.
func (c *conn) followChange(t *testing.T, of id.Conversation, follows bool) {
	t.Helper()
	raw, err := proto.Marshal(&chatv1.FollowChange{Conversation: uint64(of), Follows: follows})
	if err != nil {
		t.Fatal(err)
	}
	d := deliverer{server: c.server}
	d.deliver((&message.Delivery{Kind: message.DeliverEvent, Body: message.AppendBody(nil, message.FieldFollow, raw), Targets: []message.Target{{User: c.caller.User, At: 1<<32 + 1}}}).Append(nil))
}

// The event of the user's stream ends at once what a removed follower is pushed, also if the notice was lost. One who follows is reconciled
// with the rows, because an event may be older than they are.
func TestAStreamsEventChangesWhatAConnectionFollows(t *testing.T) {
	checked(t, func(c *conn, r *fakeServices) {
		r.in()
		c.followChange(t, 5, false)
		if list := follows(t, c); len(list) != 0 {
			t.Errorf("a removed follower follows %v", list)
		}
		sent(t, c) // the event itself
		c.deliverLarge(11)
		if sent(t, c) != nil {
			t.Error("a removed follower got a message")
		}
		c.followChange(t, 5, true)
		pass(4 * time.Second)
		if list := follows(t, c); len(list) != 0 {
			t.Errorf("an event from before the removal makes the user follow %v", list)
		}
		r.in(5)
		c.followChange(t, 5, true)
		pass(4 * time.Second)
		if list := follows(t, c); !slices.Equal(list, []id.Conversation{5}) {
			t.Errorf("a follower follows %v", list)
		}
	})
}

// The notice that a user joined or left a large conversation may be lost. A removed user gets its messages at most until the loss is
// noticed or the slow round has come, and a new member gets them by then.
func TestLostNewsOfLargeConversations(t *testing.T) {
	for name, test := range map[string]struct {
		look func(s *Server)
		soon time.Duration
	}{
		"hole":  {func(s *Server) { s.reconciler.requestAll() }, 4 * time.Second},
		"move":  {func(s *Server) { s.Recheck(0) }, 4 * time.Second},
		"round": {func(*Server) {}, 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			checked(t, func(c *conn, r *fakeServices) {
				r.in()
				test.look(c.server)
				pass(test.soon)
				if list := follows(t, c); len(list) != 0 {
					t.Errorf("a removed user follows %v", list)
				}
				c.deliverLarge(11)
				if sent(t, c) != nil {
					t.Error("a removed user got a message")
				}
				if want := []string{"5 true", "5 false"}; !slices.Equal(r.follows, want) {
					t.Errorf("told %v, want %v", r.follows, want)
				}
				r.in(5, 6)
				test.look(c.server)
				pass(test.soon)
				if list := follows(t, c); !slices.Equal(list, r.rows()) {
					t.Errorf("a member of 5 and 6 follows %v", list)
				}
				if !hinted(t, c) {
					t.Error("messages from before the follow are missing")
				}
				pass(time.Hour)
				if hinted(t, c) {
					t.Error("the client was told to sync twice")
				}
			})
		})
	}
}

// If other connections here follow a conversation, only the reconciler tells a late follower about earlier messages.
func TestConnectionsBehindGetAHint(t *testing.T) {
	var other *conn
	checkedAs(t, func(c *conn, r *fakeServices) {
		other = &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: 70, Device: 8, Session: 9}}
		other.state, other.newestPushed = stateReady, 10
		other.register()
		c.server.hub.follow(other, 5, 10)
		c.server.hub.follow(other, 6, 10)
		r.in(5, 6)
	}, func(c *conn, r *fakeServices) {
		c.server.reconciler.requestAll()
		pass(2 * time.Second)
		if list := follows(t, c); !slices.Equal(list, r.rows()) {
			t.Errorf("it follows %v", list)
		}
		if !hinted(t, c) || hinted(t, other) {
			t.Error("the late follower was not told to sync, or another one was")
		}
	})
}

// If only the owner did not know the user's node, the conversation's own messages show that the user was removed or came back.
func TestAControlEntryReconcilesItsUsers(t *testing.T) {
	for _, action := range []chatv1.Control_Action{chatv1.Control_ACTION_REMOVED, chatv1.Control_ACTION_LEFT} {
		var other *conn
		checkedAs(t, func(c *conn, r *fakeServices) {
			other = &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: 70, Device: 8, Session: 9}}
			other.state, other.newestPushed = stateReady, 10
			other.register()
			r.list = func(_ context.Context, u id.User) ([]id.Conversation, error) {
				if u == 70 {
					return []id.Conversation{5}, nil
				}
				return r.rows(), nil
			}
			c.server.hub.follow(other, 5, 10)
		}, func(c *conn, r *fakeServices) {
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

// Notices that are delivered while the rows are read, or before the reading is applied, are newer than the reading.
func TestDeliveriesDuringAReadingWin(t *testing.T) {
	for name, test := range map[string]struct {
		rows []id.Conversation // as they were read
		kind message.DeliveryKind
		of   id.Conversation
		then []id.Conversation // as they are
	}{
		"follow":   {[]id.Conversation{5}, message.DeliverFollow, 6, []id.Conversation{5, 6}},
		"unfollow": {[]id.Conversation{5}, message.DeliverUnfollow, 5, nil},
		// A notice about one user does not invalidate the reading of another.
		"both": {[]id.Conversation{5, 8}, message.DeliverFollow, 6, []id.Conversation{5, 6, 8}},
		"gone": {nil, message.DeliverFollow, 6, []id.Conversation{6}},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", late), func(t *testing.T) {
				var reading, read chan struct{}
				checkedAs(t, func(c *conn, r *fakeServices) {
					reading, read = make(chan struct{}, 100), make(chan struct{})
					r.in(test.rows...)
					r.list = func(context.Context, id.User) ([]id.Conversation, error) {
						rows := r.rows()
						reading <- struct{}{}
						<-read
						return rows, nil
					}
				}, func(c *conn, r *fakeServices) {
					c.server.reconciler.requestAll()
					<-reading
					tell := func() {
						r.in(test.then...)
						c.told(test.kind, test.of)
					}
					if !late {
						tell()
					}
					close(read)
					pass(confirmAfter / 2)
					if late {
						tell()
					}
					pass(confirmAfter)
					if in := slices.Contains(follows(t, c), test.of); in != (test.kind == message.DeliverFollow) {
						t.Errorf("the notice about user %d was not processed", test.of)
					}
					pass(2 * time.Second)
					if list := follows(t, c); !slices.Equal(list, test.then) {
						t.Errorf("the connection follows %v, want %v", list, test.then)
					}
				})
			})
		}
	}
}

// Of two readings the one that began later counts: the earlier one is stale even if no notice arrived in between.
func TestTheNewerOfTwoReadingsWins(t *testing.T) {
	for name, test := range map[string]struct{ first, second []id.Conversation }{
		"the later finds nothing": {[]id.Conversation{5, 6}, []id.Conversation{5}},
		"both find something":     {[]id.Conversation{5, 6}, nil},
	} {
		for _, turned := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", turned), func(t *testing.T) {
				c, r := bench(t)
				c.register()
				c.server.hub.follow(c, 5, 10)
				one, two := &reconcilePass{server: c.server}, &reconcilePass{server: c.server}
				r.in(test.first...)
				one.reconcileFollows(t.Context(), []id.User{7})
				r.in(test.second...)
				two.reconcileFollows(t.Context(), []id.User{7})
				if turned {
					one, two = two, one
				}
				one.confirm(time.Now())
				two.confirm(time.Now())
				if list := follows(t, c); !slices.Equal(list, test.second) {
					t.Errorf("the connection follows %v, want %v", list, test.second)
				}
			})
		}
	}
}

// failingTails refuses to read tails.
type failingTails struct{ *fakeServices }

func (failingTails) LargeTails(context.Context, []id.Conversation) ([]uint64, error) {
	return nil, errors.New("no tails")
}

// The connections of a user share the tails of what some of them do not follow. While these cannot be read, a removed user still gets no more messages.
func TestAUsersConnectionsAreRepairedTogether(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("fails ", fails), func(t *testing.T) {
			c, r := bench(t)
			read := &countedTails{fakeServices: r}
			c.server.deps.Inbox = read
			if fails {
				c.server.deps.Inbox = failingTails{r}
			}
			conns := []*conn{c}
			for range 2 {
				o := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: c.caller}
				o.state = stateReady
				conns = append(conns, o)
			}
			for i, o := range conns {
				o.register()
				c.server.hub.follow(o, 4, 0) // it ends
				if i == 0 {
					c.server.hub.follow(o, 5, 0)
				}
			}
			r.in(5, 6)
			l := &reconcilePass{server: c.server, retry: true}
			l.reconcileFollows(t.Context(), []id.User{7})
			l.confirm(time.Now())
			want := [][]id.Conversation{{5, 6}, {5, 6}, {5, 6}}
			if fails {
				want = [][]id.Conversation{{5}, nil, nil}
			}
			for i, o := range conns {
				if list := follows(t, o); !slices.Equal(list, want[i]) {
					t.Errorf("connection %d follows %v, want %v", i, list, want[i])
				}
			}
			if !fails && read.read != 2 {
				t.Errorf("%d tails were read, want those of 5 and 6 once", read.read)
			}
			if fails && (l.failed != 1 || !c.server.reconciler.users[7]) {
				t.Errorf("%d failures were counted; requested: %v", l.failed, c.server.reconciler.users)
			}
		})
	}
}

// A greeting has its own order: the reconciler compares nothing before the greeting has ended.
func TestGreetedConnectionsAreNotReconciled(t *testing.T) {
	c, r := bench(t)
	c.state = stateGreeting
	c.register()
	c.server.hub.unfollow(c, 6)
	c.server.hub.follow(c, 5, 0)
	r.in(6)
	l := &reconcilePass{server: c.server}
	l.reconcileFollows(t.Context(), []id.User{7})
	c.state, c.leftWhileGreeted = stateReady, nil
	l.confirm(time.Now())
	if list := follows(t, c); !slices.Equal(list, []id.Conversation{5}) {
		t.Errorf("it follows %v", list)
	}
}

// Requested checks do not wait for the slow round, and a bounded number of readers runs them concurrently.
func TestRequestsAreReadConcurrently(t *testing.T) {
	var conns []*conn
	var now, most atomic.Int32
	checkedAs(t, func(c *conn, r *fakeServices) {
		c.server.deps.Partition = func(of uint64) int { return int(of % 3) } // user 7 is in 1, conversation 5 in 2, and the others in 0
		for n := range 80 {
			o := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: id.User(3*n + 30), Device: 8, Session: 9}}
			o.state, o.newestPushed = stateReady, 10
			o.register()
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
	}, func(c *conn, r *fakeServices) {
		pass(20 * time.Minute)
		most.Store(0)
		r.tail.Store(11)
		c.server.Recheck(0)
		pass(80/reconcileReaders*time.Second + 2*confirmAfter)
		for _, o := range conns {
			if !hinted(t, o) {
				t.Fatalf("user %d was not told in time", o.caller.User)
			}
		}
		if most.Load() != reconcileReaders {
			t.Errorf("%d concurrent readings, want %d", most.Load(), reconcileReaders)
		}
	})
}

// What cannot be read after a hole is read later, and not only by the slow round.
func TestFailedReadingsAreRetried(t *testing.T) {
	var down atomic.Bool
	checkedAs(t, func(c *conn, r *fakeServices) {
		down.Store(true)
		r.list = func(context.Context, id.User) ([]id.Conversation, error) {
			if down.Load() {
				return nil, errors.New("away")
			}
			return nil, nil
		}
	}, func(c *conn, r *fakeServices) {
		c.server.reconciler.requestAll()
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
