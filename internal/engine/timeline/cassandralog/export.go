package cassandralog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Epochs returns the epoch of the inboxes, and 0: the store does not record restores.
func (f *Frozen) Epochs(context.Context) (epoch, restored uint32, err error) {
	return f.log.epoch, 0, nil
}

// rowRange is a range of rows of some kinds of timelines. page returns rows of a timeline after a position.
type rowRange struct {
	kinds []timeline.Kind
	page  func(f *Frozen, ctx context.Context, k timeline.Key, after uint64) (page, error)
	// entries: there is a row for each entry; otherwise at least one for each timeline.
	entries bool
}

// page is a part of a timeline's rows in a range; more may follow.
type page struct {
	groups []rowGroup
	more   bool
}

// rowGroup has rows that are exported together, and their position, above 0.
type rowGroup struct {
	position uint64
	rows     []timeline.Row
}

var rowRanges = map[string]rowRange{
	"conversations": {[]timeline.Kind{timeline.Conversation}, (*Frozen).entryRows, true},
	"inboxes":       {[]timeline.Kind{timeline.Inbox}, (*Frozen).entryRows, true},
	"feeds":         {[]timeline.Kind{timeline.Feed}, (*Frozen).entryRows, true},
	"tokens":        {[]timeline.Kind{timeline.Conversation}, tokenRows(true), false},
	"sums":          {[]timeline.Kind{timeline.Conversation}, tokenRows(false), false},
	"authors":       {[]timeline.Kind{timeline.Conversation}, (*Frozen).authorRows, false},
	"heads":         {timeline.Kinds[:], (*Frozen).headRows, false},
	"tails":         {[]timeline.Kind{timeline.Conversation, timeline.Feed}, (*Frozen).tailRows, false},
}

// records is the range of fan-out records and checkpoints.
const records = "records"

// exportRows is the number of rows of a timeline, or of keys, that are read at a time. Up to maxParallel timelines are.
const exportRows = 500

