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

// deviceKey is a device of a user.
type deviceKey struct {
	user   id.User
	device id.Device
}

// deviceAck is a position up to which a device has all events.
type deviceAck struct {
	device id.Device
	at     message.Position
}

// Ack records that a device has all events up to a position. Within seconds, the position is stored for the device, messages of one-to-one
// conversations up to there count as delivered, and their senders are notified. A message counts as delivered when one device of the user
// has it. Acknowledgements that are lost in a crash are repaired by the device's next one.
func (s *Service) Ack(c id.Caller, at message.Position) {
	if c.Device != 0 && at != 0 {
		s.addAck(c.User, deviceAck{c.Device, at})
	}
}

// AckedPosition returns the newest position that a device has acknowledged, as far as that is stored or waits here; 0 if there is none.
func (s *Service) AckedPosition(ctx context.Context, c id.Caller) (message.Position, error) {
	s.mu.Lock()
	pending := s.pendingAcks[deviceKey{c.User, c.Device}]
	s.mu.Unlock()
	stored, err := s.devicePositions(ctx, c.User)
	return max(pending, stored[c.User].devices[c.Device]), err
}

func (s *Service) addAck(u id.User, acks ...deviceAck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range acks {
		k := deviceKey{u, a.device}
		if was, ok := s.pendingAcks[k]; ok || len(s.pendingAcks) < maxPending {
			s.pendingAcks[k] = max(was, a.at)
		}
	}
}

// processAcks is one round over the acknowledgements.
func (s *Service) processAcks(ctx context.Context) {
	s.mu.Lock()
	pending := s.pendingAcks
	s.pendingAcks = map[deviceKey]message.Position{}
	s.mu.Unlock()
	acks := map[id.User][]deviceAck{}
	for k, at := range pending {
		acks[k.user] = append(acks[k.user], deviceAck{k.device, at})
	}
	var done []ackProgress
	read, limit := 0, maxAckEntries
	if s.deps.LiveNodes != nil {
		limit /= max(s.deps.LiveNodes(), 1)
	}
	for users := range slices.Chunk(slices.Collect(maps.Keys(acks)), maxIDsPerQuery) {
		var stored map[id.User]storedPositions
		var err error
		if read < limit {
			if stored, err = s.devicePositions(ctx, users...); err != nil {
				s.deps.Logger.Warn("acknowledgements could not be processed; they are retried", "users", len(users), "error", err)
			}
		}
		for _, u := range users {
			if read >= limit || err != nil {
				s.addAck(u, acks[u]...)
				continue
			}
			p, err := s.scanDelivered(ctx, u, acks[u], stored[u])
			read += p.read
			if err != nil {
				s.deps.Logger.Warn("an acknowledgement could not be processed; it is retried", "user", u, "error", err)
				s.addAck(u, acks[u]...)
				continue
			}
			if len(p.devices) > 0 {
				done = append(done, p)
			}
			s.addAck(u, p.later...)
		}
	}
	for batch := range slices.Chunk(done, cursorBatch) {
		if err := s.saveAckProgress(ctx, batch); err != nil {
			s.deps.Logger.Warn("acknowledgements could not be processed; they are retried", "users", len(batch), "error", err)
			for _, p := range batch {
				s.addAck(p.user, p.devices...)
			}
		}
	}
}

// ackProgress is how far a user's stream was scanned, and what is stored of that.
type ackProgress struct {
	user    id.User
	to      message.Position
	read    int // entries
	cursors []*resolvedCursors
	devices []deviceAck // positions to store
	later   []deviceAck // acknowledgements beyond what was scanned
	dropped []deviceAck // positions that are not stored any longer
}

// scanDelivered reads a user's stream up to what the devices acknowledge, and returns the cursors of the messages that this delivers, and the
// devices' new positions.
func (s *Service) scanDelivered(ctx context.Context, u id.User, acks []deviceAck, stored storedPositions) (ackProgress, error) {
	p := ackProgress{user: u}
	tail, err := s.Tail(ctx, u)
	if err != nil {
		return p, err
	}
	epoch, highest := s.deps.Log.Epoch(), message.Position(0)
	acks = slices.DeleteFunc(slices.Clone(acks), func(a deviceAck) bool {
		return a.at > tail && a.at.Epoch() >= epoch // no store issued this position: it is above the tail in the present epoch
	})
	for _, a := range acks {
		highest = max(highest, a.at)
	}
	if p.to = stored.confirmed; highest > p.to {
		seqs, err := s.scanAcked(ctx, &p, highest)
		if err != nil {
			return p, err
		}
		if err := s.addDelivered(ctx, &p, seqs); err != nil {
			return p, err
		}
	}
	for _, a := range acks {
		if to := min(a.at, p.to); to > stored.devices[a.device] {
			p.devices = append(p.devices, deviceAck{a.device, to})
		}
		if a.at > p.to {
			p.later = append(p.later, a)
		}
	}
	p.dropped = furthestBehind(stored, p.devices)
	return p, nil
}

// scanAcked reads a user's stream from p.to up to a position, a bounded number of entries, and returns the seqs of the messages there.
func (s *Service) scanAcked(ctx context.Context, p *ackProgress, at message.Position) (map[id.Conversation]seqRange, error) {
	seqs := map[id.Conversation]seqRange{}
	for p.to < at && p.read < maxAckEntriesPerStream { // in small batches: events may be large
		count := min(readBatch, maxAckEntriesPerStream-p.read)
		entries, err := s.deps.Log.Read(ctx, streamKey(p.user), uint64(p.to), count)
		if errors.Is(err, timeline.ErrCorrupt) { // devices are past it, or reset
			p.to = at
			break
		}
		if err != nil {
			return nil, err
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
	return seqs, nil
}

// addDelivered adds the cursors of delivered messages.
func (s *Service) addDelivered(ctx context.Context, p *ackProgress, seqs map[id.Conversation]seqRange) error {
	for _, c := range slices.Sorted(maps.Keys(seqs)) {
		r, err := s.deliveredCursors(ctx, cursorKey{p.user, c}, seqs[c])
		if err != nil && !errs.Is(err, errs.NotFound) && !errors.Is(err, timeline.ErrCorrupt) {
			return err
		}
		if r != nil && err == nil {
			p.cursors = append(p.cursors, r)
		}
	}
	return nil
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

// saveAckProgress writes cursors, and then the positions of devices.
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
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return writeDevicePositions(ctx, tx, list)
	})
	if err == nil {
		s.recordAcks(list)
	}
	return err
}
