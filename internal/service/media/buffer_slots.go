package media

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

const (
	// maxBuffers is how many bodies without a length may keep a part in memory at once; others wait.
	maxBuffers = 8
	// maxUserBuffers of them are of one user.
	maxUserBuffers = 2
	// bufferWait is how long a request waits for its turn.
	bufferWait = 10 * time.Second
)

var errNoBuffer = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "too many bodies without a length arrive at once; send Content-Length, or try again", Retry: 5 * time.Second}

// bufferSlots are the turns of bodies without a length.
type bufferSlots struct {
	wait   time.Duration
	all    chan struct{} // holds one value for each body
	mu     sync.Mutex    // guards byUser
	byUser map[id.User]*userSlots
}

type userSlots struct {
	taken chan struct{} // holds one value for each body of the user
	users int           // requests that have a turn or wait for it
}

func newBufferSlots() *bufferSlots {
	return &bufferSlots{wait: bufferWait, all: make(chan struct{}, maxBuffers), byUser: map[id.User]*userSlots{}}
}

// acquire waits for a turn, for a limited time. Requests of a user that wait for the user's others keep none from another user.
func (b *bufferSlots) acquire(ctx context.Context, u id.User) (release func(), err error) {
	timer := time.NewTimer(b.wait)
	defer timer.Stop()
	own := b.enter(u)
	if err := takeSlot(ctx, own.taken, timer.C); err != nil {
		b.leave(u, own)
		return nil, err
	}
	if err := takeSlot(ctx, b.all, timer.C); err != nil {
		<-own.taken
		b.leave(u, own)
		return nil, err
	}
	return func() {
		<-b.all
		<-own.taken
		b.leave(u, own)
	}, nil
}

func takeSlot(ctx context.Context, slots chan struct{}, late <-chan time.Time) error {
	select {
	case slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-late:
		return errNoBuffer
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bufferSlots) enter(u id.User) *userSlots {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.byUser[u]
	if own == nil {
		own = &userSlots{taken: make(chan struct{}, maxUserBuffers)}
		b.byUser[u] = own
	}
	own.users++
	return own
}

func (b *bufferSlots) leave(u id.User, own *userSlots) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(b.byUser, u)
	}
}
