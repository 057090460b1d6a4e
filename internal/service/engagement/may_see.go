package engagement

import (
	"context"
	"database/sql"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// checkTimeout bounds a snapshot, so that a database that does not answer holds no further checks.
const checkTimeout = 10 * time.Second

// maxChecked is how many checks share a snapshot. Further ones begin the next one.
const maxChecked = 256

// check of whether a user may see a post.
type check struct {
	post uint64
	user id.User
}

// checkGroup has the checks that one snapshot answers.
type checkGroup struct {
	checks map[check]bool // whether the user may see the post, once done is closed
	begin  chan struct{}  // closed when the first of those who wait is to read
	done   chan struct{}  // closed once err is set
	err    error
}

// checks answers the checks of those who wait at the same time in one snapshot: of thousands who like a post in a second, few read it.
type checks struct {
	posts Posts
	read  func(ctx context.Context, fn func(tx *sql.Tx) error) error
	most  int // snapshots at once

	mu      sync.Mutex    // guards the fields below, and the checks of the open group
	running int           // groups that have begun
	waiting []*checkGroup // they have not begun
	open    *checkGroup   // the one that takes further checks; nil: none does
}

func newChecks(deps *Deps) *checks {
	return &checks{posts: deps.Posts, read: deps.DB.ReadSnapshot, most: max(2, runtime.GOMAXPROCS(0))}
}

// maySee reports whether a user may see a post, as of a moment during the call.
func (c *checks) maySee(ctx context.Context, u id.User, n uint64) (bool, error) {
	one := check{n, u}
	group, first := c.join(one)
	if first {
		// The end of one caller's context must not fail the others.
		c.answer(context.WithoutCancel(ctx), group)
	}
	select {
	case <-group.done:
		return group.checks[one], group.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// join adds a check to a group that has not begun to read. The first one of a group reads for it.
func (c *checks) join(one check) (group *checkGroup, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil || len(c.open.checks) >= maxChecked {
		first = true
		c.open = &checkGroup{checks: map[check]bool{}, begin: make(chan struct{}), done: make(chan struct{})}
		if c.running < c.most {
			c.running++
			close(c.open.begin)
		} else {
			c.waiting = append(c.waiting, c.open)
		}
	}
	c.open.checks[one] = false
	return c.open, first
}

// answer waits until a group may read, reads, and lets the next group begin.
func (c *checks) answer(ctx context.Context, group *checkGroup) {
	<-group.begin
	c.gather(group)
	ctx, cancel := context.WithTimeout(sqldb.ShortReads(ctx), checkTimeout)
	defer cancel()
	group.err = c.read(ctx, func(tx *sql.Tx) error { return c.readGroup(ctx, tx, group) })
	c.mu.Lock()
	if len(c.waiting) > 0 {
		close(c.waiting[0].begin)
		c.waiting = slices.Delete(c.waiting, 0, 1)
	} else {
		c.running--
	}
	c.mu.Unlock()
	close(group.done)
}

// gather lets those who are about to join a group do so, as long as some do, and closes it.
func (c *checks) gather(group *checkGroup) {
	for before := 0; ; runtime.Gosched() {
		c.mu.Lock()
		n, open := len(group.checks), c.open == group
		if open && n == before {
			c.open, open = nil, false
		}
		c.mu.Unlock()
		if !open {
			return
		}
		before = n
	}
}

// readGroup answers the checks of a group.
func (c *checks) readGroup(ctx context.Context, tx *sql.Tx, group *checkGroup) error {
	users := map[uint64][]id.User{}
	for one := range group.checks {
		users[one.post] = append(users[one.post], one.user)
	}
	for _, n := range slices.Sorted(maps.Keys(users)) {
		readers, err := c.posts.ReadersAmong(ctx, tx, n, users[n])
		if err != nil {
			return err
		}
		for _, u := range readers {
			group.checks[check{n, u}] = true
		}
	}
	return nil
}
