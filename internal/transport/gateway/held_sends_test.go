package gateway

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// unreliable stores drafts in order, unless it is down. Like chat, it stores a message once, and after a refusal it refuses the later ones of the device in
// the conversation, at once, until the first comes again, or for a time. Its other answers come after delay, in any order.
type unreliable struct {
	Chat
	delay func() time.Duration // nil: they come at once

	mu      sync.Mutex // guards the fields below
	down    map[id.Conversation]error
	refused map[id.Conversation]refusal
	stored  map[id.Conversation][]string
	tries   int
	// Of drafts without a number: how many have no answer yet, and how many that were at most.
	unnumbered, most int
}

type refusal struct {
	seq   uint64
	until time.Time
}

func (u *unreliable) Submit(d *message.Draft) {
	u.mu.Lock()
	if u.tries++; d.ClientSeq == 0 {
		u.unnumbered++
		u.most = max(u.most, u.unnumbered)
	}
	gate, gated := u.refused[d.Conversation]
	if gated && d.ClientSeq == gate.seq {
		delete(u.refused, d.Conversation)
	}
	gated = gated && d.ClientSeq > gate.seq && time.Now().Before(gate.until)
	if d.Err = u.down[d.Conversation]; gated {
		d.Err = timeline.ErrBusy
	}
	switch name := fmt.Sprint(d.ClientSeq, d.ClientMsgID, string(d.Content)); {
	case d.Err != nil:
		if !gated && d.ClientSeq != 0 && errs.Of(d.Err).Retry > 0 {
			u.refused[d.Conversation] = refusal{d.ClientSeq, time.Now().Add(errs.Of(d.Err).Retry + 5*time.Second)}
		}
	case slices.Contains(u.stored[d.Conversation], name):
		d.Duplicate = true
	default:
		u.stored[d.Conversation] = append(u.stored[d.Conversation], name)
	}
	u.mu.Unlock()
	d.Content = []byte("another form") // as chat gives some contents
	if u.delay == nil || gated {
		d.Done(d)
		return
	}
	go func() {
		time.Sleep(u.delay())
		if d.ClientSeq == 0 {
			u.mu.Lock()
			u.unnumbered--
			u.mu.Unlock()
		}
		d.Done(d)
	}()
}

func (u *unreliable) set(c id.Conversation, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.down[c] = err
}

func (u *unreliable) storedIn(c id.Conversation) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.stored[c])
}

func (u *unreliable) triesSoFar() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tries
}

// unreliably returns a connection to an unreliable chat.
func unreliably(t *testing.T) (*conn, *unreliable) {
	c, r := bench(t)
	u := &unreliable{Chat: r, down: map[id.Conversation]error{}, refused: map[id.Conversation]refusal{}, stored: map[id.Conversation][]string{}}
	c.server.deps.Chat = u
	return c, u
}

func send(c *conn, conversation id.Conversation, seq uint64) {
	c.submit(&message.Draft{Conversation: conversation, ClientSeq: seq, Content: fmt.Append(nil, ":", seq)})
}

// later lets time pass, and returns what the client was told since: "accepted 5/1", "stored 5/1", or the reason of a refusal.
func later(t *testing.T, c *conn, d time.Duration) (said []string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	for _, f := range sent(t, c) {
		for _, r := range f.Receipts {
			what := "stored"
			if r.Error != nil {
				what = r.Error.Reason
			}
			said = append(said, fmt.Sprintf("%s %d/%d%s", what, r.Conversation, r.ClientSeq, r.ClientMsgId))
		}
		for _, a := range f.Accepted {
			said = append(said, fmt.Sprintf("accepted %d/%d%s", a.Conversation, a.ClientSeq, a.ClientMsgId))
		}
	}
	return said
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: the client was told %q, want %q", what, got, want)
	}
}

// nothingHeld checks that all that was held is released.
func nothingHeld(t *testing.T, c *conn) {
	t.Helper()
	r := c.server.heldLimits
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := c.server.stats.SendsHeld.Load(); n != 0 || r.number != 0 || len(r.ofUser) != 0 || r.bytes.Used() != 0 {
		t.Errorf("%d sends are held; %d, %d users and %d bytes are counted", n, r.number, len(r.ofUser), r.bytes.Used())
	}
	if c.inFlight.Load() != 0 || c.inFlightBytes.Load() != 0 {
		t.Errorf("%d sends of %d bytes are in flight", c.inFlight.Load(), c.inFlightBytes.Load())
	}
	if h := c.held.Load(); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.queues) != 0 || h.number != 0 || h.bytes != 0 {
			t.Errorf("the connection has %d queues with %d sends of %d bytes", len(h.queues), h.number, h.bytes)
		}
	}
}

