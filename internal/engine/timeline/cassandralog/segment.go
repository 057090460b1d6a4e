package cassandralog

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// state of a segment: its static columns.
type state struct {
	segment uint64
	version uint64 // incremented with each change; 0: the segment does not exist
	first   uint64 // the lowest seq that it can contain
	tail    timeline.Tail
	size    uint64 // bytes of payload
	voids   uint64 // number of voided batches
	term    uint64 // of the log that posted last (inboxes)
	sealed  bool   // accepts no more entries; the next segment continues
}

// next returns the initial state of the following segment.
func (s *state) next() state {
	return state{segment: s.segment + 1, first: s.tail.Seq + 1, tail: s.tail, term: s.term}
}

func (l *Log) segmentArgs(k timeline.Key, segment uint64, more ...any) []any {
	return append([]any{l.options.Store, int8(k.Kind), int64(k.ID), int64(segment)}, more...)
}

// readState reads a segment's state.
func (l *Log) readState(ctx context.Context, k timeline.Key, segment uint64, serial bool) (state, error) {
	s := state{segment: segment}
	var version, first, seq, counted, access, head, size, voids, term int64
	err := l.query(ctx, selectState, l.segmentArgs(k, segment)...).at(serial).Scan(&version, &first, &seq, &counted, &access, &head, &size, &voids, &term, &s.sealed)
	err = notFoundIsNone(err)
	s.version, s.first, s.size, s.voids, s.term = uint64(version), uint64(first), uint64(size), uint64(voids), uint64(term)
	s.tail = timeline.Tail{Seq: uint64(seq), Counted: uint64(counted), Access: uint64(access), FirstSeq: uint64(head)}
	return s, err
}

// updateState adds to a batch the change of the state from old to s, conditional on old. It names no column that Freeze renames, so another statement of the batch must.
func (l *Log) updateState(b batch, k timeline.Key, old, s *state) {
	s.version = old.version + 1
	args := append([]any{int64(s.version), int64(s.first), int64(s.tail.Seq), int64(s.tail.Counted), int64(s.tail.Access), int64(s.tail.FirstSeq),
		int64(s.size), int64(s.voids), int64(s.term), s.sealed}, l.segmentArgs(k, s.segment)...)
	if old.version == 0 {
		b.Query(beginState, args...)
		return
	}
	b.Query(moveState, append(args, int64(old.version))...)
}

// stateBatch is a batch that may change nothing but a state. A frozen log would accept that, so the batch also deletes an empty range: that statement names a column that
// Freeze renames.
func (l *Log) stateBatch(ctx context.Context, k timeline.Key, old, s *state) batch {
	b := l.batch(ctx)
	l.updateState(b, k, old, s)
	b.Query(deleteRange, l.segmentArgs(k, s.segment, int64(0), int64(0))...)
	return b
}

// newestSegment returns the state of the newest segment: one that accepts appends, or a sealed one without a successor.
func (l *Log) newestSegment(ctx context.Context, k timeline.Key) (state, error) {
	firsts, err := l.firsts(ctx, k, false)
	if err != nil {
		return state{}, err
	}
	for {
		at := uint64(len(firsts) - 1)
		s, err := l.readState(ctx, k, at, false)
		if err != nil {
			return s, err
		}
		if s.version == 0 && at > 0 { // its root was written, but it does not exist yet
			return l.readState(ctx, k, at-1, false)
		}
		if !s.sealed {
			return s, nil
		}
		if firsts, err = l.firsts(ctx, k, true); err != nil || uint64(len(firsts)-1) == at {
			return s, err
		}
	}
}

