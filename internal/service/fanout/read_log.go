package fanout

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// catchUpPage is how many records are read at once.
const catchUpPage = 64

// catchUp reads records from the log until there are no more, or the time slice is over.
func (c *dispatcher) catchUp(ctx context.Context, p *partition, began time.Time) error {
	defer func() {
		p.mu.Lock()
		p.newestSeq = max(p.newestSeq, p.dispatchedSeq)
		p.reading = false
		p.mu.Unlock()
	}()
	p.gapSince = time.Time{}
	for {
		// Commits from here on are buffered again. The log is read until it has no more.
		p.mu.Lock()
		p.mustRead, p.reading = false, true
		p.newestSeq = max(p.newestSeq, p.dispatchedSeq)
		known := p.newestSeq
		p.mu.Unlock()
		p.lastRead = time.Now()
		records, err := c.worker.deps.Log.FanoutRecords(ctx, p.number, p.dispatchedSeq, catchUpPage)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return nil
		}
		all, err := c.readTogether(ctx, records)
		if err != nil {
			return err
		}
		for i, r := range records {
			entries := all[i]
			if entries == nil {
				if entries, err = c.readRecord(ctx, p, r); err != nil {
					return err
				}
			}
			for err = errApplying; errors.Is(err, errApplying); { // at most twice
				p.awaitApplication()
				err = c.dispatchRecord(ctx, p, r.Seq, entries)
			}
			if err != nil {
				return err
			}
		}
		if time.Since(began) > timeSlice {
			p.mu.Lock()
			p.mustRead = true
			p.mu.Unlock()
			return nil
		}
		if len(records) < catchUpPage && p.dispatchedSeq >= known && c.worker.deps.Owner != nil {
			return nil // later commits are announced, show as a gap, or are found at the next read
		}
	}
}

// readTogether returns the entries of all records in one read. If an entry is missing or they are too large, it returns nothing, and each
// record is read separately.
func (c *dispatcher) readTogether(ctx context.Context, records []timeline.FanoutRecord) ([][]timeline.CommittedEntry, error) {
	var refs []timeline.Ref
	count := uint64(0)
	for _, r := range records {
		refs = append(refs, r.Refs...)
		for _, ref := range r.Refs {
			count += ref.To - ref.From + 1
		}
	}
	all := make([][]timeline.CommittedEntry, len(records))
	entries, err := c.worker.deps.Log.GetLimited(ctx, refs, maxBufferedBytes)
	if errors.Is(err, timeline.ErrTooLarge) || errors.Is(err, timeline.ErrCorrupt) || err == nil && uint64(len(entries)) != count {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		all[i] = []timeline.CommittedEntry{}
		for _, ref := range r.Refs {
			n := ref.To - ref.From + 1
			all[i] = appendCommitted(all[i], ref, entries[:n])
			entries = entries[n:]
		}
	}
	return all, nil
}

func appendCommitted(to []timeline.CommittedEntry, ref timeline.Ref, of []timeline.Entry) []timeline.CommittedEntry {
	for i := range of {
		to = append(to, timeline.CommittedEntry{Key: ref.Key, Seq: of[i].Seq, Counted: of[i].Counted, Payload: of[i].Payload})
	}
	return to
}

// readRecord returns a record's entries. Those that no longer exist are left out.
func (c *dispatcher) readRecord(ctx context.Context, p *partition, r timeline.FanoutRecord) ([]timeline.CommittedEntry, error) {
	all := uint64(0)
	for _, ref := range r.Refs {
		all += ref.To - ref.From + 1
	}
	entries, err := c.worker.deps.Log.Get(ctx, r.Refs)
	if errors.Is(err, timeline.ErrCorrupt) {
		return c.readSingly(ctx, p, r)
	}
	if err != nil {
		return nil, err
	}
	committed := make([]timeline.CommittedEntry, 0, len(entries))
	whole := uint64(len(entries)) == all
	for _, ref := range r.Refs {
		of := entries
		if whole {
			n := ref.To - ref.From + 1
			of, entries = entries[:n], entries[n:]
		} else if of, err = c.worker.deps.Log.Get(ctx, []timeline.Ref{ref}); err != nil {
			return nil, err // entries do not name their conversation, and the next one may have a missing entry's seq
		}
		committed = appendCommitted(committed, ref, of)
	}
	return committed, nil
}
