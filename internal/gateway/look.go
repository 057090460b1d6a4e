package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// look is one look at some connections and conversations, of which some are late.
type look struct {
	server *Server
	again  bool // what fails is tried again, and does not wait for the slow round
	read   int  // by the slow round, since it waited

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

// pace counts readings of the slow round, and waits where there were many; false when ctx ended.
func (l *look) pace(ctx context.Context, read int) bool {
	if l.read += read; l.read < checkPace {
		return ctx.Err() == nil
	}
	l.read = 0
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
	for some := range slices.Chunk(users, checkPace) {
		l.streams(ctx, some)
		if !l.pace(ctx, len(some)) {
			return
		}
		l.lists(ctx, some)
		if !l.pace(ctx, len(some)) {
			return
		}
	}
	for some := range slices.Chunk(rooms, checkPace) {
		l.rooms(ctx, some)
		if !l.pace(ctx, len(some)) {
			return
		}
	}
}

// fresh looks at conversations that are newly followed here, once they are known to be: what came meanwhile is missing.
func (l *look) fresh(ctx context.Context, rooms map[id.Conversation]bool) {
	within, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	for some := range slices.Chunk(slices.Collect(maps.Keys(rooms)), checkPace) {
		for _, c := range some {
			l.server.deps.Presence.Followed(within, c)
		}
		l.rooms(ctx, some)
		if !l.pace(ctx, len(some)) {
			return
		}
	}
}

func (l *look) users(ctx context.Context, users []id.User) {
	l.lists(ctx, users) // first: who was removed is to get nothing more
	l.streams(ctx, users)
}

// readAll reads something of many at once, or, where that fails, of each alone: what is damaged of one does not hold up the others.
// A store that is away is not asked for each.
func readAll[K, V any](ctx context.Context, l *look, of []K, read func(context.Context, []K) ([]V, error), take func(i int, v V), again func(K)) {
	values, err := read(ctx, of)
	if err == nil {
		for i, v := range values {
			take(i, v)
		}
		return
	}
	if len(of) > 1 && ctx.Err() == nil && !errs.Is(err, errs.Unavailable) {
		for i := range of {
			readAll(ctx, l, of[i:i+1], read, func(_ int, v V) { take(i, v) }, again)
		}
		return
	}
	for _, k := range of {
		l.fail(err, func() { again(k) })
	}
}

// streams compares how far the connections of users are.
func (l *look) streams(ctx context.Context, users []id.User) {
	readAll(ctx, l, users, l.server.deps.Inbox.Tails, func(i int, tail message.Position) {
		u, late := users[i], false
		l.server.hub.each(u, func(c *conn) {
			c.mu.Lock()
			late = late || c.ready && c.at < tail
			c.mu.Unlock()
		})
		if late {
			l.add(func() { l.server.hub.each(u, func(c *conn) { c.behind(tail) }) })
		}
	}, l.server.check.user)
}

// rooms compares how far large conversations have come here.
func (l *look) rooms(ctx context.Context, rooms []id.Conversation) {
	readAll(ctx, l, rooms, l.server.deps.Inbox.LargeTails, func(i int, tail uint64) {
		c := rooms[i]
		s := l.server.hub.conversation(c)
		s.mu.RLock()
		r := s.rooms[c]
		late := r != nil && r.at.Load() < tail
		s.mu.RUnlock()
		if late {
			l.add(func() { l.server.hub.behind(c, tail) })
		}
	}, l.server.check.follow)
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
