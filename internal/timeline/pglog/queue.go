package pglog

import (
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/rialto-im/rialto/internal/failpoint"
	"github.com/rialto-im/rialto/internal/timeline"
)

// A batch is bounded, so that its locks are held for some milliseconds.
const (
	mostAppends = 2048
	mostBytes   = 4 << 20
)

const fillsMost = 16

var errKind = errors.New("only conversations are appended to")

// committer appends to the keys of its partitions.
type committer struct {
	log    *Log
	number int

	mu     sync.Mutex // guards queue, size and closed
	more   sync.Cond  // queue or closed changed; on mu
	queue  []*timeline.Append
	size   int // bytes of payloads in queue
	closed bool

	// done has batches that are durable, for the completion goroutine: two may wait.
	done chan *group
	// retried has those of which some was stored before, for the goroutine that reads what is stored. Where fillsMost wait, retries are
	// refused as busy: nothing that is new waits for them.
	retried chan *group

	// Of the commit goroutine alone:
	left []*timeline.Append // taken from the queue, and not in a batch yet
	session
}

// group is a batch on its way: all its appends, and what of them was stored.
type group struct {
	appends []*timeline.Append // in their order
	sent    []*timeline.Append // those of them that are asked for; the others follow one of these
	follow  []following
	known   []*timeline.Append        // those of sent that were stored before: what is stored is still to be read
	late    map[*timeline.Append]bool // known, and what follows them
	commits []timeline.Commit
}

// following is an append with the token of one before it in the batch: it gets that one's result.
type following struct{ a, first *timeline.Append }

func newCommitter(l *Log, number int) *committer {
	c := &committer{log: l, number: number, done: make(chan *group, 2), retried: make(chan *group, fillsMost)}
	c.more.L, c.lock = &c.mu, rand.Int64()
	return c
}

// Append takes entries over.
func (l *Log) Append(entries ...*timeline.Append) {
	of := func(a *timeline.Append) *committer { return l.committers[a.Key.Partition()%committers] }
	for i := 0; i < len(entries); {
		c := of(entries[i])
		n := i + 1
		for n < len(entries) && of(entries[n]) == c {
			n++
		}
		c.add(entries[i:n])
		i = n
	}
}

func (c *committer) add(entries []*timeline.Append) {
	c.mu.Lock()
	err := timeline.ErrClosed
	if !c.closed {
		size := c.size
		for _, a := range entries {
			size += len(a.Payload)
		}
		if len(c.queue)+len(entries) <= c.log.options.Queue && (size <= c.log.options.QueueBytes || len(c.queue) == 0) {
			c.queue, c.size = append(c.queue, entries...), size
			c.more.Signal()
			c.mu.Unlock()
			return
		}
		err = timeline.ErrBusy
	}
	c.mu.Unlock()
	for _, a := range entries {
		a.Err = err
		a.Done(a)
	}
}

func (c *committer) close() {
	c.mu.Lock()
	c.closed = true
	c.more.Signal()
	c.mu.Unlock()
}

func (c *committer) commitLoop() {
	defer close(c.done)
	defer c.leave()
	for {
		if len(c.left) < mostAppends && !c.take() {
			return
		}
		g := c.form()
		c.commit(g)
		c.done <- g
	}
}

// take gets what is pending, and waits for it where nothing is left from before; false when all is done and the log closed.
func (c *committer) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.left)+len(c.queue) == 0 && !c.closed {
		c.more.Wait()
	}
	if len(c.left) == 0 {
		c.left = c.queue
	} else {
		c.left = append(c.left, c.queue...)
	}
	c.queue, c.size = nil, 0
	return len(c.left) > 0
}

func (c *committer) completeLoop() {
	defer close(c.retried)
	for g := range c.done {
		for i, a := range g.appends {
			if i == 1 {
				failpoint.Hit("timeline/mid-done")
			}
			if !g.late[a] {
				a.Done(a)
			}
		}
		failpoint.Hit("timeline/after-done-before-listener")
		if c.log.options.Listener != nil {
			c.log.options.Listener(g.commits)
		}
		if len(g.late) > 0 {
			select {
			case c.retried <- g:
			default:
				g.complete(timeline.ErrBusy)
			}
		}
	}
}

