package chat

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A draft may name the previous message of its device in the conversation (PrevClientSeq). It is held until that is stored, so that a
// message that was overtaken or lost on the way to the server is detected. The tokens of the log say what is stored, by any node. They are
// looked up when the draft arrives, when a message of the device was stored here, and at growing intervals, because another node may store
// it. While a draft is held, the device's later drafts are held behind it.

const (
	// defaultHoldTime is how long the first held draft of a device waits at most. Then it is rejected with missing_previous, and those behind it as
	// well. Of a chain of drafts, each has this time after the one before was stored.
	defaultHoldTime = 3 * time.Second
	// firstProbe is the delay of the second look-up. It doubles each time.
	firstProbe = 100 * time.Millisecond
	// missingRetry is when a device may send a draft again whose previous message was missing.
	missingRetry = 100 * time.Millisecond

	// maxHeldOfUser bounds the held drafts of a user. maxHeldBytes bounds those of all users; each user and each network has a share of it
	// (inputlimit). Drafts beyond these bounds are rejected as busy.
	maxHeldOfUser = 256
	maxHeldBytes  = 16 << 20
	// heldOverhead is what a held draft costs besides its content, in bytes.
	heldOverhead = 1 << 10
)

func missingPrevious(d *message.Draft) error {
	e := errs.New(errs.Unavailable, "missing_previous", fmt.Sprintf("the message with clientSeq %d, which this one follows, is not stored in this conversation; send it first, then this one again", d.PrevClientSeq))
	e.Retry = missingRetry
	return e
}

// heldDrafts has the drafts of one device that wait for the message before the first of them.
type heldDrafts struct {
	by       senderDevice
	drafts   []*message.Draft // ascending ClientSeq; not empty
	deadline time.Time        // of the first: if it is rejected, so are those behind it
	delay    time.Duration    // before the next look-up
	timer    *time.Timer      // of the next look-up, or of the deadline
	probing  bool             // a look-up is in progress
	again    bool             // a message of the device was stored since that began
	ended    bool             // all were admitted or rejected
}

// holdBudget bounds held drafts. newHoldBudget makes one.
type holdBudget struct {
	bytes *budget.Budget

	mu      sync.Mutex // guards the fields below; nothing but the lock of bytes is locked under it
	holds   map[*message.Draft]*budget.Hold
	ofUser  map[id.User]int
	stopped bool
}

func newHoldBudget() *holdBudget {
	return &holdBudget{bytes: budget.New(budget.Config{Bytes: maxHeldBytes, NetworkShare: budget.NetworkOfUsers}), holds: map[*message.Draft]*budget.Hold{}, ofUser: map[id.User]int{}}
}

// acquire reports whether one more draft may be held.
func (b *holdBudget) acquire(d *message.Draft) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := &budget.Hold{}
	if b.stopped || b.ofUser[d.Sender] >= maxHeldOfUser || !h.Set(b.bytes, budget.Owner{User: uint64(d.Sender), Network: d.Network}, len(d.Content)+heldOverhead) {
		return false
	}
	b.holds[d] = h
	b.ofUser[d.Sender]++
	return true
}

func (b *holdBudget) release(d *message.Draft) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds[d].Release()
	delete(b.holds, d)
	if b.ofUser[d.Sender]--; b.ofUser[d.Sender] == 0 {
		delete(b.ofUser, d.Sender)
	}
}

// hold keeps a draft if it must wait for another of its device. It fails if too many are held. The caller holds c.mu.
func (s *Service) hold(c *conversation, d *message.Draft) (held bool, err error) {
	by := senderDevice{d.Sender, d.Device}
	h := c.mailbox.held[by]
	if d.PrevClientSeq == 0 && (h == nil || d.ClientSeq <= h.drafts[0].ClientSeq) { // without a number, or what is waited for
		return false, nil
	}
	if !s.holdBudget.acquire(d) {
		return false, timeline.ErrBusy
	}
	d.Park()
	if h == nil {
		h = &heldDrafts{by: by, drafts: []*message.Draft{d}, deadline: time.Now().Add(s.holdTime), delay: firstProbe}
		if c.mailbox.held == nil {
			c.mailbox.held = map[senderDevice]*heldDrafts{}
		}
		c.mailbox.held[by] = h
		c.mailbox.holding.Store(true)
		s.probe(c, h)
		return true, nil
	}
	i := slices.IndexFunc(h.drafts, func(behind *message.Draft) bool { return behind.ClientSeq > d.ClientSeq })
	if i < 0 {
		i = len(h.drafts)
	}
	h.drafts = slices.Insert(h.drafts, i, d)
	if i == 0 {
		s.probe(c, h)
	}
	return true, nil
}

