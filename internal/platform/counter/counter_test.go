package counter_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"pgregory.net/rapid"
)

// Whatever is added and removed, in one call or in several, on any node: results, sizes, memberships and pages are those of plain sets.
func TestSetsAreThoseOfAModel(t *testing.T) {
	f := open(t, 3)
	subjects := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		from := subjects + 1 // each run has subjects of its own
		subjects += 3
		model := map[uint64]map[id.User]int64{}
		for range rapid.IntRange(1, 12).Draw(t, "calls") {
			f.clock.Advance(time.Duration(rapid.IntRange(0, 1).Draw(t, "ms")) * time.Millisecond)
			changes := make([]counter.Change, rapid.IntRange(1, 12).Draw(t, "changes"))
			want := make([]bool, len(changes))
			before := map[uint64]map[id.User]int64{}
			for s, set := range model {
				before[s] = maps.Clone(set)
			}
			for i := range changes {
				c := counter.Change{Kind: counter.PostLikes, Subject: from + rapid.Uint64Range(0, 2).Draw(t, "subject"), User: id.User(rapid.IntRange(1, 4).Draw(t, "user")), Remove: rapid.Bool().Draw(t, "remove")}
				if model[c.Subject] == nil {
					model[c.Subject] = map[id.User]int64{}
				}
				set := model[c.Subject]
				_, in := set[c.User]
				want[i] = in == c.Remove
				if delete(set, c.User); !c.Remove {
					set[c.User] = f.clock.Now().UnixMilli()
					if at, was := before[c.Subject][c.User]; was {
						set[c.User] = at // all in one transaction: it has been a member throughout
					}
				}
				changes[i] = c
			}
			if err := f.nodes[rapid.IntRange(0, 2).Draw(t, "node")].Apply(context.Background(), changes); err != nil {
				t.Fatal(err)
			}
			for i, c := range changes {
				if c.Changed != want[i] {
					t.Fatalf("change %d of %+v: want %v", i, changes, want[i])
				}
			}
		}
		for s := from; s < from+3; s++ {
			checkSet(t, f, s, model[s], rapid.IntRange(1, 5).Draw(t, "page"))
		}
	})
}

// checkSet compares a set with a model, which has the time of each member.
func checkSet(t *rapid.T, f *fleet, subject uint64, model map[id.User]int64, page int) {
	want := slices.SortedFunc(maps.Keys(model), func(a, b id.User) int {
		if d := model[b] - model[a]; d != 0 {
			return int(d)
		}
		return int(b) - int(a)
	})
	if got := f.users(subject, page); !slices.Equal(got, want) {
		t.Fatalf("subject %d has %v, want %v", subject, got, want)
	}
	if n := f.count(subject); n != uint64(len(model)) {
		t.Fatalf("subject %d counts %d of %d", subject, n, len(model))
	}
	for u := id.User(1); u <= 4; u++ {
		got, err := f.nodes[1].Figures(context.Background(), u, []uint64{subject, subject + 1_000_000, subject}, counter.Asked{Sets: [2]counter.Kind{counter.PostFavourites, counter.PostLikes}})
		_, member := model[u]
		want := counter.Figures{Sizes: [2]uint64{0, uint64(len(model))}, Member: [2]bool{false, member}}
		if err != nil || !slices.Equal(got, []counter.Figures{want, {}, want}) {
			t.Fatalf("the figures of user %d and subject %d are %v, %v, want %v", u, subject, got, err, want)
		}
	}
}

