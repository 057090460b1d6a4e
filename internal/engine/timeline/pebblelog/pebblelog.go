// Package pebblelog keeps timelines in Pebble, in one directory, for one process.
//
// One committer groups the appends of all callers (timeline.GroupCommit). It assigns sequence numbers to all pending appends, checks tokens
// and access versions, and commits one batch with one sync. During that sync the next batch collects. Two committers, each with half of
// the conversations, cost a tenth more CPU time: their batches are half as large.
//
// Pebble shows a batch to readers before its sync. The committer therefore publishes the keys that a batch touches, with their durable tails,
// before it commits. Readers create their iterators under the lock of that set and read no further than those tails. Otherwise a
// power cut could give one number to two messages.
//
// Derived timelines (Post) and checkpoints are written to the same write-ahead log without a sync. The log keeps a prefix of what was
// written, so a checkpoint never outlives the entries that it covers. Each Open starts a new epoch and syncs it before the first
// Post, so that a position that the disk lost is never assigned again.
//
// docs/formats/pebble.md describes the bytes. All methods may be called from many goroutines.
package pebblelog

import (
	"cmp"
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
	"github.com/rialto-im/rialto/internal/base/netpoll"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Options of a Log; the zero value is the documented default.
type Options struct {
	// FS holds the files. nil is the operating system's.
	FS vfs.FS
	// Listener receives the commits of each batch. It may be nil.
	Listener timeline.Listener
	// Logger receives Pebble's warnings and the error of a failed disk. nil discards them.
	Logger *slog.Logger
	// Queue bounds the pending appends. 0 is 65,536. Beyond it appends fail with timeline.ErrBusy.
	Queue int
	// QueueBytes bounds the payloads of pending appends. 0 is 32 MiB. A batch has at most as many.
	QueueBytes int
	// Reserve is the free disk space in bytes below which writes are refused. 0 is 64 MiB.
	Reserve uint64
	// Free returns the free bytes of the disk. nil asks the operating system, if FS is nil too.
	Free func() (uint64, error)
	// Fatal is called when the disk has failed and Pebble cannot continue. nil logs and exits with code 3.
	Fatal func(message string)
	// ReadOnly refuses Append and Post.
	ReadOnly bool
	// MustExist refuses to create a log. An empty log in the place of a lost one would hide the loss.
	MustExist bool
	// Check verifies the identity of the log before anything is written. It may be nil.
	Check func(Meta) error
	// ID of the data directory, which the log stores. If empty, the stored one stays.
	ID string
	// DatabaseCommits returns the number of durable transactions of the SQL database. The log stores it about once a second. It may be nil.
	DatabaseCommits func() uint64
	// Epoch is the least epoch to continue from: devices have positions of earlier epochs of a lost log.
	Epoch uint32
	// Restored means that entries are lost that devices may have: the epoch of this start becomes the RestoredEpoch.
	Restored bool
	// WALObserver learns how far write-ahead logs are synced; may be nil.
	WALObserver WALObserver
	// MoreThreads is called every 200 µs of work while all appends wait for a flush, which then needs a thread beside those that serve others. It does not block. It
	// may be nil.
	MoreThreads func()
	// Spare is disk space for writes whose failure would end the process. It may be nil.
	Spare Spare

	// unsafeNoSync acknowledges before the sync. The power-cut test uses it to show that it detects the loss.
	unsafeNoSync bool
	// cachedKeys and cachedInboxes replace the constants. Tests make the caches small.
	cachedKeys, cachedInboxes int
}

const (
	tailStripes = 64
	// cachedKeys bounds the caches of conversations' tails and of devices' highest counters between batches, and that of the tails of feeds; cachedInboxes
	// bounds that of the ends of inboxes.
	cachedKeys    = 1 << 18
	cachedInboxes = 1 << 20
)

// uncompressedLevels from the top are not compressed.
const uncompressedLevels = 5

// Log is a timeline.Log in Pebble.
type Log struct {
	db             *pebble.DB
	yielder        *netpoll.Yielder
	stall          stall
	options        Options
	write          *pebble.WriteOptions
	epoch          uint32
	restored       uint32
	fs             *observedFS
	committer      *committer
	lastFreeCheck  atomic.Int64 // time of the last check of free space, in ns since opened
	opened         time.Time
	observerFailed atomic.Bool // an observer error was logged
	full           atomic.Bool // free space is below the reserve
	broken         atomic.Bool // a commit failed: nothing is accepted any more
	unsynced       atomic.Bool // there are unsynced writes

	stripes [tailStripes]stripe
	feeds   feedTails
	records [timeline.Partitions]recordState
	terms   timeline.Terms

	stop chan struct{}
	wait sync.WaitGroup
}

// stripe caches the ends of the inboxes that hash to it.
type stripe struct {
	mu      sync.Mutex // guards ends and changes; held during the commit of posts, so that they become visible in order
	ends    map[uint64]inboxEnds
	changes uint64 // counts the writes to inboxes, so that a reader caches nothing that was read before one
}

// inboxEnds are the FirstSeq and the Seq of an inbox's tail.
type inboxEnds struct{ first, last uint64 }

// recordState of a partition; next is the committer's.
type recordState struct {
	next    uint64 // the committer's goroutine alone
	mu      sync.Mutex
	deleted uint64 // guarded by mu: records to here are deleted
}

var _ timeline.Log = (*Log)(nil)

// Open opens or creates the log in dir.
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
	options.cachedKeys = cmp.Or(options.cachedKeys, cachedKeys)
	options.cachedInboxes = cmp.Or(options.cachedInboxes, cachedInboxes)
	if options.Fatal == nil {
		options.Fatal = func(string) { os.Exit(3) }
	}
	l := &Log{options: options, write: pebble.Sync, stop: make(chan struct{}), opened: time.Now()}
	if options.unsafeNoSync {
		l.write = pebble.NoSync
	}
	if err := checkSpace(dir, options); err != nil {
		return nil, fmt.Errorf("timelines in %s: %w", dir, err)
	}
	l.fs = &observedFS{FS: options.FS, dir: dir, readOnly: options.ReadOnly, positions: options.WALObserver, spare: options.Spare, markFull: l.markFull}
	if l.fs.FS == nil {
		l.fs.FS, l.fs.inMemory = vfs.Default, isInMemory(dir)
	}
	var err error
	if l.yielder, err = netpoll.New(); err != nil {
		return nil, fmt.Errorf("timelines in %s: %w", dir, err)
	}
	l.stall.yieldTo, l.stall.moreThreads = l.yielder.Yield, options.MoreThreads
	p := pebbleOptions(options, l.stall.yield)
	p.FS = l.fs
	p.EventListener = eventListener(options, &l.fs.corrupt, l.stop)
	l.stall.listen(p.EventListener, p.MemTableSize)
	compactions := newCompactions()
	p.Experimental.CompactionScheduler = compactions
	if l.db, err = pebble.Open(dir, p); err != nil {
		return nil, fmt.Errorf("timelines in %s: %w", dir, errors.Join(err, l.yielder.Close()))
	}
	for i := range l.stripes {
		l.stripes[i].ends = map[uint64]inboxEnds{}
	}
	l.feeds = feedTails{tails: map[uint64]cachedTail{}, limit: options.cachedKeys}
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.closeStore())
	}
	l.committer = newCommitter(l)
	if options.ReadOnly {
		return l, nil
	}
	l.wait.Go(func() { compactions.run(l.stop) })
	l.wait.Go(l.committer.appends.Run)
	if options.Free != nil {
		l.checkFree()
		l.wait.Go(l.watchDisk)
	}
	return l, nil
}

