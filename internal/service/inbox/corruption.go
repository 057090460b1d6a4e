package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// An entry that became corrupt after its dispatch must not keep devices from the rest of their streams. A sync skips it: the event names
// the message, and its location goes into quarantine, so that it is dispatched again once it is readable. If the stream itself is corrupt,
// the sync says reset, as for a trimmed one: lists and histories have all its messages.
//
// A read may fail without corruption: a store of several nodes can fail to return on one read what it returns on another. So a location
// is confirmed only after several reads over some seconds. Until then the sync returns the events before it, or fails.

const (
	// corruptionObservations confirm corruption: fewer than in fan-out, since clients wait.
	corruptionObservations = 3
	// maxSuspects bounds the locations in memory; beyond it, all are forgotten.
	maxSuspects = 1000
	// quarantineTimeout bounds how long the quarantine may delay a sync.
	quarantineTimeout = 2 * time.Second
)

var errStreamCorrupt = errors.New("the stream is damaged")

// Quarantine stores the locations of entries that cannot be read, durably and visible to operators, until they are dispatched again.
type Quarantine interface {
	// Put is idempotent.
	Put(ctx context.Context, key timeline.Key, seq uint64, why string) error
}

// skipCorrupt returns nil if err is a confirmed corruption, which the caller skips, and reports it to the operator. Otherwise it returns
// err.
func (s *Service) skipCorrupt(ctx context.Context, key timeline.Key, seq uint64, err error) error {
	if !errors.Is(err, timeline.ErrCorrupt) {
		return err
	}
	s.mu.Lock()
	now := s.deps.Clock.Now()
	suspect, confirmed := s.corruption.Observe(key, seq, now)
	if confirmed {
		s.corruption.Confirm(key, now)
	}
	handled := suspect.Handled
	s.mu.Unlock()
	if !confirmed {
		return err
	}
	if handled {
		return nil
	}
	if key.Kind == timeline.Inbox {
		s.deps.Logger.Error("a user's stream is corrupt; its devices rebuild their lists: run rialto verify", "user", key.ID, "after", seq, "error", err)
	} else {
		s.deps.Logger.Error("an entry is corrupt; devices show it as unreadable: run rialto verify", "conversation", key.ID, "seq", seq, "error", err)
	}
	if s.deps.Quarantine != nil && key.Kind == timeline.Conversation {
		within, cancel := context.WithTimeout(ctx, quarantineTimeout)
		defer cancel()
		if failure := s.deps.Quarantine.Put(within, key, seq, err.Error()); failure != nil {
			s.deps.Logger.Warn("a corrupt entry could not be quarantined; it is retried", "conversation", key.ID, "seq", seq, "error", failure)
			return nil
		}
	}
	s.mu.Lock()
	if !suspect.Handled {
		suspect.Handled = true
		s.skipped++
	}
	s.mu.Unlock()
	return nil
}

// CorruptSkipped is the number of corrupt locations that syncs have skipped since the start.
func (s *Service) CorruptSkipped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skipped
}

// resetIfCorrupt appends a reset if err is a confirmed corruption of the stream after a position.
func (s *Service) resetIfCorrupt(ctx context.Context, b []byte, u id.User, tail timeline.Tail, at message.Position, err error) ([]byte, error) {
	if errors.Is(err, errStreamCorrupt) {
		err = errors.Join(timeline.ErrCorrupt, err)
	}
	if err := s.skipCorrupt(ctx, streamKey(u), uint64(at), err); err != nil {
		return nil, err
	}
	return s.appendReset(ctx, b, u, tail)
}

// readStored reads entries together. It fails if one of their conversations is corrupt.
func (s *Service) readStored(ctx context.Context, k retainedByConversation, refs []timeline.Ref) ([]timeline.Entry, error) {
	for _, r := range refs {
		if err := k[id.Conversation(r.Key.ID)].damaged; err != nil {
			return nil, err
		}
	}
	return s.deps.Log.GetLimited(ctx, refs, maxReadBytes)
}

// readOneByOne reads entries one at a time, because some are corrupt or missing. Missing ones below the first seq of their log have
// expired, which it records in k. An entry is corrupt if it cannot be read, or if the stream refers to it but the conversation lacks it.
// If skipCorrupt agrees, the result has an entry with seq 0 for it.
func (s *Service) readOneByOne(ctx context.Context, k retainedByConversation, refs []timeline.Ref) (stored []timeline.Entry, err error) {
	size := 0
	var firstErr error
	for i := 0; i < len(refs); i++ {
		r := refs[i]
		c := id.Conversation(r.Key.ID)
		if r.From < k[c].seq {
			continue
		}
		e, head, err := s.readEntry(ctx, r, k[c].damaged)
		if head != 0 {
			k[c] = retained{seq: head}
			stored, size, i = nil, 0, -1 // earlier entries may have expired as well: start again
			continue
		}
		if err != nil {
			err = s.skipCorrupt(ctx, r.Key, r.From, err)
		}
		if errors.Is(err, timeline.ErrCorrupt) {
			firstErr = err // observe all suspects in one pass
		} else if err != nil {
			return nil, err
		}
		stored = append(stored, e)
		if size += len(e.Payload); size > maxReadBytes && len(stored) > 1 {
			return nil, timeline.ErrTooLarge
		}
	}
	return stored, firstErr
}

// readEntry reads an entry, or returns the first seq of the log if the entry is below it.
func (s *Service) readEntry(ctx context.Context, r timeline.Ref, damaged error) (e timeline.Entry, head uint64, err error) {
	if damaged != nil {
		return e, 0, damaged
	}
	if e, head, err = timeline.GetEntry(ctx, s.deps.Log, r.Key, r.From); err == nil && head == 0 && e.Seq == 0 {
		err = errCorrupt
	}
	return e, head, err
}

// readEndsSkippingCorrupt returns the first entry that a user may read, and the newest readable one of the last few, when one of the two
// is corrupt. An entry with seq 0 cannot be read.
func (s *Service) readEndsSkippingCorrupt(ctx context.Context, key timeline.Key, from, to uint64) ([]timeline.Entry, error) {
	first, err := s.readIntact(ctx, key, from)
	if err != nil {
		return nil, err
	}
	var last timeline.Entry
	for seq := to; last.Seq == 0 && seq >= max(from, 1) && to-seq < smallReadBatch; seq-- {
		if last, err = s.readIntact(ctx, key, seq); err != nil {
			return nil, err
		}
	}
	return []timeline.Entry{first, last}, nil
}

// readIntact reads an entry. The result has seq 0 if the entry is corrupt and skipped, or has expired.
func (s *Service) readIntact(ctx context.Context, key timeline.Key, seq uint64) (timeline.Entry, error) {
	e, head, err := s.readEntry(ctx, timeline.Ref{Key: key, From: seq, To: seq}, nil)
	if err == nil && head == 0 {
		var m message.Entry
		if err = m.Decode(e.Payload); err == nil {
			return e, nil
		}
		err = errors.Join(timeline.ErrCorrupt, err)
	}
	if err != nil {
		err = s.skipCorrupt(ctx, key, seq, err)
	}
	return timeline.Entry{}, err
}
