package gateway

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// A message of a large conversation is pushed to each connection that follows it. A group of 10,000 that gets 1,000 messages a second would
// need 10,000,000 pushes a second. So the pushes of a conversation, and of all large ones together, have a maximum rate. A conversation that exceeds it is
// hot: its messages are not pushed, and hints tell each connection from time to time up to which seq the conversation has grown. Clients that show it
// pull; for others the number is enough. It cools down, and is pushed again, when it has stayed below half of the rate for some intervals.
//
//   - Edits and recalls of a hot conversation are still pushed, as far as its rate allows. Clients that pull get them in any case.
//   - How much a machine can push depends on its other load. If messages of a conversation with many pushes are late, and increasingly so, the node cannot keep
//     up. Then the conversation becomes hot, and the rates are halved, at most once in an interval. They recover slowly.
//   - The rates are token buckets of burstTime. A message takes a token for each connection, and may leave a debt.
//   - If the common rate is used up, only conversations that have had more than their equal share in this interval become hot.
//   - In a cluster, a text that has waited for Deps.PushWithin may have been edited or recalled meanwhile. So its conversation becomes hot.
//   - A hint covers every withheld seq. The last hint is sent after the conversation has cooled down, and a connection gets pushes again after that hint.

const (
	// burstTime is how many seconds' worth of a rate may be pushed at once.
	burstTime = 0.5
	// calmIntervals is the number of consecutive intervals for which a hot conversation must stay below half of the rates.
	calmIntervals = 3
	// A message older than lateAfter is late if its conversation has had more than lateAbove pushes in this interval: conversations with fewer are
	// not the cause. On a busy machine, a burst is late as well, but is over before hints could be sent and pages pulled. So a message counts only if it
	// is older by lateGrowth than the oldest one of an interval before, which was late as well, or if it is older than tooLate.
	lateAfter  = 500 * time.Millisecond
	lateGrowth = 250 * time.Millisecond
	tooLate    = 3 * time.Second
	lateAbove  = 50_000
	// lowestScale is the lowest factor that the rates are scaled down to. In each interval, they recover by the factor recovery.
	lowestScale = 1.0 / 64
	recovery    = 1.1
	// hintSlice is how many connections are hinted at once. The slices of an interval are spread over half of it, because hints make clients pull.
	hintSlice = 128
)

// bucket of tokens, which are pushes.
type bucket struct {
	tokens float64
	filled time.Time // zero: it is full
}

// fill adds the tokens for the time since the last call.
func (b *bucket) fill(rate float64, now time.Time) {
	if b.filled.IsZero() {
		b.tokens = rate * burstTime
	} else {
		b.tokens = min(b.tokens+rate*now.Sub(b.filled).Seconds(), rate*burstTime)
	}
	b.filled = now
}

// heat of a conversation with followers here.
type heat struct {
	bucket
	offered int    // pushes that its messages needed in this interval, including withheld ones
	hot     bool   // its messages are withheld
	calm    int    // consecutive calm intervals
	hinted  uint64 // the seq of the last hint
	// The greatest age of its messages in this interval, and in the last one in which it had any.
	age, ageBefore time.Duration
}

// fallsBehind reports whether the age of a message shows that the pushes of the conversation fall further and further behind.
func (t *heat) fallsBehind(age time.Duration) bool {
	return t.offered > lateAbove && (age > tooLate || t.ageBefore > lateAfter && age > t.ageBefore+lateGrowth)
}

// heats has the heat of all large conversations, and the goroutine that hints.
type heats struct {
	server      *Server
	clockBehind atomic.Int64 // ns; see Deps.ClockBehind

	mu     sync.Mutex // guards all below, and the heat of audiences; taken after a shard's
	total  bucket
	scale  float64                      // of the rates, up to 1
	late   bool                         // the scale was halved in this interval
	listed map[id.Conversation]struct{} // those with a message in this interval, and those that are hot; perhaps also some without an audience by now
}

// mayPush reports whether an entry is pushed to the n connections of an audience, and takes the tokens. The caller holds the shard's lock, and has advanced
// newestSeq.
func (h *heats) mayPush(c id.Conversation, r *audience, n int, e *largeEntry) (push bool) {
	config, stats := &h.server.config, &h.server.stats
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &r.heat
	h.listed[c] = struct{}{}
	t.offered += n
	late := t.fallsBehind(e.age)
	t.age = max(t.age, e.age)
	if late && !t.hot && !h.late {
		h.late, h.scale = true, max(h.scale/2, lowestScale)
	}
	t.fill(h.scale*float64(config.LargeGroupPushes), now)
	h.total.fill(h.scale*float64(config.LargePushes), now)
	share := h.scale * float64(config.LargePushes) * config.HintEvery.Seconds() / float64(len(h.listed))
	over := late || h.server.mayBeOutdated(e.textMs) || t.tokens <= 0 || h.total.tokens <= 0 && float64(t.offered) > share
	if over && !t.hot {
		t.hot, t.calm = true, 0
		stats.HeatRises.Add(1)
		stats.Hot.Add(1)
	}
	if over || t.hot && !e.correction {
		stats.LargeWithheld.Add(int64(n))
		return false
	}
	t.tokens -= float64(n)
	h.total.tokens -= float64(n)
	stats.LargePushed.Add(int64(n))
	return true
}

