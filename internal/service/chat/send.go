package chat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Submit stores a draft. It calls Done when the draft is durable or rejected. It does not block.
func (s *Service) Submit(d *message.Draft) {
	if err := s.validate(d); err != nil {
		reject(d, err)
		return
	}
	if err := s.checkWords(d); err != nil {
		s.rejectUnlessStored(s.conversation(d.Conversation), d, err)
		return
	}
	s.submitAsked(d)
}

// submitAsked is Submit of a draft that is valid. The webhook before_send is asked about it.
func (s *Service) submitAsked(d *message.Draft) {
	if s.beforeSend != nil && s.holdForHook(d) {
		return
	}
	s.submitValid(d)
}

// submitValid is Submit of a draft that is valid, and about which the webhook is not asked: only the server makes it, or it was asked.
func (s *Service) submitValid(d *message.Draft) {
	if err := stampBridge(d); err != nil {
		reject(d, err)
		return
	}
	if s.deps.LimitedSince != nil {
		d.LimitedSinceMs = s.deps.LimitedSince(d.Sender)
	}
	for !s.submit(s.conversation(d.Conversation), d) { //nolint:revive // the conversation was evicted between the two calls
	}
}

// Send is Submit followed by a wait for the result. If ctx ends first, the outcome is unknown.
func (s *Service) Send(ctx context.Context, d *message.Draft) error {
	return send(ctx, d, s.Submit)
}

