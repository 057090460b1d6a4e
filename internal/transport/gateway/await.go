package gateway

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxAwait is the longest wait of a sync. The rest of a call's time is for its answer.
const maxAwait = 25 * time.Second

var errNoSession = errs.New(errs.Invalid, "no_session", "a sync waits for a session of a user: with an API key, leave out waitMs")

// Await is a long poll: it returns when a sync has something to answer, or when its time to wait is over. The caller then reads the stream. Events between two polls
// are in the stream, where the second poll finds them before it waits. While a poll waits, the caller counts as connected.
func (s *Server) Await(ctx context.Context, caller id.Caller, r *chatv1.SyncRequest) error {
	if caller.Server {
		return errNoSession
	}
	c, err := s.hold(caller, ratelimit.NetworkOf(ctx), false)
	if err != nil {
		return err
	}
	defer c.onClosed()
	after := message.Position(r.GetAfter().GetSeq())
	s.deps.Inbox.Ack(caller, after)
	c.mu.Lock()
	c.receiver.position = after
	c.mu.Unlock()
	if err := c.greet(ctx); err != nil {
		return err
	}
	s.enlist(c)
	if grown, err := c.hasGrown(ctx, r.Large); err != nil || grown {
		return err
	}
	s.deps.Directory.Active(caller)
	defer s.deps.Directory.Active(caller)
	timeout := time.NewTimer(min(time.Duration(r.WaitMs)*time.Millisecond, maxAwait))
	defer timeout.Stop()
	for {
		switch due, ending := c.receiver.hasAnswer(); {
		case ending:
			return s.errEnded(ctx, caller)
		case due:
			return nil
		}
		select {
		case <-c.receiver.wake:
		case <-c.receiver.ended:
		case <-timeout.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hasAnswer reports whether a sync that waits has something to answer, and whether its connection ends.
func (r *receiver) hasAnswer() (due, ending bool) {
	c := r.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.due || c.needsHint || len(c.grown) > 0 || c.newestPushed > r.position, c.isEnding()
}

// hasGrown reports whether a large conversation that the connection follows has entries that its client does not know.
func (c *conn) hasGrown(ctx context.Context, known []*chatv1.LargeTail) (bool, error) {
	if len(known) == 0 {
		return false, nil
	}
	lowest := make(map[id.Conversation]uint64, len(known)) // a client may name one often
	for _, l := range known {
		to := id.Conversation(l.Conversation)
		if at, twice := lowest[to]; !twice || l.LastSeq < at {
			lowest[to] = l.LastSeq
		}
	}
	var list []id.Conversation
	var seqs []uint64
	c.mu.Lock()
	for _, to := range c.follows {
		if at, named := lowest[to]; named {
			list, seqs = append(list, to), append(seqs, at)
		}
	}
	c.mu.Unlock()
	if len(list) == 0 {
		return false, nil
	}
	tails, err := c.server.deps.Inbox.LargeTails(ctx, list)
	if err != nil {
		return false, err
	}
	for i, tail := range tails {
		if tail > seqs[i] {
			return true, nil
		}
	}
	return false, nil
}

// errEnded returns the error for a request whose connection was ended: its session has ended, or the node stops.
func (s *Server) errEnded(ctx context.Context, caller id.Caller) error {
	if err := s.deps.Accounts.Live(ctx, caller); err != nil {
		return err
	}
	return errClosing(s.returnAfter())
}
