package cassandralog

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

const (
	// bucketRecords is the number of records in a Cassandra partition. When all are processed they are deleted together. Only the tail stays.
	bucketRecords = 4096
	// recordRefs is the maximum number of batches that one record names.
	recordRefs = 512
)

func bucketOf(seq uint64) uint64 { return (seq - 1) / bucketRecords }

// bucketEnd returns the seq of a bucket's last record.
func bucketEnd(bucket uint64) uint64 { return (bucket + 1) * bucketRecords }

// ref names a batch in a record: the batch with this stamp, in this segment, above base. It may not be stored yet.
type ref struct {
	key     timeline.Key
	segment uint64
	base    uint64
	stamp   uint64
}

func (r *ref) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, byte(r.key.Kind)), r.key.ID)
	return binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, r.segment), r.base), r.stamp)
}

func decodeRefs(b []byte) (refs []ref, err error) {
	for len(b) > 0 {
		r := ref{key: timeline.Key{Kind: timeline.Kind(b[0])}}
		b = b[1:]
		for _, v := range []*uint64{&r.key.ID, &r.segment, &r.base, &r.stamp} {
			n, size := binary.Uvarint(b)
			if size <= 0 {
				return nil, timeline.ErrCorrupt
			}
			*v, b = n, b[size:]
		}
		refs = append(refs, r)
	}
	return refs, nil
}

// intent announces a batch in a fan-out record before the batch is stored.
type intent struct {
	writer  *recordWriter
	ref     ref
	version uint64 // of the segment; the batch may be applied only to it, so that earlier appends have earlier records
	ready   chan struct{}
	// One of these is set before ready is closed.
	record *pendingRecord
	err    error
}

// pendingRecord is a stored record that was not reported to the listener yet.
type pendingRecord struct {
	seq       uint64
	remaining int  // intents that have not finished
	unknown   bool // the outcome of a batch is unknown: the listener is not told and its reader reads the record
	entries   []timeline.CommittedEntry
}

// recordWriter writes the records of one partition. One record has all waiting intents.
type recordWriter struct {
	log       *Log
	partition uint16
	// Only run uses these. next is the seq of the next record, or 0 if it is unknown. bucket is at most its bucket. tail is the expected tail
	// of that bucket, or 0 if it has none.
	next, bucket, tail uint64

	mu      sync.Mutex // guards waiting
	waiting []*intent
	wakeup  chan struct{} // has a value while intents wait

	reportMu   sync.Mutex // guards unreported and its records; held while the listener is called, so that it sees them in order
	unreported []*pendingRecord
}

func newRecordWriter(l *Log, partition uint16) *recordWriter {
	return &recordWriter{log: l, partition: partition, wakeup: make(chan struct{}, 1)}
}

func newIntent(r *recordWriter, ref ref, version uint64) *intent {
	return &intent{writer: r, ref: ref, version: version, ready: make(chan struct{})}
}