func send(ctx context.Context, d *message.Draft, submit func(*message.Draft)) error {
	d.Request = tracing.ContextOf(ctx)
	done := make(chan struct{})
	d.Done = func(*message.Draft) { close(done) }
	submit(d)
	select {
	case <-done:
		return d.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// submit appends a draft, or queues it. It returns false if the conversation was evicted from memory.
func (s *Service) submit(c *conversation, d *message.Draft) bool {
	m := &c.mailbox
	c.mu.Lock()
	if c.detached {
		c.mu.Unlock()
		return false
	}
	if err := m.gate.check(d, s.deps.Clock); err != nil {
		c.mu.Unlock()
		reject(d, err)
		return true
	}
	if err := s.refuseOverloaded(c, d); err != nil {
		m.gate.noteResult(d, err, s.deps.Clock)
		c.mu.Unlock()
		reject(d, err)
		return true
	}
	if d.PrevClientSeq != 0 || len(m.held) > 0 {
		held, err := s.hold(c, d)
		if err != nil {
			m.gate.noteResult(d, err, s.deps.Clock)
			c.mu.Unlock()
			reject(d, err)
			return true
		}
		if held {
			c.mu.Unlock()
			return true
		}
	}
	a := s.admit(c, d)
	c.mu.Unlock()
	s.finishAdmission(c, a)
	return true
}

// admission is what remains to be done for a draft that was admitted, without the lock of its conversation.
type admission struct {
	load      bool           // the caller of admit must load the state
	draft     *message.Draft // not admitted, because of err; nil if it was
	err       error
	retryable bool // the device sends it again; otherwise it may be the retry of a stored message
}

// admit appends a draft, or queues it. The caller holds c.mu, and calls finishAdmission after it has released it.
func (s *Service) admit(c *conversation, d *message.Draft) admission {
	m := &c.mailbox
	if m.is(phaseOpen) && s.relationExpired(c.state) {
		c.state = nil
	}
	// If the state permits the sender, the log verifies that at the append. If not, the draft is rejected only after the state was compared
	// with the log, because another node may have added the sender.
	direct := d.Bridge == nil && m.is(phaseOpen) && c.state != nil && c.state.kind != thread && len(d.Uploads) == 0 && !d.Refers && !d.Mentions && d.LimitedSinceMs == 0 && c.state.canSend(d.Sender, s.deps.Clock.Now().UnixMilli()) == nil && !c.otherVersionInFlight()
	if !direct {
		ok, load := m.enqueue(d)
		if !ok {
			return admission{draft: d, err: timeline.ErrBusy, retryable: true}
		}
		return admission{load: load}
	}
	// With mu held, so that a sender's drafts reach the log in order.
	if err := s.append(c, d); err != nil {
		return admission{draft: d, err: err}
	}
	return admission{}
}

// finishAdmission loads the state, or rejects the draft.
func (s *Service) finishAdmission(c *conversation, a admission) {
	switch {
	case a.load:
		go s.loadAndDeliver(c) // ends when the queue is empty; at most 64 load at once
	case a.draft == nil:
	case a.retryable:
		s.rejectRetryable(c, a.draft, a.err)
	default:
		s.rejectUnlessStored(c, a.draft, a.err)
	}
}

// pendingAppend is a draft in flight.
type pendingAppend struct {
	service      *Service
	conversation *conversation
	draft        *message.Draft
	began        time.Time // zero: its wait is not measured
	traced       time.Time // when it was appended, if append.Traced is set
	append       timeline.AppendRequest
	list         [1]*timeline.AppendRequest // the argument of Log.Append, without an allocation
}

var pendingAppends = sync.Pool{New: func() any { return new(pendingAppend) }}

// append submits a draft to the log. It fails if no message id is available. The caller holds c.mu.
func (s *Service) append(c *conversation, d *message.Draft) (err error) {
	if d.ID, err = s.deps.MessageIDs.Next(uint8(c.state.kind), d.Conversation); err != nil {
		return err
	}
	d.Unpark()
	p := pendingAppends.Get().(*pendingAppend)
	p.service, p.conversation, p.draft = s, c, d
	if s.deps.Overload.Samples() {
		p.began = time.Now()
	}
	e := message.Entry{ID: d.ID, Sender: d.Sender, Device: d.Device, ClientSeq: d.ClientSeq, Updates: d.Updates, Limited: d.Limited, Content: d.Content}
	author := uint64(d.Sender)
	counts := e.Counts()
	if !counts {
		author = 0 // what does not count does not move its author's read cursor
	}
	p.append = timeline.AppendRequest{
		Key: logKey(d.Conversation), Payload: e.Append(make([]byte, 0, len(d.Content)+40)), Token: dedupToken(d), Author: author,
		Counts: counts, CheckAccess: true, ExpectedAccess: c.state.access, NeedsFanout: true, Done: appendCompleted, UserData: p,
	}
	c.mailbox.inFlightAccess = c.state.access
	c.mailbox.inFlight.Add(1)
	s.trace(p)
	p.list[0] = &p.append
	s.deps.Log.Append(p.list[:]...)
	return nil
}

// appendCompleted is called by the log.
func appendCompleted(a *timeline.AppendRequest) {
	p := a.UserData.(*pendingAppend)
	s, c, d := p.service, p.conversation, p.draft
	setResult(d, a)
	access := a.ExpectedAccess
	if !p.began.IsZero() && !errors.Is(d.Err, timeline.ErrBusy) { // a full queue refuses at once
		s.deps.Overload.Observe(time.Since(p.began))
	}
	s.recordAppend(p)
	*p = pendingAppend{}
	pendingAppends.Put(p)
	stale := errors.Is(d.Err, timeline.ErrStale)
	load := false
	if stale {
		load = c.requeueStale(d, access)
	} else {
		c.mailbox.gate.noteResult(d, d.Err, s.deps.Clock)
	}
	if c.appendDone() || load {
		go s.loadAndDeliver(c) // ends when the queue is empty; at most 64 load at once
	}
	if d.Err == nil && c.mailbox.holding.Load() && d.ClientSeq != 0 {
		go s.noteStored(c, senderDevice{d.Sender, d.Device}, d.ClientSeq) // ends at once
	}
	if d.Err == nil && !d.Duplicate && d.FlaggedWord != "" {
		s.flagMessage(d)
	}
	if d.Err == nil && !d.Duplicate && d.ID.Type() == uint8(thread) {
		s.threadUpdates.note(d.Conversation)
	}
	if !stale {
		s.complete(d)
	}
}

// complete answers a draft. That of an update, of a streamed message or of a message with mentions is answered once these are applied, because from then on all
// reads must show them.
func (s *Service) complete(d *message.Draft) {
	if errors.Is(d.Err, errExpired) {
		s.completeOldRetry(d)
		return
	}
	if d.Err != nil || d.Updates == 0 && !d.Mentions && !d.Streamed {
		d.Done(d)
		return
	}
	if !s.applying.start() { // after Run: the next start's fan-out applies it
		reject(d, busy(nil))
		return
	}
	go func() { // ends when the update is applied, at the latest after applyTimeout; Run waits for it
		defer s.applying.end()
		s.applyStored(d)
	}()
}

// dedupToken makes a retry of a draft harmless.
func dedupToken(d *message.Draft) timeline.Token {
	if d.Bridge != nil {
		return bridgeToken(d.Conversation, d.Bridge.Name, d.Bridge.ExternalID)
	}
	t := timeline.Token{Sender: uint64(d.Sender), Device: uint64(d.Device), Counter: d.ClientSeq}
	if d.ClientSeq == 0 {
		b := binary.BigEndian.AppendUint64(nil, uint64(d.Conversation))
		b = binary.BigEndian.AppendUint64(b, uint64(d.Sender))
		b = binary.BigEndian.AppendUint64(b, uint64(d.Device))
		sum := sha256.Sum256(append(b, d.ClientMsgID...))
		copy(t.Sum[:], sum[:])
	}
	return t
}

var errExpired = errs.New(errs.Conflict, "expired", "this message was stored before and has expired")

// setResult copies the log's answer to a draft.
func setResult(d *message.Draft, a *timeline.AppendRequest) {
	d.Seq, d.Counted, d.Duplicate, d.Err = a.Seq, a.Counted, a.Duplicate, a.Err
	if d.Err != nil || !d.Duplicate {
		return
	}
	if a.StoredPayload == nil {
		d.Err = errExpired
		return
	}
	var e message.Entry
	if err := e.Decode(a.StoredPayload); err != nil {
		d.Err = err
	} else if d.ID, d.Updates = e.ID, e.Updates; !d.Asked && d.Bridge == nil && !sameContent(d, e.Content) {
		d.Err = timeline.ErrIDReuse
	} else if d.Mentions {
		d.Content = bytes.Clone(e.Content) // whom the roles named when it was stored
	}
}

func reject(d *message.Draft, err error) {
	d.Err = err
	d.Done(d)
}

// rejectRetryable rejects a draft with an error that may be temporary.
func (s *Service) rejectRetryable(c *conversation, d *message.Draft, err error) {
	d.Err = err
	c.mailbox.gate.noteResult(d, d.Err, s.deps.Clock)
	d.Done(d)
}

// rejectUnlessStored rejects a draft, except for the retry of a stored message. The retry gets the receipt, even if the permission has
// changed since.
func (s *Service) rejectUnlessStored(c *conversation, d *message.Draft, why error) {
	s.lookUp(d, func(a *timeline.AppendRequest) {
		if errors.Is(a.Err, timeline.ErrStale) {
			a.Err = why
		}
		setResult(d, a)
		c.mailbox.gate.noteResult(d, d.Err, s.deps.Clock)
		s.complete(d)
	})
}
