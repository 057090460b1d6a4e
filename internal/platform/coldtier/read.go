package coldtier

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// reader reads segments by a manifest.
type reader struct {
	db    sqldb.Querier
	files blob.Store
	cache *blockCache
	stats *Stats
}

func (t *Tier) reader() *reader {
	return &reader{db: t.deps.DB.Read(), files: t.deps.Files, cache: t.cache, stats: &t.stats}
}

// segment returns the segment that has an entry of a span. Without one, the entry has expired meanwhile (ok is false), or the manifest is
// damaged.
func (r *reader) segment(ctx context.Context, key timeline.Key, seq uint64) (s SegmentRow, ok bool, err error) {
	s, ok, err = segmentFrom(ctx, r.db, key.ID, seq)
	if err != nil || ok && s.First <= seq {
		return s, ok, err
	}
	now, known, err := spanOf(ctx, r.db, key.ID)
	if err != nil || !known || seq < now.first {
		return s, false, err
	}
	return s, false, fmt.Errorf("%w: the manifest has no segment for entry %d of conversation %d", timeline.ErrCorrupt, seq, key.ID)
}

// ascending returns at most limit entries from one seq to another, which the span of the conversation had. It ends early at entries that
// have expired meanwhile.
func (t *Tier) ascending(ctx context.Context, key timeline.Key, from, to uint64, limit int) (list []timeline.Entry, err error) {
	r := t.reader()
	for from <= to && len(list) < limit {
		s, ok, err := r.segment(ctx, key, from)
		if err != nil {
			return nil, err
		}
		if !ok {
			return list, nil
		}
		some, err := t.entries(ctx, r, key, s, from, min(s.Last, to, from+uint64(limit-len(list))-1), false)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
		from += uint64(len(some))
	}
	return list, nil
}

// descending is ascending from the other end.
func (t *Tier) descending(ctx context.Context, key timeline.Key, from, to uint64, limit int) (list []timeline.Entry, err error) {
	r := t.reader()
	for from <= to && len(list) < limit {
		s, ok, err := r.segment(ctx, key, to)
		if err != nil {
			return nil, err
		}
		if !ok {
			return list, nil
		}
		low := max(s.First, from)
		if rest := uint64(limit - len(list)); to-low >= rest {
			low = to - rest + 1
		}
		some, err := t.entries(ctx, r, key, s, low, to, true)
		if err != nil {
			return nil, err
		}
		for i := len(some) - 1; i >= 0; i-- {
			list = append(list, some[i])
		}
		to -= uint64(len(some))
	}
	return list, nil
}

// entries reads a range of one segment. If its file has gone because the segment was rewritten meanwhile, it reads the new one.
func (t *Tier) entries(ctx context.Context, r *reader, key timeline.Key, s SegmentRow, from, to uint64, backward bool) ([]timeline.Entry, error) {
	for {
		list, err := r.entries(ctx, key, s, from, to, backward)
		if err == nil {
			return list, nil
		}
		again, ok, manifestErr := r.segment(ctx, key, to)
		if manifestErr != nil {
			return nil, manifestErr
		}
		if !errors.Is(err, blob.ErrNotFound) || !ok || again.File == s.File || again.First > from {
			return nil, t.corrupt(key, s.File, err)
		}
		s = again
	}
}

// entries reads a range of one segment, and what a reader is likely to need next, which is in the block before or after.
func (r *reader) entries(ctx context.Context, key timeline.Key, s SegmentRow, from, to uint64, backward bool) (list []timeline.Entry, err error) {
	f := &segmentFile{reader: r, ctx: ctx, name: s.File}
	defer func() { err = errors.Join(err, f.close()) }()
	x, err := f.index()
	if err != nil {
		return nil, err
	}
	if x.conversation != key.ID || x.first != s.First || x.last() != s.Last {
		return nil, fmt.Errorf("%w: it has the entries %d to %d of conversation %d, and the manifest says %d to %d of %d", errSegment, x.first, x.last(), x.conversation, s.First, s.Last, key.ID)
	}
	first, last := x.blockOf(from), x.blockOf(to)
	for b := first; b <= last; b++ {
		payload, err := f.block(x, b)
		if err != nil {
			return nil, err
		}
		list = append(list, x.entries(b, payload, from, to)...)
	}
	if next := last + 1; backward {
		f.prefetch(x, first-1)
	} else {
		f.prefetch(x, next)
	}
	return list, nil
}

// segmentFile is a segment that is opened when the cache lacks a part of it.
type segmentFile struct {
	*reader
	ctx  context.Context
	name string
	open io.ReadSeekCloser
}

func (f *segmentFile) close() error {
	if f.open == nil {
		return nil
	}
	return f.open.Close()
}

func (f *segmentFile) file() (io.ReadSeeker, error) {
	if f.open == nil {
		file, _, err := f.files.Open(f.ctx, f.name)
		if err != nil {
			return nil, err
		}
		f.open = file
	}
	return f.open, nil
}

func (f *segmentFile) index() (*index, error) {
	key := blockKey{f.name, -1}
	if c := f.cache.get(key); c != nil {
		return c.index, nil
	}
	file, err := f.file()
	if err != nil {
		return nil, err
	}
	x, err := readIndex(file)
	if err != nil {
		return nil, err
	}
	f.cache.put(&cached{key: key, index: x})
	return x, nil
}

func (f *segmentFile) block(x *index, block int) ([]byte, error) {
	key := blockKey{f.name, block}
	if c := f.cache.get(key); c != nil {
		f.stats.CacheHits.Add(1)
		return c.payload, nil
	}
	file, err := f.file()
	if err != nil {
		return nil, err
	}
	payload, err := x.readBlock(file, block)
	if err != nil {
		return nil, err
	}
	f.stats.Reads.Add(1)
	f.cache.put(&cached{key: key, payload: payload})
	return payload, nil
}

// prefetch puts a block into the cache if the file is open anyway. It reports no error: whoever needs the block does.
func (f *segmentFile) prefetch(x *index, block int) {
	if f.open != nil && block >= 0 && block < len(x.blocks) {
		_, _ = f.block(x, block)
	}
}