const (
	memTableSize = 64 << 20
	// At most maxMemTables are in memory: one that is written, and those that wait for their flush. Beyond, appends wait.
	maxMemTables = 3
	// minCacheSize is what remains of the block cache beside full memtables. Pebble reserves the memory of memtables in its cache: in a cache that is smaller than
	// they are, no block stays, and each read of a table reads its filter again. Fan-out that is behind then costs several times as much, and stays behind.
	minCacheSize = 48 << 20
)

// pebbleOptions returns the options of the store. Flushes and compactions call yield with the level that they write.
func pebbleOptions(o Options, yield func(level int)) *pebble.Options {
	p := &pebble.Options{
		FS:                          o.FS,
		ReadOnly:                    o.ReadOnly,
		ErrorIfNotExists:            o.MustExist,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: maxMemTables,
		L0CompactionThreshold:       8,
		L0StopWritesThreshold:       40,
		LBaseMaxBytes:               512 << 20,
		MaxOpenFiles:                1000,
		CacheSize:                   maxMemTables*memTableSize + minCacheSize,
		Logger:                      pebbleLogger{o.Logger, o.Fatal},
	}
	p.CompactionConcurrencyRange = func() (int, int) { return 1, 2 }
	// New files are compacted soon, so compressing them would cost more than it saves. Lower levels are compressed.
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = yieldingFilter{bloom.FilterPolicy(10), func() { yield(i) }}
		p.Levels[i].BlockSize = 16 << 10
		p.TargetFileSizes[i] = 16 << 20
		if i < uncompressedLevels {
			p.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
		} else {
			p.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		}
	}
	return p
}