// retryLoop completes what was stored before.
func (c *committer) retryLoop() {
	for g := range c.retried {
		g.complete(c.log.fillStored(g.known))
	}
}

// complete completes what is late; an error is that of all that is known.
func (g *group) complete(err error) {
	if err != nil {
		for _, a := range g.known {
			a.Seq, a.Counted, a.Duplicate, a.Stored, a.Err = 0, 0, false, nil, err
		}
	}
	for _, f := range g.follow {
		if g.late[f.a] {
			f.take()
		}
	}
	for _, a := range g.appends {
		if g.late[a] {
			a.Done(a)
		}
	}
}

// forming is what is known of a key while a batch is formed.
type forming struct {
	carry  bool
	access bool // an append of the batch may change who may write
	held   bool
}

type tokenIn struct {
	id    uint64
	token timeline.Token
}

// form makes a batch of what was taken. An append whose outcome depends on that of another in the batch waits for the next
// one, and so does what comes after it in its conversation; but for a plain retry, which follows its first.
func (c *committer) form() *group {
	g := &group{appends: make([]*timeline.Append, 0, min(len(c.left), mostAppends))}
	keys := make(map[uint64]*forming, min(len(c.left), mostAppends))
	tokens := make(map[tokenIn]*timeline.Append, min(len(c.left), mostAppends))
	var left []*timeline.Append
	size := 0
	for i, a := range c.left {
		if len(g.sent) >= mostAppends || len(g.sent) > 0 && size+len(a.Payload) > mostBytes {
			left = append(left, c.left[i:]...)
			break
		}
		k := keys[a.Key.ID]
		if k == nil {
			k = &forming{carry: a.Carry}
			keys[a.Key.ID] = k
		}
		var first *timeline.Append
		if !a.Token.IsZero() {
			first = tokens[tokenOf(a)]
		}
		follows := first != nil && (!first.CheckAccess || a.CheckAccess && a.IfAccess == first.IfAccess)
		k.held = k.held || !follows && (first != nil || a.Carry != k.carry || a.CheckAccess && k.access)
		if k.held {
			left = append(left, a)
			continue
		}
		a.Seq, a.Counted, a.Duplicate, a.Stored, a.Err = 0, 0, false, nil, nil
		g.appends = append(g.appends, a)
		switch {
		case a.Key.Kind != timeline.Conversation:
			a.Err = errKind
		case follows:
			g.follow = append(g.follow, following{a, first})
		default:
			k.access = k.access || a.SetAccess
			if !a.Token.IsZero() {
				tokens[tokenOf(a)] = a
			}
			g.sent = append(g.sent, a)
			size += len(a.Payload)
		}
	}
	c.left = left
	return g
}

func tokenOf(a *timeline.Append) tokenIn {
	t := tokenIn{a.Key.ID, a.Token}
	if t.token.Counter != 0 {
		t.token.Sum = [16]byte{}
	} else {
		t.token.Sender, t.token.Device = 0, 0
	}
	return t
}

// fail answers what is sent with an error.
func (g *group) fail(err error) {
	for _, a := range g.sent {
		a.Err = err
	}
	g.commits, g.known = nil, nil
	g.finish()
}

// finish gives those that follow the results of their firsts, and tells what is late.
func (g *group) finish() {
	if len(g.known) > 0 {
		g.late = make(map[*timeline.Append]bool, len(g.known))
	}
	for _, a := range g.known {
		g.late[a] = true
	}
	for _, f := range g.follow {
		if g.late[f.first] {
			g.late[f.a] = true
		} else {
			f.take()
		}
	}
}

func (f following) take() {
	f.a.Err = f.first.Err
	if f.a.Err != nil {
		return
	}
	f.a.Seq, f.a.Counted, f.a.Duplicate, f.a.Stored = f.first.Seq, f.first.Counted, true, f.first.Payload
	if f.first.Duplicate {
		f.a.Stored = f.first.Stored
	}
}
