package coldtier

import (
	"context"
	"math"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// getAtOnce bounds the entries that are read from segments before their size is checked.
const getAtOnce = 256

// Get is timeline.Log.Get.
func (l *Log) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	hot, err := l.Log.Get(ctx, refs)
	if err != nil || isComplete(hot, refs) {
		return hot, err
	}
	return l.getCold(ctx, refs, hot, math.MaxInt)
}

// GetLimited is timeline.Log.GetLimited.
func (l *Log) GetLimited(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	hot, err := l.Log.GetLimited(ctx, refs, bytes)
	if err != nil || isComplete(hot, refs) {
		return hot, err
	}
	return l.getCold(ctx, refs, hot, bytes)
}

// isComplete reports whether no entry is absent.
func isComplete(list []timeline.Entry, refs []timeline.Ref) bool {
	n := uint64(0)
	for _, r := range refs {
		n += r.To - r.From + 1
	}
	return uint64(len(list)) == n
}

// getCold returns the entries of refs, some of which the log lacks. hot are those that it has.
func (l *Log) getCold(ctx context.Context, refs []timeline.Ref, hot []timeline.Entry, limit int) ([]timeline.Entry, error) {
	if used, err := l.tier.used(ctx); err != nil || !used {
		return hot, err
	}
	seen := map[uint64]bool{}
	var conversations []uint64
	for _, r := range refs {
		if r.Key.Kind == timeline.Conversation && !seen[r.Key.ID] {
			seen[r.Key.ID] = true
			conversations = append(conversations, r.Key.ID)
		}
	}
	spans, err := spansOf(ctx, l.tier.deps.DB.Read(), conversations)
	if err != nil || len(spans) == 0 {
		return hot, err
	}
	g := getter{log: l, ctx: ctx, limit: limit}
	for _, r := range refs {
		s, ok := spans[r.Key.ID]
		if !ok || s.empty() || r.Key.Kind != timeline.Conversation || r.To < s.first || r.From > s.last {
			g.pending = append(g.pending, r)
			continue
		}
		if err := g.ref(r, s); err != nil {
			return nil, err
		}
	}
	if err := g.flush(); err != nil {
		return nil, err
	}
	return g.list, nil
}

// getter collects the entries of refs in their order.
type getter struct {
	log     *Log
	ctx     context.Context
	limit   int            // of the payloads' bytes
	pending []timeline.Ref // to be read from the log, before what comes next
	list    []timeline.Entry
	size    int
}

// ref reads a ref that is cold in part.
func (g *getter) ref(r timeline.Ref, s span) error {
	if r.From < s.first {
		g.pending = append(g.pending, timeline.Ref{Key: r.Key, From: r.From, To: s.first - 1})
	}
	if err := g.flush(); err != nil {
		return err
	}
	to := min(r.To, s.last)
	for from := max(r.From, s.first); from <= to; {
		n := min(to-from+1, getAtOnce)
		some, err := g.log.tier.ascending(g.ctx, r.Key, from, from+n-1, int(n))
		if err != nil {
			return err
		}
		if err := g.add(some); err != nil {
			return err
		}
		from += n
	}
	if r.To > s.last {
		g.pending = append(g.pending, timeline.Ref{Key: r.Key, From: s.last + 1, To: r.To})
	}
	return nil
}

// flush reads the pending refs from the log.
func (g *getter) flush() error {
	if len(g.pending) == 0 {
		return nil
	}
	some, err := g.log.Log.GetLimited(g.ctx, g.pending, max(g.limit-g.size, 1))
	g.pending = g.pending[:0]
	if err != nil {
		return err
	}
	return g.add(some)
}

func (g *getter) add(some []timeline.Entry) error {
	for i := range some {
		g.size += len(some[i].Payload)
	}
	if g.list = append(g.list, some...); g.size > g.limit && len(g.list) > 1 {
		return timeline.ErrTooLarge
	}
	return nil
}
