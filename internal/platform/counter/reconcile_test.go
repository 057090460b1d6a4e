package counter_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
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

// Planted errors are found, reported and repaired; right sizes are left alone. A size is never negative meanwhile.
func TestReconcileRepairsPlantedErrors(t *testing.T) {
	f := open(t, 2)
	want := plantErrors(f)
	if n := f.count(4); n != 0 {
		t.Errorf("a negative row counts %d", n)
	}
	repaired, err := f.nodes[0].Reconcile(t.Context())
	must(t, err)
	if len(repaired) != 6 || f.nodes[0].Repairs() != 6 {
		t.Errorf("%d repairs, %+v", f.nodes[0].Repairs(), repaired)
	}
	for subject, n := range want {
		if got := f.count(subject); got != n {
			t.Errorf("subject %d counts %d, want %d", subject, got, n)
		}
	}
	if repaired, err = f.nodes[1].Reconcile(t.Context()); err != nil || len(repaired) != 0 {
		t.Errorf("again: %+v, %v", repaired, err)
	}
}

// While several nodes reconcile at once, and sets change, each error is repaired once.
func TestReconcileWhileSetsChange(t *testing.T) {
	f := open(t, 3)
	want := plantErrors(f)
	var writing, reconciling sync.WaitGroup
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
	for _, s := range f.nodes {
		reconciling.Go(func() {
			for range 3 {
				if _, err := s.Reconcile(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	reconciling.Wait()
	if repairs := f.nodes[0].Repairs() + f.nodes[1].Repairs() + f.nodes[2].Repairs(); repairs != 6 {
		t.Errorf("%d repairs", repairs)
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
	_, err := s.Reconcile(t.Context())
	must(t, err)
	if n := rows(); n != 2500 {
		t.Errorf("%d rows at once", n)
	}
	f.clock.Advance(time.Hour + time.Millisecond)
	must(t, s.Apply(t.Context(), []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: 2}}))
	_, err = s.Reconcile(t.Context())
	must(t, err)
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
