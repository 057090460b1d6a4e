// Package cassandralog keeps timelines in Cassandra, for many processes on one store.
//
// A timeline is a chain of segments, each one partition of Cassandra: its static columns say where it stands, its rows are
// entries, tokens and each author's latest. A batch of appends to one conversation is one conditional batch on its newest
// segment: it moves the static columns on from the version that this log saw, inserts the entries, and inserts each token where
// there is none. So order, storage and tokens are one act, decided by Cassandra (Paxos), whoever appends. A segment that is full
// is sealed by the batch that fills it, and the next one goes on from what it says.
//
// Who does not know whether a batch was stored (a timeout) looks: each entry has the stamp of its batch, and a serial read
// completes what was under way. Where a read at QUORUM has a hole or ends below the tail, it met a batch half spread: it is read
// again, serially. So nothing is read before what comes before it.
//
// An entry's fan-out record is written first, and names the segment and the stamp of the batch to come. Records looks for the
// batch; where it stays away, Records bumps the segment's count of voids, which moves its version. A batch that finds another version than it named
// its record by comes again under a new record: so a conversation's records have its entries in order, whoever appends.
//
// The tables are in docs/formats/cassandra.md; what the cluster must be set to is in docs/operating/cassandra.md. All methods may
// be called from many goroutines.
package cassandralog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Options of a Log; the zero value of each but Hosts is the documented default.
type Options struct {
	// Hosts are addresses of some nodes; the others are learned from them.
	Hosts []string
	// Port of all nodes; 0 is 9042.
	Port int
	// User and Password, where the cluster asks for them.
	User, Password string
	// Keyspace of the tables, made where it is not there; "" is rialto.
	Keyspace string
	// Replicas of each row where the keyspace is made here; 0 is 3.
	Replicas int
	// Store: logs with different numbers share the tables and nothing else.
	Store int32
	// AllowPeriodicSync takes a cluster that acknowledges before its commit log is synced: a power cut of several machines at
	// once then loses what was acknowledged in the last seconds.
	AllowPeriodicSync bool
	// Listener is told of each record of this log; may be nil.
	Listener timeline.Listener
	// Logger for warnings; nil discards.
	Logger *slog.Logger
	// Queue bounds the appends that wait; 0 is 65,536. Over it, timeline.ErrBusy.
	Queue int
	// QueueBytes bounds their payloads; 0 is 32 MiB.
	QueueBytes int
	// SegmentEntries and SegmentBytes, reached, seal a segment; 0 is 10,000 and 8 MiB.
	SegmentEntries, SegmentBytes int
	// Workers bounds the conversations that are appended to at once; 0 is 128.
	Workers int
	// Patience with the store: an append that is not stored by then is answered with an error, after twice that at the latest, where
	// others had the workers; 0 is 15 s.
	Patience time.Duration
	// VoidAfter so long a record without its entries is given up; 0 is 1 s.
	VoidAfter time.Duration

	// view makes nothing where it is not there.
	view bool
	// observer is told of each statement; tests count them.
	observer gocql.QueryObserver
}

func (o *Options) defaults() {
	set(&o.Port, 9042)
	set(&o.Keyspace, "rialto")
	set(&o.Replicas, 3)
	set(&o.Queue, 1<<16)
	set(&o.QueueBytes, 32<<20)
	set(&o.SegmentEntries, 10_000)
	set(&o.SegmentBytes, 8<<20)
	set(&o.Workers, 128)
	set(&o.Patience, 15*time.Second)
	set(&o.VoidAfter, time.Second)
	set(&o.Logger, slog.New(slog.DiscardHandler))
}

func set[T comparable](v *T, or T) {
	var zero T
	if *v == zero {
		*v = or
	}
}

// errStore is what callers are told where the store did not answer, or nobody knows what it did: a retry is harmless.
func errStore(cause error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server could not store; try again", Retry: time.Second, Cause: cause}
}

// stripes of locks over inboxes.
const stripes = 64

// Log is a timeline.Log in Cassandra.
type Log struct {
	options Options
	session *gocql.Session
	epoch   uint32
	cache   cache

	terms     [timeline.Partitions]atomic.Uint64 // of the partitions that this log took; 0: it did not
	kept      [timeline.Partitions]atomic.Uint64 // of those: the least bucket whose records this log may have to drop
	inboxes   [stripes]sync.Mutex                // held over posts to the inboxes that hash to it, so that they show in order
	recorders [timeline.Partitions]*recorder
	awaited   [timeline.Partitions]awaited

	lines
	ctx  context.Context // ends when the last append is done
	stop context.CancelFunc
	wait sync.WaitGroup // recorders, and who watches which nodes answer
}

var _ timeline.Log = (*Log)(nil)

// Open connects to a cluster, makes the tables where they are not there, and checks its settings.
func Open(ctx context.Context, options Options) (*Log, error) {
	options.defaults()
	l := &Log{options: options, cache: newCache(cachedKeys)}
	l.lines.begin(l)
	l.ctx, l.stop = context.WithCancel(context.Background())
	session, policy, err := connect(ctx, options)
	if err != nil {
		l.stop()
		return nil, fmt.Errorf("timelines in Cassandra: %w", err)
	}
	l.session = session
	if err := l.beginEpoch(ctx); err != nil {
		l.stop()
		session.Close()
		return nil, fmt.Errorf("timelines in Cassandra: %w", err)
	}
	l.wait.Go(func() { policy.watch(l.ctx) })
	for p := range l.recorders {
		l.recorders[p] = newRecorder(l, uint16(p))
		l.wait.Go(l.recorders[p].run)
	}
	return l, nil
}

// format of the tables that this version writes.
const format = 1

// beginEpoch checks the format, and reads the epoch of the derived timelines. They are stored at a quorum like all else, so it
// stays what it is until an operator who restores a backup moves it.
func (l *Log) beginEpoch(ctx context.Context) error {
	if _, err := l.query(ctx, insertMeta, l.options.Store, format, 1).repeatable().CAS(); err != nil {
		return err
	}
	var found, epoch int
	if err := l.query(ctx, selectMeta, l.options.Store).Scan(&found, &epoch); err != nil {
		return err
	}
	if found > format {
		return fmt.Errorf("the data was written by a newer rialto (timeline format %d, this one knows %d); use that version", found, format)
	}
	l.epoch = uint32(epoch)
	return nil
}

// Epoch of the derived timelines.
func (l *Log) Epoch() uint32 { return l.epoch }

// Close refuses what comes after, waits for what was taken over, and disconnects.
func (l *Log) Close() error {
	l.lines.close()
	l.stop()
	l.wait.Wait()
	l.session.Close()
	return nil
}

// pause waits a moment before a next try.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
