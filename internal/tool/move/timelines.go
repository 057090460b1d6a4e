package move

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
)

// sink stores the rows of timelines.
type sink interface {
	// store stores rows of one part; tx is the transaction that also stores the part's position.
	store(ctx context.Context, tx pgx.Tx, rows []timeline.Row) error
	// open returns the log for reading.
	open(ctx context.Context) (reader, error)
	// end completes the import; inboxes continue in the given epoch. restored is the source's RestoredEpoch.
	end(ctx context.Context, tx pgx.Tx, epoch, restored uint32) error
	close() error
}

// reader is the part of a log that is compared.
type reader interface {
	Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error)
	Tail(ctx context.Context, key timeline.Key) (timeline.Tail, error)
	Read(ctx context.Context, key timeline.Key, after uint64, limit int) ([]timeline.Entry, error)
	TokenSeqs(ctx context.Context, tokens []timeline.TokenKey) ([]uint64, error)
	LatestByAuthors(ctx context.Context, authors []timeline.AuthorKey) ([]timeline.Position, error)
	HighestCounters(ctx context.Context, devices []timeline.Device) ([]uint64, error)
	FanoutRecords(ctx context.Context, partition uint16, after uint64, limit int) ([]timeline.FanoutRecord, error)
	Checkpoint(ctx context.Context, partition uint16) (uint64, error)
	Close() error
}

// counter is a reader that counts its tokens and authors.
type counter interface {
	Stored(ctx context.Context) (tokens, authors uint64, err error)
}

func sinkName(o Options) string {
	if o.Cassandra == nil {
		return "PostgreSQL"
	}
	return fmt.Sprintf("Cassandra, keyspace %q, store %d", o.Cassandra.Keyspace, o.Cassandra.Store)
}

func openSink(ctx context.Context, o Options) (sink, error) {
	if o.Cassandra != nil {
		return openCassandra(ctx, o)
	}
	s := &postgresSink{options: o}
	log, err := s.log(ctx) // creates the tables
	if err != nil {
		return nil, err
	}
	return s, log.Close()
}

// postgresSink stores timelines in the same database as the records.
type postgresSink struct{ options Options }

func (s *postgresSink) log(ctx context.Context) (*pglog.Log, error) {
	return pglog.Open(ctx, s.options.Postgres, pglog.Options{Logger: s.options.Logger, Readers: parallel})
}

func (s *postgresSink) store(ctx context.Context, tx pgx.Tx, rows []timeline.Row) error {
	return pglog.Import(ctx, tx, rows)
}

func (s *postgresSink) open(ctx context.Context) (reader, error) {
	log, err := s.log(ctx)
	if err != nil {
		return nil, err
	}
	return log, nil
}

func (s *postgresSink) end(ctx context.Context, tx pgx.Tx, epoch, restored uint32) error {
	return pglog.EndImport(ctx, tx, epoch, restored)
}

func (s *postgresSink) close() error { return nil }