// probe looks up the message before the first held draft. The caller holds c.mu, so that a draft that was appended before is found.
func (s *Service) probe(c *conversation, h *heldDrafts) {
	if h.probing {
		h.again = true
		return
	}
	h.probing, h.again = true, false
	d := h.drafts[0]
	previous := &message.Draft{Conversation: d.Conversation, Sender: d.Sender, Device: d.Device, ClientSeq: d.PrevClientSeq}
	s.lookUp(previous, func(a *timeline.AppendRequest) { go s.probed(c, h, d, a.Err) }) // ends at once; one for each h
}

// probed goes on after a look-up for a draft. err is nil if the message before it is stored. An expired one is: its token is kept.
func (s *Service) probed(c *conversation, h *heldDrafts, d *message.Draft, err error) {
	var after []admission
	c.mu.Lock()
	h.probing = false
	switch {
	case h.ended:
	case h.drafts[0] != d:
		s.probe(c, h)
	case err == nil:
		after = s.admitHeld(c, h)
	case h.again:
		s.probe(c, h)
	case !time.Now().Before(h.deadline):
		why := missingPrevious(d)
		if !errors.Is(err, timeline.ErrStale) {
			why = busy(err)
		}
		after = s.rejectHeld(c, h, why)
	default:
		s.probeLater(c, h)
	}
	c.mu.Unlock()
	s.finishAll(c, after)
}

// probeLater looks up again after a delay, or at the deadline. The caller holds c.mu.
func (s *Service) probeLater(c *conversation, h *heldDrafts) {
	if h.timer != nil {
		h.timer.Stop()
	}
	h.timer = time.AfterFunc(max(0, min(h.delay, time.Until(h.deadline))), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !h.ended && !h.probing {
			s.probe(c, h)
		}
	})
	h.delay *= 2
}

// admitHeld lets the first held draft go, and those behind it that name no previous message. The caller holds c.mu, and calls finishAll
// with the result after it has released it.
func (s *Service) admitHeld(c *conversation, h *heldDrafts) (after []admission) {
	for first := true; len(h.drafts) > 0 && (first || h.drafts[0].PrevClientSeq == 0); first = false {
		d := h.drafts[0]
		h.drafts = h.drafts[1:]
		s.holdBudget.release(d)
		a := admission{draft: d, err: c.mailbox.gate.check(d, s.deps.Clock), retryable: true}
		if a.err == nil {
			a = s.admit(c, d)
		}
		if a.err != nil {
			c.mailbox.gate.noteResult(d, a.err, s.deps.Clock) // before the next is admitted
		}
		after = append(after, a)
	}
	if len(h.drafts) == 0 {
		c.endHold(h)
	} else {
		h.delay, h.deadline = firstProbe, time.Now().Add(s.holdTime)
		s.probe(c, h)
	}
	return after
}

// rejectHeld rejects all held drafts of a device. The caller holds c.mu, and calls finishAll with the result after it has released it.
func (s *Service) rejectHeld(c *conversation, h *heldDrafts, why error) (after []admission) {
	for _, d := range h.drafts {
		s.holdBudget.release(d)
		c.mailbox.gate.noteResult(d, why, s.deps.Clock)
		after = append(after, admission{draft: d, err: why, retryable: true})
	}
	h.drafts = nil
	c.endHold(h)
	return after
}

// endHold forgets that drafts of a device are held. The caller holds mu.
func (c *conversation) endHold(h *heldDrafts) {
	h.ended = true
	if h.timer != nil {
		h.timer.Stop()
	}
	delete(c.mailbox.held, h.by)
	c.mailbox.holding.Store(len(c.mailbox.held) > 0)
}

// noteStored goes on with the held drafts of a device of which a message was stored here.
func (s *Service) noteStored(c *conversation, by senderDevice, clientSeq uint64) {
	var after []admission
	c.mu.Lock()
	switch h := c.mailbox.held[by]; {
	case h == nil:
	case h.drafts[0].ClientSeq == clientSeq: // the device sent it again, with another previous message
		after = s.admitHeld(c, h)
	default:
		s.probe(c, h)
	}
	c.mu.Unlock()
	s.finishAll(c, after)
}

// stopHolding rejects all held drafts, and holds no more.
func (s *Service) stopHolding() {
	s.holdBudget.mu.Lock()
	s.holdBudget.stopped = true
	s.holdBudget.mu.Unlock()
	s.mu.Lock()
	var holding []*conversation
	for _, c := range s.conversations {
		if c.mailbox.holding.Load() {
			holding = append(holding, c)
		}
	}
	s.mu.Unlock()
	for _, c := range holding {
		var after []admission
		c.mu.Lock()
		for _, h := range c.mailbox.held {
			after = append(after, s.rejectHeld(c, h, timeline.ErrClosed)...)
		}
		c.mu.Unlock()
		s.finishAll(c, after)
	}
}

func (s *Service) finishAll(c *conversation, list []admission) {
	for _, a := range list {
		s.finishAdmission(c, a)
	}
}