// load checks the format, starts the epoch and finds the next fan-out record of each partition.
func (l *Log) load() error {
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
	restored, err := l.getUvarint([]byte("mfloor"))
	if err != nil {
		return err
	}
	l.restored = uint32(restored)
	if l.options.Check != nil {
		meta, err := l.meta()
		if err != nil {
			return err
		}
		if err := l.options.Check(meta); err != nil {
			return err
		}
	}
	if !l.options.ReadOnly {
		l.epoch = max(l.epoch, l.options.Epoch) + 1
		var r rowBuffer
		r.set("mepoch", binary.AppendUvarint(nil, uint64(l.epoch)))
		if l.options.Restored {
			l.restored = l.epoch
			r.set("mfloor", binary.AppendUvarint(nil, uint64(l.restored)))
		}
		r.set("mformat", []byte{1})
		if l.options.ID != "" {
			r.set("mid", []byte(l.options.ID))
		}
		if l.options.DatabaseCommits != nil {
			r.set("mrecords", binary.AppendUvarint(nil, l.options.DatabaseCommits()))
		}
		if err := l.commitSynced(&r, pebble.Sync); err != nil {
			return err
		}
	}
	if format == 0 && !l.options.ReadOnly {
		// A new store begins with Pebble's oldest format, whose write-ahead log does not detect corruption in its middle. The next log does.
		if err := l.db.Flush(); err != nil {
			return err
		}
	}
	return l.findNextRecords()
}

// commitSynced commits rows and tells the observer how far the write-ahead log is synced.
func (l *Log) commitSynced(r *rowBuffer, write *pebble.WriteOptions) error {
	before := l.fs.currentLog.Load()
	to, err := r.commit(l.db, write, &l.fs.currentLog)
	if err != nil || l.options.WALObserver == nil || !write.Sync {
		return err
	}
	// If Pebble switched to a new write-ahead log meanwhile, it is unknown which log has the rows. A later row in a known log proves that
	// they are there: Pebble does not open a store if a log before the last is incomplete.
	for to.Log != before {
		before = l.fs.currentLog.Load()
		var behind rowBuffer
		behind.set("mlog", binary.AppendUvarint(nil, before))
		if to, err = behind.commit(l.db, write, &l.fs.currentLog); err != nil {
			return err
		}
	}
	if err := l.options.WALObserver.WALSynced(to.Log, to.Position); err != nil && !l.observerFailed.Swap(true) {
		l.options.Logger.Error("the synced position of the write-ahead log could not be stored: the next start may not detect a loss", "error", err)
	}
	return nil
}

// last returns the greatest key in [lower, upper), or nil if there is none.
func (l *Log) last(lower, upper []byte) ([]byte, error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	var key []byte
	if it.Last() {
		key = append(key, it.Key()...)
	}
	return key, corruption(it.Close())
}

