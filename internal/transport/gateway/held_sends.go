package gateway

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// While the server cannot store a message, its connection holds it in memory, tells the client that it is accepted, and submits it again until it is
// stored or refused for good (docs/decisions/0120-held-sends.md). The client's later messages to the conversation wait behind it. They are submitted again in
// the order in which the client sent them: one as a try, and many at once after a try has succeeded. Chat keeps the order of numbered messages that are
// submitted; one without a number is submitted alone.
//
// Held messages end with their connection, and with a long outage (outages.go).

const (
	firstHeldRetry   = 100 * time.Millisecond
	longestHeldRetry = 5 * time.Second // shorter than message.RetryWindow, in which chat refuses the device's later messages on other connections
	// heldWindow is how many held sends of a conversation are submitted at once, after a try has succeeded.
	heldWindow = 64
)

// heldSends has the held sends of a connection.
type heldSends struct {
	conn *conn

	mu     sync.Mutex // guards the fields below, their queues and sends. Before the conn's mu; not held while a draft is submitted
	queues map[id.Conversation]*heldQueue
	number int // of held sends, with those that are submitted
	bytes  int
	ended  bool // the connection is closed
}

// heldQueue has the held sends to one conversation. It ends when all are answered.
type heldQueue struct {
	sends      []*heldSend // that are not submitted at the moment, in their order
	submitted  int         // others that are, and have no answer yet
	unnumbered int         // of these, those without a ClientSeq
	window     int         // how many may be submitted at once; 0: none before the timer
	submitting bool        // a goroutine submits sends; no other one does
	why        error       // of the last refusal
	delays     backoff.Backoff
	timer      *time.Timer             // of the next try, nil without one
	refused    message.ExpectedRetries // for which there was no room
}

// heldSend is one held send. Its draft is the form in which it is submitted.
type heldSend struct {
	held    *heldSends
	queue   *heldQueue
	draft   message.Draft
	since   time.Time
	repeats int // the client has sent it so many times more; each gets a receipt
	memory  budget.Hold
	bytes   int
}

// isTemporary reports whether the server may store a message that was refused now, without anything done by the client or the operator.
func isTemporary(err error) bool {
	e := errs.Of(err)
	if e == nil || e.Kind != errs.Unavailable || e.Retry == 0 {
		return false
	}
	switch e.Reason {
	case "missing_previous", "closing", "storage_full":
		return false
	}
	return true
}

