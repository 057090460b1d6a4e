package gateway

import "sync"

// connList has the connections that the server visits once a second for one reason. A connection is in it at most once: its own state,
// under its mu, says whether it is.
type connList struct {
	mu    sync.Mutex // guards conns; taken after a conn's mu
	conns []*conn
}

func (l *connList) add(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, c)
}

// visit calls do for each connection, without the list's mu, and drops those that are not to be kept. It is for one goroutine at a time.
func (l *connList) visit(do func(*conn) (keep bool)) {
	l.mu.Lock()
	list := l.conns
	l.conns = nil
	l.mu.Unlock()
	var kept []*conn
	for _, c := range list {
		if do(c) {
			kept = append(kept, c)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, kept...)
}
