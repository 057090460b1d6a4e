package coldtier_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/platform/coldtier"
	"pgregory.net/rapid"
)

// Old entries leave the log and are read as before. Control entries, the newest entry and young ones stay in the log.
func TestOldEntriesLeaveTheLog(t *testing.T) {
	h, key := newHarness(t), conversation(5)
	h.fill(t, key, 20)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	if got := stored(t, h.hot, key); !slices.Equal(got, []uint64{1, 20}) && !slices.Equal(got, []uint64{1, 19, 20}) {
		t.Errorf("the log has %v", got)
	}
	if got := stored(t, tier.Log(), key); !slices.Equal(got, upTo(20)) {
		t.Errorf("reading gives %v", got)
	}
	if tail, err := tier.Log().Tail(t.Context(), key); err != nil || tail.FirstSeq != 0 || tail.Seq != 20 {
		t.Errorf("the tail is %+v, %v", tail, err)
	}
	segments := len(h.fileNames(t))
	if segments < 2 || tier.Stats().Segments.Load() != int64(segments) {
		t.Errorf("%d files, and %d segments were counted", segments, tier.Stats().Segments.Load())
	}
	// Young entries stay, and so does what is too little for a segment.
	for range 10 {
		must(t, timelinetest.Append(tier.Log(), &timeline.AppendRequest{Key: key, Payload: h.payload(key, false, "young"), Counts: true}).Err)
	}
	must(t, tier.Round(t.Context()))
	if n := len(h.fileNames(t)); n != segments && n != segments+1 { // the last old ones may be a segment now
		t.Errorf("%d files after the second round, %d after the first", n, segments)
	}
	if got := stored(t, h.hot, key); len(got) < 11 {
		t.Errorf("young entries left the log, which has %v", got)
	}
	if got := stored(t, tier.Log(), key); !slices.Equal(got, upTo(30)) {
		t.Errorf("reading gives %v", got)
	}
}

func TestNothingIsPackedByDefault(t *testing.T) {
	h, key := newHarness(t), conversation(5)
	h.fill(t, key, 20)
	h.config.After = 0
	must(t, h.tier(t).Round(t.Context()))
	if got := stored(t, h.hot, key); !slices.Equal(got, upTo(20)) {
		t.Errorf("the log has %v", got)
	}
}

// With the cold tier, all reads give what a log without it gives: after packs, expiries, interruptions at any step, and restarts.
func TestTheColdTierMatchesALogWithout(t *testing.T) {
	h := newHarness(t)
	conversations, next := uint64(0), uint64(0)
	rapid.Check(t, func(r *rapid.T) {
		conversations += 2
		h.hot = memlog.New(nil)
		model, tier := memlog.New(nil), h.tier(r)
		keys := []timeline.Key{conversation(conversations - 1), conversation(conversations)}
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				key := rapid.SampledFrom(keys).Draw(r, "key")
				for range rapid.IntRange(1, 12).Draw(r, "entries") {
					next++
					control := rapid.IntRange(0, 5).Draw(r, "control") == 0
					p := h.payload(key, control, strings.Repeat("x", rapid.IntRange(0, 100).Draw(r, "size")))
					for _, l := range []timeline.Log{model, tier.Log()} {
						must(r, timelinetest.Append(l, &timeline.AppendRequest{Key: key, Payload: p, Counts: !control, Token: token(next)}).Err)
					}
				}
			},
			"time": func(r *rapid.T) { h.clock.move(time.Duration(rapid.IntRange(1, 30).Draw(r, "hours")) * time.Hour) },
			"round": func(r *rapid.T) {
				stop := rapid.IntRange(0, 12).Draw(r, "stop")
				errStop := errors.New("stopped")
				coldtier.SetInterrupt(tier, func(string) error {
					if stop--; stop == 0 {
						return errStop
					}
					return nil
				})
				_ = tier.Round(context.Background()) // an interrupted one is continued by the next
			},
			"restart": func(r *rapid.T) { tier = h.tier(r) },
			"expire": func(r *rapid.T) {
				key := rapid.SampledFrom(keys).Draw(r, "key")
				tail, err := model.Tail(context.Background(), key)
				must(r, err)
				first := rapid.Uint64Range(0, tail.Seq+2).Draw(r, "first")
				entries, err := model.Read(context.Background(), key, 0, 10_000)
				must(r, err)
				var keep []uint64
				for _, e := range entries {
					if e.Seq < first && message.IsControl(e.Payload) {
						keep = append(keep, e.Seq)
					}
				}
				must(r, model.Expire(context.Background(), key, first, keep))
				must(r, tier.Log().Expire(context.Background(), key, first, keep))
			},
			"": func(r *rapid.T) { compare(r, model, tier.Log(), keys) },
		})
		coldtier.SetInterrupt(tier, nil)
		// What is not used is swept in the end, and nothing is forgotten.
		for range 3 {
			must(r, tier.Round(context.Background()))
			h.clock.move(2 * time.Minute)
		}
		must(r, tier.Round(context.Background()))
		files := h.fileNames(r)
		slices.Sort(files)
		if named := h.manifest(r); !slices.Equal(files, named) {
			r.Errorf("the files are %v, and the manifest has %v", files, named)
		}
	})
}

