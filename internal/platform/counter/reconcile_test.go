package counter_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// plantErrors fills sets over several batches and makes some sizes wrong. It returns the true sizes.
func plantErrors(f *fleet) map[uint64]uint64 {
	const large = 12_000 // members of one set: more than a batch
	want := map[uint64]uint64{}
	add := func(subject uint64, n int) {
		var changes []counter.Change
		for u := range n {
			changes = append(changes, counter.Change{Kind: counter.PostLikes, Subject: subject, User: id.User(u + 1)})
			if len(changes) == 1000 || u == n-1 {
				must(f.t, f.nodes[int(subject)%len(f.nodes)].Apply(context.Background(), changes))
				changes = changes[:0]
			}
		}
		want[subject] = uint64(n)
	}
	for subject := uint64(1); subject <= 20; subject++ {
		add(subject, int(subject))
	}
	add(21, large)
	add(22, 3)
	f.exec(`UPDATE counter_counts SET n = n + 5 WHERE subject = 3`)
	f.exec(`UPDATE counter_counts SET n = -2 WHERE subject = 4`)
	f.exec(`DELETE FROM counter_counts WHERE subject = 5`)
	f.exec(`INSERT INTO counter_counts (kind, subject, bucket, n) VALUES (1, 5000, 0, 9)`)
	want[5000] = 0
	f.exec(`UPDATE counter_counts SET n = n - 1 WHERE subject = 21`)
	f.exec(`UPDATE counter_counts SET n = n * 2 WHERE subject = 22`)
	return want
}

// round compares all sets on a node, so many items at once, as a reconciliation.Service does. It returns what differed and was corrected, by subject, and how many sets there are.
func (f *fleet) round(s *counter.Service, limit int) (found map[string]string, sets int) {
	f.t.Helper()
	found = map[string]string{}
	for at := ""; ; {
		step, err := s.Comparison().Compare(context.Background(), at, limit)
		if err != nil {
			f.t.Error(err)
			return found, sets
		}
		sets += step.Items
		for _, d := range step.Differences {
			if f.correct(d) {
				found[d.Subject] = d.What()
			}
		}
		if at = step.Next; at == "" {
			return found, sets
		}
	}
}

// correct corrects a difference, and reports whether there still was one.
func (f *fleet) correct(d reconciliation.Difference) (done bool) {
	f.t.Helper()
	if err := f.dbs[0].Write(context.Background(), func(tx *sql.Tx) (err error) {
		done, err = d.Correct(context.Background(), tx)
		return err
	}); err != nil {
		f.t.Error(err)
	}
	return done
}

// Planted errors are found in one round, described and corrected; right sizes are left alone. A size is never negative meanwhile.
func TestWrongSizesAreFoundAndCorrected(t *testing.T) {
	for _, limit := range []int{1, 7, 1000} { // of a hundred rows
		f := open(t, 2)
		want := plantErrors(f)
		if n := f.count(4); n != 0 {
			t.Errorf("a negative row counts %d", n)
		}
		found, sets := f.round(f.nodes[0], limit)
		differences := map[string]string{
			"post_likes 3": "8 were counted, and the set has 3", "post_likes 4": "-2 were counted, and the set has 4", "post_likes 5": "0 were counted, and the set has 5",
			"post_likes 21": "11999 were counted, and the set has 12000", "post_likes 22": "6 were counted, and the set has 3", "post_likes 5000": "9 were counted, and the set has 0",
		}
		if !maps.Equal(found, differences) || sets != 23 {
			t.Errorf("with %d items at once, of %d sets these differed: %q, want %q", limit, sets, found, differences)
		}
		for subject, n := range want {
			if got := f.count(subject); got != n {
				t.Errorf("subject %d counts %d, want %d", subject, got, n)
			}
		}
		if found, _ = f.round(f.nodes[1], limit); len(found) != 0 {
			t.Errorf("again: %q", found)
		}
	}
}

