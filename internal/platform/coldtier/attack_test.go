package coldtier_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/platform/coldtier"
)

// A file whose slow writer commits it just before the sweep deletes it is kept: the sweep's list is from before.
func TestTheSweepKeepsAFileThatWasCommittedMeanwhile(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 20)
	abandoned := h.tier(t)
	coldtier.SetInterrupt(abandoned, func(point string) error {
		if point == "before-commit" {
			return errors.New("stopped")
		}
		return nil
	})
	_ = abandoned.Round(t.Context()) // its file is the first that the sweep finds
	slow, written, swept, committed := h.tier(t), make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once
	coldtier.SetInterrupt(slow, func(point string) error {
		switch point {
		case "before-commit":
			once.Do(func() { close(written); <-swept })
		case "after-commit":
			coldtier.SetInterrupt(slow, nil)
			close(committed)
		}
		return nil
	})
	h.config.After = 0 // the other node only sweeps
	sweeper := h.tier(t)
	coldtier.SetInterrupt(sweeper, func(point string) error {
		if point == "after-delete" {
			coldtier.SetInterrupt(sweeper, nil)
			close(swept)
			<-committed
		}
		return nil
	})
	done := make(chan error, 1)
	go func() { done <- slow.Round(context.Background()) }()
	<-written
	h.clock.move(2 * time.Minute)
	must(t, sweeper.Round(t.Context()))
	must(t, <-done)
	if got := stored(t, h.tier(t).Log(), key); !slices.Equal(got, upTo(20)) {
		t.Errorf("reading gives %v", got)
	}
}

// What expires while a conversation is packed for the first time does not come back: not with the commit, and not later.
func TestWhatExpiresDuringTheFirstPackStaysHidden(t *testing.T) {
	for _, point := range []string{"before-put", "before-commit"} {
		h, key := newHarness(t), conversation(3)
		h.several = true
		h.fill(t, key, 20)
		packer := h.tier(t)
		h.config.After = 0 // the other node does not pack
		expirer := h.tier(t)
		coldtier.SetInterrupt(packer, func(at string) error {
			if at == point {
				coldtier.SetInterrupt(packer, nil)
				return expirer.Log().Expire(context.Background(), key, 11, []uint64{1})
			}
			return nil
		})
		_ = packer.Round(t.Context())
		want := append([]uint64{1}, upTo(20)[10:]...)
		for _, tier := range []*coldtier.Tier{packer, expirer, h.tier(t)} {
			if got := stored(t, tier.Log(), key); !slices.Equal(got, want) {
				t.Errorf("%s: reading gives %v, want %v", point, got, want)
			}
		}
	}
}

// The retention has asked the manifest, which did not have the conversation, when another node packs it and only then changes the log.
func TestExpiryBeginsBeforeTheFirstPack(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 20)
	packer := h.tier(t)
	hot := &expireHook{Log: h.hot, before: func() { must(t, packer.Round(context.Background())) }}
	tier := h.tierOn(t, hot)
	must(t, tier.Log().Expire(t.Context(), key, 11, []uint64{1}))
	want := append([]uint64{1}, upTo(20)[10:]...)
	for _, tier := range []*coldtier.Tier{packer, tier} {
		if got := stored(t, tier.Log(), key); !slices.Equal(got, want) {
			t.Errorf("reading gives %v, want %v", got, want)
		}
		if tail, err := tier.Log().Tail(t.Context(), key); err != nil || tail.FirstSeq != 11 {
			t.Errorf("the tail is %+v, %v", tail, err)
		}
	}
}

// expireHook is a log that calls before at the first Expire.
type expireHook struct {
	timeline.Log
	before func()
}

func (l *expireHook) Expire(ctx context.Context, key timeline.Key, first uint64, keep []uint64) error {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	return l.Log.Expire(ctx, key, first, keep)
}

