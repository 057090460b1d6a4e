package chat

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// loadTimeout bounds the load of a conversation. When it expires, the queued drafts are rejected.
const loadTimeout = 30 * time.Second

// loadAndDeliver loads the state, or verifies it, and delivers what is queued. The caller owns the mailbox.
func (s *Service) loadAndDeliver(c *conversation) {
	s.loadSlots <- struct{}{}
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	c.changeMu.Lock()
	err := s.verifyRejections(ctx, c)
	var st *state
	if err == nil {
		st, err = s.loadState(ctx, c)
	}
	if err == nil && st.kind == thread {
		err = s.addFollowersFor(ctx, c, st)
	}
	c.changeMu.Unlock()
	<-s.loadSlots
	if ctx.Err() != nil {
		err = busy(err)
	}
	loadErr := temporary(err)
	if loadErr != err {
		s.deps.Logger.Warn("who may write in a conversation is not known; its messages are refused for now", "conversation", c.id, "error", err)
	}
	s.deliver(c, loadErr)
}

// temporary makes an error that says nothing of the draft one after which it is sent again: a store could not be read, and who may write is not known.
// Corrupt data stays corrupt.
func temporary(err error) error {
	if e := errs.Of(err); e == nil || e.Kind != errs.Internal || e.Reason == timeline.ErrCorrupt.Reason || sqldb.IsCorruption(err) {
		return err
	}
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server cannot reach its stores at the moment; try again", Retry: time.Second, Cause: err}
}

// verifyRejections drops a state that rejects a queued draft if the log has a newer one. The caller holds changeMu.
func (s *Service) verifyRejections(ctx context.Context, c *conversation) error {
	c.mu.Lock()
	rejects := c.state != nil && c.state.rejectsAny(c.mailbox.queue, s.deps.Clock.Now().UnixMilli())
	c.mailbox.verifiable = len(c.mailbox.queue)
	c.mu.Unlock()
	if !rejects {
		return nil
	}
	tail, err := s.deps.Log.Tail(ctx, logKey(c.id))
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.invalidateBefore(tail.Access)
	c.mu.Unlock()
	return nil
}

// deliver appends the queued drafts in order, starting with those that the log rejected as stale. If the load failed with loadErr, it
// rejects them instead. The caller owns the mailbox, and releases it.
func (s *Service) deliver(c *conversation, loadErr error) {
	for {
		c.mu.Lock()
		next, batch := c.nextStep(s.deps.Clock.Now().UnixMilli(), loadErr != nil)
		c.mu.Unlock()
		switch next {
		case stepAppend:
			batch = s.cutAtReference(c, batch)
			st, rejections := s.check(c, batch, loadErr)
			s.appendWaiting(c, batch, st, rejections, loadErr)
			continue
		case stepLoad:
			go s.loadAndDeliver(c) // continues where this ends
		}
		return
	}
}

// appendWaiting appends the drafts of a batch that have no rejection. If the state is no longer the one with which they were checked, it
// requeues all.
func (s *Service) appendWaiting(c *conversation, batch []*message.Draft, checked *state, rejections []error, loadErr error) {
	m := &c.mailbox
	c.mu.Lock()
	changed := c.state == nil || checked == nil || c.state.access != checked.access
	if loadErr == nil && (changed || len(m.stale) > 0 || c.otherVersionInFlight()) {
		m.requeueBatch(batch)
		c.mu.Unlock()
		return
	}
	now := s.deps.Clock.Now().UnixMilli()
	for i, d := range batch {
		if loadErr != nil {
			rejections[i] = loadErr
			continue
		}
		if rejections[i] = temporary(rejections[i]); rejections[i] == nil {
			rejections[i] = c.state.admits(d, now)
		}
		// Also for a draft that was rejected: the message to which it refers may be the one that is retried.
		if err := m.gate.check(d, s.deps.Clock); err != nil {
			rejections[i] = err
		}
		if rejections[i] == nil {
			rejections[i] = s.append(c, d)
		}
		if rejections[i] != nil { // the log answers for the others
			m.gate.noteResult(d, rejections[i], s.deps.Clock) // before the device's next draft is appended
		}
	}
	c.mu.Unlock()
	s.explainRejections(checked, batch, rejections)
	for i, d := range batch {
		switch {
		case rejections[i] == nil:
		case loadErr != nil || errs.Of(rejections[i]).Retry != 0: // the device sends it again
			s.rejectRetryable(c, d, rejections[i])
		default:
			s.rejectUnlessStored(c, d, rejections[i])
		}
	}
}

