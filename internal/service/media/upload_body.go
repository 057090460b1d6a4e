package media

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

const (
	// readIdleTimeout is how long a client may send no bytes.
	readIdleTimeout = 30 * time.Second
	// maxConcurrentPuts to one URL. Each may write a whole file to the disk, while the quota counts one. A further request evicts the
	// oldest, whose connection is probably broken.
	maxConcurrentPuts = 3
)

var (
	errSuperseded = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "this file is being put by later requests; try again", Retry: time.Second}
	errStalled    = &errs.Error{Kind: errs.Unavailable, Reason: "timeout", Message: "nothing came of the file for too long; put it again", Retry: time.Second}
)

// uploadBody reads the bytes of a PUT.
type uploadBody struct {
	from     io.Reader
	control  *http.ResponseController
	deadline time.Time // the whole body must have arrived
	cancel   context.CancelFunc

	mu      sync.Mutex // guards evicted, and that no deadline is set after it
	evicted bool
}

// Read fails if no bytes arrive within readIdleTimeout.
func (b *uploadBody) Read(p []byte) (int, error) {
	ends := time.Now().Add(readIdleTimeout)
	if b.deadline.Before(ends) {
		ends = b.deadline
	}
	if !b.setDeadline(ends) {
		return 0, errSuperseded
	}
	n, err := b.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.classify(err)
	}
	return n, err
}

func (b *uploadBody) setDeadline(at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.evicted {
		_ = b.control.SetReadDeadline(at) // a writer without deadlines, such as a recorder in a test, has no slow client
	}
	return !b.evicted
}

// evict ends the request.
func (b *uploadBody) evict() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.evicted = true
	b.cancel()
	_ = b.control.SetReadDeadline(time.Unix(1, 0)) // as above
}

// classify replaces the error of a failed PUT if the client caused it.
func (b *uploadBody) classify(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.evicted:
		return errSuperseded
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errStalled
	}
	return err
}

// activeUploads are the PUT requests in progress; those of one target are ordered by age, the oldest first.
type activeUploads struct {
	mu       sync.Mutex // guards of, and prevents the eviction of a request that has left; locked before uploadBody.mu
	byTarget map[partID][]*uploadBody
}

// add registers a request until leave is called. It evicts the oldest request of the target if there are more than limit.
func (p *activeUploads) add(ctx context.Context, n partID, limit int, b *uploadBody) (in context.Context, leave func()) {
	in, b.cancel = context.WithCancel(ctx)
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
