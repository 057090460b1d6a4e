package fanout

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/timeline"
)

// An entry that is damaged, or whose conversation is, cannot be carried however often it is tried, and all other conversations of its
// partition are behind it. So its place is set aside, where operators see it, and the partition goes on. It is tried again whenever the
// partition is taken: after a release that can read it, or a backup, it reaches its members, late.

// setAside puts an entry's place to Aside where err is damage; else, or where it cannot, err is what keeps the partition waiting.
func (c *carrier) setAside(ctx context.Context, key timeline.Key, seq uint64, err error) error {
	w := c.worker
	if w.deps.Aside == nil || !errors.Is(err, timeline.ErrDamaged) {
		return err
	}
	if failure := w.deps.Aside.Put(ctx, key, seq, err.Error()); failure != nil {
		return failure
	}
	w.aside.Add(1)
	w.deps.Logger.Error("a damaged entry is not carried to its members; it is set aside: run rialto verify", "conversation", key.ID, "seq", seq, "error", err)
	return nil
}

// readSingly gives those of a record's entries that can be read, and sets the others aside.
func (c *carrier) readSingly(ctx context.Context, r timeline.Record) ([]timeline.Committed, error) {
	committed := []timeline.Committed{}
	for _, ref := range r.Refs {
		for seq := ref.From; seq <= ref.To; seq++ {
			one, err := c.worker.deps.Log.Get(ctx, []timeline.Ref{{Key: ref.Key, From: seq, To: seq}})
			if err != nil {
				err = c.setAside(ctx, ref.Key, seq, err)
			}
			if err != nil {
				return nil, err
			}
			committed = appendCommitted(committed, ref, one)
		}
	}
	return committed, nil
}

// tryAside carries what was set aside in a partition that was just taken, as far as it can be read by now.
func (c *carrier) tryAside(ctx context.Context, p *part) {
	w := c.worker
	if p.aside || w.deps.Aside == nil {
		return
	}
	refs, err := w.deps.Aside.List(ctx, p.partition)
	if err != nil {
		w.deps.Logger.Warn("what was set aside cannot be listed", "partition", p.partition, "error", err)
		return // it is tried again
	}
	p.aside = true
	for _, r := range refs {
		if err := c.carryAside(ctx, r); err != nil && ctx.Err() == nil {
			w.deps.Logger.Error("an entry that was set aside cannot be carried yet: run rialto verify", "conversation", r.Key.ID, "seq", r.From, "error", err)
		}
	}
}

func (c *carrier) carryAside(ctx context.Context, r timeline.Ref) error {
	w := c.worker
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	found, err := w.deps.Log.Get(ctx, []timeline.Ref{r})
	if err != nil {
		return err
	}
	b := &batch{done: make(chan struct{})}
	for _, e := range appendCommitted(nil, r, found) { // none, where it has expired
		if b.items, err = c.address(ctx, b.items, &e); err != nil {
			return err
		}
	}
	if err := w.give(ctx, b); err != nil {
		return err
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return w.deps.Aside.Drop(ctx, r.Key, r.From)
}