// get appends the value of key to dst. ok is false if there is none.
func (l *Log) get(dst, key []byte) (value []byte, ok bool, err error) {
	v, closer, err := l.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, corruption(err)
	}
	dst = append(dst, v...)
	return dst, true, closer.Close()
}

func (l *Log) getUvarint(key []byte) (uint64, error) {
	v, ok, err := l.get(nil, key)
	if err != nil || !ok {
		return 0, err
	}
	return uvarintOf(key, v)
}

func uvarintOf(key, value []byte) (uint64, error) {
	n, k := binary.Uvarint(value)
	if k <= 0 {
		return 0, fmt.Errorf("the row %q is corrupt", key)
	}
	return n, nil
}

// Close refuses further appends, waits for the queued ones and closes the store.
func (l *Log) Close() error {
	close(l.stop)
	l.committer.appends.Close()
	l.wait.Wait()
	if l.options.ReadOnly {
		return l.closeStore()
	}
	if l.full.Load() {
		return l.closeStore() // flushing would wait for space
	}
	l.storeDatabaseCommits()
	// What is only in the write-ahead log would be replayed at the next start.
	err := l.db.Flush()
	if err == nil && l.options.WALObserver != nil {
		err = l.options.WALObserver.WALsObsolete(l.fs.currentLog.Load())
	}
	return errors.Join(err, l.closeStore())
}

// closeStore closes Pebble, and then what its flushes and compactions use.
func (l *Log) closeStore() error { return errors.Join(l.db.Close(), l.yielder.Close()) }

func (l *Log) watchDisk() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.checkFree()
			l.syncUnsynced()
			l.flushExpired() // its result shows in the free space at a later tick
		}
	}
}

// syncUnsynced syncs unsynced writes about once a second. Inbox entries and checkpoints can be repeated from their durable causes, but
// after a crash of an idle server there would be much to repeat.
func (l *Log) syncUnsynced() {
	// The sync writes to the write-ahead log, and a write that finds no space ends the process.
	if l.full.Load() || l.options.unsafeNoSync || !l.unsynced.Swap(false) {
		return
	}
	if l.options.DatabaseCommits != nil {
		l.storeDatabaseCommits()
		return
	}
	if err := l.db.LogData(nil, pebble.Sync); err != nil {
		l.options.Logger.Warn("recent writes could not be synced", "error", err)
	}
}

// storeDatabaseCommits stores the number of durable transactions of the SQL database, with a sync.
func (l *Log) storeDatabaseCommits() {
	if l.options.DatabaseCommits == nil || l.broken.Load() {
		return
	}
	var r rowBuffer
	r.set("mrecords", binary.AppendUvarint(nil, l.options.DatabaseCommits()))
	if err := l.commitSynced(&r, pebble.Sync); err != nil {
		l.options.Logger.Warn("recent writes could not be synced", "error", err)
	}
}

// markFull refuses writes after one found no space.
func (l *Log) markFull() {
	if !l.full.Swap(true) {
		l.options.Logger.Error("the disk is full: writes are refused until there is space again", "free_bytes", l.free(), "reserve_bytes", l.options.Reserve)
	}
}

// freeCheckInterval is the least time between two checks of free space for appends.
const freeCheckInterval = 10 * time.Millisecond

// checkFreeThrottled checks the free space before an append, unless that was done just now. Another program can fill a disk in less than
// the second between two checks of watchDisk.
func (l *Log) checkFreeThrottled() {
	if l.options.Free == nil {
		return
	}
	now, was := int64(time.Since(l.opened)), l.lastFreeCheck.Load()
	if now-was >= int64(freeCheckInterval) && l.lastFreeCheck.CompareAndSwap(was, now) {
		l.checkFree()
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
			l.options.Logger.Info("the disk has space again: writes are accepted", "free_bytes", free)
		}
	}
}

// pebbleLogger forwards Pebble's log to slog.
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
	p.log.Error("the disk failed, and the process stops: nothing acknowledged is lost; repair the disk and start again", "cause", text)
	p.fatal(text)
}
