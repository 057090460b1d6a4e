package chat_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// corruptLog cannot read some seqs.
type corruptLog struct {
	timeline.Log
	seqs []uint64
}

func (l *corruptLog) whole(entries []timeline.Entry, err error) ([]timeline.Entry, error) {
	for _, e := range entries {
		if slices.Contains(l.seqs, e.Seq) {
			return nil, timeline.ErrCorrupt
		}
	}
	return entries, err
}

func (l *corruptLog) Read(ctx context.Context, k timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	return l.whole(l.Log.Read(ctx, k, after, limit))
}

func (l *corruptLog) ReadBackward(ctx context.Context, k timeline.Key, before uint64, limit int) ([]timeline.Entry, error) {
	return l.whole(l.Log.ReadBackward(ctx, k, before, limit))
}

func (l *corruptLog) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	return l.whole(l.Log.Get(ctx, refs))
}

func (l *corruptLog) GetLimited(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	return l.whole(l.Log.GetLimited(ctx, refs, bytes))
}

// TestHistorySkipsCorruptEntries, in both directions: each seq is in one page, as a message or as unreadable.
func TestHistorySkipsCorruptEntries(t *testing.T) {
	const last = 60
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	log := &corruptLog{Log: h.log}
	h.log = log
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
	must(t, err)
	began := h.clock.ms.Load()
	for n := range uint64(last - 1) {
		h.clock.ms.Add(10)
		must(t, s.Send(ctx, draftOf(c, 1, n+1, "x")))
	}
	log.seqs = []uint64{2, 17, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, last}
	// The time of a corrupt entry is unknown: a page begins with it if it could belong to the page.
	for at, want := range map[int64]uint64{55: 55, 36: 30, 49: 30, 50: 50, 18: 17} {
		r, err := s.History(ctx, 1, &chatv1.HistoryRequest{Conversation: uint64(c), TimeMs: began + 10*(at-1)})
		must(t, err)
		first := r.Messages[0].Seq
		if len(r.Unreadable) > 0 {
			first = min(first, r.Unreadable[0])
		}
		if first != want {
			t.Errorf("a page from time %d begins with seq %d, want %d", at, first, want)
		}
	}
	for _, limit := range []uint32{1, 7, 200} {
		for _, forward := range []bool{true, false} {
			var seqs, unreadable []uint64
			q := &chatv1.HistoryRequest{Conversation: uint64(c), Limit: limit}
			if forward {
				q.TimeMs = 1
			}
			for more := true; more; {
				r, err := s.History(ctx, 1, q)
				must(t, err)
				page := slices.Clone(r.Unreadable)
				for _, m := range r.Messages {
					page = append(page, m.Seq)
				}
				slices.Sort(page)
				if more = r.More; len(page) == 0 || len(page) > int(limit) {
					t.Fatalf("page %v with limit %d, more %v", page, limit, more)
				}
				seqs, unreadable = append(seqs, page...), append(unreadable, r.Unreadable...)
				q.TimeMs = 0
				if forward {
					q.After = page[len(page)-1]
				} else {
					q.Before = page[0]
				}
			}
			slices.Sort(seqs)
			slices.Sort(unreadable)
			for i, seq := range seqs {
				if seq != uint64(i+1) || len(seqs) != last {
					t.Fatalf("pages of %d, forward %v: seqs are %v", limit, forward, seqs)
				}
			}
			if !slices.Equal(unreadable, log.seqs) {
				t.Errorf("pages of %d, forward %v: unreadable seqs are %v", limit, forward, unreadable)
			}
		}
	}
}

// A corrupt entry where the retained messages begin keeps nobody from reading the others, also after they have expired up to a later one.
func TestCorruptEntryAtTheRetentionHorizon(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{Retention: "1d"})
	log := &corruptLog{Log: h.log}
	h.log = log
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	began := h.clock.ms.Load()
	const last = 20
	for n := range uint64(last) { // the time of seq n is began + n s, except that of the first entry
		h.clock.ms.Store(began + int64(n+2)*1000)
		must(t, s.Send(ctx, draftOf(c, 1, n+1, "x")))
	}
	log.seqs = []uint64{10, 11}
	for _, oldest := range []uint64{10, 11, 12} {
		h.clock.ms.Store(began + int64(oldest)*1000 + dayMs)
		first, err := s.FirstRetained(ctx, c)
		must(t, err)
		if first < 10 || first > oldest {
			t.Errorf("of the messages from %d on, the first that is retained is %d", oldest, first)
		}
		if first, err := s.FirstRetained(ctx, c); err != nil || first < 10 || first > oldest {
			t.Errorf("the second answer is %d, %v", first, err)
		}
		if seqs := seqsOf(t, s, 2, c); len(seqs) == 0 || seqs[0] != 12 {
			t.Errorf("read %v, want the seqs from 12 on", seqs)
		}
	}
}

// Corrupt entries, however many in succession, as all of a segment, do not make messages after them be shown that have expired.
func TestManyCorruptEntriesBeforeTheRetentionHorizon(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{Retention: "1d"})
	log := &corruptLog{Log: h.log}
	h.log = log
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	began := h.clock.ms.Load()
	for n := range uint64(400) { // the time of seq n is began + n s
		h.clock.ms.Store(began + int64(n+2)*1000)
		must(t, s.Send(ctx, draftOf(c, 1, n+1, "x")))
	}
	for seq := range uint64(200) {
		log.seqs = append(log.seqs, 100+seq)
	}
	for _, oldest := range []uint64{90, 350} {
		h.clock.ms.Store(began + int64(oldest)*1000 + dayMs)
		if first, err := s.FirstRetained(ctx, c); err != nil || first != oldest {
			t.Errorf("of the messages from %d on, the first that is retained is %d, %v", oldest, first, err)
		}
	}
}
