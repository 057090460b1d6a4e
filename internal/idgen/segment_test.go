package idgen_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/sqldb"
	"pgregory.net/rapid"
)

func segments(t fataler, db idgen.Records, c clock.Clock, most uint64) *idgen.Segments {
	t.Helper()
	s, err := idgen.NewSegments(t.Context(), counterDeps(db, c), idgen.SegmentsConfig{StepMost: most})
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

// TestSegmentsOfManyAskers: many goroutines, one by one and many at once, through hundreds of ranges and a restart.
func TestSegmentsOfManyAskers(t *testing.T) {
	db := store(t)
	put(t, db, idgen.Tag{Name: "orders", Scheme: idgen.SchemeSegment, Step: 300})
	var check idcheck.Checker[uint64]
	for range 3 { // the one before is left as it is, as by a crash
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
		t.Errorf("only %d", check.Count)
	}
}

// TestSegmentsModel: nodes take, fail, lose answers, crash and come back in any order; no number comes twice, and those of a
// node rise.
func TestSegmentsModel(t *testing.T) {
	db := store(t)
	tries := 0
	schedules(t, 30, 0.2, func(t *rapid.T) {
		tries++
		tag := "t" + string(rune('a'+tries%26)) // used again: numbers go on
		put(t, db, idgen.Tag{Name: tag, Scheme: idgen.SchemeSegment, Step: rapid.Uint64Range(1, 40).Draw(t, "step")})
		type node struct {
			*idgen.Segments
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
					if !n.way.away.Load() && !n.way.mute.Load() && !errs.Is(err, errs.Unavailable) {
						t.Fatal(err)
					}
					return
				}
				for _, v := range dst {
					if v <= n.last {
						t.Fatalf("%d after %d", v, n.last)
					}
					n.last = v
				}
				if err := seen.Add(dst...); err != nil {
					t.Fatal(err)
				}
			},
			"crash": func(t *rapid.T) { begin(pick.Draw(t, "node")) },
			"away":  func(t *rapid.T) { nodes[pick.Draw(t, "node")].way.away.Store(rapid.Bool().Draw(t, "away")) },
			"mute":  func(t *rapid.T) { nodes[pick.Draw(t, "node")].way.mute.Store(rapid.Bool().Draw(t, "mute")) },
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

// TestSegmentsServeThroughAnOutage for as long as what is held lasts: a range, and the one fetched when a tenth was used.
func TestSegmentsServeThroughAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "a", Scheme: idgen.SchemeSegment, Step: 100})
		tags := tagsOf(t, db)
		way := &breaking{db: db}
		s := segments(t, way, clock.System{}, 100)
		running(t, s.Run)
		if err := s.Fill(t.Context(), "a", make([]uint64, 10)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if tag, err := tags.GetTag(t.Context(), "a"); err != nil || tag.Last != 100 {
			t.Fatalf("before a tenth is used: %+v, %v", tag, err)
		}
		if err := s.Fill(t.Context(), "a", make([]uint64, 1)); err != nil {
			t.Fatal(err)
		}
		untilFetched(t, tags, "a", 200)
		way.away.Store(true)
		dst := make([]uint64, 189)
		if err := s.Fill(t.Context(), "a", dst); err != nil || dst[0] != 12 || dst[188] != 200 {
			t.Fatalf("%d to %d, %v", dst[0], dst[188], err)
		}
		for range 3 {
			err := s.Fill(t.Context(), "a", dst[:1])
			if !hasReason(err, errs.Unavailable, "ids_unavailable") || errs.Of(err).Retry <= 0 {
				t.Fatal(err)
			}
		}
		before := way.writes.Load()
		way.away.Store(false)
		time.Sleep(3 * time.Second) // Run tries again by itself
		untilFetched(t, tags, "a", 300)
		if err := s.Fill(t.Context(), "a", dst[:1]); err != nil || dst[0] != 201 {
			t.Fatalf("%d, %v", dst[0], err)
		}
		if n := way.writes.Load() - before; n > 2 {
			t.Errorf("%d visits", n)
		}
	})
}