// compare compares reads of two logs.
func compare(r *rapid.T, model, log timeline.Log, keys []timeline.Key) {
	ctx := context.Background()
	var refs []timeline.Ref
	for _, key := range keys {
		want, err := model.Tail(ctx, key)
		must(r, err)
		got, err := log.Tail(ctx, key)
		must(r, err)
		if got.FirstSeq <= 1 && want.FirstSeq <= 1 {
			got.FirstSeq, want.FirstSeq = 0, 0
		}
		if got != want {
			r.Fatalf("the tail is %+v, want %+v", got, want)
		}
		at, limit := rapid.Uint64Range(0, want.Seq+2).Draw(r, "at"), rapid.IntRange(1, 40).Draw(r, "limit")
		wanted, err := model.Read(ctx, key, at, limit)
		must(r, err)
		found, err := log.Read(ctx, key, at, limit)
		same(r, fmt.Sprintf("%d after %d", limit, at), found, wanted, err)
		wanted, err = model.ReadBackward(ctx, key, at, limit)
		must(r, err)
		found, err = log.ReadBackward(ctx, key, at, limit)
		same(r, fmt.Sprintf("%d before %d", limit, at), found, wanted, err)
		for range 2 {
			from := rapid.Uint64Range(1, want.Seq+1).Draw(r, "from")
			refs = append(refs, timeline.Ref{Key: key, From: from, To: from + rapid.Uint64Range(0, 5).Draw(r, "more")})
		}
	}
	refs = rapid.Permutation(refs).Draw(r, "refs")
	wanted, err := model.Get(ctx, refs)
	must(r, err)
	found, err := log.Get(ctx, refs)
	same(r, fmt.Sprint(refs), found, wanted, err)
	bytes := rapid.IntRange(1, 600).Draw(r, "bytes")
	wanted, wantErr := model.GetLimited(ctx, refs, bytes)
	if found, err = log.GetLimited(ctx, refs, bytes); !errors.Is(err, wantErr) {
		r.Fatalf("%v within %d bytes: %v, want %v", refs, bytes, err, wantErr)
	}
	same(r, "limited", found, wanted, nil)
	tails, err := log.Tails(ctx, append(keys, timeline.Key{Kind: timeline.Inbox, ID: 1}))
	must(r, err)
	for i, k := range keys {
		if one, err := log.Tail(ctx, k); err != nil || one != tails[i] {
			r.Fatalf("Tails has %+v, Tail %+v, %v", tails[i], one, err)
		}
	}
}

func same(r *rapid.T, what string, got, want []timeline.Entry, err error) {
	r.Helper()
	must(r, err)
	if !slices.EqualFunc(got, want, func(a, b timeline.Entry) bool {
		return a.Seq == b.Seq && a.Counted == b.Counted && a.Prev == b.Prev && bytes.Equal(a.Payload, b.Payload)
	}) {
		r.Fatalf("%s: got %v, want %v", what, seqsOf(got), seqsOf(want))
	}
}