// cutAtReference ends a batch before a draft that refers to a message by its client_seq, unless that is the first: the message may be one
// of those before it, and has a seq only after they were appended. The rest is queued again. The caller owns the mailbox.
func (s *Service) cutAtReference(c *conversation, batch []*message.Draft) []*message.Draft {
	for i, d := range batch {
		if i > 0 && d.RefersByClientSeq {
			c.mu.Lock()
			c.mailbox.requeueBatch(batch[i:])
			c.mu.Unlock()
			return batch[:i:i]
		}
	}
	return batch
}

// resolveConcurrency bounds the drafts of a batch that are resolved at the same time.
const resolveConcurrency = 16

// check returns for each draft why it must be rejected, beyond whether its sender may write: its upload, the message to which it
// refers, or its mentions. checked is the state with which it did so.
func (s *Service) check(c *conversation, batch []*message.Draft, loadErr error) (checked *state, rejections []error) {
	c.mu.Lock()
	checked = c.state
	c.mu.Unlock()
	if loadErr != nil || checked == nil {
		return checked, make([]error, len(batch))
	}
	rejections = make([]error, len(batch))
	if checked.kind == thread {
		if checked, rejections = s.checkReplies(checked, batch); checked.parent == nil {
			return checked, rejections
		}
	}
	s.checkUploads(checked, batch, rejections)
	slots := make(chan struct{}, resolveConcurrency)
	var resolving sync.WaitGroup
	for i, d := range batch {
		if d.Refers && rejections[i] == nil {
			slots <- struct{}{}
			resolving.Go(func() {
				rejections[i] = s.resolve(checked, d)
				<-slots
			})
		}
	}
	resolving.Wait()
	for i, d := range batch {
		if d.Mentions && rejections[i] == nil {
			rejections[i] = resolveMentions(checked, d, s.deps.Clock.Now().UnixMilli())
		}
		if d.LimitedSinceMs != 0 && rejections[i] == nil {
			rejections[i] = s.limit(checked, d)
		}
	}
	return checked, rejections
}

// checkUploads adds the rejections of drafts with uploads that their senders may not send. It skips senders who may not write.
func (s *Service) checkUploads(st *state, batch []*message.Draft, rejections []error) {
	if s.deps.CheckUploads == nil {
		return
	}
	now := s.deps.Clock.Now().UnixMilli()
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	var checked []int // indexes of batch, one for each upload
	var by []id.User
	var uploads []id.Upload
	for i, d := range batch {
		if len(d.Uploads) == 0 || rejections[i] != nil {
			continue
		}
		if rejections[i] = st.canSend(d.Sender, now); rejections[i] != nil {
			continue
		}
		for _, upload := range d.Uploads {
			checked, by, uploads = append(checked, i), append(by, d.Sender), append(uploads, upload)
		}
	}
	if len(checked) == 0 {
		return
	}
	for i, err := range s.deps.CheckUploads(ctx, st.id, by, uploads) { // one call for all, because the other drafts of the conversation wait for it
		if err == nil {
			continue
		}
		if d := batch[checked[i]]; d.LinkPreview && errs.Is(err, errs.NotFound) { // its only upload
			err = dropLinkPreview(d)
		}
		rejections[checked[i]] = err
	}
}
