package overload

import (
	"context"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// shareOf the workers is what one user, one API key and one address may have, a fifth, with the requests that wait. The others are refused while
	// half of the present workers are at work.
	shareOf = 5
	// minShare is the least share, for small numbers of workers.
	minShare = 8
)

// Caller is who makes a request, and what for. Each part that is set has its own share.
type Caller struct {
	User uint64
	// Key is the name of an API key. Business servers call for many users, who are not counted then, and from few addresses.
	Key     string
	Network netip.Prefix
	// Conversation and Organization are those that the request names. The organizations of the user count as well.
	Conversation, Organization uint64
}

// holder is one part of a Caller.
type holder struct {
	user    uint64
	key     string
	network netip.Prefix
}

// holders returns the parts of a caller that have shares.
func (c Caller) holders() (list [2]holder, n int) {
	if c.Key != "" {
		list[0] = holder{key: c.Key}
		return list, 1
	}
	if c.User != 0 {
		list[0], n = holder{user: c.User}, 1
	}
	if c.Network.IsValid() {
		list[n] = holder{network: c.Network}
		n++
	}
	return list, n
}

// Limiter bounds the requests of one class that are at work at once. Its limit adapts to what the machine can do (Calls.adapt). Requests beyond it
// wait in a bounded queue, the most important first, for a bounded time. All methods are safe for concurrent use.
type Limiter struct {
	min, max   int
	queueSize  int
	queueShare int // what one caller may have of the queue beyond its share of the workers; it waits for a worker then, while others go before
	wait       time.Duration
	refused    [priorityCount]atomic.Int64
	overShare  atomic.Int64
	overCrowds [crowdCount]atomic.Int64
	of         Organizations
	half       atomic.Bool  // half of the workers are at work
	atWork     *sketch      // of the requests at work; changed with mu held, and so is queued
	queued     *sketch      // of those that wait
	closed     atomic.Int32 // requests of this priority and later ones are refused at once: the queue is full of more important ones

	mu      sync.Mutex // guards the fields below
	limit   int
	used    int
	arrived uint64         // waiters so far
	queue   []*waiter      // the next one last
	held    map[holder]int // requests at work, and waiting; those with none have no entry
	working map[holder]int // those at work, if there is a queueShare
	others  int            // requests in the queue whose crowds have no more than their shares
}

// waiter is a request in the queue.
type waiter struct {
	level   int
	arrival uint64
	caller  Caller
	crowds  crowds
	excess  bool       // a crowd of it had its share already
	crowd   Crowd      // which one, if excess
	done    chan error // receives once; buffered
	settled bool       // done was used. Guarded by the limiter's mu.
}

// newLimiter creates a limiter whose limit is between least and most.
func newLimiter(least, most int, wait time.Duration) *Limiter {
	l := &Limiter{min: min(least, most), max: most, limit: most, queueSize: 2 * most, wait: wait, held: map[holder]int{}, working: map[holder]int{}, atWork: newSketch(), queued: newSketch()}
	l.closed.Store(math.MaxInt32)
	return l
}

// Permit is the right to work. It is released once.
type Permit struct {
	of     *Limiter
	caller Caller
	crowds crowds
}

