package pebblelog

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Part is a range of a log's rows.
type Part struct {
	Name     string
	from, to []byte
}

// Parts that all rows of timelines are in.
func Parts() []Part {
	row := func(name string, from, to byte) Part { return Part{name, []byte{from}, []byte{to + 1}} }
	entries := func(name string, k timeline.Kind) Part {
		return Part{name, []byte{rowEntry, byte(k)}, []byte{rowEntry, byte(k) + 1}}
	}
	return []Part{
		entries("conversations", timeline.Conversation), entries("inboxes", timeline.Inbox),
		row("tokens", rowToken, rowToken), row("sums", rowSum, rowSum), row("authors", rowAuthor, rowAuthor),
		row("heads", rowHead, rowHead), row("tails", rowTail, rowTail), row("records", rowCheckpoint, rowRecord),
	}
}

func (p Part) iterate(ctx context.Context, l *Log, after []byte, do func(it *pebble.Iterator) error) error {
	it, err := l.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: p.from, UpperBound: p.to})
	if err != nil {
		return err
	}
	defer it.Close()
	ok := it.First()
	if after != nil {
		ok = it.SeekGE(append(slices.Clone(after), 0))
	}
	for n := 0; ok; ok = it.Next() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := do(it); err != nil {
			return err
		}
	}
	return it.Error()
}

// Count gives the number of a part's rows.
func (l *Log) Count(ctx context.Context, p Part) (rows uint64, err error) {
	err = p.iterate(ctx, l, nil, func(*pebble.Iterator) error { rows++; return nil })
	return rows, err
}

// Export gives the rows of a part in the order of their places, from behind a place on; nil: all. It is for a log that nobody
// writes. Records that were carried are left out. The place is the caller's only until do returns.
func (l *Log) Export(ctx context.Context, p Part, after []byte, do func(place []byte, r timeline.Row) error) error {
	var carried [timeline.Partitions]uint64
	for i := range carried {
		var err error
		if carried[i], err = l.getUvarint(checkpointKey(nil, uint16(i))); err != nil {
			return err
		}
	}
	return p.iterate(ctx, l, after, func(it *pebble.Iterator) error {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		r, err := decodeRow(it.Key(), value)
		if err != nil {
			return err
		}
		if r.Kind == timeline.RowRecord && r.Record.Seq <= carried[r.Partition%timeline.Partitions] {
			return nil
		}
		return do(it.Key(), r)
	})
}

// decodeRow reads a row; nothing of it aliases key or value.
func decodeRow(key, value []byte) (r timeline.Row, err error) {
	if len(key) < 2 {
		return r, timeline.ErrDamaged
	}
	number := func(at int) uint64 { return binary.BigEndian.Uint64(key[at:]) }
	named := func(at int) timeline.Key { return timeline.Key{Kind: timeline.Kind(key[at]), ID: number(at + 1)} }
	lengths := map[byte]int{rowAuthor: 18, rowEntry: 18, rowHead: 10, rowToken: 34, rowCheckpoint: 3, rowRecord: 11, rowSum: 26, rowTail: 10}
	if lengths[key[0]] != len(key) {
		return r, timeline.ErrDamaged
	}
	switch key[0] {
	case rowAuthor:
		r = timeline.Row{Kind: timeline.RowAuthor, Key: named(1), Author: number(10)}
		err = uvarints(value, &r.Seq, &r.Counted)
	case rowEntry:
		r = timeline.Row{Kind: timeline.RowEntry, Key: named(1)}
		r.Entry, err = decodeEntry(number(10), bytes.Clone(value))
	case rowHead:
		r = timeline.Row{Kind: timeline.RowHead, Key: named(1)}
		err = uvarints(value, &r.Seq)
	case rowToken:
		r = timeline.Row{Kind: timeline.RowToken, Key: named(25), Token: timeline.Token{Sender: number(1), Device: number(9), Counter: number(17)}}
		err = uvarints(value, &r.Seq)
	case rowSum:
		r = timeline.Row{Kind: timeline.RowToken, Key: named(17), Token: timeline.Token{Sum: [16]byte(key[1:17])}}
		err = uvarints(value, &r.Seq)
	case rowTail:
		r = timeline.Row{Kind: timeline.RowTail, Key: named(1)}
		err = uvarints(value, &r.Tail.Seq, &r.Tail.Counted, &r.Tail.Access)
	case rowCheckpoint:
		r = timeline.Row{Kind: timeline.RowCheckpoint, Partition: binary.BigEndian.Uint16(key[1:])}
		err = uvarints(value, &r.Seq)
	case rowRecord:
		r = timeline.Row{Kind: timeline.RowRecord, Partition: binary.BigEndian.Uint16(key[1:]), Record: timeline.Record{Seq: number(3)}}
		r.Record.Refs, err = decodeRefs(value)
	}
	return r, err
}

// TokenSeqs gives the seqs that are stored for tokens, 0 for none. It is for looking at a store that nobody writes.
func (l *Log) TokenSeqs(ctx context.Context, tokens []timeline.Stored) ([]uint64, error) {
	seqs := make([]uint64, len(tokens))
	for i := range tokens {
		var err error
		if seqs[i], err = l.TokenSeq(ctx, tokens[i].Key, &tokens[i].Token); err != nil {
			return nil, err
		}
	}
	return seqs, nil
}

// LastsBy gives each author's latest entry, the zero place for none.
func (l *Log) LastsBy(ctx context.Context, authors []timeline.Writer) ([]timeline.Place, error) {
	places := make([]timeline.Place, len(authors))
	for i, a := range authors {
		seq, counted, err := l.LastBy(ctx, a.Key, a.Author)
		if err != nil {
			return nil, err
		}
		places[i] = timeline.Place{Seq: seq, Counted: counted}
	}
	return places, nil
}

// HighestCounters of devices, 0 for none.
func (l *Log) HighestCounters(_ context.Context, devices []timeline.Device) ([]uint64, error) {
	counters := make([]uint64, len(devices))
	for i, d := range devices {
		var err error
		if counters[i], err = l.highestCounter(device{d.Sender, d.Device}); err != nil {
			return nil, err
		}
	}
	return counters, nil
}