// untilFetched lets time go by until the store has given a tag's numbers up to one.
func untilFetched(t *testing.T, tags *idgen.Tags, name string, last uint64) {
	t.Helper()
	for range 1000 {
		tag, err := tags.GetTag(t.Context(), name)
		if err != nil || tag.Last > last {
			t.Fatalf("%+v, %v", tag, err)
		}
		if tag.Last == last {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d was not fetched", last)
}

// TestTheStepAdapts: it doubles when a segment lasted under 15 minutes, halves when over 30, and stays in its bounds.
func TestTheStepAdapts(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "a", Scheme: idgen.SchemeSegment, Step: 100})
		tags := tagsOf(t, db)
		s := segments(t, db, clock.System{}, 500)
		taken := uint64(0)
		for i, c := range []struct {
			lasts time.Duration
			step  uint64 // of the range fetched afterwards
		}{
			{0, 100}, {14 * time.Minute, 200}, {20 * time.Minute, 200}, {time.Second, 400}, {time.Second, 500}, {time.Second, 500},
			{31 * time.Minute, 250}, {31 * time.Minute, 125}, {time.Hour, 100}, {30 * time.Hour, 100}, {0, 200},
		} {
			time.Sleep(c.lasts)
			tag, err := tags.GetTag(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			// The rest of a range, and the first of the next one, which is fetched now since Run does not run.
			if err := s.Fill(t.Context(), "a", make([]uint64, tag.Last-taken+1)); err != nil {
				t.Fatal(err)
			}
			taken = tag.Last + 1
			now, err := tags.GetTag(t.Context(), "a")
			if err != nil || now.Last-tag.Last != c.step {
				t.Fatalf("%d: a range of %d, not %d (%v)", i, now.Last-tag.Last, c.step, err)
			}
		}
	})
}

// TestASegmentEnds at its maximum, and goes on when that is raised.
func TestASegmentEnds(t *testing.T) {
	db := store(t)
	tag := idgen.Tag{Name: "a", Scheme: idgen.SchemeSegment, Step: 100, Maximum: 150}
	put(t, db, tag)
	s := segments(t, db, clock.System{}, 0)
	dst := make([]uint64, 150)
	if err := s.Fill(t.Context(), "a", dst); err != nil || dst[149] != 150 {
		t.Fatalf("%d, %v", dst[149], err)
	}
	for range 2 {
		if err := s.Fill(t.Context(), "a", dst[:1]); !hasReason(err, errs.Exhausted, "ids_used_up") {
			t.Fatal(err)
		}
	}
	tag.Maximum = 149
	if _, err := tagsOf(t, db).PutTag(t.Context(), tag); !hasReason(err, errs.Invalid, "bad_tag") {
		t.Error(err)
	}
	tag.Maximum = 151
	put(t, db, tag)
	if err := s.Fill(t.Context(), "a", dst[:1]); err != nil || dst[0] != 151 {
		t.Fatalf("%d, %v", dst[0], err)
	}
	if err := s.Fill(t.Context(), "b", dst); !hasReason(err, errs.NotFound, "no_tag") {
		t.Error(err)
	}
	put(t, db, idgen.Tag{Name: "u", Scheme: idgen.SchemeULID})
	if err := s.Fill(t.Context(), "u", dst); !hasReason(err, errs.Invalid, "bad_tag") {
		t.Error(err)
	}
}

// TestADeletedSegmentIsForgotten, and goes on where it was when it is made anew.
func TestADeletedSegmentIsForgotten(t *testing.T) {
	db := store(t)
	tag := idgen.Tag{Name: "a", Scheme: idgen.SchemeSegment, Step: 100}
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
		t.Error(err)
	}
	put(t, db, tag)
	if err := s.Fill(t.Context(), "a", dst); err != nil || dst[0] != 101 {
		t.Fatalf("%d, %v", dst[0], err)
	}
}

// TestWhatHasEndedIsNotTriedAgain: a segment that another node deleted is forgotten, and one at its maximum is no news each second.
func TestWhatHasEndedIsNotTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "deleted", Scheme: idgen.SchemeSegment, Step: 100})
		put(t, db, idgen.Tag{Name: "full", Scheme: idgen.SchemeSegment, Step: 100, Maximum: 100})
		log := &strings.Builder{}
		deps := counterDeps(db, clock.System{})
		deps.Logger = slog.New(slog.NewTextHandler(log, nil))
		s, err := idgen.NewSegments(t.Context(), deps, idgen.SegmentsConfig{})
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
			if err := s.Fill(t.Context(), tag, make([]uint64, 10)); err != nil { // what is held is given
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if err := s.Fill(t.Context(), "deleted", make([]uint64, 1)); !hasReason(err, errs.NotFound, "no_tag") {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil || log.Len() > 0 {
			t.Errorf("%v; %s", err, log)
		}
	})
}
