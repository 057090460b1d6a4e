package cassandralog

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Expire deletes a conversation's entries below head, except the kept ones. The head of a segment is in the same batch as the deletion,
// and the newest segment is first, so deleted entries are always below a head.
func (l *Log) Expire(ctx context.Context, k timeline.Key, head uint64, keep []uint64) error {
	return l.dropBelow(ctx, k, head, keep)
}

// Trim deletes an inbox's entries below head.
func (l *Log) Trim(ctx context.Context, k timeline.Key, head uint64) error {
	return l.dropBelow(ctx, k, head, nil)
}

// writable returns the state of the segment that accepts appends; version 0 if the timeline has none.
func (l *Log) writable(ctx context.Context, k timeline.Key) (state, error) {
	s, err := l.newestSegment(ctx, k)
	if err == nil && s.sealed {
		s, err = l.nextSegment(ctx, k, s)
	}
	return s, err
}

// dropBelow deletes from the newest segment back to the first one that has nothing to delete, so that an interrupted call can be
// continued.
func (l *Log) dropBelow(ctx context.Context, k timeline.Key, head uint64, keep []uint64) error {
	if head <= 1 {
		return ctx.Err()
	}
	var s state
	for sealed := true; sealed; {
		var err error
		if s, err = l.writable(ctx, k); err != nil || s.version == 0 {
			return err
		}
		head = min(head, s.tail.Seq+1)
		if sealed, err = l.drop(ctx, k, s, head, keep, true); err != nil {
			return err
		}
	}
	firsts, err := l.firsts(ctx, k, false)
	if err != nil {
		return err
	}
	for segment := s.segment; segment > 0; segment-- {
		end := min(head, firsts[segment])
		older, err := l.readState(ctx, k, segment-1, false)
		if err != nil || older.tail.FirstSeq >= end && end == firsts[segment] {
			return err
		}
		if _, err := l.drop(ctx, k, older, end, keep, false); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes a segment's entries below head in one conditional batch. If the newest segment is sealed meanwhile, the next one must get
// the head first.
func (l *Log) drop(ctx context.Context, k timeline.Key, s state, head uint64, keep []uint64, newest bool) (sealed bool, err error) {
	for tries := 5; ; {
		if newest && s.sealed {
			return true, nil
		}
		if head <= s.tail.FirstSeq {
			return false, nil
		}
		applied, err := l.dropBatch(ctx, k, s, head, keep).apply()
		if applied {
			return false, nil
		}
		again, readErr := l.readState(ctx, k, s.segment, err != nil)
		if err != nil {
			tries--
		}
		if readErr != nil || tries == 0 {
			return false, errors.Join(err, readErr)
		}
		s = again
	}
}

// dropBatch is the batch of drop.
func (l *Log) dropBatch(ctx context.Context, k timeline.Key, s state, head uint64, keep []uint64) batch {
	after := s
	after.tail.FirstSeq = head
	b := l.stateBatch(ctx, k, &s, &after) // perhaps all entries are kept
	from := s.tail.FirstSeq
	for _, seq := range keep {
		if seq < from || seq >= head {
			continue
		}
		if from < seq {
			b.Query(deleteRange, l.segmentArgs(k, s.segment, int64(from), int64(seq))...)
		}
		from = seq + 1
	}
	if from < head {
		b.Query(deleteRange, l.segmentArgs(k, s.segment, int64(from), int64(head))...)
	}
	return b
}
