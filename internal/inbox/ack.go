package inbox

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// What is acknowledged is gone over in rounds, some of each stream, so that a flood of it costs the other work little: those who
// send their marks themselves are as quick as ever.
const (
	ackedAtOnce = 1000   // entries of one stream in a round
	ackedMost   = 20_000 // entries of all streams in a round, of all nodes together: the store is one
)

// Ack notes that a device has all events to a position: messages of one-to-one conversations up to there have been delivered,
// and who sent them is told, within some seconds. Where one of a user's devices has a message, the user has it.
func (s *Service) Ack(c id.Caller, at message.Position) {
	if c.Device != 0 && at != 0 {
		s.ack(c.User, at)
	}
}

func (s *Service) ack(u id.User, at message.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok := s.acks[u]; ok || len(s.acks) < queued {
		s.acks[u] = max(was, at)
	}
}

// writeAcks is a round over what was acknowledged.
func (s *Service) writeAcks(ctx context.Context) {
	s.mu.Lock()
	acks := s.acks
	s.acks = map[id.User]message.Position{}
	s.mu.Unlock()
	var done []progress
	read, most := 0, ackedMost
	if s.deps.Nodes != nil {
		most /= max(s.deps.Nodes(), 1)
	}
	for u, at := range acks {
		if read >= most {
			s.ack(u, at)
			continue
		}
		p, err := s.goOver(ctx, u, at)
		read += p.read
		switch {
		case err != nil:
			s.deps.Logger.Warn("what a device has is noted later", "user", u, "error", err)
			s.ack(u, at)
		case p.to != 0:
			done = append(done, p)
			if p.to < at {
				s.ack(u, at)
			}
		}
	}
	for some := range slices.Chunk(done, together) {
		if err := s.confirm(ctx, some); err != nil {
			s.deps.Logger.Warn("what devices have is noted later", "users", len(some), "error", err)
			for _, p := range some {
				s.ack(p.user, p.to)
			}
		}
	}
}

// progress in a user's stream.
type progress struct {
	user  id.User
	to    message.Position // 0: none
	read  int              // entries
	marks []*resolved
}

// goOver reads on in a user's stream, up to a position, and finds what has been delivered by that.
func (s *Service) goOver(ctx context.Context, u id.User, at message.Position) (progress, error) {
	p := progress{user: u}
	tail, err := s.Tail(ctx, u)
	if err != nil || at > tail && at.Epoch() >= s.deps.Log.Epoch() {
		return p, err // invented: above the tail, where no earlier epoch can have lost it
	}
	var from message.Position
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT position FROM confirmed WHERE owner = $1`, int64(u)).Scan(&from)
	if err != nil && !errors.Is(err, sql.ErrNoRows) || at <= from {
		return p, err
	}
	seqs := map[id.Conversation]span{}
	for p.to = from; p.to < at && p.read < ackedAtOnce; { // few at once: events may be large
		ask := min(atOnce, ackedAtOnce-p.read)
		entries, err := s.deps.Log.Read(ctx, inboxOf(u), uint64(p.to), ask)
		if errors.Is(err, timeline.ErrDamaged) { // devices are past it, or are told to read their lists
			p.to = at
			break
		}
		if err != nil {
			return p, err
		}
		for i := range entries {
			if message.Position(entries[i].Seq) > at {
				entries = entries[:i]
				break
			}
			p.read++
			p.to = message.Position(entries[i].Seq)
			if c, seq, _, err := message.DecodeInbox(entries[i].Payload); err == nil && seq != 0 { // what is damaged, a sync tells
				seqs[c] = seqs[c].with(seq)
			}
		}
		if len(entries) < ask {
			p.to = at
		}
	}
	for _, c := range slices.Sorted(maps.Keys(seqs)) {
		r, err := s.delivered(ctx, place{u, c}, seqs[c])
		if err != nil && !errs.Is(err, errs.NotFound) && !errors.Is(err, timeline.ErrDamaged) {
			return p, err
		}
		if r != nil && err == nil {
			p.marks = append(p.marks, r)
		}
	}
	return p, nil
}

// span of seqs of a conversation.
type span struct{ low, high uint64 }

func (s span) with(seq uint64) span {
	if s.low == 0 {
		s.low = seq
	}
	return span{min(s.low, seq), max(s.high, seq)}
}

// delivered gives the mark for a part of a stream; nil where it says nothing to anyone.
func (s *Service) delivered(ctx context.Context, p place, seqs span) (*resolved, error) {
	peer, apart, err := s.deps.Conversations.Peer(ctx, p.user, p.conversation)
	if err != nil || peer == 0 || apart {
		return nil, err
	}
	// Only what the other sent is news to them.
	last, _, err := s.deps.Log.LastBy(ctx, logOf(p.conversation), uint64(peer))
	if err != nil || last < seqs.low {
		return nil, err
	}
	return s.resolve(ctx, p, mark{delivered: min(last, seqs.high)})
}

// confirm writes marks, and then how far the streams were gone over.
func (s *Service) confirm(ctx context.Context, list []progress) error {
	var marks []*resolved
	for _, p := range list {
		marks = append(marks, p.marks...)
	}
	for some := range slices.Chunk(marks, together) {
		if err := s.write(ctx, some); err != nil {
			return err
		}
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, p := range list {
			if _, err := tx.ExecContext(ctx, `INSERT INTO confirmed (owner, position) VALUES ($1, $2)
				ON CONFLICT (owner) DO UPDATE SET position = $2 WHERE confirmed.position < $2`, int64(p.user), int64(p.to)); err != nil {
				return err
			}
		}
		return nil
	})
}
