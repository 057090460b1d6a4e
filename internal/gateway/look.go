package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/id"
)

// look is one look at some connections and conversations, of which some are late.
type look struct {
	server *Server
	again  bool // what fails is tried again, and does not wait for the slow round
	read   int  // by the slow round

	mu     sync.Mutex // guards what follows
	late   []late     // the earliest first
	failed int
	why    error // of the last that failed
}

// late is what was found late at a moment: judge decides whether it still is, and puts it right.
type late struct {
	at    time.Time
	judge func()
}

func (l *look) add(judge func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = append(l.late, late{time.Now(), judge})
}

// fail notes that something could not be read, and has it tried again later.
func (l *look) fail(err error, again func()) {
	l.mu.Lock()
	l.failed++
	l.why = err
	l.mu.Unlock()
	if l.again {
		l.add(again)
	}
}

// report says once what failed since the last.
func (l *look) report(ctx context.Context) {
	l.mu.Lock()
	failed, why := l.failed, l.why
	l.failed, l.why = 0, nil
	l.mu.Unlock()
	if failed > 0 && ctx.Err() == nil {
		l.server.deps.Logger.Warn("connections could not be compared with what is stored; they are later", "readings", failed, "error", why)
	}
}

// pace counts a reading of the slow round, and waits where there were many; false when ctx ended.
func (l *look) pace(ctx context.Context) bool {
	if l.read++; l.read%checkPace != 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(checkPause):
		return true
	}
}

// slowly looks at one of checkSlices.
func (l *look) slowly(ctx context.Context, i int) {
	users, rooms := l.server.hub.slice(i, anyOf)
	for _, u := range users {
		if !l.pace(ctx) {
			return
		}
		l.stream(ctx, u)
		if !l.pace(ctx) {
			return
		}
		l.list(ctx, u)
	}
	for _, c := range rooms {
		if !l.pace(ctx) {
			return
		}
		l.room(ctx, c)
	}
}

// fresh looks at conversations that are newly followed here, once they are known to be: what came meanwhile is missing.
func (l *look) fresh(ctx context.Context, rooms map[id.Conversation]bool) {
	within, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	for c := range rooms {
		l.server.deps.Presence.Followed(within, c)
		if !l.pace(ctx) {
			return
		}
		l.room(ctx, c)
	}
}

func (l *look) user(ctx context.Context, u id.User) {
	l.list(ctx, u) // first: who was removed is to get nothing more
	l.stream(ctx, u)
}

// stream compares how far the connections of a user are.
func (l *look) stream(ctx context.Context, u id.User) {
	tail, err := l.server.deps.Inbox.Tail(ctx, u)
	if err != nil {
		l.fail(err, func() { l.server.check.user(u) })
		return
	}
	late := false
	l.server.hub.each(u, func(c *conn) {
		c.mu.Lock()
		late = late || c.ready && c.at < tail
		c.mu.Unlock()
	})
	if late {
		l.add(func() { l.server.hub.each(u, func(c *conn) { c.behind(tail) }) })
	}
}

// room compares how far a large conversation has come here.
func (l *look) room(ctx context.Context, c id.Conversation) {
	tail, err := l.server.deps.Inbox.LargeTail(ctx, c)
	if err != nil {
		l.fail(err, func() { l.server.check.follow(c) })
		return
	}
	s := l.server.hub.conversation(c)
	s.mu.RLock()
	r := s.rooms[c]
	late := r != nil && r.at.Load() < tail
	s.mu.RUnlock()
	if late {
		l.add(func() { l.server.hub.behind(c, tail) })
	}
}

// behind has all who follow a conversation here pull, where what is at seq did not come.
func (h *hub) behind(c id.Conversation, seq uint64) {
	s := h.conversation(c)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.rooms[c]; r != nil && r.at.Load() < seq {
		r.reach(seq)
		for _, o := range r.conns {
			o.hintNow()
		}
	}
}

// due tells when the earliest that is late is to be judged; nil: none is.
func (l *look) due() <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.late) == 0 {
		return nil
	}
	return time.After(time.Until(l.late[0].at.Add(checkDoubt)))
}

// wait judges all.
func (l *look) wait(ctx context.Context) {
	l.report(ctx)
	if len(l.late) == 0 { // nobody reads any more
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(checkDoubt):
		l.judge(time.Now())
	}
}

// judge decides of what was late at a time.
func (l *look) judge(at time.Time) {
	l.mu.Lock()
	n := 0
	for n < len(l.late) && !l.late[n].at.After(at) {
		n++
	}
	ripe := l.late[:n]
	if l.late = l.late[n:]; len(l.late) == 0 {
		l.late = nil
	}
	l.mu.Unlock()
	for _, r := range ripe {
		r.judge()
	}
	if n > 0 {
		l.server.Flush()
	}
}