func seqsOf(list []timeline.Entry) (seqs []uint64) {
	for _, e := range list {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// A round that is interrupted at any step loses nothing, and the next rounds finish it and delete what was abandoned.
func TestInterruptedRoundsLoseNothing(t *testing.T) {
	for stop := 1; ; stop++ {
		h, key, reached := newHarness(t), conversation(3), ""
		h.fill(t, key, 20)
		tier, n := h.tier(t), 0
		coldtier.SetInterrupt(tier, func(point string) error {
			if n++; n == stop {
				reached = point
				return errors.New("stopped")
			}
			return nil
		})
		_ = tier.Round(t.Context())
		if reached == "" {
			if stop < 8 {
				t.Errorf("a round has %d steps", stop-1)
			}
			return
		}
		tier = h.tier(t)
		if got := stored(t, tier.Log(), key); !slices.Equal(got, upTo(20)) {
			t.Errorf("stopped at %s (%d): reading gives %v", reached, stop, got)
		}
		must(t, tier.Round(t.Context()))
		h.clock.move(2 * time.Minute)
		must(t, tier.Round(t.Context()))
		if got := stored(t, tier.Log(), key); !slices.Equal(got, upTo(20)) {
			t.Errorf("continued after %s (%d): reading gives %v", reached, stop, got)
		}
		files := h.fileNames(t)
		slices.Sort(files)
		if named := h.manifest(t); !slices.Equal(files, named) || len(files) != 3 {
			t.Errorf("stopped at %s (%d): the files are %v, and the manifest has %v", reached, stop, files, named)
		}
	}
}

// Two nodes that pack one conversation at the same time do not both succeed: what one has committed, the other drops.
func TestTwoNodesPackOneConversation(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 20)
	first, second := h.tier(t), h.tier(t)
	coldtier.SetInterrupt(first, func(point string) error {
		if point == "before-commit" {
			coldtier.SetInterrupt(first, nil)
			return second.Round(context.Background())
		}
		return nil
	})
	must(t, first.Round(t.Context()))
	if got := stored(t, first.Log(), key); !slices.Equal(got, upTo(20)) {
		t.Errorf("reading gives %v", got)
	}
	h.clock.move(2 * time.Minute)
	must(t, first.Round(t.Context()))
	if n := len(h.fileNames(t)); n != 3 {
		t.Errorf("%d files remain, want 3", n)
	}
}

// Expired contents leave the files: whole segments are deleted, and the one at the border is rewritten.
func TestExpiredContentsLeaveTheFiles(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 20)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	before := len(h.fileNames(t))
	must(t, tier.Log().Expire(t.Context(), key, 11, []uint64{1}))
	for range 2 { // the first rewrites, the second deletes the old file
		h.clock.move(2 * time.Minute)
		must(t, tier.Round(t.Context()))
	}
	text := h.contents(t)
	if strings.Contains(text, "message 10\n") || !strings.Contains(text, "message 11\n") || len(h.fileNames(t)) != before-1 {
		t.Errorf("%d files of %d, which have\n%s", len(h.fileNames(t)), before, text)
	}
	if got, want := stored(t, tier.Log(), key), append([]uint64{1}, upTo(20)[10:]...); !slices.Equal(got, want) {
		t.Errorf("reading gives %v, want %v", got, want)
	}
	must(t, tier.Log().Expire(t.Context(), key, 21, []uint64{1}))
	h.clock.move(2 * time.Minute)
	must(t, tier.Round(t.Context()))
	if files := h.fileNames(t); len(files) != 0 {
		t.Errorf("after all has expired, %v remain", files)
	}
}

// The content of a recalled message never enters a segment; if it is recalled later, or while the segment is written, it leaves it.
func TestRecalledContentsLeaveTheFiles(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 20)
	h.recalled[3] = []uint64{4}
	calls := 0
	h.onRecall = func() {
		if calls++; calls == 1 {
			h.recalled[3] = append(h.recalled[3], 5) // after the first segment was read
		}
	}
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	if text := h.contents(t); strings.Contains(text, "message 4\n") || !strings.Contains(text, "message 5\n") || !strings.Contains(text, "message 12\n") {
		t.Errorf("the files have\n%s", text)
	}
	h.recalled[3] = append(h.recalled[3], 12)
	must(t, h.db.Write(t.Context(), func(tx *sql.Tx) error { return tier.Recalled(t.Context(), tx, key, 12) }))
	for range 2 {
		h.clock.move(2 * time.Minute)
		must(t, tier.Round(t.Context()))
	}
	text := h.contents(t)
	for _, gone := range []string{"message 4\n", "message 5\n", "message 12\n"} {
		if strings.Contains(text, gone) {
			t.Errorf("the files still have %q", gone)
		}
	}
	if got := stored(t, tier.Log(), key); !slices.Equal(got, upTo(20)) || !strings.Contains(text, "message 6\n") {
		t.Errorf("reading gives %v, and the files have\n%s", got, text)
	}
}

