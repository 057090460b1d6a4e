// Package outputlimit bounds what a server holds for clients: answers that wait to be written, by their bytes on the wire, and
// pages that are read and encoded concurrently. FillPage makes a page of a list of which a reader may not see all.
//
// All methods are safe for concurrent use, except those of an AnswerWriter.
package outputlimit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"golang.org/x/sync/semaphore"
)

// MaxPage bounds a page on the wire, in bytes, in any encoding, unless a single message is larger.
const MaxPage = 1 << 20

// PageSize is the number of items on a page of a list for a limit that a client gave: 50 for 0, and never more than 200.
func PageSize(limit uint32) int {
	if limit == 0 {
		return 50
	}
	return int(min(limit, 200))
}

// SmallPageSize is PageSize for lists of long items: 20 for 0, and never more than 50.
func SmallPageSize(limit uint32) int {
	if limit == 0 {
		return 20
	}
	return int(min(limit, 50))
}

// LargePageSize is PageSize for lists that commands of operators read to their end: 500 for 0, and never more.
func LargePageSize(limit uint32) int {
	if limit == 0 {
		return 500
	}
	return int(min(limit, 500))
}

// LargePageBytes of contents end such a page, however many entries it has.
const LargePageBytes = 512 << 10

// Config of the limits; the zero value is the documented default.
type Config struct {
	// AnswersUser bounds the answers that wait to be written to a user's connections, in bytes; 0 is 8 MiB. A user also has at most an eighth
	// of what is free of AnswersTotal, and an address a quarter.
	AnswersUser int `yaml:"answers_user"`
	// AnswersTotal bounds the same for all users of a node; 0 is a sixteenth of the memory that the process may use
	// (of the machine, its control group, GOMEMLIMIT), at least 16 MiB and at most 1 GiB.
	AnswersTotal int `yaml:"answers_total"`
	// PagesAtOnce bounds the pages (History, Sync, ListConversations) that a node reads and encodes concurrently; 0 is 8 plus two for each
	// processor. The limit of one user is two.
	PagesAtOnce int `yaml:"pages_at_once"`
}

// Errors for clients that do not read their answers.
var (
	ErrUnread = &errs.Error{Kind: errs.Exhausted, Reason: "unread_answers", Message: "read the answers that wait before asking for more", Retry: time.Second}
	errBusy   = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: time.Second}
)

// leastTotal is the least AnswersTotal. An eighth of it is more than any page, so that a client that waits for its turn gets each page.
const leastTotal = 16 << 20

// Check finds settings that would refuse pages forever.
func (c Config) Check() error {
	var total, user error
	if c.AnswersTotal != 0 && c.AnswersTotal < leastTotal {
		total = fmt.Errorf("output.answers_total (%d) must be at least %d, or 0 for the default", c.AnswersTotal, leastTotal)
	}
	if c.AnswersUser != 0 && c.AnswersUser < 2*MaxPage {
		user = fmt.Errorf("output.answers_user (%d) must be at least %d, or 0 for the default", c.AnswersUser, 2*MaxPage)
	}
	return errors.Join(total, user)
}

// Limits of one node. A nil *Limits limits nothing.
type Limits struct {
	answers *budget.Budget
	pages   *semaphore.Weighted
	cut     atomic.Int64

	mu    sync.Mutex // guards users
	users map[uint64]*user
}

// user has an entry while it holds or awaits a page.
type user struct {
	pages  *semaphore.Weighted
	wanted int // held or awaited
}

// pagesPerUser bounds the concurrent pages of one user.
const pagesPerUser = 2

// New creates the limits of a node that may use a number of bytes of memory.
func New(c Config, memory int64) *Limits {
	if c.AnswersUser == 0 {
		c.AnswersUser = 8 << 20
	}
	if c.AnswersTotal == 0 {
		c.AnswersTotal = int(min(max(memory/16, leastTotal), 1<<30))
	}
	if c.PagesAtOnce == 0 {
		c.PagesAtOnce = 8 + 2*runtime.GOMAXPROCS(0)
	}
	answers := budget.New(budget.Config{Bytes: int64(c.AnswersTotal), NetworkShare: budget.NetworkOfUsers, User: int64(c.AnswersUser)})
	return &Limits{answers: answers, pages: semaphore.NewWeighted(int64(c.PagesAtOnce)), users: map[uint64]*user{}}
}

// Hold counts n bytes of an answer to an owner, until Release. It fails with ErrUnread if too many bytes wait already.
func (l *Limits) Hold(owner budget.Owner, n int) error {
	if l != nil && !l.answers.Acquire(owner, n) {
		return ErrUnread
	}
	return nil
}

// Release releases n bytes that Hold counted.
func (l *Limits) Release(owner budget.Owner, n int) {
	if l != nil && n != 0 {
		l.answers.Release(owner, n)
	}
}

// UnderPressure reports whether unread answers use more than half of their memory.
func (l *Limits) UnderPressure() bool { return l != nil && l.answers.Used() > l.answers.Limit()/2 }

// Held returns the bytes of answers that wait to be written.
func (l *Limits) Held() int64 { return l.answers.Used() }

// Limit is how many bytes of answers may wait.
func (l *Limits) Limit() int64 { return l.answers.Limit() }

// Refused returns the number of answers that were not sent because too many waited.
func (l *Limits) Refused() int64 { return l.answers.Refused() }

// Cut returns the number of answers over HTTP that were ended because their clients read nothing while much waited.
func (l *Limits) Cut() int64 { return l.cut.Load() }

// want returns a user's entry, and notes that it wants one more page.
func (l *Limits) want(u uint64) *user {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.users[u]
	if e == nil {
		e = &user{pages: semaphore.NewWeighted(pagesPerUser)}
		l.users[u] = e
	}
	e.wanted++
	return e
}

// leave ends what want began. Users without pages have no entry.
func (l *Limits) leave(u uint64, e *user) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.wanted--; e.wanted == 0 {
		delete(l.users, u)
	}
}

// AcquirePage waits until a page may be read for an owner; done cancels it. It fails with ErrUnread if the owner has too many unread answers.
func (l *Limits) AcquirePage(ctx context.Context, owner budget.Owner) (done func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	e := l.want(owner.User)
	if e.pages.Acquire(ctx, 1) != nil {
		l.leave(owner.User, e)
		return nil, errBusy
	}
	if l.pages.Acquire(ctx, 1) != nil {
		e.pages.Release(1)
		l.leave(owner.User, e)
		return nil, errBusy
	}
	done = func() {
		l.pages.Release(1)
		e.pages.Release(1)
		l.leave(owner.User, e)
	}
	if !l.answers.Fits(owner, 1) { // the page could not be sent
		done()
		return nil, ErrUnread
	}
	return done, nil
}
