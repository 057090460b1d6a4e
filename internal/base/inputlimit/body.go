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

// Its reader waits at most chunkTimeout for each chunkSize bytes of a Body, or for its end.
const (
	chunkSize    = 16 << 10
	chunkTimeout = 30 * time.Second
)

// ErrStalled is the error of a Body that does not arrive in its time.
var ErrStalled = &errs.Error{Kind: errs.Unavailable, Reason: "timeout", Message: "the file came too slowly; put it again", Retry: time.Second}

// Body is the body of a request that has a file. Reading it fails if its bytes arrive too slowly, or not all of them in the time for the whole body. A client does not answer for
// the time in which nobody reads, such as that of a slow store.
//
// Its handler must close it: a goroutine that still reads, such as that of a request which sends the body on, would set deadlines on a connection that may have its next
// request by then.
type Body struct {
	from     io.Reader
	control  *http.ResponseController
	deadline time.Time       // of the whole body
	gone     <-chan struct{} // closed when the request ends
	reading  chan struct{}   // has an element while bytes are awaited
	pace     pace            // of the one that reads

	mu      sync.Mutex // guards all below, and that no deadline is set after the end
	ended   bool       // all was read
	failure error      // why the body cannot be read any more
}

// NewBody returns the body of a request, which must have arrived within a time.
func NewBody(w http.ResponseWriter, r *http.Request, within time.Duration) *Body {
	return NewPacedBody(w, r, within, nil)
}

// NewPacedBody is NewBody for a client that must not hold a place with few bytes: all the time that its reader has waited must be within that for the bytes that have arrived.
func NewPacedBody(w http.ResponseWriter, r *http.Request, within time.Duration, forBytes func(n int64) time.Duration) *Body {
	return &Body{from: r.Body, control: http.NewResponseController(w), deadline: time.Now().Add(within), gone: r.Context().Done(), reading: make(chan struct{}, 1),
		pace: pace{forBytes: forBytes, chunkLeft: chunkSize, chunkTime: chunkTimeout}}
}

// pace is how fast a body arrives.
type pace struct {
	received  int64
	waited    time.Duration
	forBytes  func(n int64) time.Duration // may be nil
	chunkLeft int                         // what has not arrived of the present chunk
	chunkTime time.Duration               // what is left of the time for it
}

// left is how long the next bytes may take.
func (p *pace) left() time.Duration {
	if p.forBytes == nil {
		return p.chunkTime
	}
	return min(p.chunkTime, p.forBytes(p.received)-p.waited)
}

// add counts bytes for which the reader has waited.
func (p *pace) add(n int, waited time.Duration) {
	p.received, p.waited = p.received+int64(n), p.waited+waited
	p.chunkLeft, p.chunkTime = p.chunkLeft-n, p.chunkTime-waited
	if p.chunkLeft <= 0 {
		p.chunkLeft, p.chunkTime = chunkSize, chunkTimeout
	}
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	b.reading <- struct{}{}
	defer func() { <-b.reading }()
	began := time.Now()
	if err := b.begin(began.Add(b.pace.left())); err != nil {
		return 0, err
	}
	n, err := b.from.Read(p)
	b.pace.add(n, time.Since(began))
	if err != nil {
		err = b.end(err)
	}
	return n, err
}

// begin sets the deadline of a read, unless that of the whole body is earlier. After the end there is none: net/http then reads on, without a deadline, to learn that the client has gone, and would take a deadline for that.
func (b *Body) begin(at time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failure != nil:
		return b.failure
	case b.ended:
		return io.EOF
	}
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
