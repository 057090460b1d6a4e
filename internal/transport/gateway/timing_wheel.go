package gateway

import "sync"

const wheelSeconds = 128

// wheel is a timing wheel: it lists every open connection under the second of its next check. So the cost of a tick depends on the number of due
// checks, not of open connections.
type wheel struct {
	mu      sync.Mutex // guards all below
	now     uint32     // the last second that was checked
	buckets [wheelSeconds][]*conn
}

// schedule schedules the next check of a connection for the second due, less than wheelSeconds from now.
func (w *wheel) schedule(c *conn, due uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due = max(due, w.now+1)
	w.buckets[due%wheelSeconds] = append(w.buckets[due%wheelSeconds], c)
}

// advance runs the checks that are due up to now. check returns the second of the next check, or 0 to forget the connection.
func (w *wheel) advance(now uint32, check func(c *conn, now uint32) uint32) {
	w.mu.Lock()
	if now <= w.now { // the clock stepped back
		w.mu.Unlock()
		return
	}
	from := max(w.now+1, now-min(now, wheelSeconds-1))
	var due []*conn
	for second := from; second <= now; second++ {
		b := &w.buckets[second%wheelSeconds]
		due = append(due, *b...)
		clear(*b)
		*b = (*b)[:0]
		if cap(*b) > 1024 {
			*b = nil
		}
	}
	w.now = now
	w.mu.Unlock()
	for _, c := range due {
		if next := check(c, now); next != 0 {
			w.schedule(c, next)
		}
	}
}

// all returns all open connections. Some may have ended.
func (w *wheel) all() (list []*conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.buckets {
		list = append(list, b...)
	}
	return list
}