// openHeld returns the connection's held sends, nil if it is ending.
func (c *conn) openHeld() *heldSends {
	if h := c.held.Load(); h != nil {
		return h
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.held.Load()
	if h == nil && !c.isEnding() {
		h = &heldSends{conn: c, queues: map[id.Conversation]*heldQueue{}}
		c.held.Store(h)
	}
	return h
}

// recordFailure notes that a message could not be stored. It reports whether that has been so for too long to hold more.
func (s *Server) recordFailure(c id.Conversation, now time.Time) (long bool) {
	if second := now.Unix(); s.deps.MoreThreads != nil && s.failedAt.Swap(second) != second {
		s.deps.MoreThreads()
	}
	return s.outages.recordFailure(c, now)
}

// hold keeps a draft that was refused, if it may be stored later. Otherwise the client gets the refusal.
func (c *conn) hold(d *message.Draft) bool {
	if d.Err == nil || !isTemporary(d.Err) || c.server.recordFailure(d.Conversation, time.Now()) {
		return false
	}
	h := c.openHeld()
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	q := h.queues[d.Conversation]
	switch {
	case q == nil && len(h.queues) >= maxHeldSends:
		return false
	case q == nil:
		q = &heldQueue{delays: backoff.New(firstHeldRetry, longestHeldRetry)}
		h.queues[d.Conversation] = q
	case q.refused.Check(d, time.Now()) != nil:
		return false
	}
	q.why, q.window = d.Err, 0
	held := h.put(q, d)
	h.settle(d.Conversation, q)
	return held
}

// enqueueBehind takes over a new draft to a conversation with held sends, or with some under way. It reports false if the draft may be submitted.
func (h *heldSends) enqueueBehind(d *message.Draft) bool {
	h.mu.Lock()
	q := h.queues[d.Conversation]
	if q == nil || h.ended {
		h.mu.Unlock()
		return false
	}
	refuse := q.refused.Check(d, time.Now()) != nil
	if !refuse {
		if q.mayBypass(d) {
			h.mu.Unlock()
			return false
		}
		refuse = !h.put(q, d)
	}
	d.Err = q.why
	h.mu.Unlock()
	if refuse {
		h.conn.receipt(d)
		h.conn.server.requestFlush(h.conn)
	}
	recycle(d)
	return true
}

// takeLater removes the sends from the queue that come after a numbered one.
func (q *heldQueue) takeLater(clientSeq uint64) (later []*heldSend) {
	q.sends = slices.DeleteFunc(q.sends, func(one *heldSend) bool {
		if clientSeq == 0 || one.draft.ClientSeq <= clientSeq {
			return false
		}
		later = append(later, one)
		return true
	})
	return later
}

// mayBypass reports whether chat keeps a new draft behind those that are submitted, and none waits.
func (q *heldQueue) mayBypass(d *message.Draft) bool {
	return len(q.sends) == 0 && !q.submitting && (q.submitted == 0 || q.window > 0 && q.unnumbered == 0 && d.ClientSeq != 0)
}

// put adds a draft to a queue, and tells the client that it is accepted. It reports whether there was room for it. Later ones of the device make room for
// it, because they may not be stored before it. The caller holds mu.
func (h *heldSends) put(q *heldQueue, d *message.Draft) bool {
	if i := slices.IndexFunc(q.sends, func(one *heldSend) bool { return one.isRepeat(d) }); i >= 0 {
		q.sends[i].repeats++
		h.conn.announceHeld(d)
		return true
	}
	one := &heldSend{held: h, queue: q, since: time.Now(), bytes: len(d.Sent) + heldOverhead}
	if !h.acquire(one) {
		later := q.takeLater(d.ClientSeq)
		if h.giveBack(q, later, q.why); len(later) == 0 || !h.acquire(one) {
			if d.ClientSeq != 0 {
				q.refused.Expect(d.ClientSeq, q.why, time.Now())
			}
			return false
		}
	}
	one.draft = message.Draft{Conversation: d.Conversation, Sender: d.Sender, Device: d.Device, Network: d.Network, ClientSeq: d.ClientSeq, ClientMsgID: d.ClientMsgID,
		PrevClientSeq: d.PrevClientSeq, Sent: bytes.Clone(d.Sent), Turn: d.Turn, Accepted: d.Accepted, Done: onRetried, Context: one}
	q.insert(one)
	h.conn.announceHeld(d)
	return true
}

func (one *heldSend) isRepeat(d *message.Draft) bool {
	return one.draft.ClientSeq == d.ClientSeq && one.draft.ClientMsgID == d.ClientMsgID && bytes.Equal(one.draft.Sent, d.Sent)
}

// insert adds a send in the order of arrival, but numbered ones in the order of their numbers: one may come again after it was refused.
func (q *heldQueue) insert(one *heldSend) {
	i := len(q.sends)
	for i > 0 && q.sends[i-1].draft.Turn > one.draft.Turn {
		i--
	}
	if n := one.draft.ClientSeq; n != 0 {
		for j, other := range q.sends {
			switch m := other.draft.ClientSeq; {
			case m == 0:
			case m < n:
				i = max(i, j+1)
			case m > n:
				i = min(i, j)
			}
		}
	}
	q.sends = slices.Insert(q.sends, i, one)
}

// giveBack refuses held sends, and expects them again. The caller holds mu.
func (h *heldSends) giveBack(q *heldQueue, list []*heldSend, why error) {
	for _, one := range list {
		h.release(one)
		if one.draft.ClientSeq != 0 {
			q.refused.Expect(one.draft.ClientSeq, why, time.Now())
		}
		one.draft.Err = why
		for range 1 + one.repeats {
			h.conn.sendReceipt(&one.draft)
		}
	}
}

// announceHeld tells the client that a send is accepted. It is not in flight any more, so that the server reads on.
func (c *conn) announceHeld(d *message.Draft) {
	c.endInFlight(d) // before the frame is queued: the write of it resumes reading
	c.sendFrame(&gatewayv1.ServerFrame{Accepted: []*gatewayv1.Accepted{{Conversation: uint64(d.Conversation), ClientSeq: d.ClientSeq, ClientMsgId: d.ClientMsgID}}})
	c.server.requestFlush(c)
}

// settle plans the next try of a queue, or ends the queue. The caller holds mu.
func (h *heldSends) settle(c id.Conversation, q *heldQueue) {
	if h.ended || q.timer != nil || q.submitted > 0 || q.submitting {
		return
	}
	wait := time.Duration(0)
	switch {
	case len(q.sends) > 0:
		wait = q.delays.Next()
	case time.Until(q.refused.Until()) > 0:
		wait = time.Until(q.refused.Until())
	default:
		delete(h.queues, c)
		return
	}
	q.timer = time.AfterFunc(wait, func() { h.try(c, q) }) // ends at once; stopped with the connection
}

// try submits the first held send of a queue.
func (h *heldSends) try(c id.Conversation, q *heldQueue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q.timer = nil
	if q.submitted == 0 {
		q.window = 1
	}
	h.submit(c, q)
}

// submit submits held sends of a queue in order, as far as its window allows. The caller holds mu.
func (h *heldSends) submit(c id.Conversation, q *heldQueue) {
	if q.submitting {
		return // the goroutine that submits goes on
	}
	q.submitting = true
	for !h.ended && q.maySubmit() {
		one := q.sends[0]
		q.sends = slices.Delete(q.sends, 0, 1)
		q.submitted++
		if one.draft.ClientSeq == 0 {
			q.unnumbered++
		}
		d := drafts.Get().(*message.Draft)
		content := append(d.Content[:0], one.draft.Sent...)
		*d = one.draft
		d.Content = content
		h.mu.Unlock()
		h.conn.server.deps.Chat.Submit(d)
		h.mu.Lock()
	}
	q.submitting = false
	h.settle(c, q)
}

func (q *heldQueue) maySubmit() bool {
	if len(q.sends) == 0 || q.submitted >= q.window {
		return false
	}
	return q.submitted == 0 || q.unnumbered == 0 && q.sends[0].draft.ClientSeq != 0
}

// onRetried is the Done of held drafts.
func onRetried(d *message.Draft) {
	one := d.Context.(*heldSend)
	one.held.answered(one, d)
	recycle(d)
}

// answered holds a draft again, or answers it.
func (h *heldSends) answered(one *heldSend, d *message.Draft) {
	q, now := one.queue, time.Now()
	temporary := d.Err != nil && isTemporary(d.Err)
	long := temporary && h.conn.server.recordFailure(d.Conversation, now)
	if d.Err == nil {
		h.conn.server.outages.recordSuccess(d.Conversation)
	}
	h.mu.Lock()
	q.submitted--
	if d.ClientSeq == 0 {
		q.unnumbered--
	}
	if temporary {
		q.why, q.window = d.Err, 0
	}
	switch {
	case !temporary, h.ended:
		q.refused.Forget(d.ClientSeq)
		q.delays.Reset()
		if q.window > 0 {
			q.window = heldWindow
		}
		h.release(one)
		for range 1 + one.repeats {
			h.conn.sendReceipt(d)
		}
	case long:
		h.giveBack(q, append([]*heldSend{one}, q.sends...), d.Err)
		q.sends = nil
	case now.Sub(one.since) >= longestOutage, q.refused.Check(d, now) != nil:
		h.giveBack(q, append([]*heldSend{one}, q.takeLater(d.ClientSeq)...), d.Err)
	default:
		q.insert(one)
	}
	h.submit(d.Conversation, q)
	h.mu.Unlock()
	h.conn.server.requestFlush(h.conn)
}

// end forgets all held sends of a connection that is closed: its client sends them again on the next one.
func (h *heldSends) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for _, q := range h.queues {
		if q.timer != nil {
			q.timer.Stop()
		}
		for _, one := range q.sends {
			h.release(one)
		}
		q.sends = nil
	}
	h.queues = nil
}
