// Package cassandralog keeps timelines in Cassandra, for many processes on one store.
//
// A timeline is a chain of segments. Each segment is one Cassandra partition: its static columns are its state, and its rows are entries,
// tokens and the latest entry of each author. A batch of appends to one conversation is one conditional batch on the newest segment. It
// updates the static columns if they still have the expected version, inserts the entries, and inserts each token if it does not
// exist. So Cassandra (Paxos) decides order, storage and tokens atomically, whichever node appends. The batch that fills a segment seals
// it, and the next segment continues from its state.
//
// After a timeout it is unknown whether a batch was stored. The log then reads: each entry has the stamp of its batch, and a serial read
// completes a running batch. A read at QUORUM that has a gap, or ends below the tail, has met a batch that is not on all replicas yet. It
// is repeated serially, so that no entry is read before its predecessors.
//
// The fan-out record of an entry is written first, as an intent: it names the segment and the stamp of the batch to come. FanoutRecords
// looks for the batch. If the batch does not come, FanoutRecords increments the segment's count of voids, which changes its version. A
// batch that finds another version than its intent names gets a new record. So the records of a conversation have its entries in
// order, whichever node appends.
//
// docs/formats/cassandra.md describes the tables, docs/operating/cassandra.md the required settings. All methods may be called from many
// goroutines.
package cassandralog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Options of a Log; the zero value of each but Hosts is the documented default.
type Options struct {
	// Hosts are addresses of some nodes. The driver discovers the others.
	Hosts []string
	// Port of all nodes. 0 is 9042.
	Port int
	// User and Password, if the cluster requires them.
	User, Password string
	// Keyspace of the tables, created if it does not exist. "" is rialto.
	Keyspace string
	// Replicas of each row if the keyspace is created here. 0 is 3.
	Replicas int
	// Store separates logs that share the tables.
	Store int32
	// AllowPeriodicSync accepts a cluster that acknowledges before its commit log is synced. A power cut of several machines at once
	// then loses the acknowledged messages of the last seconds.
	AllowPeriodicSync bool
	// Listener receives each fan-out record of this log. It may be nil.
	Listener timeline.Listener
	// Logger for warnings; nil discards.
	Logger *slog.Logger
	// Queue bounds the pending appends. 0 is 65,536. Beyond it appends fail with timeline.ErrBusy.
	Queue int
	// QueueBytes bounds the payloads of pending appends. 0 is 32 MiB.
	QueueBytes int
	// A segment that reaches SegmentEntries or SegmentBytes is sealed. 0 is 10,000 and 8 MiB.
	SegmentEntries, SegmentBytes int
	// Workers bounds the conversations that are appended to concurrently. 0 is 128.
	Workers int
	// Timeout bounds an append: one that is not stored by then fails. It may wait as long again for a worker. 0 is 15 s.
	Timeout time.Duration
	// VoidAfter is the time after which a fan-out record without its entries is abandoned. 0 is 1 s.
	VoidAfter time.Duration

	// view never creates tables.
	view bool
	// observer sees each statement. Tests count them.
	observer gocql.QueryObserver
}

func (o *Options) defaults() {
	setDefault(&o.Port, 9042)
	setDefault(&o.Keyspace, "rialto")
	setDefault(&o.Replicas, 3)
	setDefault(&o.Queue, 1<<16)
	setDefault(&o.QueueBytes, 32<<20)
	setDefault(&o.SegmentEntries, 10_000)
	setDefault(&o.SegmentBytes, 8<<20)
	setDefault(&o.Workers, 128)
	setDefault(&o.Timeout, 15*time.Second)
	setDefault(&o.VoidAfter, time.Second)
	setDefault(&o.Logger, slog.New(slog.DiscardHandler))
}

func setDefault[T comparable](v *T, or T) {
	var zero T
	if *v == zero {
		*v = or
	}
}

// stripes is the number of locks for inboxes.
const stripes = 64

// Log is a timeline.Log in Cassandra.
type Log struct {
	options Options
	session *gocql.Session
	epoch   uint32
	holder  uint64 // distinguishes this log from others as the holder of a term
	cache   cache
	renamed renames // of the tables, if this is a Frozen

	terms         [timeline.Partitions]atomic.Uint64 // of the partitions that this log acquired; 0: none
	oldestBucket  [timeline.Partitions]atomic.Uint64 // the first bucket of each whose records may have to be deleted
	inboxes       [stripes]sync.Mutex                // held during posts to the inboxes that hash to it, so that they become visible in order
	recordWriters [timeline.Partitions]*recordWriter
	incomplete    [timeline.Partitions]incompleteRecord

	keyedQueues
	ctx  context.Context // cancelled after the last append is done
	stop context.CancelFunc
	wait sync.WaitGroup // record writers and the circuit breaker
}

var _ timeline.Log = (*Log)(nil)

// Open connects to a cluster, creates missing tables and checks the settings.
func Open(ctx context.Context, options Options) (*Log, error) {
	options.defaults()
	l := &Log{options: options, holder: newStamp(), cache: newCache(cachedKeys)}
	l.keyedQueues.start(l)
	l.ctx, l.stop = context.WithCancel(context.Background())
	session, policy, err := connect(ctx, options)
	if err != nil {
		l.stop()
		return nil, fmt.Errorf("timelines in Cassandra: %w", err)
	}
	l.session = session
	if err := awaitQuorum(ctx, l.beginEpoch); err != nil {
		l.stop()
		session.Close()
		return nil, fmt.Errorf("timelines in Cassandra: %w", err)
	}
	l.wait.Go(func() { policy.watch(l.ctx) })
	for p := range l.recordWriters {
		l.recordWriters[p] = newRecordWriter(l, uint16(p))
		l.wait.Go(l.recordWriters[p].run)
	}
	return l, nil
}

// format of the tables that this version writes.
const format = 1

// beginEpoch checks the format and reads the epoch of the derived timelines. They are stored at a quorum, so the epoch changes only when an
// operator restores a backup.
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

// RestoredEpoch is 0: the store does not tell why an operator raised the epoch.
func (l *Log) RestoredEpoch() uint32 { return 0 }

// Close refuses further appends, waits for the queued ones and disconnects.
func (l *Log) Close() error {
	l.keyedQueues.close()
	l.stop()
	l.wait.Wait()
	l.session.Close()
	return nil
}

// Delays between attempts of the same statement.
const (
	retryFirst = 2 * time.Millisecond
	retryMax   = 500 * time.Millisecond
)
