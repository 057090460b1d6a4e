// Package news tells every node what happened on one of them and must be known to all within seconds: a session ended, a setting
// changed.
//
// It owns one table in the records' database. An item is a row, committed with the change that it tells of, so that a node which
// crashes behind its commit still tells; every node reads what is new each second, or sooner when it is woken. PostgreSQL numbers
// rows when they are written and not when they are committed, so a number that is missing is asked for again until all transactions
// have ended that can have it: a commit may wait for its standby for as long as that is away. A node that could not read for so long
// that rows may have been dropped is told that it missed some.
//
// A process that has the database for itself writes nothing and reads nothing.
//
// It may touch sqldb. An item may be told twice. Put, Sent and Wake may be called from many goroutines.
package news

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/sqldb"
)

// Item is something that happened. What User, Other and Text say depends on its kind, which the room that puts it has the
// constants of.
type Item struct {
	Kind  string
	User  id.User
	Other uint64
	Text  string
}

// Deps are what a Service needs.
type Deps struct {
	DB     *sqldb.DB
	Logger *slog.Logger
	// Alone: no other process is on the database. Nothing is stored, or told.
	Alone bool
	// Tell is called with the items of all nodes, one at a time: with its own too, since whoever put one does not act where its commit
	// was not answered, and it may be stored all the same. It must not block.
	Tell func(Item)
	// Missed is called where items may have been dropped before they were read: what they would have said must be looked up. It
	// must not block. May be nil.
	Missed func()
	// Hint has the other nodes call Wake; it may be lost. It must not block. May be nil: they read within a second.
	Hint func()
}

const (
	readEvery = time.Second
	readTime  = 10 * time.Second // that a reading may take
	trimEvery = time.Minute
	// keptFor so long a row is kept, by the clock of the node that drops it.
	keptFor = 10 * time.Minute
	// openFor is longer than a transaction of the records is open whose commit waits for nothing (sqldb): what is missing for so long may
	// be nobody's.
	openFor = 3 * time.Minute
	// before the first number that a node sees so many may be missing; mostHoles are asked for again.
	before    = 64
	mostHoles = 10_000
	page      = 1000
	asked     = 200 // numbers in one question
)

// Service is the room.
type Service struct {
	deps   Deps
	origin int64 // of this process's rows, for who looks into the table
	wake   chan struct{}

	// Of New, and then of Run's goroutine alone:
	last   int64               // the highest number that was seen
	holes  map[int64]time.Time // numbers below that were not, and since when they are missing
	later  later               // by which those are known that nobody has
	marks  []mark              // how far was read without any missing, each minute
	read   time.Time           // when the last reading began that came to its end
	trimAt time.Time
}

// mark is how far was read at a time, without any missing.
type mark struct {
	last int64
	at   time.Time
}

var steps = []string{
	`CREATE TABLE news (n {number}, origin BIGINT NOT NULL, kind TEXT NOT NULL, owner BIGINT NOT NULL, other BIGINT NOT NULL, body TEXT NOT NULL)`,
}

// New makes the table where it is missing. All that is put from now on is told; what is there already is not: whoever begins has
// nothing that it could be about.
func New(ctx context.Context, deps Deps) (*Service, error) {
	var origin [8]byte
	rand.Read(origin[:]) //nolint:errcheck // it never fails
	s := &Service{deps: deps, origin: int64(binary.BigEndian.Uint64(origin[:]) >> 1), wake: make(chan struct{}, 1), holes: map[int64]time.Time{}}
	if err := deps.DB.Migrate(ctx, "news", steps); err != nil || deps.Alone {
		return s, err
	}
	s.trimAt = time.Now().Add(trimEvery)
	return s, s.round(ctx, func(Item) {})
}

// Put adds items in the caller's transaction, after what they tell of was changed in it. Call Sent after its commit.
func (s *Service) Put(ctx context.Context, tx *sql.Tx, items ...Item) error {
	if s.deps.Alone {
		return nil
	}
	for _, i := range items {
		if _, err := tx.ExecContext(ctx, `INSERT INTO news (origin, kind, owner, other, body) VALUES ($1, $2, $3, $4, $5)`, s.origin, i.Kind, int64(i.User), int64(i.Other), i.Text); err != nil {
			return err
		}
	}
	return nil
}

// Sent says that items were committed: the other nodes are to read them soon.
func (s *Service) Sent() {
	if !s.deps.Alone && s.deps.Hint != nil {
		s.deps.Hint()
	}
}

// Wake has this node read at once.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run tells what is new, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.deps.Alone {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-s.wake:
		}
		if err := s.round(ctx, s.deps.Tell); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("what other nodes tell could not be read", "error", err)
		}
	}
}
