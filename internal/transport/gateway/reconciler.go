package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// reconciler compares connections with the stores. The bus may lose a push, and a device notices a missing event only when the next one
// arrives; the bus may also lose the notice that a user joined or left a large conversation. The reconciler has a device sync if it is
// behind, and repairs which large conversations its connection follows. It checks soon where something may have been lost (a gap on the
// bus, a partition that moved, a conversation that is newly followed, a user who joined or left), and everything in a slow round.
type reconciler struct {
	server     *Server
	wake       chan struct{} // allDue, partitions or users
	newFollows chan struct{} // newlyFollowed
	generation atomic.Uint64 // counts the readings of the rows that say what users follow

	mu            sync.Mutex // guards the fields below
	allDue        bool       // everything is requested
	partitions    map[int]bool
	users         map[id.User]bool         // with connections here
	newlyFollowed map[id.Conversation]bool // newly followed here
}

const (
	// A connection that is behind at two checks confirmAfter apart missed an event. At one check, it may only be in flight.
	confirmAfter = time.Second
	// The slow round pauses for readPause after readsPerPause reads.
	readsPerPause = 100
	readPause     = 50 * time.Millisecond
	// Requests are served by reconcileReaders at once. Each reads reconcileBatch users or conversations in one query.
	reconcileReaders = 8
	reconcileBatch   = 512
	// reconcileTimeout bounds one query.
	reconcileTimeout = 10 * time.Second
	// reconcileShards is into how many parts a round over all connections is divided.
	reconcileShards = hubShards
)

func newReconciler(s *Server) *reconciler {
	return &reconciler{server: s, wake: make(chan struct{}, 1), newFollows: make(chan struct{}, 1), partitions: map[int]bool{}, users: map[id.User]bool{}, newlyFollowed: map[id.Conversation]bool{}}
}

// requestAll has everything checked soon. It does not block.
func (k *reconciler) requestAll() {
	k.mu.Lock()
	k.allDue = true
	k.mu.Unlock()
	wakeup.Signal(k.wake)
}

// Recheck has the connections of a partition's users, and its large conversations, checked soon.
func (s *Server) Recheck(partition int) {
	s.reconciler.mu.Lock()
	s.reconciler.partitions[partition] = true
	s.reconciler.mu.Unlock()
	wakeup.Signal(s.reconciler.wake)
}

// requestUser has the connections of one user checked soon.
func (k *reconciler) requestUser(u id.User) {
	k.mu.Lock()
	k.users[u] = true
	k.mu.Unlock()
	wakeup.Signal(k.wake)
}

// requestConversation has a conversation checked once its messages are known to reach this node.
func (k *reconciler) requestConversation(c id.Conversation) {
	k.mu.Lock()
	k.newlyFollowed[c] = true
	k.mu.Unlock()
	wakeup.Signal(k.newFollows)
}

// takePartitions removes the requested partitions, and returns a filter for them; nil if there are none.
func (k *reconciler) takePartitions() (which func(of uint64) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	every, parts := k.allDue, k.partitions
	k.allDue, k.partitions = false, map[int]bool{}
	switch {
	case every:
		return anyOf
	case len(parts) > 0:
		return func(of uint64) bool { return parts[k.server.partition(of)] }
	}
	return nil
}

func anyOf(uint64) bool { return true }

// takeUsers removes and returns the requested users.
func (k *reconciler) takeUsers() map[id.User]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.users) == 0 {
		return nil
	}
	users := k.users
	k.users = map[id.User]bool{}
	return users
}

// takeNewlyFollowed removes and returns the newly followed conversations.
func (k *reconciler) takeNewlyFollowed() map[id.Conversation]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	fresh := k.newlyFollowed
	k.newlyFollowed = map[id.Conversation]bool{}
	return fresh
}

func (s *Server) partition(of uint64) int {
	if s.deps.Partition == nil {
		return 0
	}
	return s.deps.Partition(of)
}

// run checks until ctx ends. Requests do not wait for the slow round, and newly followed conversations wait for neither.
func (k *reconciler) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { k.runRequested(ctx) })
	group.Go(func() { k.runNewlyFollowed(ctx) })
	tick := time.NewTicker(k.server.config.CheckEvery / reconcileShards)
	defer tick.Stop()
	for slice := 0; ; slice = (slice + 1) % reconcileShards {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l := reconcilePass{server: k.server}
			l.reconcileShard(ctx, slice)
			l.confirmAll(ctx)
		}
	}
}

func (k *reconciler) runNewlyFollowed(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.newFollows:
			l := reconcilePass{server: k.server, retry: true}
			l.reconcileNewlyFollowed(ctx, k.takeNewlyFollowed())
			l.confirmAll(ctx)
		}
	}
}

// runRequested serves requests while suspects of earlier passes wait for their confirmation.
func (k *reconciler) runRequested(ctx context.Context) {
	l := reconcilePass{server: k.server, retry: true}
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			k.reconcileRequested(ctx, &l)
		case <-l.nextConfirmation():
		}
		l.confirm(time.Now().Add(-confirmAfter))
	}
}

// reconcileRequested checks all that is requested, with several readers at once. Single users are few, and do not wait for whole
// partitions.
func (k *reconciler) reconcileRequested(ctx context.Context, l *reconcilePass) {
	work := make(chan func(context.Context))
	var readers sync.WaitGroup
	for range reconcileReaders {
		readers.Go(func() {
			for read := range work {
				within, cancel := context.WithTimeout(ctx, reconcileTimeout)
				read(within)
				cancel()
			}
		})
	}
	named := func() {
		for some := range slices.Chunk(slices.Collect(maps.Keys(k.takeUsers())), reconcileBatch) {
			work <- func(ctx context.Context) { l.reconcileUsers(ctx, some) }
		}
	}
	named()
	which := k.takePartitions()
	for i := 0; i < reconcileShards && which != nil && ctx.Err() == nil; i++ {
		users, conversations := k.server.hub.shardContents(i, which)
		for some := range slices.Chunk(users, reconcileBatch) {
			work <- func(ctx context.Context) { l.reconcileUsers(ctx, some) }
		}
		for some := range slices.Chunk(conversations, reconcileBatch) {
			work <- func(ctx context.Context) { l.reconcileConversations(ctx, some) }
		}
		named()
		l.confirm(time.Now().Add(-confirmAfter))
	}
	close(work)
	readers.Wait()
	l.report(ctx)
}
