package cassandralog

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// replaceTries bounds the attempts while others append to the segment.
const replaceTries = 20

// Replace changes the payloads of a conversation's entries: those of a segment in one batch, conditional on the segment's state, so that none that expires
// meanwhile returns. Cassandra frees the old cells with a later compaction.
func (l *Log) Replace(ctx context.Context, k timeline.Key, entries []timeline.Entry) error {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b timeline.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	firsts, err := l.firsts(ctx, k, true)
	if err != nil {
		return err
	}
	for len(entries) > 0 {
		segment := segmentOf(firsts, entries[0].Seq)
		n := 1
		for n < len(entries) && segmentOf(firsts, entries[n].Seq) == segment {
			n++
		}
		if err := l.replaceIn(ctx, k, segment, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return ctx.Err()
}

// replaceIn is Replace within a segment.
func (l *Log) replaceIn(ctx context.Context, k timeline.Key, segment uint64, entries []timeline.Entry) error {
	var failed error
	for tries := replaceTries; tries > 0; tries-- {
		s, err := l.readState(ctx, k, segment, failed != nil)
		if err != nil || s.version == 0 {
			return errors.Join(failed, err)
		}
		b := l.batch(ctx)
		after := s
		l.updateState(b, k, &s, &after)
		some := false
		for _, e := range entries {
			if e.Seq < s.tail.FirstSeq || e.Seq > s.tail.Seq {
				continue // kept control entries below the first seq are not replaced
			}
			some = true
			b.Query(replacePayload, append([]any{e.Payload}, l.segmentArgs(k, segment, int64(e.Seq))...)...)
		}
		if !some {
			return nil
		}
		applied, err := b.apply()
		if applied {
			return nil
		}
		failed = err // nil: the segment's state has changed
	}
	if failed == nil {
		failed = timeline.ErrBusy
	}
	return failed
}
