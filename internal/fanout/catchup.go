package fanout

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/timeline"
)

// catchUpPage is how many records are read at once.
const catchUpPage = 64

// catchUp reads from the log what was not handed over, until there is no more, or its turn is over.
func (c *carrier) catchUp(ctx context.Context, p *part, began time.Time) error {
	defer func() {
		p.mu.Lock()
		p.newest = max(p.newest, p.seen)
		p.reading = false
		p.mu.Unlock()
	}()
	p.hole = time.Time{}
	for {
		// What is committed from here on is handed over again; the log is read until it has nothing above.
		p.mu.Lock()
		p.behind, p.reading = false, true
		p.newest = max(p.newest, p.seen)
		known := p.newest
		p.mu.Unlock()
		p.looked = time.Now()
		records, err := c.worker.deps.Log.Records(ctx, p.partition, p.seen, catchUpPage)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return nil
		}
		all, err := c.readAll(ctx, records)
		if err != nil {
			return err
		}
		for i, r := range records {
			entries := all[i]
			if entries == nil {
				if entries, err = c.read(ctx, p, r); err != nil {
					return err
				}
			}
			if err := c.hand(ctx, p, r.Seq, entries); err != nil {
				return err
			}
		}
		if time.Since(began) > turnTime {
			p.mu.Lock()
			p.behind = true
			p.mu.Unlock()
			return nil
		}
		if len(records) < catchUpPage && p.seen >= known && c.worker.deps.Holder != nil {
			return nil // what came after it was read is handed over, or shows as a hole, or is found by looking
		}
	}
}

// readAll gives the entries of records at once, where none is missing and they are not too much; else nothing, and each has to be
// read by itself.
func (c *carrier) readAll(ctx context.Context, records []timeline.Record) ([][]timeline.Committed, error) {
	var refs []timeline.Ref
	count := uint64(0)
	for _, r := range records {
		refs = append(refs, r.Refs...)
		for _, ref := range r.Refs {
			count += ref.To - ref.From + 1
		}
	}
	all := make([][]timeline.Committed, len(records))
	entries, err := c.worker.deps.Log.GetMost(ctx, refs, handedOverBytes)
	if errors.Is(err, timeline.ErrTooMuch) || errors.Is(err, timeline.ErrDamaged) || err == nil && uint64(len(entries)) != count {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		all[i] = []timeline.Committed{}
		for _, ref := range r.Refs {
			n := ref.To - ref.From + 1
			all[i] = appendCommitted(all[i], ref, entries[:n])
			entries = entries[n:]
		}
	}
	return all, nil
}

func appendCommitted(to []timeline.Committed, ref timeline.Ref, of []timeline.Entry) []timeline.Committed {
	for i := range of {
		to = append(to, timeline.Committed{Key: ref.Key, Seq: of[i].Seq, Counted: of[i].Counted, Payload: of[i].Payload})
	}
	return to
}

// read gives a record's entries. Those that are no more are left out.
func (c *carrier) read(ctx context.Context, p *part, r timeline.Record) ([]timeline.Committed, error) {
	all := uint64(0)
	for _, ref := range r.Refs {
		all += ref.To - ref.From + 1
	}
	entries, err := c.worker.deps.Log.Get(ctx, r.Refs)
	if errors.Is(err, timeline.ErrDamaged) {
		return c.readSingly(ctx, p, r)
	}
	if err != nil {
		return nil, err
	}
	committed := make([]timeline.Committed, 0, len(entries))
	whole := uint64(len(entries)) == all
	for _, ref := range r.Refs {
		of := entries
		if whole {
			n := ref.To - ref.From + 1
			of, entries = entries[:n], entries[n:]
		} else if of, err = c.worker.deps.Log.Get(ctx, []timeline.Ref{ref}); err != nil {
			return nil, err // by itself: entries do not say whose they are, and the next one's may have the seq of one that is missing
		}
		committed = appendCommitted(committed, ref, of)
	}
	return committed, nil
}