// Release ends the work. It lets the next request work.
func (p Permit) Release() {
	if p.of == nil {
		return
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.used--
	p.of.hold(p.caller, -1)
	p.of.work(p.caller, &p.crowds, -1)
	p.of.admitWaiting()
}

// check refuses a request that Acquire would refuse, before anything is known of the caller. It does not block.
func (l *Limiter) check(p Priority) error {
	if int32(p) < l.closed.Load() {
		return nil
	}
	l.refused[p].Add(1)
	return errBusy()
}

// acquire waits until the request may work. It refuses the request if the queue is full of more important ones, if it has waited for too long, and if
// the caller has more than a share. A request whose conversation or organization has more waits behind all others, and is refused while one of them waits.
func (l *Limiter) acquire(ctx context.Context, p Priority, c Caller) (Permit, error) {
	of := l.of
	if !l.half.Load() { // nobody has more than a share that concerns others
		of = nil
	}
	list := crowdsOf(c, of)
	l.mu.Lock()
	if l.exceedsShare(c) {
		l.mu.Unlock()
		l.overShare.Add(1)
		return Permit{}, errShare()
	}
	crowd, excess := Crowd(0), false
	if l.used >= l.limit && p > First { // without what is first, clients come back again and again
		crowd, excess = l.excess(&list)
	}
	if excess && l.others > 0 {
		l.mu.Unlock()
		l.overCrowds[crowd].Add(1)
		return Permit{}, errCrowd(crowd)
	}
	if l.used < l.limit && l.mayWork(c) {
		l.used++
		l.hold(c, 1)
		l.work(c, &list, 1)
		l.noteHalf()
		l.mu.Unlock()
		return Permit{l, c, list}, nil
	}
	w := &waiter{level: levelOf(p, c.User, time.Now()), arrival: l.arrived, caller: c, crowds: list, excess: excess, crowd: crowd, done: make(chan error, 1)}
	if excess {
		w.level += levelCount
	}
	l.arrived++
	if !l.enter(w) {
		l.mu.Unlock()
		l.refused[p].Add(1)
		return Permit{}, errBusy()
	}
	l.mu.Unlock()
	return l.await(ctx, p, w)
}

// await waits for the turn of a waiter.
func (l *Limiter) await(ctx context.Context, p Priority, w *waiter) (Permit, error) {
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	var err error
	select {
	case err = <-w.done:
	case <-timer.C:
		err = l.leave(w, errBusy())
	case <-ctx.Done():
		err = l.leave(w, ctx.Err())
	}
	if err != nil {
		if ctx.Err() == nil {
			l.refused[p].Add(1)
		}
		return Permit{}, err
	}
	return Permit{l, w.caller, w.crowds}, nil
}

// enter adds a waiter to the queue, in place of the least important one if it is full. The caller holds mu.
func (l *Limiter) enter(w *waiter) bool {
	if len(l.queue) >= l.queueSize {
		last := l.queue[0]
		if last.level <= w.level {
			return false
		}
		l.queue = slices.Delete(l.queue, 0, 1)
		why := errBusy()
		if last.excess && !w.excess {
			l.overCrowds[last.crowd].Add(1)
			why = errCrowd(last.crowd)
		}
		l.settle(last, why)
	}
	// Of one level, the one that came first is the next.
	i, _ := slices.BinarySearchFunc(l.queue, w, func(o, w *waiter) int {
		if o.level != w.level {
			return w.level - o.level
		}
		return int(int64(w.arrival - o.arrival))
	})
	l.queue = slices.Insert(l.queue, i, w)
	l.hold(w.caller, 1)
	l.waits(w, 1)
	l.updateClosed()
	return true
}

// leave removes a waiter that has waited for too long, and returns why, or nil if it was admitted meanwhile.
func (l *Limiter) leave(w *waiter, why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.settled {
		return <-w.done
	}
	l.queue = slices.DeleteFunc(l.queue, func(o *waiter) bool { return o == w })
	l.hold(w.caller, -1)
	l.waits(w, -1)
	l.updateClosed()
	return why
}

// settle ends the wait of a waiter that is no longer in the queue. The caller holds mu.
func (l *Limiter) settle(w *waiter, err error) {
	if err != nil {
		l.hold(w.caller, -1)
	}
	l.waits(w, -1)
	w.settled = true
	w.done <- err
}

// admitWaiting lets waiters work while there are workers. The caller holds mu.
func (l *Limiter) admitWaiting() {
	for l.used < l.limit && len(l.queue) > 0 {
		i := l.next()
		if i < 0 {
			break
		}
		next := l.queue[i]
		l.queue = slices.Delete(l.queue, i, i+1)
		l.used++
		l.work(next.caller, &next.crowds, 1)
		l.settle(next, nil)
	}
	l.noteHalf()
	l.updateClosed()
}

// next returns the index of the waiter that is next: the first one that is First, or whose crowds have less than their shares of the workers; the first one if there is
// none; -1 if none may work. The caller holds mu.
func (l *Limiter) next() int {
	first := -1
	for i := len(l.queue) - 1; i >= 0; i-- {
		w := l.queue[i]
		if !l.mayWork(w.caller) {
			continue
		}
		if first < 0 {
			first = i
		}
		if w.excess { // and so are all behind it
			break
		}
		if w.level < sections { // what is First is exempt from shares
			return i
		}
		if _, over := l.atWork.excess(&w.crowds, l.limit, 1); !over {
			return i
		}
	}
	return first
}

// waits counts a request in the queue. The caller holds mu.
func (l *Limiter) waits(w *waiter, n int) {
	l.queued.add(&w.crowds, int32(n))
	if !w.excess {
		l.others += n
	}
}

// excess returns a crowd that has at least its share of the requests at work and waiting. The caller holds mu.
func (l *Limiter) excess(list *crowds) (Crowd, bool) {
	for i, key := range list.keys[:list.count] {
		kind, share := list.kind(i)
		if l.atWork.of(key)+l.queued.of(key) >= max((l.used+len(l.queue))/share, 1) {
			return kind, true
		}
	}
	return 0, false
}

// noteHalf notes whether half of the workers are at work. The caller holds mu.
func (l *Limiter) noteHalf() {
	if half := 2*l.used >= l.limit; half != l.half.Load() {
		l.half.Store(half)
	}
}

// updateClosed notes which priorities find no place in the queue, whoever asks. The caller holds mu.
func (l *Limiter) updateClosed() {
	closed := int32(math.MaxInt32)
	if len(l.queue) >= l.queueSize {
		closed = int32(l.queue[0].level/sections) + 1
	}
	l.closed.Store(closed)
}

// exceedsShare reports whether one more request gives the caller more than a share. A request that finds no free worker waits, and counts as well. The
// caller holds mu.
func (l *Limiter) exceedsShare(c Caller) bool {
	return l.hasMore(c, l.held, max(l.max/shareOf, minShare)+l.queueShare)
}

// mayWork reports whether the caller may have one more worker now. One that has a fifth of the present workers waits while half of them are at work. The caller holds mu.
func (l *Limiter) mayWork(c Caller) bool {
	return l.queueShare == 0 || !l.hasMore(c, l.working, max(l.limit/shareOf, 1))
}

// hasMore reports whether a caller has most of some requests, while half of the workers are at work. The caller holds mu.
func (l *Limiter) hasMore(c Caller, of map[holder]int, most int) bool {
	if 2*l.used < l.limit {
		return false
	}
	list, n := c.holders()
	for _, h := range list[:n] {
		if of[h] >= most {
			return true
		}
	}
	return false
}

// hold adds to the requests of a caller. The caller holds mu.
func (l *Limiter) hold(c Caller, n int) { add(l.held, c, n) }

// work adds to those of them that are at work. The caller holds mu.
func (l *Limiter) work(c Caller, list *crowds, n int) {
	l.atWork.add(list, int32(n))
	if l.queueShare > 0 {
		add(l.working, c, n)
	}
}

func add(to map[holder]int, c Caller, n int) {
	list, count := c.holders()
	for _, h := range list[:count] {
		if to[h] += n; to[h] == 0 {
			delete(to, h)
		}
	}
}

// setLimit changes how many requests work at once.
func (l *Limiter) setLimit(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = min(max(n, l.min), l.max)
	l.admitWaiting()
}

// state returns the limit, the requests at work, and those that wait.
func (l *Limiter) state() (limit, used, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit, l.used, len(l.queue)
}
