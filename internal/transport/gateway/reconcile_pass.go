package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// reconcilePass is one pass over some connections and conversations. Those found behind are suspects: an event may only be in flight.
type reconcilePass struct {
	server    *Server
	retry     bool // failed reads are retried before the next slow round
	readCount int  // by the slow round, since it waited

	mu       sync.Mutex // guards the fields below
	suspects []suspect  // the earliest first
	failed   int
	lastErr  error // of the last that failed
}

// suspect was found behind at a moment. If repair still finds it behind confirmAfter later, an event was lost.
type suspect struct {
	foundAt time.Time
	repair  func()
}

func (l *reconcilePass) addSuspect(judge func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.suspects = append(l.suspects, suspect{time.Now(), judge})
}

// fail notes that something could not be read. A pass with retry tries it again later.
func (l *reconcilePass) fail(err error, again func()) {
	l.mu.Lock()
	l.failed++
	l.lastErr = err
	l.mu.Unlock()
	if l.retry {
		l.addSuspect(again)
	}
}

// report logs the failures since the last report, in one line.
func (l *reconcilePass) report(ctx context.Context) {
	l.mu.Lock()
	failed, why := l.failed, l.lastErr
	l.failed, l.lastErr = 0, nil
	l.mu.Unlock()
	if failed > 0 && ctx.Err() == nil {
		l.server.deps.Logger.Warn("connections could not be reconciled with the stores; retrying later", "readings", failed, "error", why)
	}
}

// pace counts the reads of the slow round, and pauses after readsPerPause. It is false once ctx ended.
func (l *reconcilePass) pace(ctx context.Context, read int) bool {
	if l.readCount += read; l.readCount < readsPerPause {
		return ctx.Err() == nil
	}
	l.readCount = 0
	return backoff.Sleep(ctx, readPause) == nil
}

// reconcileShard checks one of reconcileShards.
func (l *reconcilePass) reconcileShard(ctx context.Context, i int) {
	users, conversations := l.server.hub.shardContents(i, anyOf)
	for some := range slices.Chunk(users, readsPerPause) {
		l.reconcileStreams(ctx, some)
		if !l.pace(ctx, len(some)) {
			return
		}
		l.reconcileFollows(ctx, some)
		if !l.pace(ctx, len(some)) {
			return
		}
	}
	for some := range slices.Chunk(conversations, readsPerPause) {
		l.reconcileConversations(ctx, some)
		if !l.pace(ctx, len(some)) {
			return
		}
	}
}

// reconcileNewlyFollowed checks conversations once their messages are known to reach this node: those sent before did not.
func (l *reconcilePass) reconcileNewlyFollowed(ctx context.Context, conversations map[id.Conversation]bool) {
	within, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	for some := range slices.Chunk(slices.Collect(maps.Keys(conversations)), readsPerPause) {
		for _, c := range some {
			l.server.deps.Directory.Followed(within, c)
		}
		l.reconcileConversations(ctx, some)
		if !l.pace(ctx, len(some)) {
			return
		}
	}
}

func (l *reconcilePass) reconcileUsers(ctx context.Context, reconcileUsers []id.User) {
	l.reconcileFollows(ctx, reconcileUsers) // first, so that removed users get no more messages
	l.reconcileStreams(ctx, reconcileUsers)
}

// readAll reads something for many keys at once. If that fails, it reads each alone, so that one damaged row does not hold up the others;
// but it does not ask an unreachable store once for each.
func readAll[K, V any](ctx context.Context, l *reconcilePass, of []K, read func(context.Context, []K) ([]V, error), take func(i int, v V), again func(K)) {
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

// reconcileStreams compares the newest pushed events of users' connections with the ends of their streams.
func (l *reconcilePass) reconcileStreams(ctx context.Context, users []id.User) {
	readAll(ctx, l, users, l.server.deps.Inbox.Tails, func(i int, tail message.Position) {
		u, late := users[i], false
		l.server.hub.each(u, func(c *conn) {
			c.mu.Lock()
			late = late || c.state == stateReady && c.newestPushed < tail
			c.mu.Unlock()
		})
		if late {
			l.addSuspect(func() { l.server.hub.each(u, func(c *conn) { c.hintIfBehind(tail) }) })
		}
	}, l.server.reconciler.requestUser)
}

// reconcileConversations compares the newest delivered entries of large conversations with the ends of their logs.
func (l *reconcilePass) reconcileConversations(ctx context.Context, reconcileConversations []id.Conversation) {
	readAll(ctx, l, reconcileConversations, l.server.deps.Inbox.LargeTails, func(i int, tail uint64) {
		c := reconcileConversations[i]
		s := l.server.hub.conversation(c)
		s.mu.RLock()
		r := s.audiences[c]
		late := r != nil && r.newestSeq.Load() < tail
		s.mu.RUnlock()
		if late {
			l.addSuspect(func() { l.server.hub.hintIfBehind(c, tail) })
		}
	}, l.server.reconciler.requestConversation)
}

// hintIfBehind tells all followers of a conversation to sync, unless its entry at seq was delivered here.
func (h *hub) hintIfBehind(c id.Conversation, seq uint64) {
	s := h.conversation(c)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.audiences[c]; r != nil && r.newestSeq.Load() < seq {
		r.advance(seq)
		for _, o := range r.conns {
			o.requestHint()
		}
	}
}

// nextConfirmation fires when the earliest suspect is to be confirmed; nil without suspects.
func (l *reconcilePass) nextConfirmation() <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.suspects) == 0 {
		return nil
	}
	return time.After(time.Until(l.suspects[0].foundAt.Add(confirmAfter)))
}

// confirmAll waits confirmAfter, and confirms all suspects.
func (l *reconcilePass) confirmAll(ctx context.Context) {
	l.report(ctx)
	if len(l.suspects) == 0 { // no reader is left
		return
	}
	if backoff.Sleep(ctx, confirmAfter) == nil {
		l.confirm(time.Now())
	}
}

// confirm repairs the suspects that were found up to a time.
func (l *reconcilePass) confirm(at time.Time) {
	l.mu.Lock()
	n := 0
	for n < len(l.suspects) && !l.suspects[n].foundAt.After(at) {
		n++
	}
	ripe := l.suspects[:n]
	if l.suspects = l.suspects[n:]; len(l.suspects) == 0 {
		l.suspects = nil
	}
	l.mu.Unlock()
	for _, r := range ripe {
		r.repair()
	}
	if n > 0 {
		l.server.Flush()
	}
}