// firsts returns the first seq of each segment, by number, from the cache unless again is set.
func (l *Log) firsts(ctx context.Context, k timeline.Key, again bool) ([]uint64, error) {
	if !again {
		if firsts := l.cache.firsts(k); firsts != nil {
			return firsts, nil
		}
	}
	firsts := []uint64{0}
	var segment, first int64
	it := l.query(ctx, selectRoots, l.options.Store, int8(k.Kind), int64(k.ID)).Iter()
	for it.Scan(&segment, &first) && segment == int64(len(firsts)) {
		firsts = append(firsts, uint64(first))
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	l.cache.setFirsts(k, firsts)
	return firsts, nil
}

// segmentOf returns the segment of a seq: the last one that begins at or below it.
func segmentOf(firsts []uint64, seq uint64) uint64 {
	at := len(firsts) - 1
	for at > 0 && firsts[at] > seq {
		at--
	}
	return uint64(at)
}

// nextSegment creates the segment after a sealed one, and returns its state. It may be called concurrently.
func (l *Log) nextSegment(ctx context.Context, k timeline.Key, sealed state) (state, error) {
	next := sealed.next()
	if k.Kind == timeline.Conversation {
		if err := l.copyLookups(ctx, k, sealed.segment); err != nil {
			return next, err
		}
	}
	// The root exists before the segment's first entry.
	if err := l.query(ctx, insertRoot, append(l.segmentArgs(k, next.segment), int64(next.first))...).Exec(); err != nil {
		return next, err
	}
	applied, err := l.stateBatch(ctx, k, &state{}, &next).apply()
	if err == nil && !applied || err != nil {
		next, err = l.readState(ctx, k, next.segment, err != nil)
	}
	if err == nil && next.version == 0 {
		err = errors.New("the segment could not be created")
	}
	if err == nil {
		_, err = l.firsts(ctx, k, true)
	}
	return next, err
}

// copyLookups copies the devices' counters and authors of a sealed segment to the tables past_counters and past_authors, where they are
// found without a query for each segment. It completes before the next segment accepts entries.
func (l *Log) copyLookups(ctx context.Context, k timeline.Key, segment uint64) error {
	if _, err := l.readState(ctx, k, segment, true); err != nil { // makes sure that the batch that sealed it is at a quorum
		return err
	}
	highest := map[device]uint64{}
	var tok []byte
	var prev int64
	it := l.query(ctx, selectTokens, l.segmentArgs(k, segment)...).Iter()
	for it.Scan(&tok, &prev) {
		if d, counter, ok := counterOf(tok); ok {
			highest[d] = max(highest[d], counter)
		}
	}
	if err := it.Close(); err != nil {
		return err
	}
	b := l.batch(ctx)
	flush := func(most int) error {
		if len(b.Entries) <= most {
			return nil
		}
		err := b.Exec()
		b = l.batch(ctx)
		return err
	}
	for d, counter := range highest {
		b.Query(insertPastCounter, int64(counter), int64(counter), l.options.Store, int64(k.ID), int64(d.sender), int64(d.device))
		if err := flush(100); err != nil {
			return err
		}
	}
	if err := flush(0); err != nil {
		return err
	}
	var author, seq, counted int64
	it = l.query(ctx, selectAuthors, l.segmentArgs(k, segment)...).Iter()
	for it.Scan(&author, &seq, &counted) {
		b.Query(insertPastAuthor, seq, seq, counted, l.options.Store, int64(k.ID), author)
		if err := flush(100); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return errors.Join(it.Close(), flush(0))
}

// stampAt returns the stamp of an entry, 0 if it does not exist.
func (l *Log) stampAt(ctx context.Context, k timeline.Key, segment, seq uint64, serial bool) (uint64, error) {
	var stamp *int64
	err := l.query(ctx, selectStamp, l.segmentArgs(k, segment, int64(seq))...).at(serial).Scan(&stamp)
	switch {
	case err != nil:
		return 0, notFoundIsNone(err)
	case stamp != nil:
		return uint64(*stamp), nil
	case serial:
		return 0, nil
	}
	return l.stampAt(ctx, k, segment, seq, true) // the entry is incomplete
}
