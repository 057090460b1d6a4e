package idservice_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"pgregory.net/rapid"
)

func segments(t fataler, db idservice.Records, c clock.Clock, most uint64) *idservice.Segments {
	t.Helper()
	s, err := idservice.NewSegments(t.Context(), counterDeps(db, c), idservice.SegmentsConfig{MaxStep: most})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// running runs a part until the test ends.
func running(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Many goroutines draw single numbers and batches, through hundreds of ranges and a restart.
func TestSegmentsOfManyCallers(t *testing.T) {
	db := store(t)
	put(t, db, idservice.Tag{Name: "orders", Scheme: idservice.SchemeSegment, Step: 300})
	var check idcheck.Checker[uint64]
	for range 3 { // the previous one is abandoned, as by a crash
		s := segments(t, db, clock.System{}, 1000)
		running(t, s.Run)
		runs := make([][]uint64, 8)
		var wait sync.WaitGroup
		for i := range runs {
			wait.Go(func() {
				g, err := s.Of(t.Context(), "orders")
				for n := 0; n < 1000 && err == nil; n++ {
					if n%10 == i {
						many := make([]uint64, 130*i)
						err = g.Fill(t.Context(), many)
						runs[i] = append(runs[i], many...)
						continue
					}
					var v uint64
					v, err = g.Next(t.Context())
					runs[i] = append(runs[i], v)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if err := check.Round(runs...); err != nil {
			t.Fatal(err)
		}
	}
	if check.Count < 3*8*900 {
		t.Errorf("got only %d numbers", check.Count)
	}
}

// Nodes draw numbers, fail, lose answers, crash and restart in any order; no number is issued twice, and those of a node increase.
func TestSegmentsModel(t *testing.T) {
	db := store(t)
	attempts := 0
	schedules(t, 30, 0.2, func(t *rapid.T) {
		attempts++
		tag := "t" + string(rune('a'+attempts%26)) // tags are reused: their numbers continue
		put(t, db, idservice.Tag{Name: tag, Scheme: idservice.SchemeSegment, Step: rapid.Uint64Range(1, 40).Draw(t, "step")})
		type node struct {
			*idservice.Segments
			way  *breaking
			last uint64
		}
		nodes := make([]*node, 3)
		begin := func(i int) {
			way := &breaking{db: db}
			nodes[i] = &node{segments(t, way, &stepping{}, 100), way, 0}
		}
		for i := range nodes {
			begin(i)
		}
		seen := idcheck.Set[uint64]{}
		pick := rapid.IntRange(0, len(nodes)-1)
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				n := nodes[pick.Draw(t, "node")]
				dst := make([]uint64, rapid.IntRange(1, 90).Draw(t, "count"))
				if err := n.Fill(t.Context(), tag, dst); err != nil {
					if !n.way.unavailable.Load() && !n.way.loseAnswers.Load() && !errs.Is(err, errs.Unavailable) {
						t.Fatalf("error %v, want one of the kind unavailable", err)
					}
					return
				}
				for _, v := range dst {
					if v <= n.last {
						t.Fatalf("got number %d after %d", v, n.last)
					}
					n.last = v
				}
				if err := seen.Add(dst...); err != nil {
					t.Fatal(err)
				}
			},
			"crash": func(t *rapid.T) { begin(pick.Draw(t, "node")) },
			"away":  func(t *rapid.T) { nodes[pick.Draw(t, "node")].way.unavailable.Store(rapid.Bool().Draw(t, "away")) },
			"mute":  func(t *rapid.T) { nodes[pick.Draw(t, "node")].way.loseAnswers.Store(rapid.Bool().Draw(t, "mute")) },
			"anew": func(t *rapid.T) {
				tags := tagsOf(t, db)
				old, err := tags.GetTag(t.Context(), tag)
				if err == nil {
					err = tags.DeleteTag(t.Context(), tag)
				}
				if err == nil {
					_, err = tags.PutTag(t.Context(), old)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// During an outage, segments issue their reserve: the current range, and the one that was fetched when a tenth of it was used.
func TestSegmentsServeThroughAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "a", Scheme: idservice.SchemeSegment, Step: 100})
		tags := tagsOf(t, db)
		way := &breaking{db: db}
		s := segments(t, way, clock.System{}, 100)
		running(t, s.Run)
		if err := s.Fill(t.Context(), "a", make([]uint64, 10)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if tag, err := tags.GetTag(t.Context(), "a"); err != nil || tag.Last != 100 {
			t.Fatalf("before a tenth is used: got tag %+v, %v", tag, err)
		}
		if err := s.Fill(t.Context(), "a", make([]uint64, 1)); err != nil {
			t.Fatal(err)
		}
		untilFetched(t, tags, "a", 200)
		way.unavailable.Store(true)
		dst := make([]uint64, 189)
		if err := s.Fill(t.Context(), "a", dst); err != nil || dst[0] != 12 || dst[188] != 200 {
			t.Fatalf("got numbers %d to %d, %v", dst[0], dst[188], err)
		}
		for range 3 {
			err := s.Fill(t.Context(), "a", dst[:1])
			if !hasReason(err, errs.Unavailable, "ids_unavailable") || errs.Of(err).Retry <= 0 {
				t.Fatalf("error %v, want ids_unavailable with a time to retry", err)
			}
		}
		before := way.writes.Load()
		way.unavailable.Store(false)
		time.Sleep(3 * time.Second) // Run retries
		untilFetched(t, tags, "a", 300)
		if err := s.Fill(t.Context(), "a", dst[:1]); err != nil || dst[0] != 201 {
			t.Fatalf("got number %d, %v", dst[0], err)
		}
		if n := way.writes.Load() - before; n > 2 {
			t.Errorf("got %d accesses to the store", n)
		}
	})
}

// untilFetched waits until the store has reserved a tag's numbers up to one.
func untilFetched(t *testing.T, tags *idservice.Tags, name string, last uint64) {
	t.Helper()
	for range 1000 {
		tag, err := tags.GetTag(t.Context(), name)
		if err != nil || tag.Last > last {
			t.Fatalf("got tag %+v, %v", tag, err)
		}
		if tag.Last == last {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d was not fetched", last)
}

// The step doubles when a segment lasted less than 15 minutes, halves when it lasted more than 30, and stays in its bounds.
func TestTheStepAdapts(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "a", Scheme: idservice.SchemeSegment, Step: 100})
		tags := tagsOf(t, db)
		s := segments(t, db, clock.System{}, 500)
		taken := uint64(0)
		for i, c := range []struct {
			durations time.Duration
			step      uint64 // of the range fetched afterwards
		}{
			{0, 100}, {14 * time.Minute, 200}, {20 * time.Minute, 200}, {time.Second, 400}, {time.Second, 500}, {time.Second, 500},
			{31 * time.Minute, 250}, {31 * time.Minute, 125}, {time.Hour, 100}, {30 * time.Hour, 100}, {0, 200},
		} {
			time.Sleep(c.durations)
			tag, err := tags.GetTag(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			// The rest of a range, and the first number of the next one, which is fetched now because Run does not run.
			if err := s.Fill(t.Context(), "a", make([]uint64, tag.Last-taken+1)); err != nil {
				t.Fatal(err)
			}
			taken = tag.Last + 1
			now, err := tags.GetTag(t.Context(), "a")
			if err != nil || now.Last-tag.Last != c.step {
				t.Fatalf("case %d: got a range of %d, want %d (%v)", i, now.Last-tag.Last, c.step, err)
			}
		}
	})
}

// A segment ends at its maximum, and continues when that is raised.
func TestASegmentEndsAtItsMaximum(t *testing.T) {
	db := store(t)
	tag := idservice.Tag{Name: "a", Scheme: idservice.SchemeSegment, Step: 100, Maximum: 150}
	put(t, db, tag)
	s := segments(t, db, clock.System{}, 0)
	dst := make([]uint64, 150)
	if err := s.Fill(t.Context(), "a", dst); err != nil || dst[149] != 150 {
		t.Fatalf("got number %d, %v", dst[149], err)
	}
	for range 2 {
		if err := s.Fill(t.Context(), "a", dst[:1]); !hasReason(err, errs.Exhausted, "ids_used_up") {
			t.Fatalf("error %v, want the reason ids_used_up", err)
		}
	}
	tag.Maximum = 149
	if _, err := tagsOf(t, db).PutTag(t.Context(), tag); !hasReason(err, errs.Invalid, "bad_tag") {
		t.Errorf("error %v, want the reason bad_tag", err)
	}
	tag.Maximum = 151
	put(t, db, tag)
	if err := s.Fill(t.Context(), "a", dst[:1]); err != nil || dst[0] != 151 {
		t.Fatalf("got number %d, %v", dst[0], err)
	}
	if err := s.Fill(t.Context(), "b", dst); !hasReason(err, errs.NotFound, "no_tag") {
		t.Errorf("error %v, want the reason no_tag", err)
	}
	put(t, db, idservice.Tag{Name: "u", Scheme: idservice.SchemeULID})
	if err := s.Fill(t.Context(), "u", dst); !hasReason(err, errs.Invalid, "bad_tag") {
		t.Errorf("error %v, want the reason bad_tag", err)
	}
}

// A deleted segment is forgotten. If it is created again, it continues where it stopped.
func TestADeletedSegmentIsForgotten(t *testing.T) {
	db := store(t)
	tag := idservice.Tag{Name: "a", Scheme: idservice.SchemeSegment, Step: 100}
	put(t, db, tag)
	s := segments(t, db, clock.System{}, 0)
	dst := make([]uint64, 10)
	if err := s.Fill(t.Context(), "a", dst); err != nil {
		t.Fatal(err)
	}
	if err := tagsOf(t, db).DeleteTag(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	s.Forget("a")
	if err := s.Fill(t.Context(), "a", dst); !hasReason(err, errs.NotFound, "no_tag") {
		t.Errorf("error %v, want the reason no_tag", err)
	}
	put(t, db, tag)
	if err := s.Fill(t.Context(), "a", dst); err != nil || dst[0] != 101 {
		t.Fatalf("got number %d, %v", dst[0], err)
	}
}

// A segment that another node deleted is forgotten, and one at its maximum is not retried every second.
func TestEndedSegmentsAreNotRetried(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "deleted", Scheme: idservice.SchemeSegment, Step: 100})
		put(t, db, idservice.Tag{Name: "full", Scheme: idservice.SchemeSegment, Step: 100, Maximum: 100})
		log := &strings.Builder{}
		deps := counterDeps(db, clock.System{})
		deps.Logger = slog.New(slog.NewTextHandler(log, nil))
		s, err := idservice.NewSegments(t.Context(), deps, idservice.SegmentsConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range []string{"deleted", "full"} {
			if err := s.Fill(t.Context(), tag, make([]uint64, 5)); err != nil {
				t.Fatal(err)
			}
		}
		if err := tagsOf(t, db).DeleteTag(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		for _, tag := range []string{"deleted", "full"} {
			if err := s.Fill(t.Context(), tag, make([]uint64, 10)); err != nil { // the reserve is used
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if err := s.Fill(t.Context(), "deleted", make([]uint64, 1)); !hasReason(err, errs.NotFound, "no_tag") {
			t.Errorf("error %v, want the reason no_tag", err)
		}
		cancel()
		if err := <-ended; err != nil || log.Len() > 0 {
			t.Errorf("got %v; log %s", err, log)
		}
	})
}
