package chat

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// What a device sends to a conversation is stored in its order. One message that is refused for now, and comes again later, must not
// find the next ones stored before it: those are refused as well, until it has come again, or its sender has let it be.

// letBe is how long, after the moment at which it may come again, a refused message is waited for.
const letBe = 5 * time.Second

// refusals are the earliest messages of devices that are to come again.
type refusals struct {
	some atomic.Bool // of has any

	mu sync.Mutex // guards of; nothing else is locked under it
	of map[author]refusal
}

type author struct {
	user   id.User
	device id.Device
}

type refusal struct {
	seq   uint64
	until int64 // ms
	why   error
}

// before gives why a draft is refused that comes behind one that was; nil: none was.
func (r *refusals) before(d *message.Draft, now clock.Clock) error {
	if d.ClientSeq == 0 || !r.some.Load() {
		return nil
	}
	nowMs := now.Now().UnixMilli()
	by := author{d.Sender, d.Device}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.of[by]
	switch late := ok && nowMs < f.until; {
	case late && d.ClientSeq > f.seq:
		return f.why
	case ok && (!late || d.ClientSeq == f.seq):
		delete(r.of, by)
		r.some.Store(len(r.of) > 0)
	}
	return nil
}

// note remembers a draft that was refused for now.
func (r *refusals) note(d *message.Draft, now clock.Clock) {
	if d.ClientSeq == 0 || d.Err == nil {
		return
	}
	e := errs.Of(d.Err)
	if e.Retry == 0 {
		return
	}
	nowMs := now.Now().UnixMilli()
	by := author{d.Sender, d.Device}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.of[by]; ok && f.seq <= d.ClientSeq && nowMs < f.until {
		return
	}
	if r.of == nil {
		r.of = map[author]refusal{}
	}
	r.of[by] = refusal{d.ClientSeq, nowMs + (e.Retry + letBe).Milliseconds(), d.Err}
	r.some.Store(true)
}
