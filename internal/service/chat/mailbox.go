package chat

import (
	"slices"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/message"
)

// phase of a mailbox. The package documentation shows the transitions; this file has all of them.
type phase uint32

const (
	// phaseOpen: the queue is empty. A draft whose sender may write goes straight to the log.
	phaseOpen phase = iota
	// phaseLoading: a goroutine loads or verifies the conversation's state.
	phaseLoading
	// phaseChanging: a control entry is on its way to the log.
	phaseChanging
	// phaseDelivering: a goroutine checks queued drafts and appends them.
	phaseDelivering
	// phaseDraining: drafts with another access version are in flight. The last of them to complete continues.
	phaseDraining
)

// mailbox keeps the drafts of a conversation in the order in which their senders submitted them. In phaseOpen it keeps none. In each
// other phase one goroutine owns it, or will be started by the last append in flight, and drafts queue.
type mailbox struct {
	phase atomic.Uint32 // written with conversation.mu held; read without it when an append completes
	// stale drafts were appended, and the log rejected them because of a newer access version. They go before the queue.
	stale []*message.Draft
	queue []*message.Draft
	// verifiable is how many drafts at the start of the queue arrived before the state was last compared with the log. The state may reject
	// only these: another node may have added the sender of a later one since.
	verifiable int
	// minAccess is the lowest access version that the log has not rejected yet.
	minAccess uint64
	// inFlightAccess is the access version of the drafts in flight. Drafts of another version wait for them to complete. Otherwise a draft
	// that the log rejects as stale would be stored after its sender's next.
	inFlightAccess uint64
	inFlight       atomic.Int64 // drafts whose append has not completed
	gate           senderGate
	held           map[senderDevice]*heldDrafts // see send_order.go
	holding        atomic.Bool                  // held has an entry; written with conversation.mu held
}

// maxQueuedDrafts bounds the queue of one conversation.
const maxQueuedDrafts = 4096

func (m *mailbox) is(p phase) bool { return phase(m.phase.Load()) == p }

// enter sets the phase. The caller holds conversation.mu.
func (m *mailbox) enter(p phase) { m.phase.Store(uint32(p)) }

// startLoading makes the caller the owner of an open mailbox. It reports whether the caller must load the state. The caller holds
// conversation.mu.
func (m *mailbox) startLoading() bool {
	if !m.is(phaseOpen) {
		return false
	}
	m.enter(phaseLoading)
	return true
}

// startChange makes the caller the owner of an open mailbox. Otherwise the present owner delivers what is queued. The caller holds
// conversation.mu.
func (m *mailbox) startChange() (owner bool) {
	if !m.is(phaseOpen) {
		return false
	}
	m.enter(phaseChanging)
	return true
}

// enqueue adds a draft to the queue, unless that is full. It reports whether the caller must load the state. The caller holds
// conversation.mu.
func (m *mailbox) enqueue(d *message.Draft) (ok, load bool) {
	if len(m.queue) >= maxQueuedDrafts {
		return false, false
	}
	d.Park()
	m.queue = append(m.queue, d)
	return true, m.startLoading()
}

// requeueBatch returns a batch that was not appended to the queue. The caller holds conversation.mu.
func (m *mailbox) requeueBatch(batch []*message.Draft) {
	m.queue = append(batch, m.queue...)
	m.verifiable += len(batch)
}

// requeueStale queues a draft again that the log rejected as stale, because another node changed the access list. It reports whether the
// caller must load the state.
func (c *conversation) requeueStale(d *message.Draft, access uint64) (load bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.mailbox
	m.minAccess = max(m.minAccess, access+1)
	m.stale = append(m.stale, d)
	if !m.startLoading() {
		return false
	}
	c.invalidateBefore(m.minAccess)
	return true
}

// otherVersionInFlight reports whether drafts with another access version than the state's are in flight. The caller holds mu.
func (c *conversation) otherVersionInFlight() bool {
	return c.mailbox.inFlight.Load() > 0 && (c.state == nil || c.mailbox.inFlightAccess != c.state.access)
}

// appendDone removes a draft from those in flight. It reports whether the caller must load the state, because the mailbox waited for this
// draft last.
func (c *conversation) appendDone() (load bool) {
	m := &c.mailbox
	if m.inFlight.Add(-1) > 0 || !m.is(phaseDraining) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !m.is(phaseDraining) || m.inFlight.Load() > 0 {
		return false
	}
	m.enter(phaseLoading)
	return true
}

// step is the next action of a mailbox's owner.
type step uint8

const (
	stepOpen   step = iota // do nothing: the queue is empty, and the mailbox is open
	stepDrain              // do nothing: the last append in flight continues
	stepLoad               // load or verify the state, then call nextStep again
	stepAppend             // append the batch, then call nextStep again
)

// nextStep returns the step after the state was loaded, a change has ended or a batch was appended. If the load failed, the batch has all
// queued drafts, to be rejected. The caller owns the mailbox, and holds mu.
func (c *conversation) nextStep(nowMs int64, loadFailed bool) (step, []*message.Draft) {
	m := &c.mailbox
	if c.otherVersionInFlight() {
		m.enter(phaseDraining)
		if m.inFlight.Load() > 0 {
			return stepDrain, nil
		}
		// The last append completed without seeing the phase.
	}
	n := len(m.queue)
	if !loadFailed {
		if c.state == nil || c.state.access < m.minAccess {
			c.state = nil
			m.enter(phaseLoading)
			return stepLoad, nil
		}
		if c.state.rejectsAny(m.queue[m.verifiable:], nowMs) {
			n = m.verifiable
			if n == 0 && len(m.stale) == 0 {
				m.enter(phaseLoading)
				return stepLoad, nil
			}
		}
	}
	batch := append(m.stale, m.queue[:n]...)
	m.stale, m.queue, m.verifiable = nil, slices.Clone(m.queue[n:]), 0
	if len(batch) == 0 {
		m.enter(phaseOpen)
		return stepOpen, nil
	}
	m.enter(phaseDelivering)
	return stepAppend, batch
}