// run hints until ctx ends.
func (h *heats) run(ctx context.Context) {
	tick := time.NewTicker(h.server.config.HintEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if behind := h.server.deps.ClockBehind; behind != nil {
				h.clockBehind.Store(int64(behind()))
			}
			h.hint(ctx, h.cool())
		case <-ctx.Done():
			return
		}
	}
}

// growth is a hint that is due: conversation has grown to seq.
type growth struct {
	conversation id.Conversation
	seq          uint64
	conns        []*conn
	noted        bool // conns have it noted already
}

// cool ends an interval: it cools down conversations that were calm, and returns the hints that are due.
func (h *heats) cool() (due []growth) {
	config := &h.server.config
	h.mu.Lock()
	listed := h.listed
	h.listed = make(map[id.Conversation]struct{}, len(listed))
	interval := h.scale * config.HintEvery.Seconds() // the rates are those of this interval
	if !h.late {
		h.scale = min(h.scale*recovery, 1)
	}
	h.late = false
	h.mu.Unlock()
	load := 0.0 // pushes of conversations that are not hot
	var hot []id.Conversation
	for c := range listed {
		h.with(c, func(r *audience) {
			r.heat.ageBefore, r.heat.age = r.heat.age, 0
			if r.heat.hot {
				hot = append(hot, c)
				return
			}
			load += float64(r.heat.offered)
			r.heat.offered = 0
		})
	}
	var cooled []id.Conversation
	for _, c := range hot {
		h.with(c, func(r *audience) {
			t := &r.heat
			t.calm++
			if offered := float64(t.offered); offered > float64(config.LargeGroupPushes)*interval/2 || load+offered > float64(config.LargePushes)*interval/2 {
				t.calm = 0
			}
			if t.calm >= calmIntervals {
				load += float64(t.offered)
				t.offered = 0
				cooled = append(cooled, c)
				return
			}
			h.listed[c] = struct{}{}
			t.offered = 0
			// What was withheld was in newestSeq before, so that this hint covers it.
			if seq := r.newestSeq.Load(); seq > t.hinted {
				t.hinted = seq
				due = append(due, growth{conversation: c, seq: seq, conns: slices.Clone(r.conns)})
			}
		})
	}
	for _, c := range cooled {
		due = append(due, h.resume(c)...)
	}
	return due
}

// resume lets a conversation be pushed again. A connection that waits for the last hint gets pushes only from there on: otherwise the first push
// would show a gap to all, and all clients that show the conversation would pull at once.
func (h *heats) resume(c id.Conversation) (due []growth) {
	s := h.server.hub.conversation(c)
	s.mu.Lock() // no entry is admitted in between. One that was, and is being pushed, is in newestSeq, and connections that wait for the last hint do not get it any more
	defer s.mu.Unlock()
	r := s.audiences[c]
	if r == nil {
		return nil
	}
	h.mu.Lock()
	t, seq := &r.heat, r.newestSeq.Load()
	last := t.hinted
	t.hot, t.hinted = false, max(last, seq)
	h.mu.Unlock()
	h.server.stats.HeatFalls.Add(1)
	h.server.stats.Hot.Add(-1)
	if seq <= last {
		for _, to := range r.conns {
			to.markLastHint(c)
		}
		return nil
	}
	g := growth{conversation: c, seq: seq, noted: true}
	for _, to := range r.conns {
		if to.noteGrowth(grownTo{c, seq, true}) {
			g.conns = append(g.conns, to)
		}
	}
	return []growth{g}
}

// with calls do for an audience, unless it is gone, under its shard's lock and h.mu.
func (h *heats) with(c id.Conversation, do func(r *audience)) {
	s := h.server.hub.conversation(c)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.audiences[c]; r != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		do(r)
	}
}

