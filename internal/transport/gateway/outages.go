package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

const (
	// longestOutage is how long sends are held. Once nothing could be stored for so long, in a conversation or on this node, sends are refused at once.
	longestOutage = 30 * time.Minute
	// outageOver is when an outage is forgotten in which nobody sends.
	outageOver = 5 * time.Minute
	// maxOutages bounds the conversations of which outages are known. Beyond it, that of the node decides.
	maxOutages = 64 << 10
)

// outages knows since when no message could be stored. Each refusal and each stored message is noted; the first to be stored ends an outage. The zero value
// is ready.
type outages struct {
	known atomic.Int32 // len(of)

	mu sync.RWMutex // guards of
	of map[id.Conversation]outage
}

// outage of a conversation, or of the node, which has the key 0.
type outage struct{ since, last time.Time }

// recordFailure notes that a message could not be stored. It reports whether that has been so for too long to hold more.
func (o *outages) recordFailure(c id.Conversation, now time.Time) (long bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[id.Conversation]outage{}
	}
	for _, key := range [...]id.Conversation{0, c} {
		at, known := o.of[key]
		if !known && len(o.of) >= maxOutages {
			continue
		}
		if !known || now.Sub(at.last) >= outageOver {
			at.since = now
		}
		at.last = now
		o.of[key] = at
		long = long || now.Sub(at.since) >= longestOutage
	}
	o.known.Store(int32(len(o.of)))
	return long
}

// recordSuccess notes that a message was stored.
func (o *outages) recordSuccess(c id.Conversation) {
	if o.known.Load() == 0 {
		return
	}
	o.mu.RLock()
	_, node := o.of[0]
	_, known := o.of[c]
	o.mu.RUnlock()
	if !node && !known {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.of, 0)
	delete(o.of, c)
	o.known.Store(int32(len(o.of)))
}

// forget drops outages in which nobody sends.
func (o *outages) forget(now time.Time) {
	if o.known.Load() == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, at := range o.of {
		if now.Sub(at.last) >= outageOver {
			delete(o.of, key)
		}
	}
	o.known.Store(int32(len(o.of)))
}
