package inbox

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Acknowledgements are processed in rounds of a bounded size, so that a flood of them does not slow down read cursors.
const (
	maxAckEntriesPerStream = 1000   // entries of one stream in a round
	maxAckEntries          = 20_000 // entries of all streams in a round, for all nodes together, since they share a store
)

// Ack records that a device has all events up to a position. Within seconds, messages of one-to-one conversations up to there count as
// delivered, and their senders are notified. A message counts as delivered when one device of the user has it.
func (s *Service) Ack(c id.Caller, at message.Position) {
	if c.Device != 0 && at != 0 {
		s.addAck(c.User, at)
	}
}

func (s *Service) addAck(u id.User, at message.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok := s.pendingAcks[u]; ok || len(s.pendingAcks) < maxPending {
		s.pendingAcks[u] = max(was, at)
	}
}

// processAcks is one round over the acknowledgements.
func (s *Service) processAcks(ctx context.Context) {
	s.mu.Lock()
	acks := s.pendingAcks
	s.pendingAcks = map[id.User]message.Position{}
	s.mu.Unlock()
	var done []ackProgress
	read, limit := 0, maxAckEntries
	if s.deps.LiveNodes != nil {
		limit /= max(s.deps.LiveNodes(), 1)
	}
	for u, at := range acks {
		if read >= limit {
			s.addAck(u, at)
			continue
		}
		p, err := s.scanDelivered(ctx, u, at)
		read += p.read
		switch {
		case err != nil:
			s.deps.Logger.Warn("an acknowledgement could not be processed; it is retried", "user", u, "error", err)
			s.addAck(u, at)
		case p.to != 0:
			done = append(done, p)
			if p.to < at {
				s.addAck(u, at)
			}
		}
	}
	for batch := range slices.Chunk(done, cursorBatch) {
		if err := s.saveAckProgress(ctx, batch); err != nil {
			s.deps.Logger.Warn("acknowledgements could not be processed; they are retried", "users", len(batch), "error", err)
			for _, p := range batch {
				s.addAck(p.user, p.to)
			}
		}
	}
}

// ackProgress is how far a user's stream was scanned.
type ackProgress struct {
	user    id.User
	to      message.Position // 0: none
	read    int              // entries
	cursors []*resolvedCursors
}

// scanDelivered reads a user's stream up to a position, and returns the cursors of the messages that this delivers.
func (s *Service) scanDelivered(ctx context.Context, u id.User, at message.Position) (ackProgress, error) {
	p := ackProgress{user: u}
	tail, err := s.Tail(ctx, u)
	if err != nil || at > tail && at.Epoch() >= s.deps.Log.Epoch() {
		return p, err // no store issued this position: it is above the tail in the present epoch
	}
	var from message.Position
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT position FROM confirmed WHERE owner = $1`, int64(u)).Scan(&from)
	if err != nil && !errors.Is(err, sql.ErrNoRows) || at <= from {
		return p, err
	}
	seqs := map[id.Conversation]seqRange{}
	for p.to = from; p.to < at && p.read < maxAckEntriesPerStream; { // in small batches: events may be large
		count := min(readBatch, maxAckEntriesPerStream-p.read)
		entries, err := s.deps.Log.Read(ctx, streamKey(u), uint64(p.to), count)
		if errors.Is(err, timeline.ErrCorrupt) { // devices are past it, or reset
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
			if c, seq, _, err := message.DecodeInbox(entries[i].Payload); err == nil && seq != 0 { // a sync reports corrupt entries
				seqs[c] = seqs[c].with(seq)
			}
		}
		if len(entries) < count {
			p.to = at
		}
	}
	for _, c := range slices.Sorted(maps.Keys(seqs)) {
		r, err := s.deliveredCursors(ctx, cursorKey{u, c}, seqs[c])
		if err != nil && !errs.Is(err, errs.NotFound) && !errors.Is(err, timeline.ErrCorrupt) {
			return p, err
		}
		if r != nil && err == nil {
			p.cursors = append(p.cursors, r)
		}
	}
	return p, nil
}

// seqRange is a range of seqs of a conversation.
type seqRange struct{ low, high uint64 }

func (s seqRange) with(seq uint64) seqRange {
	if s.low == 0 {
		s.low = seq
	}
	return seqRange{min(s.low, seq), max(s.high, seq)}
}

// deliveredCursors returns the delivery cursor for a range of a conversation, or nil if no user must be notified.
func (s *Service) deliveredCursors(ctx context.Context, p cursorKey, seqs seqRange) (*resolvedCursors, error) {
	peer, cannotWrite, err := s.deps.Conversations.Peer(ctx, p.user, p.conversation)
	if err != nil || peer == 0 || cannotWrite {
		return nil, err
	}
	// The other user only waits for receipts of own messages.
	last, _, err := s.deps.Log.LatestByAuthor(ctx, conversationKey(p.conversation), uint64(peer))
	if err != nil || last < seqs.low {
		return nil, err
	}
	return s.resolve(ctx, p, cursors{delivered: min(last, seqs.high)})
}

// saveAckProgress writes cursors, and then the positions up to which the streams were scanned.
func (s *Service) saveAckProgress(ctx context.Context, list []ackProgress) error {
	var marks []*resolvedCursors
	for _, p := range list {
		marks = append(marks, p.cursors...)
	}
	for batch := range slices.Chunk(marks, cursorBatch) {
		if err := s.writeCursors(ctx, batch); err != nil {
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
