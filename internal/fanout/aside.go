package fanout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/timeline"
)

// An entry that is damaged, or whose conversation is, cannot be carried however often it is tried, and all other conversations of its
// partition are behind it. So its place is set aside, where operators see it, and the partition goes on. It is tried again whenever the
// partition is taken: after a release that can read it, or a backup, it reaches its members, late.

// doubts are the places of a partition that look damaged. A store of several nodes may show at one read what it does not show at the
// next, so a place is read again for a while before it is believed.
type doubts struct {
	at map[timeline.Ref]*doubt // of the record at hand
	// lost are conversations of which a place was set aside, and when last: further ones follow at once for lostFor, since behind a
	// conversation that has lost its state each of its messages would keep the partition waiting anew.
	lost map[timeline.Key]time.Time
}

type doubt struct {
	since time.Time
	tries int
	aside bool // it was set aside
}

const (
	// doubtTries and doubtTime: a place that looks damaged is tried so often, and for so long, before it is set aside.
	doubtTries = 5
	doubtTime  = 5 * time.Second
	lostFor    = time.Minute
	// mostLost bounds the conversations that are remembered; beyond, all are forgotten, and their places waited for.
	mostLost = 1000
)

var errDoubtful = errors.New("an entry looks damaged; it is read again before it is set aside")

// of gives what is known of a place that looks damaged now.
func (d *doubts) of(place timeline.Ref) *doubt {
	at := d.at[place]
	if at == nil {
		at = &doubt{since: time.Now()}
		if d.at == nil {
			d.at = map[timeline.Ref]*doubt{}
		}
		d.at[place] = at
	}
	at.tries++
	return at
}

// believed tells whether a place is damaged for good.
func (d *doubts) believed(key timeline.Key, at *doubt) bool {
	last, lost := d.lost[key]
	return lost && time.Since(last) < lostFor || at.tries >= doubtTries && time.Since(at.since) >= doubtTime
}

// lose notes that a place of a conversation is set aside.
func (d *doubts) lose(key timeline.Key) {
	if d.lost == nil || len(d.lost) >= mostLost {
		d.lost = map[timeline.Key]time.Time{}
	}
	d.lost[key] = time.Now()
}

// setAside puts an entry's place to Aside where err is damage, and was for a while; else, or where it cannot, it gives what keeps the
// partition waiting.
func (c *carrier) setAside(ctx context.Context, p *part, key timeline.Key, seq uint64, err error) error {
	w := c.worker
	if w.deps.Aside == nil || !errors.Is(err, timeline.ErrDamaged) {
		return err
	}
	at := p.doubts.of(timeline.Ref{Key: key, From: seq, To: seq})
	if at.aside {
		return nil // something else keeps its record
	}
	if !p.doubts.believed(key, at) {
		return fmt.Errorf("%w: conversation %d, entry %d: %v", errDoubtful, key.ID, seq, err) // it is not known to be damage
	}
	if failure := w.deps.Aside.Put(ctx, key, seq, err.Error()); failure != nil {
		return failure
	}
	at.aside = true
	p.doubts.lose(key)
	w.aside.Add(1)
	w.deps.Logger.Error("a damaged entry is not carried to its members; it is set aside: run rialto verify", "conversation", key.ID, "seq", seq, "error", err)
	return nil
}

// readSingly gives those of a record's entries that can be read, and sets the others aside.
func (c *carrier) readSingly(ctx context.Context, p *part, r timeline.Record) ([]timeline.Committed, error) {
	committed := []timeline.Committed{}
	var doubtful error
	for _, ref := range r.Refs {
		for seq := ref.From; seq <= ref.To; seq++ {
			one, err := c.worker.deps.Log.Get(ctx, []timeline.Ref{{Key: ref.Key, From: seq, To: seq}})
			if err != nil {
				err = c.setAside(ctx, p, ref.Key, seq, err)
			}
			if errors.Is(err, errDoubtful) {
				doubtful = err // all that look damaged are waited for together
				continue
			}
			if err != nil {
				return nil, err
			}
			committed = appendCommitted(committed, ref, one)
		}
	}
	return committed, doubtful
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