// A send that cannot be stored is accepted, and stored once that is possible. Later ones to the conversation wait behind it, those to others do not. What may
// not succeed later is refused at once.
func TestSendsAreHeldUntilTheyAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, json := range []bool{false, true} {
			c, u := unreliably(t)
			c.json = json
			u.set(5, timeline.ErrBusy)
			send(c, 5, 1)
			expect(t, "busy", later(t, c, 0), "accepted 5/1")
			send(c, 5, 2)
			send(c, 6, 3)
			send(c, 5, 1) // a repeat
			expect(t, "behind it", later(t, c, time.Minute), "accepted 5/2", "stored 6/3", "accepted 5/1")
			u.set(5, nil)
			expect(t, "afterwards", later(t, c, longestHeldRetry), "stored 5/1", "stored 5/1", "stored 5/2")
			expect(t, "then", later(t, c, time.Hour))
			if got := u.storedIn(5); !slices.Equal(got, []string{"1:1", "2:2"}) {
				t.Errorf("stored are %q", got)
			}
			nothingHeld(t, c)
			send(c, 5, 4)
			expect(t, "without an outage", later(t, c, 0), "stored 5/4")
			for _, err := range []error{
				errs.New(errs.Denied, "blocked", "no"), errors.New("unknown"), errs.New(errs.Unavailable, "storage", "unknown"), timeline.ErrClosed, timeline.ErrStorageFull,
				&errs.Error{Kind: errs.Unavailable, Reason: "missing_previous", Retry: time.Second}, &errs.Error{Kind: errs.Exhausted, Reason: "too_many_requests", Retry: time.Second},
			} {
				u.set(7, err)
				send(c, 7, 5)
				expect(t, "refused for good", later(t, c, 10*time.Second), errs.Of(err).Reason+" 7/5")
			}
			u.set(5, timeline.ErrBusy)
			send(c, 5, 6)
			u.set(5, errs.New(errs.Denied, "blocked", "no"))
			expect(t, "refused later", later(t, c, time.Minute), "accepted 5/6", "blocked 5/6")
			nothingHeld(t, c)
		}
	})
}

// Messages without a number keep their order as well: each waits for the one before it.
func TestHeldSendsWithoutNumbersAreSubmittedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, u := unreliably(t)
		u.delay = func() time.Duration { return rand.N(50 * time.Millisecond) }
		var want, told []string
		for i := range 20 {
			if u.set(5, nil); i%7 != 3 {
				u.set(5, timeline.ErrBusy)
			}
			name := fmt.Sprint("m", i)
			c.submit(&message.Draft{Conversation: 5, ClientMsgID: name, Content: []byte(":")})
			want = append(want, "0"+name+":")
			told = append(told, later(t, c, 60*time.Millisecond)...)
		}
		u.set(5, nil)
		told = append(told, later(t, c, time.Minute)...)
		if got := u.storedIn(5); !slices.Equal(got, want) {
			t.Errorf("stored are %q, want %q", got, want)
		}
		if u.most != 1 {
			t.Errorf("%d were submitted at once", u.most)
		}
		if n := len(slices.DeleteFunc(told, func(s string) bool { return s[0] == 'a' })); n != 20 {
			t.Errorf("%d receipts came", n)
		}
		nothingHeld(t, c)
	})
}

// While a message is held, the connection is read on. Beyond the bounds messages are refused, and so are the later ones of the device to the conversation,
// until the first of them comes again.
func TestHeldSendsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, u := unreliably(t)
		u.set(5, timeline.ErrBusy)
		var want []string
		for i := range uint64(maxHeldSends) {
			send(c, 5, i+1)
			want = append(want, fmt.Sprintf("accepted 5/%d", i+1))
		}
		expect(t, "up to the bound", later(t, c, 0), want...)
		if c.reads != readOn || c.inFlight.Load() != 0 {
			t.Errorf("%d sends are in flight, and reading is in state %v", c.inFlight.Load(), c.reads)
		}
		send(c, 5, maxHeldSends+1)
		expect(t, "beyond the bound", later(t, c, 0), fmt.Sprintf("busy 5/%d", maxHeldSends+1))
		u.set(5, nil)
		if got := later(t, c, 4*time.Second); len(got) != maxHeldSends {
			t.Errorf("after the outage the client was told %d times", len(got))
		}
		send(c, 5, maxHeldSends+2)
		expect(t, "behind the refused one", later(t, c, 0), fmt.Sprintf("busy 5/%d", maxHeldSends+2))
		send(c, 5, maxHeldSends+1)
		send(c, 5, maxHeldSends+2)
		expect(t, "again", later(t, c, 0), fmt.Sprintf("stored 5/%d", maxHeldSends+1), fmt.Sprintf("stored 5/%d", maxHeldSends+2))
		if got := u.storedIn(5); len(got) != maxHeldSends+2 || !slices.IsSortedFunc(got, bySeq) {
			t.Errorf("%d are stored: %q", len(got), got)
		}
		later(t, c, time.Minute)
		nothingHeld(t, c)
	})
}