// A set that cannot be counted in the time of a step is a difference, and does not stop the round: all other sets are compared, also those of its own batch. With more time it is counted again.
func TestASetThatIsTooLargeDoesNotStopTheRound(t *testing.T) {
	f := open(t, 1)
	plantErrors(f)
	s := f.nodes[0]
	s.SetCountTime(0)
	step, err := s.Comparison().Compare(t.Context(), "1 4", 3) // 300 rows: 5 to 20, and the large one
	if err != nil || step.Next != "1 21" || step.Items != 17 {
		t.Fatalf("%d items, next %q, %v", step.Items, step.Next, err)
	}
	var found []string
	for _, d := range step.Differences {
		found = append(found, d.Subject+": "+string(d.Reason))
	}
	slices.Sort(found)
	if want := []string{"post_likes 21: set_too_large", "post_likes 5: count_wrong"}; !slices.Equal(found, want) {
		t.Errorf("%q differ, want %q", found, want)
	}
	s.SetCountTime(time.Minute)
	if found, _ := f.round(s, 2); len(found) != 6 || found["post_likes 21"] != "11999 were counted, and the set has 12000" {
		t.Errorf("with time %q differ", found)
	}
}

// A size is compared and corrected again on demand, and one that is right is left alone.
func TestASizeIsCorrectedOnDemand(t *testing.T) {
	f := open(t, 1)
	want := plantErrors(f)
	c := f.nodes[0].Comparison()
	for range 2 { // a repair may be repeated
		for _, subject := range []uint64{2, 3} {
			must(t, c.Repair(t.Context(), fmt.Sprint("post_likes ", subject)))
			if got := f.count(subject); got != want[subject] {
				t.Errorf("subject %d counts %d, want %d", subject, got, want[subject])
			}
		}
	}
	if got := f.count(22); got == want[22] {
		t.Error("another size was corrected")
	}
	for _, subject := range []string{"", "post_likes", "likes 3", "post_likes nobody"} {
		if err := c.Repair(t.Context(), subject); err == nil {
			t.Errorf("%q names a set", subject)
		}
	}
}

// While several nodes compare at once, and sets change, each error is corrected once.
func TestSizesAreCorrectedWhileSetsChange(t *testing.T) {
	f := open(t, 3)
	want := plantErrors(f)
	var writing, comparing sync.WaitGroup
	for _, subject := range []uint64{3, 4, 5, 21, 22, 5000} {
		writing.Go(func() {
			for n := range 60 {
				_, err := f.nodes[n%3].Add(context.Background(), counter.PostLikes, subject, id.User(100_000+n))
				if err == nil && n%2 == 0 {
					_, err = f.nodes[(n+1)%3].Remove(context.Background(), counter.PostLikes, subject, id.User(100_000+n))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		want[subject] += 30
	}
	var corrected atomic.Int64
	for _, s := range f.nodes {
		comparing.Go(func() {
			for range 3 {
				found, _ := f.round(s, 100)
				corrected.Add(int64(len(found)))
			}
		})
	}
	writing.Wait()
	comparing.Wait()
	if n := corrected.Load(); n != 6 {
		t.Errorf("%d corrections", n)
	}
	for subject, n := range want {
		if got := f.count(subject); got != n {
			t.Errorf("subject %d counts %d, want %d", subject, got, n)
		}
	}
}

// Rows of removed members are deleted after an hour, and no others. A user who returns is counted once.
func TestRemovedMembersAreDeleted(t *testing.T) {
	f := open(t, 1)
	s := f.nodes[0]
	rows := func() (n int) {
		must(t, f.dbs[0].Read().QueryRow(`SELECT COUNT(*) FROM counter_members`).Scan(&n))
		return n
	}
	for u := range id.User(2500) {
		must(t, s.Apply(t.Context(), []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: u + 1}, {Kind: counter.PostLikes, Subject: 7, User: u + 1, Remove: u > 0}}))
	}
	must(t, s.DeleteRemoved(t.Context()))
	if n := rows(); n != 2500 {
		t.Errorf("%d rows at once", n)
	}
	f.clock.Advance(time.Hour + time.Millisecond)
	must(t, s.Apply(t.Context(), []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: 2}}))
	must(t, s.DeleteRemoved(t.Context()))
	if n := rows(); n != 2 || f.count(7) != 2 {
		t.Errorf("%d rows, %d members", n, f.count(7))
	}
	if removed, err := s.Remove(t.Context(), counter.PostLikes, 7, 3); err != nil || removed {
		t.Errorf("a user who is no member: %v, %v", removed, err)
	}
	if added, err := s.Add(t.Context(), counter.PostLikes, 7, 3); err != nil || !added || f.count(7) != 3 {
		t.Errorf("a user who returns: %v, %v, %d members", added, err, f.count(7))
	}
}