// The lists of a user's own subjects have each once, newest first, page by page.
func TestOwnSubjectsNewestFirst(t *testing.T) {
	f := open(t, 1)
	s := f.nodes[0]
	for subject := range uint64(25) {
		f.clock.Advance(time.Duration(subject%2) * time.Millisecond)
		for _, u := range []id.User{1, 2} {
			if _, err := s.Add(t.Context(), counter.PostLikes, subject+1, u); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []uint64
	for behind := (counter.Position{}); ; {
		list, err := s.Subjects(t.Context(), counter.PostLikes, 1, behind, 4)
		must(t, err)
		if len(list) == 0 {
			break
		}
		for _, subject := range list {
			got = append(got, subject.ID)
			behind = subject.Position()
		}
	}
	want := make([]uint64, 25)
	for i := range want {
		want[i] = uint64(25 - i)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if list, err := s.Subjects(t.Context(), counter.PostFavourites, 1, counter.Position{}, 4); err != nil || len(list) > 0 {
		t.Errorf("another kind has %v, %v", list, err)
	}
}

// New members change nothing in the pages behind a position.
func TestPagesAreStableUnderNewMembers(t *testing.T) {
	f := open(t, 1)
	s := f.nodes[0]
	for u := range id.User(100) {
		f.clock.Advance(time.Millisecond)
		_, err := s.Add(t.Context(), counter.PostLikes, 7, u+1)
		must(t, err)
	}
	want := f.users(7, 100)
	var got []id.User
	for behind := (counter.Position{}); ; {
		list, err := s.Members(t.Context(), counter.PostLikes, 7, behind, 7)
		must(t, err)
		if len(list) == 0 {
			break
		}
		for _, m := range list {
			got = append(got, m.User)
			behind = m.Position()
		}
		f.clock.Advance(time.Millisecond)
		_, err = s.Add(t.Context(), counter.PostLikes, 7, id.User(1000+len(got)))
		must(t, err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Thousands of changes that wait at the same time are stored by one transaction.
func TestThousandsShareATransaction(t *testing.T) {
	const users = 3000
	f := open(t, 1)
	running, release := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		if err := f.dbs[0].Write(context.Background(), func(*sql.Tx) error {
			close(running)
			<-release
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-running
	for u := range id.User(users) {
		group.Go(func() {
			if added, err := f.nodes[0].Add(context.Background(), counter.PostLikes, 7, u/2+1); err != nil {
				t.Errorf("user %d: %v, %v", u, added, err)
			}
		})
	}
	eventually.True(t, "all changes wait", func() bool { return f.nodes[0].Waiting() == users })
	close(release)
	group.Wait()
	if s := f.nodes[0]; s.Transactions() != 1 || s.Changes() != users || f.count(7) != users/2 {
		t.Errorf("%d transactions, %d changes, %d members", s.Transactions(), s.Changes(), f.count(7))
	}
}

// Three nodes change the same sets at once. At every moment a size is that of its set, and so it is at the end. Each change is counted once.
func TestThreeNodesChangeTheSameSets(t *testing.T) {
	const users, rounds = 24, 40
	f := open(t, 3)
	var writing, reading sync.WaitGroup
	var final sync.Map
	for u := range users {
		writing.Go(func() {
			in := map[uint64]bool{}
			for round := range rounds {
				subject := uint64(7 + round%2)
				remove := (round/2+u)%3 == 0
				change := counter.Change{Kind: counter.PostLikes, Subject: subject, User: id.User(u + 1), Remove: remove}
				if err := f.nodes[(u+round)%3].Apply(context.Background(), []counter.Change{change}); err != nil {
					t.Error(err)
					return
				}
				in[subject] = !remove
			}
			final.Store(id.User(u+1), in)
		})
	}
	stop := make(chan struct{})
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var differences int
			if err := f.dbs[0].Read().QueryRow(`SELECT (SELECT COUNT(*) FROM counter_members WHERE present) - (SELECT COALESCE(SUM(n), 0) FROM counter_counts)`).Scan(&differences); err != nil || differences != 0 {
				t.Errorf("the sizes differ by %d, %v", differences, err)
				return
			}
		}
	})
	writing.Wait()
	close(stop)
	reading.Wait()
	for _, subject := range []uint64{7, 8} {
		members := f.users(subject, 100)
		for u := range id.User(users) {
			in, _ := final.Load(u + 1)
			if want := in.(map[uint64]bool)[subject]; slices.Contains(members, u+1) != want {
				t.Errorf("user %d in %d: want %v", u+1, subject, want)
			}
		}
		if f.count(subject) != uint64(len(members)) {
			t.Errorf("%d counted, %d members", f.count(subject), len(members))
		}
	}
}

// In PostgreSQL, a transaction that adds to and removes from a set does not conflict with one of another node on the same set: each runs once.
func TestNodesDoNotConflictOnTheSameSet(t *testing.T) {
	f := openAt(t, sqltest.Schema(t, sqltest.Postgres(t)), 2)
	must(t, f.nodes[0].Apply(t.Context(), []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: 1}, {Kind: counter.PostLikes, Subject: 7, User: 2}}))
	must(t, f.nodes[1].Apply(t.Context(), []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: 3}}))
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	ran := 0
	f.on = func(_ context.Context, _ *sql.Tx, changes []counter.Change) error {
		if slices.ContainsFunc(changes, func(c counter.Change) bool { return c.User == 1 }) {
			ran++
			once.Do(func() {
				close(entered)
				<-release
			})
		}
		return nil
	}
	var first sync.WaitGroup
	first.Go(func() {
		if err := f.nodes[0].Apply(context.Background(), []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: 1, Remove: true}, {Kind: counter.PostLikes, Subject: 7, User: 10}, {Kind: counter.PostLikes, Subject: 7, User: 13}}); err != nil {
			t.Error(err)
		}
	})
	<-entered
	defer first.Wait()
	defer close(release)
	second := make(chan error, 1)
	go func() {
		second <- f.nodes[1].Apply(context.Background(), []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: 2, Remove: true}, {Kind: counter.PostLikes, Subject: 7, User: 11}, {Kind: counter.PostLikes, Subject: 7, User: 12}})
	}()
	must(t, eventually.Receive(t, "the second node's commit, during the transaction of the first", second))
	if n := f.count(7); n != 4 {
		t.Errorf("%d members before the first commit", n)
	}
	release <- struct{}{}
	first.Wait()
	if members := f.users(7, 10); f.count(7) != 5 || len(members) != 5 || ran != 1 {
		t.Errorf("counted %d, members %v; the first transaction ran %d times", f.count(7), members, ran)
	}
}

