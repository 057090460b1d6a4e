package chat

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// senderGate keeps the order of what the devices of a conversation send: it has the retries that are expected of each.
type senderGate struct {
	closed atomic.Bool // bySender has an entry

	mu       sync.Mutex // guards bySender; nothing else is locked under it
	bySender map[senderDevice]*message.ExpectedRetries
}

type senderDevice struct {
	user   id.User
	device id.Device
}

// check returns an error if an earlier draft of the device was rejected and has not been retried (message.ExpectedRetries).
func (r *senderGate) check(d *message.Draft, now clock.Clock) error {
	if d.ClientSeq == 0 || !r.closed.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	by := senderDevice{d.Sender, d.Device}
	expected := r.bySender[by]
	if expected == nil {
		return nil
	}
	err := expected.Check(d, now.Now())
	r.removeIfEmpty(by, expected)
	return err
}

// noteResult closes the gate of a device behind its draft if that was rejected with a retryable error. If it was stored or rejected for good, it is not expected any
// more, also where a copy of it was rejected. why is nil if it was stored.
func (r *senderGate) noteResult(d *message.Draft, why error, now clock.Clock) {
	comesAgain := why != nil && errs.Of(why).Retry > 0
	if d.ClientSeq == 0 || !comesAgain && !r.closed.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	by := senderDevice{d.Sender, d.Device}
	expected := r.bySender[by]
	switch {
	case comesAgain && expected == nil:
		expected = &message.ExpectedRetries{}
		if r.bySender == nil {
			r.bySender = map[senderDevice]*message.ExpectedRetries{}
		}
		r.bySender[by] = expected
		r.closed.Store(true)
	case expected == nil:
		return
	}
	if comesAgain {
		expected.Expect(d.ClientSeq, why, now.Now())
		return
	}
	expected.Forget(d.ClientSeq)
	r.removeIfEmpty(by, expected)
}

// isClosed reports whether a retry of any device is expected. It forgets those that have been given up.
func (r *senderGate) isClosed(now time.Time) bool {
	if !r.closed.Load() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for by, expected := range r.bySender {
		if !now.Before(expected.Until()) {
			delete(r.bySender, by)
		}
	}
	r.closed.Store(len(r.bySender) > 0)
	return len(r.bySender) > 0
}

// removeIfEmpty opens the gate of a device of which nothing is expected. The caller holds mu.
func (r *senderGate) removeIfEmpty(by senderDevice, expected *message.ExpectedRetries) {
	if expected.IsEmpty() {
		delete(r.bySender, by)
		r.closed.Store(len(r.bySender) > 0)
	}
}
