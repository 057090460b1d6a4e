package chat

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// How many replies a thread has is not stored: it is the running count at the end of its log, less that before the first retained entry, and less
// the recalled ones. The ends of a page's threads are read together; the first retained entry is read for each thread that has lost some.

// repliesEnd is how many entries at the end of a thread are read to find its newest reply.
const repliesEnd = 32

// threadsNow returns what the messages above some threads show of them. parents has the parent of each thread.
func (s *Service) threadsNow(ctx context.Context, parents map[id.Conversation]id.Conversation) (map[id.Conversation]*chatv1.Thread, error) {
	if len(parents) == 0 {
		return nil, nil
	}
	threads := slices.Collect(maps.Keys(parents))
	keys := make([]timeline.Key, len(threads))
	for i, c := range threads {
		keys[i] = logKey(c)
	}
	found, err := s.deps.Log.Tails(ctx, keys)
	if err != nil {
		return nil, err
	}
	expiring, err := s.expiringParents(ctx, parents)
	if err != nil {
		return nil, err
	}
	spans := make([]Span, len(threads))
	tails := make(map[id.Conversation]timeline.Tail, len(threads))
	for i, c := range threads {
		tails[c] = found[i]
		if spans[i], err = s.repliesSpan(ctx, c, found[i], expiring[parents[c]]); err != nil {
			return nil, err
		}
	}
	recalled, err := s.countRecalled(ctx, spans, tails)
	if err != nil {
		return nil, err
	}
	times, err := s.lastReplyTimes(ctx, spans)
	if err != nil {
		return nil, err
	}
	list := make(map[id.Conversation]*chatv1.Thread, len(threads))
	for i, c := range threads {
		n := found[i].Counted - min(found[i].Counted, spans[i].AfterCounted)
		t := &chatv1.Thread{Conversation: uint64(c), Replies: uint32(n - min(n, recalled[i]))}
		if t.Replies > 0 {
			t.LastReplyMs = times[i]
		}
		list[c] = t
	}
	return list, nil
}

// expiringParents returns which parents have messages that expire, as those of their threads do then.
func (s *Service) expiringParents(ctx context.Context, parents map[id.Conversation]id.Conversation) (map[id.Conversation]bool, error) {
	if s.retention == 0 && !s.customRetention.Load() {
		return nil, nil
	}
	expiring := map[id.Conversation]bool{}
	for _, c := range parents {
		if _, known := expiring[c]; known {
			continue
		}
		st, err := s.boundedStaleState(ctx, c)
		if err != nil {
			return nil, err
		}
		expiring[c] = s.effectiveRetention(st.retention) != 0
	}
	return expiring, nil
}

// repliesSpan returns the span of a thread's entries that have not expired.
func (s *Service) repliesSpan(ctx context.Context, c id.Conversation, tail timeline.Tail, expiring bool) (span Span, err error) {
	span = Span{Conversation: c, Last: tail.Seq}
	var first uint64
	if expiring {
		first, err = s.FirstRetained(ctx, c)
	}
	if first = max(first, tail.FirstSeq); err != nil || first <= 1 {
		return span, err
	}
	span.After = first - 1
	if first > tail.Seq { // all have expired
		span.AfterCounted = tail.Counted
		return span, nil
	}
	entries, err := s.getEach(ctx, []timeline.Ref{{Key: logKey(c), From: first, To: first}})
	if err != nil || entries[0].Seq == 0 {
		return span, err
	}
	if span.AfterCounted = entries[0].Counted; replyTime(&entries[0]) != 0 {
		span.AfterCounted--
	}
	return span, nil
}