// OnChange gets what changed, in the transaction; its failure undoes the changes.
func TestOnChangeIsPartOfTheTransaction(t *testing.T) {
	f := open(t, 1)
	s := f.nodes[0]
	must(t, s.Apply(t.Context(), []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: 1}}))
	var got []counter.Change
	refused := errors.New("refused")
	f.on = func(_ context.Context, _ *sql.Tx, changes []counter.Change) error {
		got = changes
		return refused
	}
	changes := []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: 1}, {Kind: counter.PostLikes, Subject: 7, User: 2}, {Kind: counter.PostLikes, Subject: 8, User: 1, Remove: true},
		{Kind: counter.PostLikes, Subject: 9, User: 1}, {Kind: counter.PostLikes, Subject: 9, User: 1, Remove: true}}
	if err := s.Apply(t.Context(), changes); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if want := []counter.Change{{Kind: counter.PostLikes, Subject: 7, User: 2, Changed: true}}; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if f.count(7) != 1 || len(f.users(7, 10)) != 1 {
		t.Errorf("%d counted, %v", f.count(7), f.users(7, 10))
	}
}

// Reads in a transaction are as of its snapshot.
func TestReadsInATransaction(t *testing.T) {
	f := open(t, 1)
	s := f.nodes[0]
	refused := errors.New("refused")
	f.on = func(ctx context.Context, tx *sql.Tx, _ []counter.Change) error {
		in := s.In(tx)
		counts, err := in.Counts(ctx, counter.PostLikes, []uint64{7})
		must(t, err)
		members, err := in.Members(ctx, counter.PostLikes, 7, counter.Position{}, 10)
		must(t, err)
		figures, err := in.Figures(ctx, 1, []uint64{7}, counter.Asked{Sets: [2]counter.Kind{counter.PostLikes}})
		must(t, err)
		subjects, err := in.Subjects(ctx, counter.PostLikes, 1, counter.Position{}, 10)
		must(t, err)
		if counts[0] != 1 || len(members) != 1 || !figures[0].Member[0] || len(subjects) != 1 {
			t.Errorf("in the transaction: %v, %v, %v, %v", counts, members, figures, subjects)
		}
		if n := f.count(7); n != 0 {
			t.Errorf("outside of it: %d", n)
		}
		return refused
	}
	if _, err := s.Add(t.Context(), counter.PostLikes, 7, 1); !errors.Is(err, refused) {
		t.Errorf("error %v, want %v", err, refused)
	}
}

// Clear empties a set, and RemoveUser takes a user out of all sets, in batches; nothing else changes.
func TestClear(t *testing.T) {
	f := open(t, 1)
	s := f.nodes[0]
	var changes []counter.Change
	for n := range uint64(1000) {
		changes = append(changes, counter.Change{Kind: counter.PostLikes, Subject: 7, User: id.User(n + 1)})
	}
	must(t, s.Apply(t.Context(), changes))
	for i := range changes {
		changes[i].Subject, changes[i].User = uint64(100+i), 1
	}
	must(t, s.Apply(t.Context(), changes))
	must(t, s.Apply(t.Context(), []counter.Change{{Kind: counter.PostLikes, Subject: 100, User: 2}, {Kind: counter.PostFavourites, Subject: 7, User: 2}}))
	must(t, s.Clear(t.Context(), counter.PostLikes, 7))
	if f.count(7) != 0 || len(f.users(7, 10)) != 0 || f.count(100) != 2 {
		t.Errorf("%d and %d members", f.count(7), f.count(100))
	}
	must(t, s.RemoveUser(t.Context(), counter.PostLikes, 1))
	if f.count(100) != 1 || f.count(999) != 0 {
		t.Errorf("%d and %d members", f.count(100), f.count(999))
	}
	if counts, err := s.Counts(t.Context(), counter.PostFavourites, []uint64{7, 8}); err != nil || fmt.Sprint(counts) != "[1 0]" {
		t.Errorf("favourites %v, %v", counts, err)
	}
}

// Ids that the database cannot store, and calls that are too large, are rejected.
func TestRejectedCalls(t *testing.T) {
	f := open(t, 1)
	for _, c := range []counter.Change{{Kind: counter.PostLikes, User: 1}, {Kind: counter.PostLikes, Subject: 1}, {Kind: counter.PostLikes, Subject: 1 << 63, User: 1}, {Kind: counter.PostLikes, Subject: 1, User: 1 << 63}} {
		if err := f.nodes[0].Apply(t.Context(), []counter.Change{c}); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if err := f.nodes[0].Apply(t.Context(), make([]counter.Change, 1001)); err == nil {
		t.Error("1,001 changes are accepted")
	}
	if _, err := f.nodes[0].Counts(t.Context(), counter.PostLikes, make([]uint64, 1001)); err == nil {
		t.Error("1,001 subjects are accepted")
	}
}
