package presence

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/id"
)

// lastActive of a user.
type lastActive struct {
	user id.User
	ms   int64
	show bool // their watchers are told behind it
}

func (s *Service) everybody() []lastActive {
	var list []lastActive
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		for u, p := range sh.persons {
			list = append(list, lastActive{user: u, ms: s.wall(p.active.Load())})
		}
		sh.mu.RUnlock()
	}
	return list
}

const (
	// together bounds the rows of one transaction, and atOnce those of a statement.
	together = 500
	atOnce   = 100
	// waitMost times wait for a database that does not answer. The oldest beyond are lost.
	waitMost = 100_000
	// endTime is what there is for those who are online when the node stops.
	endTime = 5 * time.Second
)

// keeper writes when users were last active, on a goroutine of its own: while the database does not answer, nothing else waits.
type keeper struct {
	s    *Service
	jobs chan departures
	// Of the caller of keep and end alone:
	waiting []lastActive
	// Of run, and once that has ended of end:
	rest []lastActive
}

type departures struct {
	list []lastActive
	done chan struct{}
}

func newKeeper(s *Service) *keeper { return &keeper{s: s, jobs: make(chan departures)} }

// keep hands over who has left, and waits a little until they are kept and shown.
func (k *keeper) keep(list []lastActive, wait time.Duration) {
	k.waiting = append(k.waiting, list...)
	if over := len(k.waiting) - waitMost; over > 0 {
		k.s.deps.Logger.Warn("times of last activity were lost: the database does not take them", "users", over)
		k.s.show(k.waiting[:over])
		k.waiting = slices.Delete(k.waiting, 0, over)
	}
	if len(k.waiting) == 0 {
		return
	}
	d := departures{k.waiting, make(chan struct{})}
	select {
	case k.jobs <- d:
		k.waiting = nil
	default: // it is still at the last ones
		return
	}
	select {
	case <-d.done:
	case <-time.After(wait):
	}
}

func (k *keeper) run(ctx context.Context) {
	for {
		select {
		case d := <-k.jobs:
			k.rest = k.s.keep(ctx, d.list)
			k.s.show(d.list)
			close(d.done)
		case <-ctx.Done():
			return
		}
	}
}

// end keeps what is left, when run has ended.
func (k *keeper) end(ctx context.Context, online []lastActive) {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	k.s.keep(ctx, slices.Concat(k.rest, k.waiting, online))
}

// show has those looked at who watch somebody that left.
func (s *Service) show(list []lastActive) {
	for _, l := range list {
		if l.show {
			s.change(l.user, false)
		}
	}
}

// keep stores when users were last active, and gives those that it did not come to before ctx ended.
func (s *Service) keep(ctx context.Context, list []lastActive) (rest []lastActive) {
	list = latest(list)
	for begin := 0; begin < len(list); begin += together {
		some := list[begin:min(begin+together, len(list))]
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			for some := range slices.Chunk(some, atOnce) {
				if err := store(ctx, tx, some); err != nil {
					return err
				}
			}
			return nil
		})
		if ctx.Err() != nil && err != nil {
			return list[begin:]
		}
		if err != nil {
			s.deps.Logger.Warn("times of last activity were lost", "users", len(some), "error", err)
		}
	}
	return nil
}

// latest has each user once.
func latest(list []lastActive) []lastActive {
	at := make(map[id.User]int, len(list))
	kept := make([]lastActive, 0, len(list))
	for _, l := range list {
		i, known := at[l.user]
		if !known {
			at[l.user] = len(kept)
			kept = append(kept, l)
			continue
		}
		kept[i].ms = max(kept[i].ms, l.ms)
	}
	return kept
}

const (
	putTimes  = `INSERT INTO last_active (owner, ms) VALUES `
	laterOnes = ` ON CONFLICT (owner) DO UPDATE SET ms = CASE WHEN last_active.ms < excluded.ms THEN excluded.ms ELSE last_active.ms END`
)

// putMany is for atOnce rows. Of fewer each has a statement, so that there are two of them for the engine to know.
var putMany = func() string {
	var rows []string
	for i := range atOnce {
		rows = append(rows, "($"+strconv.Itoa(2*i+1)+", $"+strconv.Itoa(2*i+2)+")")
	}
	return putTimes + strings.Join(rows, ", ") + laterOnes
}()

func store(ctx context.Context, tx *sql.Tx, some []lastActive) error {
	var all []any
	for _, l := range some {
		all = append(all, int64(l.user), l.ms)
	}
	if len(some) == atOnce {
		_, err := tx.ExecContext(ctx, putMany, all...)
		return err
	}
	for i := range some {
		if _, err := tx.ExecContext(ctx, putTimes+`($1, $2)`+laterOnes, all[2*i:2*i+2]...); err != nil {
			return err
		}
	}
	return nil
}
