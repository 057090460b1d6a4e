package media

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
)

// maxConcurrentPuts to one URL. Each may write a whole file to the disk, while the quota counts one. A further request evicts the
// oldest, whose connection is probably broken.
const maxConcurrentPuts = 3

var errSuperseded = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "this file is being put by later requests; try again", Retry: time.Second}

// uploadBody is the body of a PUT, which a later request may end.
type uploadBody struct {
	*inputlimit.Body
	cancel context.CancelFunc
}

// evict ends the request.
func (b *uploadBody) evict() {
	b.cancel()
	b.Interrupt(errSuperseded)
}

// activeUploads are the PUT requests in progress; those of one target are ordered by age, the oldest first.
type activeUploads struct {
	mu       sync.Mutex // guards of, and prevents the eviction of a request that has left; locked before the mutex of an inputlimit.Body
	byTarget map[partID][]*uploadBody
}

// add registers a request, and closes its body, when leave is called. It evicts the oldest request of the target if there are more than limit.
func (p *activeUploads) add(ctx context.Context, n partID, limit int, body *inputlimit.Body) (in context.Context, leave func()) {
	in, cancel := context.WithCancel(ctx)
	b := &uploadBody{body, cancel}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byTarget == nil {
		p.byTarget = map[partID][]*uploadBody{}
	}
	list := append(p.byTarget[n], b)
	if len(list) > limit {
		list[0].evict()
		list = slices.Delete(list, 0, 1)
	}
	p.byTarget[n] = list
	return in, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		b.cancel()
		_ = b.Close() // it cannot fail
		if p.byTarget[n] = slices.DeleteFunc(p.byTarget[n], func(o *uploadBody) bool { return o == b }); len(p.byTarget[n]) == 0 {
			delete(p.byTarget, n)
		}
	}
}

// evict ends all requests of an upload: it was aborted.
func (p *activeUploads) evict(n id.Upload) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for target, list := range p.byTarget {
		if target.upload == n {
			for _, b := range list {
				b.evict()
			}
		}
	}
}