// lastReplyTimes returns the time of the newest reply in each span. Where the last entries have none, it is the time of the first of them.
func (s *Service) lastReplyTimes(ctx context.Context, spans []Span) ([]int64, error) {
	times := make([]int64, len(spans))
	var ends []timeline.Ref
	var of []int // indexes of spans
	for i, span := range spans {
		if span.Last > span.After {
			ends, of = append(ends, timeline.Ref{Key: logKey(span.Conversation), From: span.Last, To: span.Last}), append(of, i)
		}
	}
	last, err := s.getEach(ctx, ends)
	if errors.Is(err, timeline.ErrTooLarge) {
		return times, nil // the last replies of many threads are very long; they are shown without a time
	}
	if err != nil {
		return nil, err
	}
	for k := range last {
		i := of[k]
		if times[i] = replyTime(&last[k]); times[i] == 0 {
			if times[i], err = s.olderReplyTime(ctx, spans[i]); err != nil {
				return nil, err
			}
		}
	}
	return times, nil
}

// olderReplyTime is lastReplyTimes of a thread whose last entry is no reply, but a reaction for instance.
func (s *Service) olderReplyTime(ctx context.Context, span Span) (ms int64, err error) {
	entries, err := s.deps.Log.ReadBackward(ctx, logKey(span.Conversation), span.Last, repliesEnd)
	if errors.Is(err, timeline.ErrCorrupt) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for i := range entries {
		if entries[i].Seq <= span.After {
			break
		}
		if at := replyTime(&entries[i]); at != 0 {
			return at, nil
		}
		ms, _ = entryTime(&entries[i])
	}
	return ms, nil
}

// replyTime returns the time of a reply, 0 for other entries.
func replyTime(e *timeline.Entry) int64 {
	var m message.Entry
	if e.Seq == 0 || m.Decode(e.Payload) != nil || !m.Counts() {
		return 0
	}
	return m.ID.Ms()
}

// AddRoots gives threads their roots, as a user sees them now. Roots that have expired, that the user deleted, or that are corrupt, are left out.
func (s *Service) AddRoots(ctx context.Context, u id.User, threads []*chatv1.Conversation) error {
	var list []*message.Stored
	roots := map[*message.Stored]*chatv1.Conversation{}
	refs := make([]timeline.Ref, len(threads))
	parents := make([]id.Conversation, len(threads))
	for i, c := range threads {
		parents[i] = id.Conversation(c.Parent)
		refs[i] = timeline.Ref{Key: logKey(parents[i]), From: c.RootSeq, To: c.RootSeq}
	}
	cleared, err := s.ClearedThrough(ctx, u, parents)
	if err != nil {
		return err
	}
	entries, err := s.getEach(ctx, refs)
	if err != nil {
		return s.addRootsOfHalves(ctx, u, threads, err)
	}
	firsts := make(map[id.Conversation]uint64, len(parents))
	for _, parent := range parents {
		firsts[parent] = 0
	}
	if err := s.raiseToRetained(ctx, firsts); err != nil {
		return err
	}
	for i := range entries {
		parent := parents[i]
		m := &message.Stored{Conversation: parent, Seq: threads[i].RootSeq, Counted: entries[i].Counted}
		if entries[i].Seq != 0 && m.Seq >= firsts[parent] && m.Seq > cleared[parent] && m.Entry.Decode(entries[i].Payload) == nil {
			list, roots[m] = append(list, m), threads[i]
		}
	}
	if err := s.Current(ctx, u, list, nil); err != nil {
		return s.addRootsOfHalves(ctx, u, threads, err)
	}
	for m, c := range roots {
		if m.Deleted {
			continue
		}
		c.Root = &chatv1.Message{}
		if err := proto.Unmarshal(m.AppendProto(nil), c.Root); err != nil {
			return err
		}
	}
	return nil
}

// addRootsOfHalves is AddRoots of each half of threads whose roots together were too large to read. It returns another error as it is.
func (s *Service) addRootsOfHalves(ctx context.Context, u id.User, threads []*chatv1.Conversation, err error) error {
	n := len(threads) / 2
	if n == 0 || !errors.Is(err, timeline.ErrTooLarge) {
		return err
	}
	if err := s.AddRoots(ctx, u, threads[:n]); err != nil {
		return err
	}
	return s.AddRoots(ctx, u, threads[n:])
}