// Count estimates the number of groups of rows in a range: conversations, inboxes, feeds, tokens, sums, authors, heads, tails or records.
func (f *Frozen) Count(ctx context.Context, name string) (n uint64, err error) {
	if name == records {
		return timeline.Partitions, nil
	}
	r := rowRanges[name]
	for _, kind := range r.kinds {
		err := f.eachKeys(ctx, kind, 0, func(keys []timeline.Key) error {
			if n += uint64(len(keys)); !r.entries {
				return nil
			}
			tails, err := f.log.Tails(ctx, keys)
			for _, t := range tails {
				base := t.Seq >> 32 << 32 // entries of earlier epochs are not counted
				n += t.Seq - min(t.Seq, max(base, t.FirstSeq))
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// eachKeys passes all keys of a kind above an id to do, some at a time.
func (f *Frozen) eachKeys(ctx context.Context, kind timeline.Kind, above uint64, do func(keys []timeline.Key) error) error {
	for {
		keys, err := f.Keys(ctx, kind, above, exportRows)
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := do(keys); err != nil {
			return err
		}
		above = keys[len(keys)-1].ID
	}
}

// Export passes the rows of a range to do, in groups, from after a place that was passed to do; nil is the beginning. Only a frozen log is exported completely.
func (f *Frozen) Export(ctx context.Context, name string, after []byte, do func(place []byte, rows []timeline.Row) error) error {
	if name == records {
		return f.exportRecords(ctx, after, do)
	}
	r, ok := rowRanges[name]
	if !ok {
		return fmt.Errorf("no range of rows is named %q", name)
	}
	kinds, above := r.kinds, uint64(0)
	if after != nil {
		k, position := placeAt(after)
		kinds, above = kinds[slices.Index(kinds, k.Kind):], k.ID
		p, err := f.readPage(ctx, r, k, position)
		if err == nil {
			err = f.exportPages(ctx, r, k, p, do)
		}
		if err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		err := f.eachKeys(ctx, kind, above, func(keys []timeline.Key) error {
			for some := range slices.Chunk(keys, maxParallel) {
				first := make([]page, len(some))
				err := parallel(len(some), func(i int) (err error) {
					first[i], err = f.readPage(ctx, r, some[i], 0)
					return err
				})
				if err != nil {
					return err
				}
				for i, k := range some {
					if err := f.exportPages(ctx, r, k, first[i], do); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		above = 0
	}
	return nil
}

// exportPages exports a page of a timeline, and all that follow it.
func (f *Frozen) exportPages(ctx context.Context, r rowRange, k timeline.Key, p page, do func(place []byte, rows []timeline.Row) error) error {
	for {
		position := uint64(0)
		for _, g := range p.groups {
			if position = g.position; len(g.rows) > 0 {
				if err := do(placeOf(k, position), g.rows); err != nil {
					return err
				}
			}
		}
		if !p.more {
			return nil
		}
		var err error
		if p, err = f.readPage(ctx, r, k, position); err != nil {
			return err
		}
	}
}

func placeOf(k timeline.Key, position uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{byte(k.Kind)}, k.ID), position)
}

func placeAt(place []byte) (k timeline.Key, position uint64) {
	return timeline.Key{Kind: timeline.Kind(place[0]), ID: binary.BigEndian.Uint64(place[1:])}, binary.BigEndian.Uint64(place[9:])
}

// readPage reads a page. Before the first one it completes a batch that is stored, but not on a quorum yet: reads would find it or not.
func (f *Frozen) readPage(ctx context.Context, r rowRange, k timeline.Key, after uint64) (page, error) {
	if after > 0 {
		return r.page(f, ctx, k, after)
	}
	firsts, err := f.log.firsts(ctx, k, false)
	if err != nil {
		return page{}, err
	}
	for n := len(firsts); n > max(0, len(firsts)-2); n-- { // the last one may not exist yet
		if _, err := f.log.readState(ctx, k, uint64(n-1), true); err != nil {
			return page{}, err
		}
	}
	return r.page(f, ctx, k, 0)
}

func (f *Frozen) entryRows(ctx context.Context, k timeline.Key, after uint64) (p page, err error) {
	entries, err := f.Read(ctx, k, after, exportRows)
	for _, e := range entries {
		p.groups = append(p.groups, rowGroup{e.Seq, []timeline.Row{{Kind: timeline.RowEntry, Key: k, Entry: e}}})
	}
	p.more = len(entries) == exportRows
	return p, err
}

// tokenRows returns the tokens of one segment, with counters or by hash. The position is the number of the next segment.
func tokenRows(counters bool) func(f *Frozen, ctx context.Context, k timeline.Key, after uint64) (page, error) {
	return func(f *Frozen, ctx context.Context, k timeline.Key, after uint64) (p page, err error) {
		firsts, err := f.log.firsts(ctx, k, false)
		if err != nil || after >= uint64(len(firsts)) {
			return p, err
		}
		g := rowGroup{position: after + 1}
		var tok []byte
		var seq int64
		it := f.log.query(ctx, selectTokens, f.log.segmentArgs(k, after)...).Iter()
		for it.Scan(&tok, &seq) {
			r := timeline.Row{Kind: timeline.RowToken, Key: k, Seq: uint64(seq)}
			d, counter, is := counterOf(tok)
			switch {
			case is:
				r.Token = timeline.Token{Sender: d.sender, Device: d.device, Counter: counter}
			case len(tok) == 1+len(r.Token.Sum) && tok[0] == tokenSum:
				r.Token.Sum = [16]byte(tok[1:])
			default:
				return p, errors.Join(fmt.Errorf("a token of conversation %d: %w", k.ID, timeline.ErrCorrupt), it.Close())
			}
			if is == counters {
				g.rows = append(g.rows, r)
			}
		}
		return page{[]rowGroup{g}, after+1 < uint64(len(firsts))}, it.Close()
	}
}

// authorRows returns the latest entries of all authors: those of the newest segment, and of others those of all sealed segments.
func (f *Frozen) authorRows(ctx context.Context, k timeline.Key, after uint64) (p page, err error) {
	s, err := f.log.newestSegment(ctx, k)
	if err != nil || after > 0 || s.version == 0 {
		return p, err
	}
	latest := map[int64]timeline.Row{}
	var author, seq, counted int64
	read := func(it rows) error {
		for it.Scan(&author, &seq, &counted) {
			latest[author] = timeline.Row{Kind: timeline.RowAuthor, Key: k, Author: uint64(author), Seq: uint64(seq), Counted: uint64(counted)}
		}
		return it.Close()
	}
	if s.segment > 0 {
		if err := read(f.log.query(ctx, selectPastAuthors, f.log.options.Store, int64(k.ID)).Iter()); err != nil {
			return p, err
		}
	}
	if err := read(f.log.query(ctx, selectAuthors, f.log.segmentArgs(k, s.segment)...).Iter()); err != nil {
		return p, err
	}
	g := rowGroup{position: 1}
	for _, r := range latest {
		g.rows = append(g.rows, r)
	}
	return page{groups: []rowGroup{g}}, nil
}

// tailRows returns the tail of a conversation or feed that has ever had an entry.
func (f *Frozen) tailRows(ctx context.Context, k timeline.Key, after uint64) (page, error) {
	t, err := f.Tail(ctx, k)
	if err != nil || after > 0 || t.Seq == 0 {
		return page{}, err
	}
	t.FirstSeq = 0
	return page{groups: []rowGroup{{1, []timeline.Row{{Kind: timeline.RowTail, Key: k, Tail: t}}}}}, nil
}

func (f *Frozen) headRows(ctx context.Context, k timeline.Key, after uint64) (page, error) {
	t, err := f.Tail(ctx, k)
	if err != nil || after > 0 || t.FirstSeq == 0 {
		return page{}, err
	}
	return page{groups: []rowGroup{{1, []timeline.Row{{Kind: timeline.RowFirstSeq, Key: k, Seq: t.FirstSeq}}}}}, nil
}

// exportRecords exports the checkpoint of each partition, and the records above it.
func (f *Frozen) exportRecords(ctx context.Context, after []byte, do func(place []byte, rows []timeline.Row) error) error {
	first, from := uint16(0), uint64(0)
	if after != nil {
		first, from = binary.BigEndian.Uint16(after), binary.BigEndian.Uint64(after[2:])
	}
	for p := first; p < timeline.Partitions; p++ {
		export := func(seq uint64, r timeline.Row) error {
			r.Partition = p
			return do(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16(nil, p), seq), []timeline.Row{r})
		}
		checkpoint, err := f.Checkpoint(ctx, p)
		if err == nil && (after == nil || p > first) {
			from, err = 0, export(0, timeline.Row{Kind: timeline.RowCheckpoint, Seq: checkpoint})
		}
		if err != nil {
			return err
		}
		for from = max(from, checkpoint); ; {
			some, err := f.FanoutRecords(ctx, p, from, exportRows)
			if err != nil {
				return err
			}
			for _, r := range some {
				if err := export(r.Seq, timeline.Row{Kind: timeline.RowRecord, Record: r}); err != nil {
					return err
				}
			}
			if len(some) < exportRows {
				break
			}
			from = some[len(some)-1].Seq
		}
	}
	return nil
}
