package app

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/sqldb"
)

// primary is a database of multi-primary ids, which is opened when it answers: the others go on without it.
type primary struct {
	where string
	none  *sql.DB // in place of what could not be opened; it gives the reason at each use

	mu sync.Mutex // guards db; held while it is opened
	db *sqldb.DB
}

// errPrimaryAway is what the place of a database says that never answered.
var errPrimaryAway = errors.New("the database has not answered yet")

// nobody is a database that never answers.
type nobody struct{}

// Connect fails.
func (nobody) Connect(context.Context) (driver.Conn, error) { return nil, errPrimaryAway }

// Driver is none.
func (nobody) Driver() driver.Driver { return nil }

// primaries of multi-primary ids that the configuration names; none: the records alone.
func (h *House) primaries() (list []idgen.Records) {
	for _, where := range h.config.IDs.Primaries {
		p := &primary{where: where, none: sql.OpenDB(nobody{})}
		h.closers = append(h.closers, p.Close)
		list = append(list, p)
	}
	return list
}

func (p *primary) open(ctx context.Context) (*sqldb.DB, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.db != nil {
		return p.db, nil
	}
	db, err := sqldb.Open(ctx, p.where)
	if err == nil {
		p.db = db
	}
	return db, err
}

// Migrate opens the database where it is not open.
func (p *primary) Migrate(ctx context.Context, room string, steps []string) error {
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	return db.Migrate(ctx, room, steps)
}

// Read gives the pool for reading.
func (p *primary) Read() *sql.DB {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.db == nil {
		return p.none
	}
	return p.db.Read()
}

// Write runs a transaction.
func (p *primary) Write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	return db.Write(ctx, fn)
}

// Close closes it.
func (p *primary) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.none.Close()
	if p.db != nil {
		err = errors.Join(err, p.db.Close())
	}
	return err
}
