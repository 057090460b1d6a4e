package streamedmessage

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	perRenewal = 200 // rows of a transaction
	perSweep   = 100 // rows that are read at once
)

// Renew renews the rows of the messages that this node holds and whose time has come, with the text so far. It breaks off those whose senders send nothing any more,
// and drops those that are held by another node.
func (s *Service) Renew(ctx context.Context) {
	now := s.now()
	var list []*held
	for _, h := range s.all() {
		h.mu.Lock()
		idle, quiet := now.Sub(h.lastPart) > s.config.IdleTimeout, now.Sub(h.lastPush) >= quietInterval
		due := now.Sub(h.renewed) >= h.renewIn || now.Before(h.renewed)
		h.mu.Unlock()
		if idle {
			s.breakOffLogged(ctx, h, chatv1.BrokenOff_CAUSE_LOST)
			continue
		}
		if due {
			list = append(list, h)
		}
		if quiet {
			s.setChanged(h) // a push without text shows readers what they lack
		}
	}
	s.renewAll(ctx, list, s.deps.Node)
}

// renewAll renews rows, and gives them to node next.
func (s *Service) renewAll(ctx context.Context, list []*held, next string) {
	now := s.now()
	for some := range slices.Chunk(list, perRenewal) {
		renewals := make([]renewal, len(some))
		for i, h := range some {
			h.mu.Lock()
			renewals[i] = renewal{held: h, text: string(h.text[:h.allowed]), changed: h.allowed != h.stored}
			h.mu.Unlock()
		}
		lost, err := s.renewRows(ctx, renewals, next)
		if err != nil {
			s.deps.Logger.Warn("rows of streamed messages could not be renewed", "error", err)
			return
		}
		for _, r := range renewals {
			r.mu.Lock()
			r.stored, r.renewed, r.renewIn = len(r.text), now, min(2*r.renewIn, renewInterval)
			r.mu.Unlock()
		}
		for _, h := range lost { // it has ended, or another node holds it
			s.drop(h)
		}
	}
}

func (s *Service) all() (list []*held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		list = append(list, h)
	}
	return list
}

// release leaves the texts in their rows, which name no node then, and holds nothing any more.
func (s *Service) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	list := s.all()
	s.renewAll(ctx, list, "")
	for _, h := range list {
		s.drop(h)
	}
}

// Sweep breaks off messages whose rows nobody has renewed, with the texts of the rows.
func (s *Service) Sweep(ctx context.Context) error {
	for {
		due, err := s.dueRows(ctx)
		if err != nil {
			return err
		}
		for _, r := range due {
			if err := s.sweep(ctx, r); err != nil {
				return err
			}
		}
		if len(due) < perSweep {
			return nil
		}
	}
}

func (s *Service) sweep(ctx context.Context, r *row) error {
	// After an outage of the database, the holders that live renew their rows first.
	waits := s.now().UnixMilli() < r.dueMs+lease.Milliseconds()
	if s.find(r.key) != nil || waits && !s.isGone(r.node) {
		return s.postpone(ctx, r)
	}
	_, err := s.breakOff(ctx, r.key, r.sender, r.text, &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_LOST})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch e := errs.Of(err); {
	case err == nil, e.Reason == "id_reuse", isRefused(err): // it has ended, was recalled, or has expired
		return s.forget(ctx, r.key)
	default:
		s.deps.Logger.Warn("a streamed message is broken off later", "conversation", r.conversation, "seq", r.seq, "error", e)
		return s.postpone(ctx, r)
	}
}
