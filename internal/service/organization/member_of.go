package organization

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const (
	// maxKnown bounds the users whose organizations are remembered, about 100 bytes each. Beyond it, all are forgotten, and those that are asked for are read again.
	maxKnown = 50_000
	// knownFor is how long they are remembered, if no event of a change comes.
	knownFor = time.Minute
	// maxAsked bounds the users whose organizations are to be read. Others are read when they are asked for again.
	maxAsked = 1000
	// readBatch is how many users a query reads, and readPause the time between two queries: they are few also under overload.
	readBatch = 100
	readPause = 10 * time.Millisecond
)

// memberships remember the organizations of users that are asked for under overload.
type memberships struct {
	mu    sync.Mutex // guards the fields below; nothing else is locked under it
	known map[id.User]knownOrganizations
	asked map[id.User]struct{}
	reads int
	most  int // maxKnown, or less in a test
	wake  chan struct{}
}

func newMemberships() memberships {
	return memberships{known: map[id.User]knownOrganizations{}, asked: map[id.User]struct{}{}, most: maxKnown, wake: make(chan struct{}, 1)}
}

type knownOrganizations struct {
	list    []uint64 // ascending; never changed
	version uint64
	until   time.Time
}

// MemberOf returns the organizations of a user, ascending, as far as they are known without a query. If they are not, it returns none, and Run reads them soon: so
// requests under overload cost a look-up in memory.
func (s *Service) MemberOf(u id.User) []uint64 {
	m := &s.memberships
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.known[u]
	if ok && k.version == s.Version(u, u) && s.deps.Clock.Now().Before(k.until) {
		return k.list
	}
	if len(m.asked) < maxAsked {
		m.asked[u] = struct{}{}
		wakeup.Signal(m.wake)
	}
	return k.list // the former ones are better than none
}

// runMemberships reads what MemberOf is asked for, until ctx ends.
func (s *Service) runMemberships(ctx context.Context) {
	pause := backoff.New(readPause, knownFor)
	for {
		select {
		case <-s.memberships.wake:
		case <-ctx.Done():
			return
		}
		for more := true; more; {
			var err error
			if more, err = s.readMemberships(ctx); err == nil {
				pause.Reset()
			} else if ctx.Err() == nil {
				s.deps.Logger.Warn("the organizations of users could not be read: their shares under overload are not known", "error", err)
			}
			if pause.Wait(ctx) != nil {
				return
			}
		}
	}
}

// readMemberships reads the organizations of some users that were asked for, and reports whether there are more.
func (s *Service) readMemberships(ctx context.Context) (more bool, err error) {
	m := &s.memberships
	m.mu.Lock()
	users := make([]id.User, 0, readBatch)
	for u := range m.asked {
		if len(users) == readBatch {
			break
		}
		users = append(users, u)
		delete(m.asked, u)
	}
	more = len(m.asked) > 0
	m.mu.Unlock()
	if len(users) == 0 {
		return false, nil
	}
	read := make(map[id.User]knownOrganizations, len(users))
	for _, u := range users {
		read[u] = knownOrganizations{version: s.Version(u, u), until: s.deps.Clock.Now().Add(knownFor)} // before the rows are read
	}
	marks, args := sqldb.Placeholders(1, users, func(u id.User) int64 { return int64(u) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member, organization FROM organization_members WHERE member IN (`+marks+`) ORDER BY member, organization`, args...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var u id.User
		var org uint64
		err := rows.Scan(&u, &org)
		k := read[u]
		k.list = append(k.list, org)
		read[u] = k
		return err
	})
	if err != nil {
		return more, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if len(m.known)+len(read) > m.most {
		clear(m.known)
	}
	for u, k := range read {
		m.known[u] = k
	}
	return more, nil
}