// A crash between the commit of a segment and what follows does not make a message be forgotten that was recalled meanwhile.
func TestARecallDuringAPackSurvivesACrash(t *testing.T) {
	for _, point := range []string{"before-put", "before-commit"} {
		h, key := newHarness(t), conversation(3)
		h.fill(t, key, 20)
		tier := h.tier(t)
		coldtier.SetInterrupt(tier, func(at string) error {
			switch at {
			case point:
				h.recalled[3] = []uint64{5}
				return h.db.Write(context.Background(), func(tx *sql.Tx) error { return tier.Recalled(context.Background(), tx, key, 5) })
			case "after-commit":
				return errors.New("crash")
			}
			return nil
		})
		_ = tier.Round(t.Context())
		tier = h.tier(t)
		for range 3 {
			must(t, tier.Round(t.Context()))
			h.clock.move(2 * time.Minute)
		}
		if text := h.contents(t); strings.Contains(text, "message 5\n") || !strings.Contains(text, "message 6\n") {
			t.Errorf("%s: the files have\n%s", point, text)
		}
	}
}

// Entries that fan-out has not dispatched stay in the log until the next round, which then comes soon.
func TestUndeliveredEntriesStayInTheLog(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 8)
	for range 12 {
		must(t, timelinetest.Append(h.hot, &timeline.AppendRequest{Key: key, Payload: h.payload(key, false, "x"), Counts: true, NeedsFanout: true}).Err)
	}
	h.clock.move(25 * time.Hour)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	if got := stored(t, h.hot, key); len(got) == 20 || !slices.Equal(got[len(got)-12:], upTo(20)[8:]) {
		t.Errorf("the log has %v", got)
	}
	if held, again := coldtier.UntilNext(tier), coldtier.UntilNext(tier); held >= again {
		t.Errorf("the next round is after %v, and the one after it after %v", held, again)
	}
	records, err := h.hot.FanoutRecords(t.Context(), key.Partition(), 0, 100)
	must(t, err)
	must(t, h.hot.PutCheckpoint(t.Context(), key.Partition(), records[len(records)-1].Seq))
	must(t, tier.Round(t.Context()))
	if got := stored(t, h.hot, key); len(got) > 6 {
		t.Errorf("after they were delivered, the log has %v", got)
	}
	if got := stored(t, tier.Log(), key); !slices.Equal(got, upTo(20)) {
		t.Errorf("reading gives %v", got)
	}
}

// An entry that no reader of segments would accept stays in the log, with what is near it.
func TestAnEntryThatIsTooLargeForASegmentStays(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.config.MaxBytes = 64 << 20
	h.fill(t, key, 4)
	must(t, timelinetest.Append(h.hot, &timeline.AppendRequest{Key: key, Payload: h.payload(key, false, strings.Repeat("x", 9<<20)), Counts: true}).Err)
	h.clock.move(time.Second)
	h.fill(t, conversation(4), 4)
	must(t, timelinetest.Append(h.hot, &timeline.AppendRequest{Key: key, Payload: h.payload(key, false, "last"), Counts: true}).Err)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	if got := stored(t, tier.Log(), key); !slices.Equal(got, upTo(6)) {
		t.Errorf("reading gives %v", got)
	}
	if tier.Stats().Failed.Load() != 1 {
		t.Errorf("%d failures were counted", tier.Stats().Failed.Load())
	}
}

// After the database was restored to a time before the last packs, a round makes nothing worse: what is cold stays readable.
func TestAManifestThatIsBehindItsLogIsLeftAlone(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 20)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	must(t, h.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `DELETE FROM cold_segments WHERE first_seq > 7`)
		if err == nil {
			_, err = tx.ExecContext(t.Context(), `UPDATE cold_conversations SET last_seq = 7`)
		}
		return err
	}))
	for range 2 {
		must(t, tier.Round(t.Context()))
		h.clock.move(2 * time.Hour)
	}
	if got, err := tier.Log().Read(t.Context(), key, 0, 7); err != nil || !slices.Equal(seqsOf(got), upTo(7)) {
		t.Errorf("reading gives %v, %v", seqsOf(got), err)
	}
	if tier.Stats().Failed.Load() == 0 {
		t.Error("no failure was counted")
	}
}

