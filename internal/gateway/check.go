package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/id"
)

// checker compares connections with what is stored, and has those pull that are behind: the bus may lose the last push, and a
// device sees only what is missing before another. It may also lose the news that a user has come to be in a large conversation, or
// is no longer: what connections follow is compared with the rows as well. It looks where something may have been lost (a hole on
// the bus, a partition that moved, a conversation that is newly followed, a user who came or went), soon, and, slowly, everywhere.
type checker struct {
	server *Server
	wake   chan struct{} // every, parts or users
	came   chan struct{} // fresh
	turn   atomic.Uint64 // counts the readings of what users follow

	mu    sync.Mutex // guards what follows
	every bool       // all are due
	parts map[int]bool
	users map[id.User]bool         // with connections here
	fresh map[id.Conversation]bool // newly followed here
}

const (
	// checkDoubt: who is behind at one look, and still at one so much later, has missed something; else it was under way.
	checkDoubt = time.Second
	// checkPace bounds how much the slow round reads, in so long.
	checkPace  = 100
	checkPause = 50 * time.Millisecond
	// checkReaders bounds the readings at once of what is due soon, and checkTogether of how many users or conversations each is.
	checkReaders  = 8
	checkTogether = 512
	// checkWithin bounds each of them.
	checkWithin = 10 * time.Second
	// checkSlices that a round over all connections is cut into.
	checkSlices = hubShards
)

func newChecker(s *Server) *checker {
	return &checker{server: s, wake: make(chan struct{}, 1), came: make(chan struct{}, 1), parts: map[int]bool{}, users: map[id.User]bool{}, fresh: map[id.Conversation]bool{}}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// all has everything compared soon. It does not block.
func (k *checker) all() {
	k.mu.Lock()
	k.every = true
	k.mu.Unlock()
	poke(k.wake)
}

// Recheck has the connections of a partition's users, and its large conversations, compared with what is stored, soon.
func (s *Server) Recheck(partition int) {
	s.check.mu.Lock()
	s.check.parts[partition] = true
	s.check.mu.Unlock()
	poke(s.check.wake)
}

// user has the connections of one user compared soon.
func (k *checker) user(u id.User) {
	k.mu.Lock()
	k.users[u] = true
	k.mu.Unlock()
	poke(k.wake)
}

// follow has a conversation compared as soon as it is known that it is followed here.
func (k *checker) follow(c id.Conversation) {
	k.mu.Lock()
	k.fresh[c] = true
	k.mu.Unlock()
	poke(k.came)
}

// take gives what is due; nil: no partition is.
func (k *checker) take() (which func(of uint64) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	every, parts := k.every, k.parts
	k.every, k.parts = false, map[int]bool{}
	switch {
	case every:
		return anyOf
	case len(parts) > 0:
		return func(of uint64) bool { return parts[k.server.partition(of)] }
	}
	return nil
}

func anyOf(uint64) bool { return true }

// takeUsers gives the users that are due.
func (k *checker) takeUsers() map[id.User]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.users) == 0 {
		return nil
	}
	users := k.users
	k.users = map[id.User]bool{}
	return users
}

// takeFresh gives what is newly followed.
func (k *checker) takeFresh() map[id.Conversation]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	fresh := k.fresh
	k.fresh = map[id.Conversation]bool{}
	return fresh
}

func (s *Server) partition(of uint64) int {
	if s.deps.Partition == nil {
		return 0
	}
	return s.deps.Partition(of)
}

// run compares until ctx ends. What is due soon does not wait for the slow round, and what is newly followed for neither.
func (k *checker) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { k.runSoon(ctx) })
	group.Go(func() { k.runFresh(ctx) })
	tick := time.NewTicker(k.server.config.CheckEvery / checkSlices)
	defer tick.Stop()
	for slice := 0; ; slice = (slice + 1) % checkSlices {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l := look{server: k.server}
			l.slowly(ctx, slice)
			l.wait(ctx)
		}
	}
}

func (k *checker) runFresh(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.came:
			l := look{server: k.server, again: true}
			l.fresh(ctx, k.takeFresh())
			l.wait(ctx)
		}
	}
}

// runSoon looks at what is due while those that were late at earlier looks are still in doubt.
func (k *checker) runSoon(ctx context.Context) {
	l := look{server: k.server, again: true}
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			k.soon(ctx, &l)
		case <-l.due():
		}
		l.judge(time.Now().Add(-checkDoubt))
	}
}

// soon looks at all that is due, with some readers side by side. Users who are due by name are few, and do not wait for the rest.
func (k *checker) soon(ctx context.Context, l *look) {
	work := make(chan func(context.Context))
	var readers sync.WaitGroup
	for range checkReaders {
		readers.Go(func() {
			for read := range work {
				within, cancel := context.WithTimeout(ctx, checkWithin)
				read(within)
				cancel()
			}
		})
	}
	named := func() {
		for some := range slices.Chunk(slices.Collect(maps.Keys(k.takeUsers())), checkTogether) {
			work <- func(ctx context.Context) { l.users(ctx, some) }
		}
	}
	named()
	which := k.take()
	for i := 0; i < checkSlices && which != nil && ctx.Err() == nil; i++ {
		users, rooms := k.server.hub.slice(i, which)
		for some := range slices.Chunk(users, checkTogether) {
			work <- func(ctx context.Context) { l.users(ctx, some) }
		}
		for some := range slices.Chunk(rooms, checkTogether) {
			work <- func(ctx context.Context) { l.rooms(ctx, some) }
		}
		named()
		l.judge(time.Now().Add(-checkDoubt))
	}
	close(work)
	readers.Wait()
	l.report(ctx)
}
