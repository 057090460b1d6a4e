package cassandralog

import (
	"context"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// importSegment is the number of seqs of an imported conversation's segment, so that an entry's segment follows from its seq alone,
// whatever was imported before.
const importSegment = 2000

func importedIn(seq uint64) uint64 { return (seq - 1) / importSegment }

// Imported rows have the write time 1: any later write of a server is newer, and importing a row again changes nothing.
const (
	old = ` USING TIMESTAMP 1`

	importEntry   = insertEntry + old
	importToken   = `INSERT INTO segments (store, kind, id, segment, part, seq, tok, prev) VALUES (?, ?, ?, ?, 1, 0, ?, ?)` + old
	importAuthor  = insertAuthor + old
	importState   = `UPDATE segments` + old + ` SET version = 1, first = ?, tail = ?, counting = ?, acl = ?, head = 0, size = ?, voids = 0, term = 0, sealed = ?` + inSegment
	importHead    = `UPDATE segments USING TIMESTAMP 2 SET head = ?` + inSegment
	importStamp   = `UPDATE segments USING TIMESTAMP 2 SET stamp = ?` + inSegment + ` AND part = 0 AND seq = ? AND tok = 0x`
	importRecord  = insertRecord + old
	importLast    = `UPDATE records USING TIMESTAMP ? SET tail = ?` + inBucket
	importCarried = `INSERT INTO partitions (store, part, term, holder, record) VALUES (?, ?, 0, 0, ?)` + old
	moveEpoch     = `UPDATE meta SET epoch = ? WHERE store = ? IF EXISTS`
)

// importedStamp is the stamp of entries that do not need fan-out any more.
const importedStamp = 2

// Import stores rows of another log unchanged, in an empty store that nobody else uses. Entries come first, all entries of an inbox in
// one call; then the conversations' tails; then all other rows. Rows may be repeated.
func (l *Log) Import(ctx context.Context, rows []timeline.Row) error {
	entries := map[timeline.Key][]*timeline.Row{}
	var others []*timeline.Row
	for i := range rows {
		if r := &rows[i]; r.Kind == timeline.RowEntry {
			entries[r.Key] = append(entries[r.Key], r)
		} else {
			others = append(others, r)
		}
	}
	err := forEach(entries, func(k timeline.Key, rows []*timeline.Row) error {
		if k.Kind == timeline.Inbox {
			return l.importInbox(ctx, k, rows)
		}
		return l.importEntries(ctx, k, rows)
	})
	if err != nil {
		return err
	}
	return parallel(len(others), func(i int) error {
		r := others[i]
		switch r.Kind {
		case timeline.RowTail:
			return l.importTail(ctx, r)
		case timeline.RowFirstSeq:
			return l.importHeads(ctx, r)
		case timeline.RowAuthor:
			return l.importAuthor(ctx, r)
		case timeline.RowToken:
			return l.importToken(ctx, r)
		case timeline.RowCheckpoint:
			return l.importCheckpoint(ctx, r)
		case timeline.RowRecord:
			return l.importRecord(ctx, r)
		}
		return fmt.Errorf("a row of an unknown kind, %d", r.Kind)
	})
}

// EndImport sets the epoch of the inboxes.
func (l *Log) EndImport(ctx context.Context, epoch uint32) error {
	applied, err := l.query(ctx, moveEpoch, int(epoch), l.options.Store).repeatable().CAS()
	if err == nil && !applied {
		err = fmt.Errorf("the store %d has no epoch", l.options.Store)
	}
	return err
}

// put writes entries of one segment.
func (l *Log) put(ctx context.Context, k timeline.Key, segment uint64, rows []*timeline.Row) error {
	b, size := l.batch(ctx), 0
	for i, r := range rows {
		payload := r.Entry.Payload
		if payload == nil {
			payload = []byte{}
		}
		b.Query(importEntry, l.segmentArgs(k, segment, int64(r.Entry.Seq), int64(r.Entry.Counted), int64(r.Entry.Prev), int64(importedStamp), payload)...)
		size += len(payload)
		if len(b.Entries) < batchEntries && size < batchBytes && i < len(rows)-1 {
			continue
		}
		if err := b.Exec(); err != nil {
			return err
		}
		b, size = l.batch(ctx), 0
	}
	return nil
}

func (l *Log) importEntries(ctx context.Context, k timeline.Key, rows []*timeline.Row) error {
	for len(rows) > 0 {
		segment, n := importedIn(rows[0].Entry.Seq), 1
		for n < len(rows) && importedIn(rows[n].Entry.Seq) == segment {
			n++
		}
		if err := l.put(ctx, k, segment, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// importSegments writes a segment's state and its root.
func (l *Log) importSegments(ctx context.Context, k timeline.Key, s state) error {
	if s.segment > 0 {
		if err := l.query(ctx, insertRoot, l.segmentArgs(k, s.segment, int64(s.first))...).Exec(); err != nil {
			return err
		}
	}
	return l.query(ctx, importState, append([]any{int64(s.first), int64(s.tail.Seq), int64(s.tail.Counted), int64(s.tail.Access), int64(s.size), s.sealed}, l.segmentArgs(k, s.segment)...)...).Exec()
}

// importInbox distributes a complete inbox over segments, as posts would have.
func (l *Log) importInbox(ctx context.Context, k timeline.Key, rows []*timeline.Row) error {
	s := state{first: 1}
	begin := 0
	for i, r := range rows {
		s.tail.Seq = r.Entry.Seq
		s.size += uint64(len(r.Entry.Payload)) + 1 + uint64(l.options.SegmentBytes/l.options.SegmentEntries)
		s.sealed = s.size >= uint64(l.options.SegmentBytes)
		if !s.sealed && i < len(rows)-1 {
			continue
		}
		if err := l.put(ctx, k, s.segment, rows[begin:i+1]); err != nil {
			return err
		}
		if err := l.importSegments(ctx, k, s); err != nil {
			return err
		}
		s, begin = s.next(), i+1
	}
	return l.registerKey(ctx, k)
}

// importTail writes the states of a conversation's segments up to the newest.
func (l *Log) importTail(ctx context.Context, r *timeline.Row) error {
	newest := importedIn(max(r.Tail.Seq, 1))
	for segment := range newest {
		s := state{segment: segment, first: segment*importSegment + 1, tail: timeline.Tail{Seq: (segment + 1) * importSegment}, sealed: true}
		if err := l.importSegments(ctx, r.Key, s); err != nil {
			return err
		}
	}
	if err := l.importSegments(ctx, r.Key, state{segment: newest, first: newest*importSegment + 1, tail: r.Tail}); err != nil {
		return err
	}
	return l.registerKey(ctx, r.Key)
}

// importHeads writes a timeline's head into the segments at or below it.
func (l *Log) importHeads(ctx context.Context, r *timeline.Row) error {
	firsts, err := l.firsts(ctx, r.Key, false)
	if err != nil {
		return err
	}
	if r.Key.Kind == timeline.Inbox && len(firsts) == 1 {
		s, err := l.readState(ctx, r.Key, 0, false)
		if err == nil && s.version == 0 { // everything was trimmed: head has the end
			err = l.importSegments(ctx, r.Key, state{first: 1, tail: timeline.Tail{Seq: r.Seq - min(r.Seq, 1)}})
		}
		if err == nil {
			err = l.registerKey(ctx, r.Key)
		}
		if err != nil {
			return err
		}
	}
	for i := range firsts {
		head := r.Seq
		if i+1 < len(firsts) {
			head = min(head, firsts[i+1])
		}
		if err := l.query(ctx, importHead, append([]any{int64(head)}, l.segmentArgs(r.Key, uint64(i))...)...).Exec(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) importAuthor(ctx context.Context, r *timeline.Row) error {
	firsts, err := l.firsts(ctx, r.Key, false)
	if err != nil {
		return err
	}
	if at := importedIn(r.Seq); at == uint64(len(firsts)-1) {
		return l.query(ctx, importAuthor, l.segmentArgs(r.Key, at, int64(r.Author), int64(r.Seq), int64(r.Counted))...).Exec()
	}
	return l.query(ctx, insertPastAuthor, int64(r.Seq), int64(r.Seq), int64(r.Counted), l.options.Store, int64(r.Key.ID), int64(r.Author)).Exec()
}

func (l *Log) importToken(ctx context.Context, r *timeline.Row) error {
	firsts, err := l.firsts(ctx, r.Key, false)
	if err != nil {
		return err
	}
	at, t := importedIn(r.Seq), &r.Token
	if err := l.query(ctx, importToken, l.segmentArgs(r.Key, at, tokenBytes(t), int64(r.Seq))...).Exec(); err != nil || t.Counter == 0 {
		return err
	}
	if at < uint64(len(firsts)-1) {
		if err := l.query(ctx, insertPastCounter, int64(t.Counter), int64(t.Counter), l.options.Store, int64(r.Key.ID), int64(t.Sender), int64(t.Device)).Exec(); err != nil {
			return err
		}
	}
	d := device{t.Sender, t.Device}
	if l.cache.counter(d) >= t.Counter {
		return nil
	}
	if err := l.query(ctx, insertDevice, int64(t.Counter), int64(t.Counter), l.options.Store, int64(d.sender), int64(d.device)).Exec(); err != nil {
		return err
	}
	l.cache.setCounter(d, t.Counter)
	return nil
}

// lastRecord raises the tail of a bucket of records to at least seq.
func (l *Log) lastRecord(ctx context.Context, partition uint16, seq uint64) error {
	if seq == 0 {
		return nil
	}
	return l.query(ctx, importLast, int64(seq), int64(seq), l.options.Store, int16(partition), int64(bucketOf(seq))).Exec()
}

func (l *Log) importCheckpoint(ctx context.Context, r *timeline.Row) error {
	if err := l.lastRecord(ctx, r.Partition, r.Seq); err != nil {
		return err
	}
	return l.query(ctx, importCarried, l.options.Store, int16(r.Partition), int64(r.Seq)).Exec()
}

// importRecord returns the entries of an unprocessed record stamps of their own, by which they are found.
func (l *Log) importRecord(ctx context.Context, r *timeline.Row) error {
	var refs []byte
	for i, run := range r.Record.Refs {
		for from := run.From; from <= run.To; {
			segment := importedIn(from)
			to := min(run.To, (segment+1)*importSegment)
			stamp := 2 * (2 + r.Record.Seq<<16 + uint64(i)) // all records of a conversation are in one partition
			there, err := l.restamp(ctx, timeline.Ref{Key: run.Key, From: from, To: to}, segment, stamp)
			if err != nil {
				return err
			}
			if there {
				refs = (&ref{run.Key, segment, from - 1, stamp}).append(refs)
			}
			from = to + 1
		}
	}
	if err := l.query(ctx, importRecord, l.options.Store, int16(r.Partition), int64(bucketOf(r.Record.Seq)), int64(r.Record.Seq), int64(importedStamp), refs).Exec(); err != nil {
		return err
	}
	return l.lastRecord(ctx, r.Partition, r.Record.Seq)
}

// restamp reports whether any entry of a range exists, and sets their stamps. Expired entries do not exist.
func (l *Log) restamp(ctx context.Context, run timeline.Ref, segment, stamp uint64) (there bool, err error) {
	entries, _, err := l.rows(ctx, run.Key, segment, span{from: run.From, to: run.To, limit: importSegment}, false)
	if err != nil {
		return false, err
	}
	for some := range slices.Chunk(entries, batchEntries) {
		b := l.batch(ctx)
		for _, e := range some {
			b.Query(importStamp, append(append([]any{int64(stamp + 1)}, l.segmentArgs(run.Key, segment)...), int64(e.Seq))...)
		}
		if err := b.Exec(); err != nil {
			return false, err
		}
	}
	return len(entries) > 0, nil
}
