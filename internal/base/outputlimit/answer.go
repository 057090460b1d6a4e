package outputlimit

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/budget"
)

const (
	// unreadTime is how long a client may take for answerPiece bytes of a counted answer while unread answers use more than half of their
	// memory. Otherwise it has PieceTime for a piece.
	unreadTime  = 5 * time.Second
	answerPiece = 16 << 10
	// checkEvery is the interval of checks of an answer that is due.
	checkEvery = time.Second
)

type connectionKey struct{}

// WithConnection stores the connection of requests in their context, for AnswerWriter.
func WithConnection(ctx context.Context, c io.Closer) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// ConnectionOf returns the connection that WithConnection stored, or nil.
func ConnectionOf(ctx context.Context) io.Closer {
	c, _ := ctx.Value(connectionKey{}).(io.Closer)
	return c
}

// AnswerWriter writes one answer over HTTP. While unread answers use much of their memory, it ends an answer that Hold counted and whose client
// does not read. It belongs to the goroutine of its request.
type AnswerWriter struct {
	http.ResponseWriter // with deadlines
	limits              *Limits
	connection          io.Closer // nil: not known
	owner               budget.Owner
	held                int

	mu     sync.Mutex  // guards the fields below
	timer  *time.Timer // calls check; nil before the first write of a counted answer
	began  time.Time   // when the piece that is being written was begun
	ended  bool        // by check
	closed bool
}

// NewAnswerWriter returns a writer of the answer to a request with a context. All of it must be written within a time. The caller calls Close.
func (l *Limits) NewAnswerWriter(ctx context.Context, w http.ResponseWriter, within time.Duration) *AnswerWriter {
	return &AnswerWriter{ResponseWriter: WithWriteDeadlines(w, within), limits: l, connection: ConnectionOf(ctx)}
}

// Hold counts n bytes of the answer, until Close. It fails with ErrUnread if too many bytes wait already. It is called once, before Write.
func (a *AnswerWriter) Hold(owner budget.Owner, n int) error {
	if err := a.limits.Hold(owner, n); err != nil {
		return err
	}
	a.owner, a.held = owner, n
	return nil
}

// Write writes in pieces.
func (a *AnswerWriter) Write(b []byte) (n int, err error) {
	if a.held == 0 {
		return a.ResponseWriter.Write(b)
	}
	for {
		if err := a.begin(); err != nil {
			return n, err
		}
		k, err := a.ResponseWriter.Write(b[n:min(len(b), n+answerPiece)])
		if n += k; err != nil || n == len(b) {
			return n, err
		}
	}
}

// Flush writes what is buffered.
func (a *AnswerWriter) Flush() {
	if a.held != 0 && a.begin() != nil {
		return // the next write fails
	}
	if f, ok := a.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap returns the wrapped writer.
func (a *AnswerWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Close releases what Hold counted. The writer is not used afterwards.
func (a *AnswerWriter) Close() {
	a.mu.Lock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.mu.Unlock()
	a.limits.Release(a.owner, a.held)
}

// begin starts the time of a piece.
func (a *AnswerWriter) begin() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return os.ErrDeadlineExceeded
	}
	a.began = time.Now()
	if a.timer == nil {
		a.timer = time.AfterFunc(unreadTime, a.check)
	}
	return nil
}

// check ends the answer if its client has not read a piece in unreadTime, and unread answers use much of their memory. Over HTTP/2 this
// resets the stream. If nothing of the connection is read, not even that can be written, and the connection is closed.
func (a *AnswerWriter) check() {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := checkEvery
	switch took := time.Since(a.began); {
	case a.closed:
		return
	case a.ended:
		if a.connection != nil {
			_ = a.connection.Close() // it may be closed already
		}
		return
	case took < unreadTime:
		next = unreadTime - took
	case a.limits.UnderPressure():
		a.ended, next = true, unreadTime // a connection may have streams of others
		a.limits.cut.Add(1)
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Unix(1, 0)) // a writer without deadlines has no slow client
	}
	a.timer.Reset(next)
}