// A damaged or missing segment is an error of the reads that need it. Other pages are read.
func TestADamagedSegmentIsReported(t *testing.T) {
	for _, damage := range []string{"missing", "flipped", "cut"} {
		h, key := newHarness(t), conversation(3)
		h.fill(t, key, 20)
		must(t, h.tier(t).Round(t.Context()))
		for _, name := range h.fileNames(t) {
			if !strings.Contains(name, "/8-") {
				continue
			}
			b, err := os.ReadFile(name)
			must(t, err)
			switch damage {
			case "missing":
				err = os.Remove(name)
			case "flipped":
				b[len(b)-3] ^= 1
				err = os.WriteFile(name, b, 0o600)
			default:
				err = os.WriteFile(name, b[:len(b)-1], 0o600)
			}
			must(t, err)
		}
		tier := h.tier(t)
		if _, err := tier.Log().Read(t.Context(), key, 7, 3); !errors.Is(err, timeline.ErrCorrupt) {
			t.Errorf("%s: reading gives %v", damage, err)
		}
		if _, err := tier.Log().Get(t.Context(), []timeline.Ref{{Key: key, From: 9, To: 9}}); !errors.Is(err, timeline.ErrCorrupt) {
			t.Errorf("%s: Get gives %v", damage, err)
		}
		if _, err := tier.Log().ReadBackward(t.Context(), key, 11, 2); !errors.Is(err, timeline.ErrCorrupt) {
			t.Errorf("%s: reading backward gives %v", damage, err)
		}
		for _, after := range []uint64{0, 14} {
			if got, err := tier.Log().Read(t.Context(), key, after, 5); err != nil || got[0].Seq != after+1 || len(got) != 5 {
				t.Errorf("%s: the page after %d is %v, %v", damage, after, seqsOf(got), err)
			}
		}
		if tier.Stats().Corrupt.Load() != 3 {
			t.Errorf("%s: %d reads were counted", damage, tier.Stats().Corrupt.Load())
		}
	}
}

// A segment that the manifest lacks is an error, never an empty page or a shorter history.
func TestAMissingRowIsReported(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 20)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	must(t, h.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `DELETE FROM cold_segments WHERE first_seq = 8`)
		return err
	}))
	if got, err := tier.Log().Read(t.Context(), key, 7, 3); !errors.Is(err, timeline.ErrCorrupt) {
		t.Errorf("reading gives %v, %v", seqsOf(got), err)
	}
	if got, err := tier.Log().ReadBackward(t.Context(), key, 12, 3); !errors.Is(err, timeline.ErrCorrupt) {
		t.Errorf("reading backward gives %v, %v", seqsOf(got), err)
	}
}

// Of several nodes, none trims before all know of the first segment. Until then entries are in both places.
func TestSeveralNodesDoNotTrimAtOnce(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.several = true
	h.fill(t, key, 20)
	first, second := h.tier(t), h.tier(t)
	must(t, first.Round(t.Context()))
	if files, got := h.fileNames(t), stored(t, h.hot, key); len(files) == 0 || !slices.Equal(got, upTo(20)) {
		t.Errorf("there are %d segments, and the log has %v", len(files), got)
	}
	for _, tier := range []*coldtier.Tier{first, second} {
		if got := stored(t, tier.Log(), key); !slices.Equal(got, upTo(20)) {
			t.Errorf("reading gives %v", got)
		}
	}
}

// A retry of an entry in the cold tier stores nothing.
func TestARetryOfAColdEntryStoresNothing(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 20)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	a := timelinetest.Append(tier.Log(), &timeline.AppendRequest{Key: key, Payload: []byte("again"), Counts: true, Token: token(3<<32 + 5)})
	if a.Err != nil || !a.Duplicate || a.Seq != 5 {
		t.Errorf("the retry: %+v", a)
	}
}

// The blocks in memory are bounded, and a page that was read before needs no file.
func TestTheCacheIsBounded(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.config.CacheBytes = 3000
	h.fill(t, key, 60)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	for range 2 {
		for after := range uint64(50) {
			_, err := tier.Log().Read(t.Context(), key, after, 2)
			must(t, err)
			if n := tier.CacheBytes(); n > 3000 || n == 0 {
				t.Fatalf("the cache has %d bytes", n)
			}
		}
	}
	before := tier.Stats().Reads.Load()
	for range 3 {
		_, err := tier.Log().Read(t.Context(), key, 1, 2)
		must(t, err)
	}
	if n := tier.Stats().Reads.Load() - before; n > 2 {
		t.Errorf("three reads of one page read %d blocks from files", n)
	}
}
