package activity_test

import (
	"context"
	"database/sql"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/activity"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const day = 24 * time.Hour

// node is a node with a clock of its own.
type node struct {
	*activity.Service
	clock *clocktest.Manual
}

func open(t *testing.T) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func newNode(t *testing.T, db *sqldb.DB, connected ...id.User) node {
	t.Helper()
	n := node{clock: clocktest.NewManual()}
	var err error
	n.Service, err = activity.New(t.Context(), activity.Deps{DB: db, Connected: func() []id.User { return connected }, Clock: n.clock, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	return n
}

// model has the days on which each user was active, counted from the first one.
type model map[id.User]map[int]bool

func (m model) see(u id.User, day int) {
	if m[u] == nil {
		m[u] = map[int]bool{}
	}
	m[u][day] = true
}

// count returns how many users were active on a day, and on a later one as well.
func (m model) count(day, later int) (n int) {
	for _, days := range m {
		if days[day] && days[later] {
			n++
		}
	}
	return n
}

// within returns how many users were active on one of n days up to the last one.
func (m model) within(last, n int) (count int) {
	for _, days := range m {
		for day := last; day > last-n; day-- {
			if days[day] {
				count++
				break
			}
		}
	}
	return count
}

// Reports equal those of a model that has each day of each user, while two nodes, of which one's clock is hours behind, see users on the days of a quarter, some of
// them after long absences.
func TestReportsEqualAModel(t *testing.T) {
	db := open(t)
	nodes := []node{newNode(t, db), newNode(t, db)}
	nodes[1].clock.Advance(-20 * time.Hour)
	random, m := rand.New(rand.NewPCG(1, 2)), model{}
	for today := range 95 {
		for range 12 {
			u := id.User(1 + random.IntN(9)*random.IntN(9)) // some are seen often, and some hardly ever
			n := random.IntN(2)
			nodes[n].Seen(u)
			nodes[n].Seen(u)
			seen := today
			if n == 1 {
				seen = today - 1
			}
			m.see(u, seen)
			if random.IntN(3) == 0 {
				nodes[random.IntN(2)].Write(t.Context())
			}
		}
		if today%10 != 4 {
			nodes[0].clock.Advance(day)
			nodes[1].clock.Advance(day)
			continue
		}
		for _, n := range nodes {
			n.Write(t.Context())
		}
		must(t, nodes[0].Round(t.Context()))
		check(t, nodes[0].Service, m, today)
		nodes[0].clock.Advance(day)
		nodes[1].clock.Advance(day)
	}
}

// check compares a report, and the counts for the metrics, with a model.
func check(t *testing.T, s *activity.Service, m model, today int) {
	t.Helper()
	r, err := s.Report(t.Context(), 61)
	must(t, err)
	var want activity.Counts
	for i, n := range activity.Spans {
		want.Active[i], want.Base[i], want.Returned[i] = m.within(today-1, n), m.count(today-1-n, today-1-n), m.count(today-1-n, today-1)
	}
	if r.Counts != want || s.Counts() != want {
		t.Errorf("day %d: counts %+v, and of the last round %+v, want %+v", today, r.Counts, s.Counts(), want)
	}
	for ago, d := range r.Days {
		of := activity.Day{Begin: r.Days[0].Begin.Add(-time.Duration(ago) * day), Active: m.count(today-ago, today-ago)}
		for i, n := range activity.Spans {
			if of.Returned[i] = m.count(today-ago, today-ago+n); ago <= n {
				of.Returned[i] = -1
			}
		}
		if d != of {
			t.Errorf("day %d: %d days ago %+v, want %+v", today, ago, d, of)
		}
	}
	for u, days := range m {
		want := 0
		for n := range 28 {
			if days[today-n] {
				want++
			}
		}
		if got, err := s.ActiveDays(t.Context(), u); err != nil || got != want {
			t.Errorf("day %d: user %d was active on %d days, %v, want %d", today, u, got, err, want)
		}
	}
}

// Rows that nothing counts any more are deleted. Delivery canaries have none.
func TestOldRowsAreDeleted(t *testing.T) {
	db := open(t)
	n := newNode(t, db)
	rows := func() (list []id.User) {
		found, err := db.Read().QueryContext(t.Context(), `SELECT owner FROM user_activity ORDER BY owner`)
		list, err = sqldb.Column[id.User](found, err)
		must(t, err)
		return list
	}
	n.Seen(1)
	n.Seen(id.CanaryUser(3))
	n.Write(t.Context())
	n.clock.Advance(day)
	n.Seen(2)
	n.Write(t.Context())
	n.clock.Advance(60 * day)
	must(t, n.Round(t.Context()))
	if list := rows(); !slices.Equal(list, []id.User{1, 2}) {
		t.Errorf("after 61 days there are rows of %v", list)
	}
	n.clock.Advance(day)
	must(t, n.Round(t.Context()))
	if list := rows(); !slices.Equal(list, []id.User{2}) {
		t.Errorf("after 62 days there are rows of %v", list)
	}
}

// A user who is erased between being seen and the next write gets no row.
func TestErasedUsersGetNoRow(t *testing.T) {
	db, erased := open(t), []id.User{2}
	s, err := activity.New(t.Context(), activity.Deps{DB: db, Clock: clocktest.NewManual(), Logger: slog.New(slog.DiscardHandler),
		ErasedAmong: func(_ context.Context, _ *sql.Tx, users []id.User) ([]id.User, error) {
			if !slices.Equal(users, []id.User{1, 2, 3}) {
				t.Errorf("asked for %v", users)
			}
			return erased, nil
		}})
	must(t, err)
	for _, u := range []id.User{3, 2, 1} {
		s.Seen(u)
	}
	s.Write(t.Context())
	for u, want := range map[id.User]int{1: 1, 2: 0, 3: 1} {
		if days, err := s.ActiveDays(t.Context(), u); err != nil || days != want {
			t.Errorf("user %d was active on %d days, %v, want %d", u, days, err, want)
		}
	}
}

// Users whose sight could not be stored are noted when they are seen again.
func TestAFailedWriteIsMadeUpFor(t *testing.T) {
	n := newNode(t, open(t))
	over, end := context.WithCancel(t.Context())
	end()
	n.Seen(1)
	n.Write(over)
	n.Write(t.Context())
	if r, err := n.Report(t.Context(), 1); err != nil || r.Days[0].Active != 0 {
		t.Fatalf("after a failed write: %+v, %v", r, err)
	}
	n.Seen(1)
	n.Write(t.Context())
	if r, err := n.Report(t.Context(), 1); err != nil || r.Days[0].Active != 1 {
		t.Errorf("after the next write: %+v, %v", r, err)
	}
}

// A node that stops stores whom it has seen.
func TestAStoppingNodeWrites(t *testing.T) {
	n := newNode(t, open(t))
	over, end := context.WithCancel(t.Context())
	end()
	n.Seen(1)
	must(t, n.Run(over))
	if r, err := n.Report(t.Context(), 1); err != nil || r.Days[0].Active != 1 {
		t.Errorf("after the stop: %+v, %v", r, err)
	}
}

// Bad numbers of days are refused.
func TestReportsAreBounded(t *testing.T) {
	n := newNode(t, open(t))
	for _, days := range []int{-1, 0, activity.MaxDays + 1} {
		if _, err := n.Report(t.Context(), days); err == nil {
			t.Errorf("a report of %d days is answered", days)
		}
	}
}