// write requests a record and returns when it is stored, or will not be.
func (c *intent) write(ctx context.Context) error {
	r := c.writer
	r.mu.Lock()
	r.waiting = append(r.waiting, c)
	r.mu.Unlock()
	r.wake()
	select {
	case <-c.ready:
		return c.err
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range r.waiting {
		if o == c {
			r.waiting = append(r.waiting[:i], r.waiting[i+1:]...)
			return ctx.Err()
		}
	}
	// The record is being written. No batch will follow, and its reader voids it.
	go func() { // ends with the record, or the log
		select {
		case <-c.ready:
			if c.err == nil {
				c.finish(nil)
			}
		case <-r.log.ctx.Done():
		}
	}()
	return ctx.Err()
}

func (r *recordWriter) wake() {
	wakeup.Signal(r.wakeup)
}

// cancel marks in the record that the batch will not be stored.
func (c *intent) cancel(ctx context.Context) error {
	seq := c.record.seq
	return c.writer.log.query(ctx, dropRef, []int64{int64(c.ref.stamp)}, c.writer.log.options.Store, int16(c.writer.partition), int64(bucketOf(seq)), int64(seq)).Exec()
}

// finish adds the entries of the batch. It reports records to the listener in order, each when all its intents have finished. A nil intent
// does nothing.
func (c *intent) finish(entries []timeline.CommittedEntry) { c.end(entries, false) }

// end is finish, also for a batch whose outcome is unknown.
func (c *intent) end(entries []timeline.CommittedEntry, unknown bool) {
	if c == nil {
		return
	}
	r := c.writer
	r.reportMu.Lock()
	defer r.reportMu.Unlock()
	c.record.entries = append(c.record.entries, entries...)
	c.record.unknown = c.record.unknown || unknown
	c.record.remaining--
	for len(r.unreported) > 0 && r.unreported[0].remaining == 0 {
		first := r.unreported[0]
		r.unreported = r.unreported[1:]
		if r.log.options.Listener != nil && !first.unknown {
			r.log.options.Listener([]timeline.Commit{{Partition: r.partition, RecordSeq: first.seq, Entries: first.entries}})
		}
	}
}

// run writes records until the last append of the log is done.
func (r *recordWriter) run() {
	for {
		select {
		case <-r.wakeup:
		case <-r.log.ctx.Done():
			return
		}
		for r.write() {
		}
	}
}

// write writes one record for the waiting intents. It returns false if there are none.
func (r *recordWriter) write() bool {
	r.mu.Lock()
	n := min(len(r.waiting), recordRefs)
	claims := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	r.mu.Unlock()
	if n == 0 {
		return false
	}
	var refs []byte
	for _, c := range claims {
		refs = c.ref.append(refs)
	}
	stamp := newStamp()
	doubt := uint64(0) // a seq at which the record may be stored
	for retry := backoff.New(retryFirst, retryMax); ; {
		ctx, cancel := context.WithTimeout(r.log.ctx, r.log.options.Timeout)
		seq, err := r.store(ctx, stamp, refs, &doubt)
		cancel()
		if err == nil && seq != 0 {
			r.stored(seq, claims)
			return true
		}
		if err == nil {
			continue
		}
		r.next = 0
		if errors.Is(err, timeline.ErrMoving) {
			for _, c := range claims {
				c.err = err
				close(c.ready)
			}
			return true
		}
		r.log.options.Logger.Debug("the write of a fan-out record is retried", "partition", r.partition, "error", err)
		if retry.Wait(r.log.ctx) != nil {
			return false // nobody waits any more
		}
	}
}

// store attempts to write a record and returns its seq, or 0 if another writer was faster.
func (r *recordWriter) store(ctx context.Context, stamp uint64, refs []byte, doubt *uint64) (uint64, error) {
	l := r.log
	if *doubt != 0 {
		there, err := r.isAt(ctx, *doubt, stamp, true)
		if err != nil || there {
			return *doubt, err
		}
		*doubt = 0
	}
	if r.next == 0 {
		if err := r.findNext(ctx); err != nil {
			return 0, err
		}
	}
	seq := r.next
	b := l.batch(ctx)
	at := []any{l.options.Store, int16(r.partition), int64(r.bucket)}
	if r.tail == 0 {
		b.Query(beginRecordTail, append([]any{int64(seq)}, at...)...)
	} else {
		b.Query(moveRecordTail, append(append([]any{int64(seq)}, at...), int64(r.tail))...)
	}
	b.Query(insertRecord, append(at, int64(seq), int64(stamp), refs)...)
	applied, err := b.apply()
	if err != nil {
		*doubt = seq
		return 0, err
	}
	if !applied {
		if applied, err = r.isAt(ctx, seq, stamp, false); err != nil {
			*doubt = seq
			return 0, err
		}
	}
	if !applied {
		r.next = 0
		return 0, nil
	}
	r.next, r.tail = seq+1, seq
	if seq == bucketEnd(r.bucket) { // read the state before a new bucket begins
		r.next, r.bucket = 0, r.bucket+1
	}
	return seq, nil
}

func (r *recordWriter) isAt(ctx context.Context, seq, stamp uint64, serial bool) (bool, error) {
	var found int64
	var refs []byte
	var dropped []int64
	err := r.log.query(ctx, selectRecord, r.log.options.Store, int16(r.partition), int64(bucketOf(seq)), int64(seq)).at(serial).Scan(&found, &refs, &dropped)
	return uint64(found) == stamp, notFoundIsNone(err)
}

// findNext sets next to the seq of the next record. It is above the checkpoint, because nobody reads records below it. A bucket whose
// records are all processed may have no tail, if an older release deleted it.
func (r *recordWriter) findNext(ctx context.Context) error {
	for {
		var checkpoint uint64
		err := parallel(2, func(i int) (err error) {
			if i == 0 {
				checkpoint, err = r.log.Checkpoint(ctx, r.partition)
				return err
			}
			r.tail, err = r.log.query(ctx, selectRecordTail, r.log.options.Store, int16(r.partition), int64(r.bucket)).scanSeq()
			return err
		})
		if err != nil {
			return err
		}
		if now := bucketOf(checkpoint + 1); r.bucket < now {
			r.bucket = now
			continue
		}
		if r.tail < bucketEnd(r.bucket) {
			r.next = max(r.bucket*bucketRecords, r.tail, checkpoint) + 1
			return nil
		}
		r.bucket++
	}
}

func (r *recordWriter) stored(seq uint64, claims []*intent) {
	stored := &pendingRecord{seq: seq, remaining: len(claims)}
	r.reportMu.Lock()
	r.unreported = append(r.unreported, stored)
	r.reportMu.Unlock()
	for _, c := range claims {
		c.record = stored
		close(c.ready)
	}
}
