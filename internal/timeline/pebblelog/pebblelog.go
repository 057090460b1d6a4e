// Package pebblelog keeps timelines in Pebble, in one directory, for one process.
//
// Appends from all callers meet in two shards (by partition). A shard takes all that is pending, gives sequence numbers,
// checks tokens and access versions, and commits one batch with one sync: while a sync is under way the next batch forms
// by itself. Completion, which calls Done and the listener, runs beside the next commit.
//
// Pebble shows a batch to readers before its sync. So a shard publishes which keys its batch touches, with their durable
// tails, before it commits, and readers make their iterator under the lock of that set and read no further than those tails:
// otherwise a power cut could give one number to two messages.
//
// Derived timelines (Post) and checkpoints are written without a sync, into the same write-ahead log: what the log kept is a
// prefix of what was written, so a checkpoint never outlives the entries that it covers. Each Open starts a new epoch,
// synced before the first Post, so that a position that the disk lost is never given again.
//
// The bytes are drawn in docs/formats/pebble.md. All methods may be called from many goroutines.
package pebblelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Options of a Log; the zero value is the documented default.
type Options struct {
	// FS holds the files; nil is the machine's.
	FS vfs.FS
	// Listener is told of each batch; may be nil.
	Listener timeline.Listener
	// Logger for Pebble's warnings and the last words of a failed disk; nil discards.
	Logger *slog.Logger
	// Queue bounds the appends that wait in a shard; 0 is 65,536. Over it, timeline.ErrBusy.
	Queue int
	// QueueBytes bounds their payloads; 0 is 32 MiB. A batch has no more, and one more waits while it commits.
	QueueBytes int
	// Reserve of free disk, in bytes, under which writes are refused; 0 is 64 MiB.
	Reserve uint64
	// Free tells the free bytes of the disk; nil asks the machine (only where FS is nil).
	Free func() (uint64, error)
	// Fatal is called when the disk failed and Pebble cannot go on; nil logs and exits with code 3.
	Fatal func(message string)
	// ReadOnly opens for looking only: Append and Post are refused.
	ReadOnly bool

	// unsafeNoSync acknowledges before the sync. The power-cut test uses it to show that it would notice.
	unsafeNoSync bool
	// cachedKeys in place of the constant; tests make the caches small.
	cachedKeys int
}

const (
	shards      = 2
	tailStripes = 64
	// cachedKeys bounds each cache of tails, and of devices' highest counters, between batches.
	cachedKeys = 1 << 18
)

// unpackedLevels from the top are not compressed.
const unpackedLevels = 5

// Log is a timeline.Log in Pebble.
type Log struct {
	db      *pebble.DB
	options Options
	write   *pebble.WriteOptions
	epoch   uint32
	shards  [shards]*shard
	full    atomic.Bool // the disk is under the reserve
	broken  atomic.Bool // a commit failed: nothing is taken any more
	loose   atomic.Bool // something was written without a sync

	stripes [tailStripes]stripe
	records [timeline.Partitions]recordState

	stop chan struct{}
	wait sync.WaitGroup
}

// stripe has the positions of the inboxes that hash to it.
type stripe struct {
	mu    sync.Mutex // guards tails, and is held over the commit of posts to them, so that they show in order
	tails map[uint64]uint64
}

// recordState of a partition; next and durable are the shard's.
type recordState struct {
	next    uint64 // the shard's goroutine alone
	mu      sync.Mutex
	deleted uint64 // guarded by mu: records to here are deleted
}

var _ timeline.Log = (*Log)(nil)

// Open opens, or creates, the log in dir.
func Open(dir string, options Options) (*Log, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Queue == 0 {
		options.Queue = 1 << 16
	}
	if options.QueueBytes == 0 {
		options.QueueBytes = 32 << 20
	}
	if options.Reserve == 0 {
		options.Reserve = 64 << 20
	}
	if options.FS == nil && options.Free == nil {
		options.Free = func() (uint64, error) { return freeBytes(dir) }
	}
	if options.cachedKeys == 0 {
		options.cachedKeys = cachedKeys
	}
	if options.Fatal == nil {
		options.Fatal = func(string) { os.Exit(3) }
	}
	l := &Log{options: options, write: pebble.Sync, stop: make(chan struct{})}
	if options.unsafeNoSync {
		l.write = pebble.NoSync
	}
	if err := room(dir, options); err != nil {
		return nil, fmt.Errorf("timelines in %s: %w", dir, err)
	}
	p := pebbleOptions(options)
	p.EventListener = background(options, l.stop)
	compactions := newCompactions()
	p.Experimental.CompactionScheduler = compactions
	db, err := pebble.Open(dir, p)
	if err != nil {
		return nil, fmt.Errorf("timelines in %s: %w", dir, err)
	}
	l.db = db
	for i := range l.stripes {
		l.stripes[i].tails = map[uint64]uint64{}
	}
	if err := l.begin(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	for i := range l.shards {
		l.shards[i] = newShard(l)
	}
	if options.ReadOnly {
		return l, nil
	}
	l.wait.Go(func() { compactions.run(l.stop) })
	for _, s := range l.shards {
		l.wait.Go(s.commitLoop)
		l.wait.Go(s.completeLoop)
	}
	if options.Free != nil {
		l.checkFree()
		l.wait.Go(l.watchDisk)
	}
	return l, nil
}

func pebbleOptions(o Options) *pebble.Options {
	p := &pebble.Options{
		FS:                          o.FS,
		ReadOnly:                    o.ReadOnly,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                64 << 20,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       8,
		L0StopWritesThreshold:       40,
		LBaseMaxBytes:               512 << 20,
		MaxOpenFiles:                1000,
		CacheSize:                   16 << 20,
		Logger:                      pebbleLogger{o.Logger, o.Fatal},
	}
	p.CompactionConcurrencyRange = func() (int, int) { return 1, 2 }
	// Fresh files are rewritten soon: packing them would cost more than it saves. What settles is packed.
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].BlockSize = 16 << 10
		p.TargetFileSizes[i] = 16 << 20
		if i < unpackedLevels {
			p.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
		} else {
			p.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		}
	}
	return p
}