func bySeq(a, b string) int {
	var x, y uint64
	must(fmt.Sscan(a[:slices.Index([]byte(a), ':')], &x))
	must(fmt.Sscan(b[:slices.Index([]byte(b), ':')], &y))
	return int(x) - int(y)
}

// One user, with several connections, holds no more than the user's share, in number and in bytes.
func TestHeldSendsOfAUserAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for size, most := range map[int]int{1: maxHeldOfUser, 100 << 10: maxHeldNodeBytes / budget.Share / (100<<10 + heldOverhead)} {
			first, u := unreliably(t)
			u.set(5, timeline.ErrBusy)
			accepted := 0
			for n := range 4 {
				c := &conn{server: first.server, transport: discarding{}, frameAt: -1, fd: -1, caller: first.caller}
				c.state = stateReady
				for i := range uint64(min(maxHeldSends, maxHeldBytes/size)) {
					c.submit(&message.Draft{Conversation: 5, ClientSeq: uint64(n+1)<<20 + i + 1, Content: make([]byte, size)})
				}
				for _, f := range sent(t, c) {
					accepted += len(f.Accepted)
				}
				defer c.held.Load().end()
			}
			if accepted != most {
				t.Errorf("%d sends of %d bytes are held, want %d", accepted, size, most)
			}
		}
	})
}

// Once nothing could be stored for half an hour, what is held is refused, and new sends are refused at once, also those to other conversations. The first one
// that is stored ends that.
func TestALongOutageIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, u := unreliably(t)
		for to := range id.Conversation(9) {
			u.set(to, timeline.ErrBusy)
		}
		send(c, 5, 1)
		send(c, 5, 2)
		expect(t, "first", later(t, c, 29*time.Minute), "accepted 5/1", "accepted 5/2")
		send(c, 6, 3)
		said := later(t, c, 2*time.Minute)
		slices.Sort(said)
		expect(t, "after half an hour", said, "accepted 6/3", "busy 5/1", "busy 5/2", "busy 6/3")
		nothingHeld(t, c)
		for seq, to := range []id.Conversation{5, 6, 7} {
			send(c, to, uint64(seq)+4)
			expect(t, "during a long outage", later(t, c, time.Second), fmt.Sprintf("busy %d/%d", to, seq+4))
		}
		later(t, c, 10*time.Second)
		u.set(7, nil) // one conversation
		send(c, 7, 7)
		expect(t, "stored", later(t, c, 0), "stored 7/7")
		u.set(7, timeline.ErrBusy)
		send(c, 7, 8)
		expect(t, "a new outage", later(t, c, 0), "accepted 7/8")
		send(c, 5, 9)
		expect(t, "a conversation in which nothing was stored", later(t, c, 0), "busy 5/9")
		u.set(7, nil)
		later(t, c, 10*time.Second)
		c.server.tick()
		time.Sleep(outageOver)
		send(c, 5, 10)
		expect(t, "long after a refusal", later(t, c, 0), "accepted 5/10")
		c.onClosed()
		nothingHeld(t, c)
		c.server.outages.forget(time.Now().Add(outageOver))
		if n := c.server.outages.known.Load(); n != 0 {
			t.Errorf("%d outages are known in the end", n)
		}
	})
}

// A message that alone cannot be stored is refused after half an hour, although others to the conversation are stored.
func TestOneSendIsHeldForHalfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, u := unreliably(t)
		u.set(5, timeline.ErrBusy)
		send(c, 5, 1)
		var told []string
		for i := range uint64(31) {
			told = append(told, later(t, c, time.Minute)...)
			c.server.outages.recordSuccess(5)
			if i == 28 && len(told) != 1 {
				t.Errorf("before, the client was told %q", told)
			}
		}
		expect(t, "after half an hour", told, "accepted 5/1", "busy 5/1")
		nothingHeld(t, c)
	})
}

