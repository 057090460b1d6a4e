package cassandralog

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/timeline"
)

const (
	// bucketRecords so many records share a partition of Cassandra. When all are carried they go at once, and the tail alone stays.
	bucketRecords = 4096
	// recordRefs so many batches one record names at most.
	recordRefs = 512
)

func bucketOf(seq uint64) uint64 { return (seq - 1) / bucketRecords }

// endOf is the seq of a bucket's last record.
func endOf(bucket uint64) uint64 { return (bucket + 1) * bucketRecords }

// ref is what a record names: the batch that will come, or has, with this stamp, to this segment, above base.
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
				return nil, timeline.ErrDamaged
			}
			*v, b = n, b[size:]
		}
		refs = append(refs, r)
	}
	return refs, nil
}

// claim is one batch's place in a record.
type claim struct {
	recorder *recorder
	ref      ref
	version  uint64 // of the segment, at which alone the batch may be applied: what was appended before has earlier records
	ready    chan struct{}
	record   *record // set before ready is closed
}

// record is one that is stored, until its listener is told.
type record struct {
	seq     uint64
	left    int  // claims that have not finished
	unknown bool // what became of a batch nobody knows: the listener is not told, and who follows it reads the record
	entries []timeline.Committed
}

// recorder writes the records of one partition: all claims that wait go into one.
type recorder struct {
	log       *Log
	partition uint16
	// Of the goroutine run alone: the next record's seq, 0 where it is not known; the bucket that it is in, or is above; and the tail of
	// that bucket for which next is right, 0 where it has none.
	next, bucket, tail uint64

	mu      sync.Mutex // guards waiting
	waiting []*claim
	more    chan struct{} // has one when something waits

	tellMu sync.Mutex // guards told and what is in it, and is held while the listener is told, so that it is in order
	told   []*record
}

func newRecorder(l *Log, partition uint16) *recorder {
	return &recorder{log: l, partition: partition, more: make(chan struct{}, 1)}
}

func newClaim(r *recorder, ref ref, version uint64) *claim {
	return &claim{recorder: r, ref: ref, version: version, ready: make(chan struct{})}
}

// make has the record written, and returns when it is stored.
func (c *claim) make(ctx context.Context) error {
	r := c.recorder
	r.mu.Lock()
	r.waiting = append(r.waiting, c)
	r.mu.Unlock()
	r.wake()
	select {
	case <-c.ready:
		return nil
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
	// It is being written; nothing will come for it, and who reads it voids it.
	go func() { // ends with the record, or the log
		select {
		case <-c.ready:
			c.finish(nil)
		case <-r.log.ctx.Done():
		}
	}()
	return ctx.Err()
}

func (r *recorder) wake() {
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// drop says in the record that the batch will not come.
func (c *claim) drop(ctx context.Context) error {
	seq := c.record.seq
	return c.recorder.log.query(ctx, dropRef, []int64{int64(c.ref.stamp)}, c.recorder.log.options.Store, int16(c.recorder.partition), int64(bucketOf(seq)), int64(seq)).Exec()
}

// finish says what the batch brought, and tells the listener when that was the last of its record and of all before it. Of no claim
// it does nothing.
func (c *claim) finish(entries []timeline.Committed) { c.end(entries, false) }

// end is finish, or says that what became of the batch is unknown.
func (c *claim) end(entries []timeline.Committed, unknown bool) {
	if c == nil {
		return
	}
	r := c.recorder
	r.tellMu.Lock()
	defer r.tellMu.Unlock()
	c.record.entries = append(c.record.entries, entries...)
	c.record.unknown = c.record.unknown || unknown
	c.record.left--
	for len(r.told) > 0 && r.told[0].left == 0 {
		first := r.told[0]
		r.told = r.told[1:]
		if r.log.options.Listener != nil && !first.unknown {
			r.log.options.Listener([]timeline.Commit{{Partition: r.partition, Record: first.seq, Entries: first.entries}})
		}
	}
}

// run writes records until the log's last append is done.
func (r *recorder) run() {
	for {
		select {
		case <-r.more:
		case <-r.log.ctx.Done():
			return
		}
		for r.write() {
		}
	}
}

// write puts what waits into one record; false if nothing does.
func (r *recorder) write() bool {
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
	doubt := uint64(0) // a seq where it may be
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		ctx, cancel := context.WithTimeout(r.log.ctx, r.log.options.Patience)
		seq, err := r.store(ctx, stamp, refs, &doubt)
		cancel()
		if err == nil && seq != 0 {
			r.done(seq, claims)
			return true
		}
		if err == nil {
			continue
		}
		r.next = 0
		r.log.options.Logger.Debug("a record is tried again", "partition", r.partition, "error", err)
		if pause(r.log.ctx, rand.N(wait)+wait/2) != nil {
			return false // nobody waits any more
		}
	}
}

// store tries to write a record, and gives its seq, or 0 where another one was quicker.
func (r *recorder) store(ctx context.Context, stamp uint64, refs []byte, doubt *uint64) (uint64, error) {
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
	if seq == endOf(r.bucket) { // no bucket is begun by what was known long ago
		r.next, r.bucket = 0, r.bucket+1
	}
	return seq, nil
}

func (r *recorder) isAt(ctx context.Context, seq, stamp uint64, serial bool) (bool, error) {
	var found int64
	var refs []byte
	var dropped []int64
	err := r.log.query(ctx, selectRecord, r.log.options.Store, int16(r.partition), int64(bucketOf(seq)), int64(seq)).at(serial).Scan(&found, &refs, &dropped)
	return uint64(found) == stamp, notFoundIsNone(err)
}

// findNext sets next to the seq of the next record. It is above the checkpoint, whatever this log remembers: below it nobody reads. A
// bucket of which all is carried may have no tail, where a release deleted it that did not keep them.
func (r *recorder) findNext(ctx context.Context) error {
	for {
		var carried uint64
		err := eachOf(2, func(i int) (err error) {
			if i == 0 {
				carried, err = r.log.Checkpoint(ctx, r.partition)
				return err
			}
			r.tail, err = r.log.query(ctx, selectRecordTail, r.log.options.Store, int16(r.partition), int64(r.bucket)).scanSeq()
			return err
		})
		if err != nil {
			return err
		}
		if now := bucketOf(carried + 1); r.bucket < now {
			r.bucket = now
			continue
		}
		if r.tail < endOf(r.bucket) {
			r.next = max(r.bucket*bucketRecords, r.tail, carried) + 1
			return nil
		}
		r.bucket++
	}
}

func (r *recorder) done(seq uint64, claims []*claim) {
	stored := &record{seq: seq, left: len(claims)}
	r.tellMu.Lock()
	r.told = append(r.told, stored)
	r.tellMu.Unlock()
	for _, c := range claims {
		c.record = stored
		close(c.ready)
	}
}
