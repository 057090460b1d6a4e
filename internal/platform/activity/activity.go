// Package activity records on which days users were active, and computes active users and retention from that.
//
// It owns a table, user_activity, with a row for each user: a bitmap of the 62 days up to the last one on which the user was active. Days are those of UTC. A user is active
// who is connected, or was authenticated by a token. A node writes a row within a minute after it first sees a user on a day; memory tells it of the later times. Rows of users who
// were not active in 62 days are deleted.
//
// The coordinator counts all rows once an hour, for metrics. Report counts them when it is asked.
//
// It may use sqldb, cluster and userdata. All methods are safe for concurrent use.
package activity

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

const (
	// bitmapDays is how many days a bitmap has. Its bit n stands for n days before the user's last one.
	bitmapDays = 62
	bitmapMask = 1<<bitmapDays - 1
	// writeInterval is the time between two writes of those who were seen.
	writeInterval = 30 * time.Second
	// checkInterval is how often a node looks whether it has to count, because it has become the coordinator or countInterval is over.
	checkInterval = time.Minute
	countInterval = time.Hour
	// maxKnown bounds the users in memory who were seen on a day. Beyond, they are written again, which changes nothing.
	maxKnown = 1 << 18
	// maxWaiting bounds the users who wait to be written. Beyond, users are noted when they are seen again.
	maxWaiting = 100_000
	// writeBatch is how many users one transaction writes, and purgeBatch how many rows one deletes.
	writeBatch, purgeBatch = 500, 500
	writeTimeout           = 10 * time.Second
)

var migrations = []string{
	`CREATE TABLE user_activity (owner BIGINT PRIMARY KEY, last_day BIGINT NOT NULL, days BIGINT NOT NULL)`,
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB *sqldb.DB
	// Connected returns the users who are connected to this node. It may be nil.
	Connected func() []id.User
	// ErasedAmong returns those of some users who were erased, as of a transaction. They may have been seen just before. If nil, nobody was.
	ErasedAmong func(ctx context.Context, tx *sql.Tx, users []id.User) ([]id.User, error)
	// IsCoordinator reports whether this node counts, and deletes old rows. If nil, it does.
	IsCoordinator func() bool
	Clock         clock.Clock
	Logger        *slog.Logger
}

// Service has the activity of all users.
type Service struct {
	deps Deps

	mu      sync.Mutex // guards the fields below
	day     int64      // that known is of
	known   map[id.User]bool
	waiting []activeDay

	counts atomic.Pointer[Counts]
}

// activeDay is a day on which a user was active.
type activeDay struct {
	user id.User
	day  int64 // since 1970
}

// New creates the table if it is missing.
func New(ctx context.Context, deps Deps) (*Service, error) {
	s := &Service{deps: deps, known: map[id.User]bool{}}
	s.counts.Store(&Counts{})
	return s, deps.DB.Migrate(ctx, "activity", migrations)
}

// dayOf returns the number of a moment's day, since 1970.
func dayOf(at time.Time) int64 { return at.Unix() / (24 * 60 * 60) }

func (s *Service) today() int64 { return dayOf(s.deps.Clock.Now()) }

// Seen notes that a user is active. It does not wait for the database. Delivery canaries are no users.
func (s *Service) Seen(u id.User) {
	if u == 0 || u.IsCanary() {
		return
	}
	day := s.today()
	s.mu.Lock()
	defer s.mu.Unlock()
	if day != s.day || len(s.known) >= maxKnown {
		s.day = day
		clear(s.known)
	}
	if s.known[u] || len(s.waiting) >= maxWaiting {
		return
	}
	s.known[u] = true
	s.waiting = append(s.waiting, activeDay{u, day})
}

// Run writes those who were seen, counts, and deletes old rows, until ctx ends. It then writes those who wait.
func (s *Service) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		var counted time.Time
		work := cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: checkInterval, Round: func(ctx context.Context) error {
			if now := s.deps.Clock.Now(); now.Sub(counted) >= countInterval {
				counted = now
				return s.round(ctx)
			}
			return nil
		}, NotCoordinator: func() { counted = time.Time{}; s.counts.Store(&Counts{}) }, Failed: "active users could not be counted; the next round tries again", Logger: s.deps.Logger}
		work.Run(ctx)
	})
	tick := time.NewTicker(writeInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.deps.Connected != nil {
				for _, u := range s.deps.Connected() {
					s.Seen(u)
				}
			}
			s.write(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
			defer cancel()
			s.write(last)
			return nil
		}
	}
}

// write stores those who were seen. After a failure it forgets them, so that they are noted when they are seen again.
func (s *Service) write(ctx context.Context) {
	s.mu.Lock()
	list := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for some := range slices.Chunk(list, writeBatch) {
		if err := s.store(ctx, some); err != nil {
			s.deps.Logger.Warn("active users could not be stored; they are stored when they are seen again", "users", len(some), "error", err)
			s.mu.Lock()
			for _, one := range some {
				delete(s.known, one.user)
			}
			s.mu.Unlock()
		}
	}
}

// erasedAmong returns those of some who were seen that were erased since.
func (s *Service) erasedAmong(ctx context.Context, tx *sql.Tx, list []activeDay) ([]id.User, error) {
	if s.deps.ErasedAmong == nil {
		return nil, nil
	}
	users := make([]id.User, len(list))
	for i, one := range list {
		users[i] = one.user
	}
	return s.deps.ErasedAmong(ctx, tx, users)
}

// store adds days to the bitmaps of users, except of those who were erased: their rows may be deleted already. In PostgreSQL, a shift by 64 or more would begin again at 0.
func (s *Service) store(ctx context.Context, list []activeDay) error {
	slices.SortFunc(list, func(a, b activeDay) int { return cmp.Compare(a.user, b.user) }) // so that nodes lock rows in the same order
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		erased, err := s.erasedAmong(ctx, tx, list)
		if err != nil {
			return err
		}
		for _, one := range list {
			if slices.Contains(erased, one.user) {
				continue
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO user_activity (owner, last_day, days) VALUES ($1, $2, 1) ON CONFLICT (owner) DO UPDATE SET
				last_day = CASE WHEN excluded.last_day > user_activity.last_day THEN excluded.last_day ELSE user_activity.last_day END,
				days = CASE
					WHEN excluded.last_day - user_activity.last_day > 61 THEN 1
					WHEN excluded.last_day > user_activity.last_day THEN ((user_activity.days << CAST(excluded.last_day - user_activity.last_day AS INTEGER)) & 4611686018427387903) | 1
					WHEN user_activity.last_day - excluded.last_day > 61 THEN user_activity.days
					ELSE user_activity.days | (CAST(1 AS BIGINT) << CAST(user_activity.last_day - excluded.last_day AS INTEGER)) END
				WHERE user_activity.last_day <> excluded.last_day`, int64(one.user), one.day)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// round counts for the metrics, and deletes the rows that nothing counts any more.
func (s *Service) round(ctx context.Context) error {
	err := s.deps.DB.WriteInBatches(ctx, purgeBatch, func(tx *sql.Tx) (int64, error) {
		done, err := tx.ExecContext(ctx, `DELETE FROM user_activity WHERE owner IN (SELECT owner FROM user_activity WHERE last_day < $1 LIMIT $2)`, s.today()-bitmapDays+1, purgeBatch)
		if err != nil {
			return 0, err
		}
		return done.RowsAffected()
	})
	if err != nil {
		return err
	}
	r, err := s.Report(ctx, 1)
	if err == nil {
		s.counts.Store(&r.Counts)
	}
	return err
}
