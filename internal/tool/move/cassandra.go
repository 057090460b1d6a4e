package move

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog"
)

// cassandraSink stores timelines in Cassandra. It stores rows before the position is committed; storing them again changes nothing.
type cassandraSink struct {
	options cassandralog.Options
	log     *cassandralog.Log
}

func openCassandra(ctx context.Context, o Options) (*cassandraSink, error) {
	s := &cassandraSink{options: *o.Cassandra}
	s.options.Logger, s.options.Listener = o.Logger, nil
	log, err := cassandralog.Open(ctx, s.options)
	if err != nil {
		return nil, err
	}
	s.log = log
	return s, nil
}

// checkEmpty returns an error if the store has timelines. It is called before the move changes anything.
func checkEmpty(ctx context.Context, o Options) (err error) {
	if o.Cassandra == nil {
		return nil
	}
	s, err := openCassandra(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, err := s.log.Checkpoint(ctx, 0); errors.Is(err, timeline.ErrMoving) {
		return fmt.Errorf("the timelines in the keyspace %s were moved to PostgreSQL, or such a move is not complete; give another keyspace", o.Cassandra.Keyspace)
	} else if err != nil {
		return err
	}
	for _, kind := range timeline.Kinds {
		keys, err := s.log.Keys(ctx, kind, 0, 1)
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			return errors.New("that store of the keyspace in Cassandra has timelines; give an empty one")
		}
	}
	return nil
}

func (s *cassandraSink) store(ctx context.Context, _ pgx.Tx, rows []timeline.Row) error {
	return s.log.Import(ctx, rows)
}

func (s *cassandraSink) open(ctx context.Context) (reader, error) {
	view, err := cassandralog.OpenView(ctx, s.options)
	if err != nil {
		return nil, err
	}
	return view, nil
}

func (s *cassandraSink) end(ctx context.Context, _ pgx.Tx, epoch, _ uint32) error {
	return s.log.EndImport(ctx, epoch)
}

func (s *cassandraSink) close() error { return s.log.Close() }