// brokenReads is a store whose answers break off.
type brokenReads struct{ blob.Store }

func (b brokenReads) Open(ctx context.Context, name string) (io.ReadSeekCloser, int64, error) {
	f, size, err := b.Store.Open(ctx, name)
	return brokenFile{f}, size, err
}

type brokenFile struct{ io.ReadSeekCloser }

func (brokenFile) Read([]byte) (int, error) {
	return 0, &errs.Error{Kind: errs.Unavailable, Reason: "files_unavailable", Message: "try again", Cause: io.ErrUnexpectedEOF}
}

// A store that breaks off its answers is unavailable. Its segments are not corrupt: services would show their messages as lost.
func TestABrokenAnswerIsNoCorruption(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 20)
	must(t, h.tier(t).Round(t.Context()))
	h.files = brokenReads{h.files}
	tier := h.tier(t)
	_, err := tier.Log().Read(t.Context(), key, 7, 3)
	if !errs.Is(err, errs.Unavailable) || errors.Is(err, timeline.ErrCorrupt) || tier.Stats().Corrupt.Load() != 0 {
		t.Errorf("reading gives %v", err)
	}
}

// Segments that cannot be rewritten, however many, do not keep others from it.
func TestStaleSegmentsThatFailDoNotStopOthers(t *testing.T) {
	h := newHarness(t)
	h.config.MaxEntries = 3
	h.fill(t, conversation(3), 320)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	for _, name := range h.fileNames(t) {
		must(t, os.Remove(name))
	}
	recall := func(key timeline.Key, seq uint64) {
		h.recalled[key.ID] = append(h.recalled[key.ID], seq)
		must(t, h.db.Write(t.Context(), func(tx *sql.Tx) error { return tier.Recalled(t.Context(), tx, key, seq) }))
		h.clock.move(time.Millisecond)
	}
	for seq := uint64(2); seq < 319; seq += 3 {
		recall(conversation(3), seq)
	}
	h.fill(t, conversation(4), 20)
	must(t, tier.Round(t.Context()))
	recall(conversation(4), 5)
	h.clock.move(2 * time.Minute)
	must(t, tier.Round(t.Context()))
	h.clock.move(2 * time.Minute)
	must(t, tier.Round(t.Context()))
	if text := h.contents(t); strings.Contains(text, "message 5\n") || !strings.Contains(text, "message 6\n") {
		t.Errorf("the files have\n%s", text)
	}
}

// After a log was restored that is older than the manifest, no message is removed that came since: segments have others in its place.
func TestWhatIsNotInItsSegmentStaysInTheLog(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.several = true // nothing is trimmed yet
	h.fill(t, key, 20)
	must(t, h.tier(t).Round(t.Context()))
	h.hot = memlog.New(nil)
	h.fill(t, key, 22) // later
	h.several = false
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	if got := stored(t, h.hot, key); !slices.Equal(got, upTo(22)) {
		t.Errorf("the log has %v", got)
	}
	if tier.Stats().Failed.Load() != 1 {
		t.Errorf("%d failures were counted", tier.Stats().Failed.Load())
	}
}

// A segment that went missing before its entries left the log makes none leave it.
func TestAMissingSegmentKeepsTheLog(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.several = true
	h.fill(t, key, 20)
	must(t, h.tier(t).Round(t.Context()))
	for _, name := range h.fileNames(t) {
		must(t, os.Remove(name))
	}
	h.several = false
	must(t, h.tier(t).Round(t.Context()))
	if got := stored(t, h.hot, key); !slices.Equal(got, upTo(20)) {
		t.Errorf("the log has %v", got)
	}
}
