package coldtier

import (
	"context"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Log is a timeline.Log whose conversations continue in the cold tier. While a log has no gap, it is read alone. Where a read finds a gap, or
// a tail whose older entries have left the log, the manifest says what is cold and what has expired. The log is always read before the
// manifest: entries are in the manifest before they leave the log.
type Log struct {
	timeline.Log
	tier *Tier
}

// Log returns the log with the cold tier.
func (t *Tier) Log() *Log { return &Log{t.deps.Hot, t} }

// span returns what the cold tier has of a conversation; an empty span if nothing.
func (l *Log) span(ctx context.Context, key timeline.Key) (span, error) {
	used, err := l.tier.used(ctx)
	if err != nil || !used {
		return span{first: 1}, err
	}
	s, ok, err := spanOf(ctx, l.tier.deps.DB.Read(), key.ID)
	if !ok {
		s = span{first: 1}
	}
	return s, err
}

// Read is timeline.Log.Read.
func (l *Log) Read(ctx context.Context, key timeline.Key, after uint64, limit int) (list []timeline.Entry, err error) {
	for {
		hot, err := l.Log.Read(ctx, key, after, limit-len(list))
		if err != nil || key.Kind != timeline.Conversation || ascends(hot, after+1) { // the newest entry is always in the log
			return append(list, hot...), err
		}
		s, err := l.span(ctx, key)
		if err != nil || s.empty() || after >= s.last {
			return append(list, hot...), err
		}
		for i := 0; i < len(hot) && hot[i].Seq < s.first; i++ { // kept when the entries around it expired
			list = append(list, hot[i])
		}
		from := max(after+1, s.first)
		cold, err := l.tier.ascending(ctx, key, from, s.last, limit-len(list))
		if err != nil {
			return nil, err
		}
		if list = append(list, cold...); len(list) >= limit {
			return list, nil
		}
		after = from - 1 + uint64(len(cold)) // go on in the log, or in the manifest if entries expired meanwhile
	}
}

// ascends reports whether entries begin at a seq and have no gap.
func ascends(list []timeline.Entry, from uint64) bool {
	return len(list) == 0 || list[0].Seq == from && list[len(list)-1].Seq == from+uint64(len(list))-1
}

// ReadBackward is timeline.Log.ReadBackward.
func (l *Log) ReadBackward(ctx context.Context, key timeline.Key, before uint64, limit int) (list []timeline.Entry, err error) {
	hot, err := l.Log.ReadBackward(ctx, key, before, limit)
	if err != nil || key.Kind != timeline.Conversation || descends(hot, before, limit) {
		return hot, err
	}
	s, err := l.span(ctx, key)
	if err != nil || s.empty() {
		return hot, err
	}
	for i := 0; i < len(hot) && hot[i].Seq > s.last; i++ {
		list = append(list, hot[i])
	}
	to := s.last
	if before != 0 {
		to = min(to, before-1)
	}
	cold, err := l.tier.descending(ctx, key, s.first, to, limit-len(list))
	if err != nil {
		return nil, err
	}
	list, to = append(list, cold...), to-uint64(len(cold))
	if len(list) >= limit || to == 0 {
		return list, nil
	}
	kept, err := l.Log.ReadBackward(ctx, key, to+1, limit-len(list)) // kept when the entries around them expired
	return append(list, kept...), err
}

// descends reports whether a page that was read backward is complete without the cold tier.
func descends(list []timeline.Entry, before uint64, limit int) bool {
	if len(list) == 0 {
		return before == 0 || before == 1 || limit == 0
	}
	first, last := list[0].Seq, list[len(list)-1].Seq
	return (before == 0 || first == before-1) && first-last == uint64(len(list)-1) && (len(list) == limit || last == 1)
}

// Tail is timeline.Log.Tail.
func (l *Log) Tail(ctx context.Context, key timeline.Key) (timeline.Tail, error) {
	tail, err := l.Log.Tail(ctx, key)
	if err != nil || tail.FirstSeq == 0 || key.Kind != timeline.Conversation {
		return tail, err
	}
	s, err := l.span(ctx, key)
	return s.tail(tail), err
}

// Tails is timeline.Log.Tails.
func (l *Log) Tails(ctx context.Context, keys []timeline.Key) ([]timeline.Tail, error) {
	tails, err := l.Log.Tails(ctx, keys)
	if err != nil {
		return tails, err
	}
	var trimmed []uint64
	for i, k := range keys {
		if k.Kind == timeline.Conversation && tails[i].FirstSeq != 0 {
			trimmed = append(trimmed, k.ID)
		}
	}
	if len(trimmed) == 0 {
		return tails, nil
	}
	if used, err := l.tier.used(ctx); err != nil || !used {
		return tails, err
	}
	spans, err := spansOf(ctx, l.tier.deps.DB.Read(), trimmed)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		if s, ok := spans[k.ID]; ok && k.Kind == timeline.Conversation && tails[i].FirstSeq != 0 {
			tails[i] = s.tail(tails[i])
		}
	}
	return tails, nil
}

// tail returns the tail of a conversation whose log has a tail. What left the log for the cold tier has not expired.
func (s span) tail(hot timeline.Tail) timeline.Tail {
	if hot.FirstSeq > s.last+1 { // more has expired than what is cold
		return hot
	}
	if hot.FirstSeq = s.first; s.first <= 1 {
		hot.FirstSeq = 0
	}
	return hot
}

// Expire is timeline.Log.Expire. Readers do not see the entries any more once the manifest is changed; their files are deleted, or rewritten,
// by the sweep.
func (l *Log) Expire(ctx context.Context, key timeline.Key, firstSeq uint64, keep []uint64) error {
	if key.Kind == timeline.Conversation {
		if err := l.tier.expire(ctx, key, firstSeq); err != nil {
			return err
		}
	}
	return l.Log.Expire(ctx, key, firstSeq, keep)
}
