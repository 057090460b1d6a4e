package app

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/idservice"
)

// primary is one of several ID databases. It is opened as soon as it answers; until then the others work without it.
type primary struct {
	where string
	none  *sql.DB // stands for the database until it is open; each use fails with the reason

	mu sync.Mutex // guards db; held while it is opened
	db *sqldb.DB
}

// errPrimaryUnavailable is the error of a database that has not answered since the start.
var errPrimaryUnavailable = errors.New("the database has not answered yet")

// unavailable is the connector of a database that does not answer.
type unavailable struct{}

// Connect fails.
func (unavailable) Connect(context.Context) (driver.Conn, error) { return nil, errPrimaryUnavailable }

// Driver is none.
func (unavailable) Driver() driver.Driver { return nil }

// primaries are the ID databases that the configuration names; without any, IDs come from the main database.
func (n *Node) primaries() (list []idservice.Records) {
	for _, where := range n.config.IDs.Primaries {
		p := &primary{where: where, none: sql.OpenDB(unavailable{})}
		n.closers = append(n.closers, p.Close)
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

// Migrate opens the database if it is not open yet.
func (p *primary) Migrate(ctx context.Context, owner string, steps []string) error {
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	return db.Migrate(ctx, owner, steps)
}

// Read returns the pool for reading.
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
