package inputlimit

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// idleTimeout is how long the client of a Body may send no bytes.
const idleTimeout = 30 * time.Second

// ErrStalled is the error of a Body of which nothing came for idleTimeout, or not all in its time.
var ErrStalled = &errs.Error{Kind: errs.Unavailable, Reason: "timeout", Message: "nothing came of the file for too long; put it again", Retry: time.Second}

// Body is the body of a request that has a file. Reading it fails if no bytes arrive for idleTimeout, or not all of them in the time for the whole body.
//
// Its handler must close it: a goroutine that still reads, such as that of a request which sends the body on, would set deadlines on a connection that may have its next
// request by then.
type Body struct {
	from     io.Reader
	control  *http.ResponseController
	deadline time.Time       // of the whole body
	gone     <-chan struct{} // closed when the request ends
	reading  chan struct{}   // has an element while bytes are awaited

	mu      sync.Mutex // guards all below, and that no deadline is set after the end
	ended   bool       // all was read
	failure error      // why the body cannot be read any more
}

// NewBody returns the body of a request, which must have arrived within a time.
func NewBody(w http.ResponseWriter, r *http.Request, within time.Duration) *Body {
	return &Body{from: r.Body, control: http.NewResponseController(w), deadline: time.Now().Add(within), gone: r.Context().Done(), reading: make(chan struct{}, 1)}
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	b.reading <- struct{}{}
	defer func() { <-b.reading }()
	if err := b.begin(); err != nil {
		return 0, err
	}
	n, err := b.from.Read(p)
	if err != nil {
		err = b.end(err)
	}
	return n, err
}

// begin sets the deadline of a read. After the end there is none: net/http then reads on, without a deadline, to learn that the client has gone, and would take a deadline for that.
func (b *Body) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failure != nil:
		return b.failure
	case b.ended:
		return io.EOF
	}
	at := time.Now().Add(idleTimeout)
	if b.deadline.Before(at) {
		at = b.deadline
	}
	_ = b.control.SetReadDeadline(at) // a writer without deadlines, such as a recorder in a test, has no slow client
	return nil
}

// end notes the error of a read.
func (b *Body) end(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failure != nil:
		return b.failure
	case errors.Is(err, io.EOF):
		b.ended = true
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.failure = ErrStalled
		return ErrStalled
	}
	return err
}

// Interrupt fails a read that is in progress, and later ones, with a reason.
func (b *Body) Interrupt(reason error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure == nil {
		b.failure = reason
		_ = b.control.SetReadDeadline(time.Unix(1, 0)) // as in begin
	}
}

// Close implements io.Closer. A read that is in progress goes on, and sets no deadline any more.
func (b *Body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure == nil {
		b.failure = http.ErrBodyReadAfterClose
	}
	return nil
}

// Cause returns why the body failed in place of an error that may follow from it: ErrStalled, or the reason of Interrupt. net/http ends a request before the read that fails has
// returned, so Cause waits for that.
func (b *Body) Cause(err error) error {
	select {
	case <-b.gone:
		b.reading <- struct{}{}
		defer func() { <-b.reading }()
	default:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && b.failure != nil && !errors.Is(b.failure, http.ErrBodyReadAfterClose) {
		return b.failure
	}
	return err
}
