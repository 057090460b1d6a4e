package pebblelog

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// RowRange is a range of a log's rows.
type RowRange struct {
	Name     string
	from, to []byte
	keyLen   int // of the rows, if the range has others too; else 0
}

// RowRanges returns ranges that together contain all rows of timelines.
func RowRanges() []RowRange {
	row := func(name string, from, to byte) RowRange { return RowRange{name, []byte{from}, []byte{to + 1}, 0} }
	entries := func(name string, k timeline.Kind) RowRange {
		return RowRange{name, []byte{rowEntry, byte(k)}, []byte{rowEntry, byte(k) + 1}, 0}
	}
	authors, tails := row("authors", rowTail, rowTail), row("tails", rowTail, rowTail)
	authors.keyLen, tails.keyLen = authorKeyLen, tailKeyLen
	return []RowRange{
		entries("conversations", timeline.Conversation), entries("inboxes", timeline.Inbox), entries("feeds", timeline.Feed),
		row("tokens", rowToken, rowToken), row("sums", rowSum, rowSum), authors,
		row("heads", rowFirstSeq, rowFirstSeq), tails, row("records", rowCheckpoint, rowRecord),
	}
}

func (p RowRange) iterate(ctx context.Context, l *Log, after []byte, do func(it *pebble.Iterator) error) error {
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
		if p.keyLen != 0 && len(it.Key()) != p.keyLen {
			continue
		}
		if err := do(it); err != nil {
			return err
		}
	}
	return it.Error()
}

// Count returns the number of rows of a range.
func (l *Log) Count(ctx context.Context, p RowRange) (rows uint64, err error) {
	err = p.iterate(ctx, l, nil, func(*pebble.Iterator) error { rows++; return nil })
	return rows, err
}

// Export passes the rows of a range to do, in the order of their keys, starting after a key; nil starts at the beginning. Nobody may
// write the log meanwhile. It leaves out processed fan-out records. Entries of an inbox that share a key come together. The key and rows
// are valid until do returns.
func (l *Log) Export(ctx context.Context, p RowRange, after []byte, do func(place []byte, rows []timeline.Row) error) error {
	var checkpoints [timeline.Partitions]uint64
	for i := range checkpoints {
		var err error
		if checkpoints[i], err = l.getUvarint(checkpointKey(nil, uint16(i))); err != nil {
			return err
		}
	}
	var rows []timeline.Row
	return p.iterate(ctx, l, after, func(it *pebble.Iterator) error {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if rows, err = decodeRow(rows[:0], it.Key(), value); err != nil {
			return err
		}
		if r := &rows[0]; r.Kind == timeline.RowRecord && r.Record.Seq <= checkpoints[r.Partition%timeline.Partitions] {
			return nil
		}
		return do(it.Key(), rows)
	})
}

// decodeRow appends the rows that a stored row is exported as. They do not alias key or value.
func decodeRow(rows []timeline.Row, key, value []byte) ([]timeline.Row, error) {
	if len(key) == entryKeyLen && key[0] == rowEntry {
		entries, err := decodeEntries(nil, seqOf(key), bytes.Clone(value))
		for _, e := range entries {
			rows = append(rows, timeline.Row{Kind: timeline.RowEntry, Key: timeline.Key{Kind: timeline.Kind(key[1]), ID: binary.BigEndian.Uint64(key[2:])}, Entry: e})
		}
		return rows, err
	}
	r, err := decodeOtherRow(key, value)
	return append(rows, r), err
}

const entryKeyLen = 18

// decodeOtherRow decodes a row that has no entries.
func decodeOtherRow(key, value []byte) (r timeline.Row, err error) {
	if len(key) < 2 {
		return r, timeline.ErrCorrupt
	}
	number := func(at int) uint64 { return binary.BigEndian.Uint64(key[at:]) }
	named := func(at int) timeline.Key { return timeline.Key{Kind: timeline.Kind(key[at]), ID: number(at + 1)} }
	lengths := map[byte]int{rowFirstSeq: 10, rowToken: 34, rowCheckpoint: 3, rowRecord: 11, rowSum: 26, rowTail: tailKeyLen}
	isAuthor := key[0] == rowTail && len(key) == authorKeyLen
	if lengths[key[0]] != len(key) && !isAuthor {
		return r, timeline.ErrCorrupt
	}
	switch key[0] {
	case rowFirstSeq:
		r = timeline.Row{Kind: timeline.RowFirstSeq, Key: named(1)}
		err = uvarints(value, &r.Seq)
	case rowToken:
		r = timeline.Row{Kind: timeline.RowToken, Key: named(25), Token: timeline.Token{Sender: number(1), Device: number(9), Counter: number(17)}}
		err = uvarints(value, &r.Seq)
	case rowSum:
		r = timeline.Row{Kind: timeline.RowToken, Key: named(17), Token: timeline.Token{Sum: [16]byte(key[1:17])}}
		err = uvarints(value, &r.Seq)
	case rowTail:
		if isAuthor {
			r = timeline.Row{Kind: timeline.RowAuthor, Key: named(1), Author: number(10)}
			return r, uvarints(value, &r.Seq, &r.Counted)
		}
		r = timeline.Row{Kind: timeline.RowTail, Key: named(1)}
		err = uvarints(value, &r.Tail.Seq, &r.Tail.Counted, &r.Tail.Access)
	case rowCheckpoint:
		r = timeline.Row{Kind: timeline.RowCheckpoint, Partition: binary.BigEndian.Uint16(key[1:])}
		err = uvarints(value, &r.Seq)
	case rowRecord:
		r = timeline.Row{Kind: timeline.RowRecord, Partition: binary.BigEndian.Uint16(key[1:]), Record: timeline.FanoutRecord{Seq: number(3)}}
		r.Record.Refs, err = decodeRefs(value)
	}
	return r, err
}

// TokenSeqs returns the seqs that are stored for tokens, or 0. Nobody may write the store meanwhile.
func (l *Log) TokenSeqs(ctx context.Context, tokens []timeline.TokenKey) ([]uint64, error) {
	seqs := make([]uint64, len(tokens))
	for i := range tokens {
		var err error
		if seqs[i], err = l.TokenSeq(ctx, tokens[i].Key, &tokens[i].Token); err != nil {
			return nil, err
		}
	}
	return seqs, nil
}

// LatestByAuthors returns the position of each author's latest entry, or a zero Position.
func (l *Log) LatestByAuthors(ctx context.Context, authors []timeline.AuthorKey) ([]timeline.Position, error) {
	places := make([]timeline.Position, len(authors))
	for i, a := range authors {
		seq, counted, err := l.LatestByAuthor(ctx, a.Key, a.Author)
		if err != nil {
			return nil, err
		}
		places[i] = timeline.Position{Seq: seq, Counted: counted}
	}
	return places, nil
}

// HighestCounters of devices, 0 for none.
func (l *Log) HighestCounters(_ context.Context, devices []timeline.Device) ([]uint64, error) {
	counters := make([]uint64, len(devices))
	for i, d := range devices {
		var err error
		if counters[i], err = l.highestCounter(device{d.Sender, d.Device}, false); err != nil {
			return nil, err
		}
	}
	return counters, nil
}
