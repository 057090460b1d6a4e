package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/message"
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
	return lost && time.Since(last) < lostFor || at.lasts()
}

// lasts tells whether it was tried often and long enough.
func (d *doubt) lasts() bool { return d.tries >= doubtTries && time.Since(d.since) >= doubtTime }

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

// again is the progress of trying again what was set aside in a partition, since it was taken.
type again struct {
	done  bool         // all was tried
	after timeline.Ref // the last place that was tried
	since time.Time    // when one could not be tried now; the next try is retryMost later
	given []asideGiven // to the lanes and nodes, and not known to be stored
}

type asideGiven struct {
	ref   timeline.Ref
	puts  int64 // as it was listed: who cannot store it puts it again
	batch *batch
}

// asideAtOnce bounds the places that are tried in a turn, and those that are given and not stored.
const asideAtOnce = 16

// tryAside carries some of what was set aside in a partition, as far as it can be read by now. It waits for no other node, and stops
// where the turn is over or something does not answer: what is new does not wait for what is old.
func (c *carrier) tryAside(ctx context.Context, p *part) {
	w, a := c.worker, &p.aside
	if w.deps.Aside == nil || a.done && len(a.given) == 0 || time.Since(a.since) < retryMost {
		return
	}
	within, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	if err := c.tryAsideNow(within, p, time.Now()); err != nil && ctx.Err() == nil {
		a.since = time.Now()
		w.deps.Logger.Warn("what was set aside cannot be tried now", "partition", p.partition, "error", err)
	}
}

func (c *carrier) tryAsideNow(ctx context.Context, p *part, began time.Time) error {
	w, a := c.worker, &p.aside
	for len(a.given) > 0 && a.given[0].batch.left.Load() == 0 {
		if err := w.deps.Aside.Drop(ctx, a.given[0].ref.Key, a.given[0].ref.From, a.given[0].puts); err != nil {
			return err
		}
		a.given = a.given[1:]
	}
	if a.done || len(a.given) > 0 {
		return nil
	}
	refs, puts, err := w.deps.Aside.List(ctx, p.partition, a.after, asideAtOnce)
	if err != nil {
		return err
	}
	for i, r := range refs {
		if time.Since(began) > turnTime {
			return nil
		}
		b, err := c.carryAside(ctx, r)
		switch {
		case errors.Is(err, timeline.ErrDamaged):
			w.deps.Logger.Error("an entry that was set aside cannot be carried yet: run rialto verify", "conversation", r.Key.ID, "seq", r.From, "error", err)
		case err != nil:
			return err
		default:
			a.given = append(a.given, asideGiven{r, puts[i], b})
		}
		a.after = r
	}
	if a.done = len(refs) < asideAtOnce; !a.done {
		c.poke()
	}
	return nil
}

// carryAside gives an entry to the lanes and nodes. It says nothing of who follows a large conversation: later entries may have changed
// that since, and nodes compare it with the rows.
func (c *carrier) carryAside(ctx context.Context, r timeline.Ref) (*batch, error) {
	found, err := c.worker.deps.Log.Get(ctx, []timeline.Ref{r})
	if err != nil {
		return nil, err
	}
	b := &batch{}
	for _, e := range appendCommitted(nil, r, found) { // none, where it has expired
		if b.items, err = c.address(ctx, b.items, &e); err != nil {
			return nil, err
		}
	}
	b.items = slices.DeleteFunc(b.items, func(it item) bool {
		return it.kind == message.DeliverFollow || it.kind == message.DeliverUnfollow
	})
	return b, c.worker.give(ctx, b)
}
