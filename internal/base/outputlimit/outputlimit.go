// Package outputlimit bounds what a server holds for clients: answers that wait to be written, by their bytes on the wire, and
// pages that are read and encoded concurrently.
//
// All methods are safe for concurrent use.
package outputlimit

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

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

// Config of the limits; the zero value is the documented default.
type Config struct {
	// AnswersUser bounds the answers that wait to be written to a user's connections, in bytes; 0 is 8 MiB.
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

// Limits of one node. A nil *Limits limits nothing.
type Limits struct {
	answersUser, answersTotal int64
	pages                     *semaphore.Weighted
	refused                   atomic.Int64

	mu    sync.Mutex // guards the fields below
	held  int64
	users map[uint64]*user
}

// user has an entry while it holds an answer or a page.
type user struct {
	held        int64
	pages       *semaphore.Weighted
	pagesWanted int // held or awaited
}

// pagesPerUser bounds the concurrent pages of one user.
const pagesPerUser = 2

// New creates the limits of a node that may use a number of bytes of memory.
func New(c Config, memory int64) *Limits {
	if c.AnswersUser == 0 {
		c.AnswersUser = 8 << 20
	}
	if c.AnswersTotal == 0 {
		c.AnswersTotal = int(min(max(memory/16, 16<<20), 1<<30))
	}
	if c.PagesAtOnce == 0 {
		c.PagesAtOnce = 8 + 2*runtime.GOMAXPROCS(0)
	}
	return &Limits{answersUser: int64(c.AnswersUser), answersTotal: int64(c.AnswersTotal), pages: semaphore.NewWeighted(int64(c.PagesAtOnce)), users: map[uint64]*user{}}
}

// of returns a user's entry. The caller holds mu.
func (l *Limits) of(u uint64) *user {
	e := l.users[u]
	if e == nil {
		e = &user{pages: semaphore.NewWeighted(pagesPerUser)}
		l.users[u] = e
	}
	return e
}

// drop removes the entry of a user without answers and pages. The caller holds mu.
func (l *Limits) drop(u uint64, e *user) {
	if e.held == 0 && e.pagesWanted == 0 {
		delete(l.users, u)
	}
}

// Hold counts n bytes of an answer to a user, until Release. It fails with ErrUnread if too many bytes wait already.
func (l *Limits) Hold(u uint64, n int) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of(u)
	defer l.drop(u, e)
	if e.held+int64(n) > l.answersUser || l.held+int64(n) > l.answersTotal {
		l.refused.Add(1)
		return ErrUnread
	}
	e.held += int64(n)
	l.held += int64(n)
	return nil
}

// Release releases n bytes that Hold counted.
func (l *Limits) Release(u uint64, n int) {
	if l == nil || n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of(u)
	defer l.drop(u, e)
	e.held -= int64(n)
	l.held -= int64(n)
}

// UnderPressure reports whether unread answers use more than half of their memory.
func (l *Limits) UnderPressure() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held > l.answersTotal/2
}

// Held returns the bytes of answers that wait to be written.
func (l *Limits) Held() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// Refused returns the number of answers that were not sent because too many waited.
func (l *Limits) Refused() int64 { return l.refused.Load() }

// AcquirePage waits until a page may be read for a user; done cancels it. It fails with ErrUnread if the user has too many unread answers.
func (l *Limits) AcquirePage(ctx context.Context, u uint64) (done func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	l.mu.Lock()
	e := l.of(u)
	e.pagesWanted++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		e.pagesWanted--
		l.drop(u, e)
	}
	if e.pages.Acquire(ctx, 1) != nil {
		leave()
		return nil, errBusy
	}
	if l.pages.Acquire(ctx, 1) != nil {
		e.pages.Release(1)
		leave()
		return nil, errBusy
	}
	done = func() {
		l.pages.Release(1)
		e.pages.Release(1)
		leave()
	}
	l.mu.Lock()
	full := e.held >= l.answersUser || l.held >= l.answersTotal
	l.mu.Unlock()
	if full { // the user has too many unread answers
		done()
		return nil, ErrUnread
	}
	return done, nil
}