// hint sends the hints that are due: one to each connection, however many of its conversations have grown.
func (h *heats) hint(ctx context.Context, due []growth) {
	var conns []*conn
	for _, g := range due {
		if g.noted {
			conns = append(conns, g.conns...)
			continue
		}
		for _, c := range g.conns {
			if c.noteGrowth(grownTo{g.conversation, g.seq, false}) {
				conns = append(conns, c)
			}
		}
	}
	pause := h.server.config.HintEvery / 2 / time.Duration(len(conns)/hintSlice+1)
	for slice := range slices.Chunk(conns, hintSlice) {
		for _, c := range slice {
			c.mu.Lock()
			if len(c.grown) > 0 {
				c.queueLater()
			}
			c.mu.Unlock()
		}
		h.server.Flush()
		if len(conns) > hintSlice && backoff.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// forget ends the heat of an audience that is removed. The caller holds the shard's lock.
func (h *heats) forget(r *audience) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.heat.hot {
		h.server.stats.Hot.Add(-1)
	}
}

// grownTo says how far a large conversation has come.
type grownTo struct {
	conversation id.Conversation
	seq          uint64
	last         bool // it has cooled down: its messages are pushed again behind this hint
}

// noteGrowth notes how far a conversation has grown, for the next hint, and reports whether none waited. A later seq supersedes an earlier one.
func (c *conn) noteGrowth(to grownTo) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.isEnding() || !slices.Contains(c.follows, to.conversation):
		return false
	case c.state != stateReady:
		c.needsHint = true
		return false
	case c.needsHint: // a hint to sync, whose answer says it
		return false
	}
	if i := slices.IndexFunc(c.grown, func(g grownTo) bool { return g.conversation == to.conversation }); i >= 0 {
		c.grown[i] = to
		return false
	}
	c.grown = append(c.grown, to)
	return len(c.grown) == 1
}

// markLastHint notes that the hint about a conversation for which the connection waits, if it does, is the last one.
func (c *conn) markLastHint(conversation id.Conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.grown {
		c.grown[i].last = c.grown[i].last || c.grown[i].conversation == conversation
	}
}

// awaitsLastHint reports whether the connection did not get the last hint about a conversation yet, and has it say the given seq. The caller holds mu.
func (c *conn) awaitsLastHint(conversation id.Conversation, seq uint64) bool {
	i := slices.IndexFunc(c.grown, func(g grownTo) bool { return g.conversation == conversation && g.last })
	if i < 0 {
		return false
	}
	c.grown[i].seq = max(c.grown[i].seq, seq)
	return true
}

// appendGrowth appends the hint about large conversations, in a frame of its own. The answer to a sync that is under way comes first. A hint to
// sync takes its place. The caller holds mu.
func (c *conn) appendGrowth() {
	if len(c.grown) == 0 || c.state != stateReady || c.withheld != nil {
		return
	}
	if !c.needsHint {
		c.server.stats.LargeHints.Add(1)
		hint := &gatewayv1.Hint{}
		for _, g := range c.grown {
			hint.Conversations = append(hint.Conversations, &chatv1.LargeTail{Conversation: uint64(g.conversation), LastSeq: g.seq})
		}
		op, b := c.encode(&gatewayv1.ServerFrame{Hint: hint})
		c.appendFrame(op, b)
	}
	c.grown = nil
}

// textOf reports whether an entry is an edit or a recall, which people must see, and whether it has a text, which may be edited or recalled.
func textOf(e *message.Entry) (correction, hasText bool) {
	if e.Updates == 0 {
		return false, !e.Control
	}
	var content chatv1.Content
	if proto.Unmarshal(e.Content, &content) != nil {
		return false, true // of a later version
	}
	isEdit := content.GetEdit() != nil
	return isEdit || content.GetRecall() != nil, isEdit
}

// ageOf returns how long ago an entry was stored, by the clock of the node that stored it. Which node did is not known: the age is that by the clock
// that is furthest behind.
func (s *Server) ageOf(e *message.Entry) time.Duration {
	ms := e.ID.Ms()
	if ms <= 0 {
		return 0
	}
	return s.deps.Clock.Now().Sub(time.UnixMilli(ms)) - time.Duration(s.heats.clockBehind.Load())
}

// mayBeOutdated reports whether a text may be another one than fan-out has given this node, by the time at which it was stored. Chat acknowledges an edit or a recall
// only when what it replaces is older than that, by the clock of any node.
func (s *Server) mayBeOutdated(textMs int64) bool {
	within := s.deps.PushWithin
	return within > 0 && textMs != 0 && s.deps.Clock.Now().Sub(time.UnixMilli(textMs)) >= within
}

// textTimeOf returns when the text of an entry in its present form was stored; 0: it has none, or nobody asks.
func (s *Server) textTimeOf(body []byte) int64 {
	var e chatv1.Event
	switch {
	case s.deps.PushWithin == 0:
		return 0
	case proto.Unmarshal(body, &e) != nil:
		return 1 // of another form: it counts as old
	case e.GetMessage().GetContent() == nil:
		return 0
	}
	return e.GetMessage().TimeMs
}