// begin checks the format, starts the epoch and finds where the records are.
func (l *Log) begin() error {
	format, err := l.getUvarint([]byte("mformat"))
	if err != nil {
		return err
	}
	if format > 1 {
		return fmt.Errorf("the data was written by a newer rialto (timeline format %d, this one knows 1); use that version", format)
	}
	epoch, err := l.getUvarint([]byte("mepoch"))
	if err != nil {
		return err
	}
	l.epoch = uint32(epoch)
	if !l.options.ReadOnly {
		l.epoch++
		b := l.db.NewBatch()
		defer b.Close()
		if err := errors.Join(b.Set([]byte("mformat"), []byte{1}, nil), b.Set([]byte("mepoch"), binary.AppendUvarint(nil, uint64(l.epoch)), nil)); err != nil {
			return err
		}
		if err := b.Commit(pebble.Sync); err != nil {
			return err
		}
	}
	if format == 0 && !l.options.ReadOnly {
		// A store begins in Pebble's oldest format, whose write-ahead log does not show damage in its middle. The next one does.
		if err := l.db.Flush(); err != nil {
			return err
		}
	}
	for p := range l.records {
		at, err := l.getUvarint(checkpointKey(nil, uint16(p)))
		if err != nil {
			return err
		}
		last, err := l.last(recordKey(nil, uint16(p), 0), recordKey(nil, uint16(p)+1, 0))
		if err != nil {
			return err
		}
		if len(last) > 0 {
			at = max(at, binary.BigEndian.Uint64(last[3:]))
		}
		l.records[p].next = at + 1
	}
	return nil
}

// last gives the greatest key in [lower, upper), nil for none.
func (l *Log) last(lower, upper []byte) ([]byte, error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	var key []byte
	if it.Last() {
		key = append(key, it.Key()...)
	}
	return key, it.Close()
}

// get copies the value of key into dst; ok is false where there is none.
func (l *Log) get(dst, key []byte) (value []byte, ok bool, err error) {
	v, closer, err := l.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, err
	}
	dst = append(dst, v...)
	return dst, true, closer.Close()
}

func (l *Log) getUvarint(key []byte) (uint64, error) {
	v, ok, err := l.get(nil, key)
	if err != nil || !ok {
		return 0, err
	}
	n, k := binary.Uvarint(v)
	if k <= 0 {
		return 0, fmt.Errorf("the row %q is damaged", key)
	}
	return n, nil
}

// Epoch of the derived timelines.
func (l *Log) Epoch() uint32 { return l.epoch }

// Close stops taking appends, waits for those taken over, and closes the store.
func (l *Log) Close() error {
	close(l.stop)
	for _, s := range l.shards {
		s.close()
	}
	l.wait.Wait()
	if l.options.ReadOnly {
		return l.db.Close()
	}
	if l.full.Load() {
		return l.db.Close() // flushing would wait for space
	}
	// What is only in the write-ahead log would be replayed at the next start.
	return errors.Join(l.db.Flush(), l.db.Close())
}

func (l *Log) watchDisk() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.checkFree()
			l.syncLoose()
			l.giveBack() // watched by nobody: the space is, at each tick
		}
	}
}

// syncLoose syncs what was written without a sync, about once a second: inbox entries and checkpoints would survive without
// (their causes do), but after a crash of an idle server there would be much to repeat.
func (l *Log) syncLoose() {
	// Its mark in the write-ahead log takes space, and a write that finds none ends the process.
	if l.full.Load() || l.options.unsafeNoSync || !l.loose.Swap(false) {
		return
	}
	if err := l.db.LogData(nil, pebble.Sync); err != nil {
		l.options.Logger.Warn("what was written could not be synced", "error", err)
	}
}

func (l *Log) checkFree() {
	free, err := l.options.Free()
	if err != nil {
		l.options.Logger.Warn("free disk space is unknown", "error", err)
		return
	}
	if full := free < l.options.Reserve; l.full.Swap(full) != full {
		if full {
			l.options.Logger.Error("the disk is full: writes are refused until there is space again", "free_bytes", free, "reserve_bytes", l.options.Reserve)
		} else {
			l.options.Logger.Info("the disk has space again: writes are taken", "free_bytes", free)
		}
	}
}

// pebbleLogger gives Pebble's words to slog.
type pebbleLogger struct {
	log   *slog.Logger
	fatal func(string)
}

func (p pebbleLogger) Infof(format string, args ...any) {
	p.log.Debug("pebble", "text", fmt.Sprintf(format, args...))
}

func (p pebbleLogger) Errorf(format string, args ...any) {
	p.log.Error("pebble", "text", fmt.Sprintf(format, args...))
}

func (p pebbleLogger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.log.Error("the disk failed, and the process stops: nothing acknowledged is lost; mend the disk and start again", "cause", text)
	p.fatal(text)
}