// Held messages end with their connection: nothing submits them any more.
func TestHeldSendsEndWithTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, u := unreliably(t)
		u.delay = func() time.Duration { return time.Second }
		u.set(5, timeline.ErrBusy)
		for i := range uint64(3) {
			send(c, 5, i+1)
		}
		said := later(t, c, 1020*time.Millisecond)
		slices.Sort(said)
		expect(t, "held", said, "accepted 5/1", "accepted 5/2", "accepted 5/3")
		time.Sleep(100 * time.Millisecond) // the first is submitted again
		c.onClosed()
		before := u.triesSoFar()
		u.set(5, nil)
		time.Sleep(time.Hour)
		if n := u.triesSoFar(); n != before || len(u.storedIn(5)) != 0 {
			t.Errorf("of %d tries, all but %d came after the connection; stored are %q", n, before, u.storedIn(5))
		}
		nothingHeld(t, c)
		u.set(5, timeline.ErrBusy)
		send(c, 5, 4) // read before it was closed
		time.Sleep(time.Hour)
		if u.triesSoFar() != before+1 {
			t.Error("a send of a closed connection is held")
		}
	})
}

// Through random outages, each message is stored once, in the order of its sender and conversation, and each send has one receipt, after it was accepted.
func TestHeldSendsKeepOrderThroughRandomOutages(t *testing.T) {
	runs := uint64(60)
	if sqltest.WithRaceDetector {
		runs = 15
	}
	for seed := range runs {
		synctest.Test(t, func(t *testing.T) { outagesAtRandom(t, rand.New(rand.NewPCG(seed, 7))) })
		if t.Failed() {
			t.Fatalf("with the seed %d", seed)
		}
	}
}

func outagesAtRandom(t *testing.T, random *rand.Rand) {
	c, u := unreliably(t)
	var rolling sync.Mutex // guards random
	roll := func(n time.Duration) time.Duration {
		rolling.Lock()
		defer rolling.Unlock()
		return time.Duration(random.Int64N(int64(n)))
	}
	u.delay = func() time.Duration { return roll(30 * time.Millisecond) }
	failures := []error{nil, timeline.ErrBusy, &errs.Error{Kind: errs.Unavailable, Reason: "relation_unknown", Retry: 5 * time.Second}}
	sends, told := map[string]int{}, []string(nil)
	seqs := map[id.Conversation][]uint64{}
	for seq := range uint64(150) {
		to := id.Conversation(5 + roll(3))
		if roll(12) == 0 {
			u.set(to, failures[roll(3)])
		}
		seqs[to] = append(seqs[to], seq+1)
		repeat := seq + 1
		for _, n := range seqs[to] { // or what the client knows as held
			if name := fmt.Sprintf("%d/%d", to, n); roll(8) == 0 && slices.Contains(told, "accepted "+name) && !slices.Contains(told, "stored "+name) {
				repeat = n
			}
		}
		for i, n := range []uint64{seq + 1, repeat} {
			if i == 0 || roll(8) == 0 {
				send(c, to, n)
				sends[fmt.Sprintf("%d/%d", to, n)]++
			}
		}
		if roll(3) == 0 {
			told = append(told, later(t, c, roll(2*time.Second))...)
		}
	}
	for to := range seqs {
		u.set(to, nil)
	}
	told = append(told, later(t, c, time.Minute)...)
	accepted, stored := map[string]int{}, map[string]int{}
	for _, said := range told {
		var what, which string
		must(fmt.Sscan(said, &what, &which))
		switch what {
		case "accepted":
			if accepted[which]++; accepted[which] > sends[which] || stored[which] == sends[which] {
				t.Errorf("%s is accepted after its receipt", which)
			}
		case "stored":
			stored[which]++
		default:
			t.Errorf("the client was told %q", said)
		}
	}
	for which, n := range sends {
		if stored[which] != n {
			t.Errorf("%s was sent %d times, and has %d receipts", which, n, stored[which])
		}
	}
	for to, list := range seqs {
		got := u.storedIn(to)
		if len(got) != len(list) || !slices.IsSortedFunc(got, bySeq) {
			t.Errorf("of %v, stored are %q", list, got)
		}
	}
	nothingHeld(t, c)
}

// Once in each second in which messages are held, those that store them get more threads.
func TestHeldMessagesGetThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, u := unreliably(t)
		var called atomic.Int64
		c.server.deps.MoreThreads = func() { called.Add(1) }
		for n := range uint64(3) {
			send(c, 5, n+1)
		}
		if later(t, c, 0); called.Load() != 0 {
			t.Errorf("%d calls while nothing is held", called.Load())
		}
		u.set(5, timeline.ErrBusy)
		u.set(6, timeline.ErrBusy)
		send(c, 5, 4)
		send(c, 6, 1)
		if later(t, c, 0); called.Load() != 1 {
			t.Errorf("%d calls in the first second with held messages, want 1", called.Load())
		}
		later(t, c, 9*time.Second)
		if calls := called.Load(); calls < 3 || calls > 10 { // tries are up to 5 s apart
			t.Errorf("%d calls in ten seconds with tries, want one for each second with a try", calls)
		}
		c.onClosed()
	})
}
