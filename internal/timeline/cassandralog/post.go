package cassandralog

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rialto-im/rialto/internal/timeline"
)

// Post appends to inboxes of partitions that this log took, in order.
func (l *Log) Post(ctx context.Context, posts []timeline.Post) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.Patience)
	defer cancel()
	byKey := map[timeline.Key][]*timeline.Post{}
	partitions := map[uint16]bool{}
	var held [stripes]bool
	for i := range posts {
		k := posts[i].Key
		byKey[k] = append(byKey[k], &posts[i])
		partitions[k.Partition()] = true
		held[k.Hash()%stripes] = true
	}
	for i := range held { // rising, so that two never wait for each other
		if held[i] {
			l.inboxes[i].Lock()
			defer l.inboxes[i].Unlock()
		}
	}
	mine := func(p uint16, _ bool) error { return l.mine(ctx, p) }
	if err := each(partitions, mine); err != nil {
		return err
	}
	err := each(byKey, func(k timeline.Key, posts []*timeline.Post) error {
		for len(posts) > 0 {
			n, size := 0, 0
			for n < len(posts) && n < batchEntries && (n == 0 || size+len(posts[n].Payload) <= batchBytes) {
				size += len(posts[n].Payload)
				n++
			}
			if err := l.post(ctx, k, posts[:n]); err != nil {
				return err
			}
			posts = posts[n:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	// An inbox that the log which has it now has not written yet took the post: nobody whom that one told of its take has seen it.
	return each(partitions, mine)
}

// mine is ErrTaken where another log took a partition.
func (l *Log) mine(ctx context.Context, partition uint16) error {
	term := l.terms[partition].Load()
	if term == 0 {
		return timeline.ErrTaken
	}
	now, _, _, err := l.readPartition(ctx, partition, false)
	if err != nil {
		return err
	}
	if now != term {
		l.terms[partition].CompareAndSwap(term, 0)
		return timeline.ErrTaken
	}
	return nil
}

// post appends to one inbox. The caller holds its stripe.
func (l *Log) post(ctx context.Context, k timeline.Key, posts []*timeline.Post) error {
	p := &posting{log: l, key: k, posts: posts, term: l.terms[k.Partition()].Load(), stamp: newStamp(), state: l.cache.state(k)}
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		done, err := p.step(ctx)
		switch {
		case done && err == nil:
			l.cache.setState(k, p.state)
			return nil
		case done:
			l.cache.setState(k, state{})
			return err
		case err == nil:
			continue
		}
		p.state, p.fresh = state{}, false
		if paused := pause(ctx, rand.N(wait)+wait/2); paused != nil {
			l.cache.setState(k, state{})
			return errStore(err)
		}
	}
}

// posting is a batch of posts to one inbox on its way into the store.
type posting struct {
	log   *Log
	key   timeline.Key
	posts []*timeline.Post
	term  uint64
	stamp uint64
	// state of the newest segment as this sees it; fresh: it was read for this.
	state state
	fresh bool
	// before and after what was tried, where its outcome is not known; nil where nothing is.
	before, after *state
}

// step is one try.
func (p *posting) step(ctx context.Context) (done bool, err error) {
	if p.after != nil {
		return p.settle(ctx, true)
	}
	if p.state.version == 0 && !p.fresh {
		if p.state, err = p.log.newest(ctx, p.key); err != nil {
			return false, err
		}
		p.fresh = true
		if p.state.version == 0 {
			return false, p.log.putKnown(ctx, p.key)
		}
		return false, nil
	}
	if p.state.sealed {
		p.state, err = p.log.roll(ctx, p.key, p.state)
		return false, err
	}
	if p.term == 0 || p.state.term > p.term {
		return true, timeline.ErrTaken
	}
	before, after := p.state, p.place()
	b := p.log.batch(ctx)
	p.log.move(b, p.key, &before, &after)
	for _, o := range p.posts {
		payload := o.Payload
		if payload == nil {
			payload = []byte{}
		}
		b.Query(insertEntry, p.log.in(p.key, before.segment, int64(o.Seq), int64(0), int64(o.Prev), int64(p.stamp), payload)...)
	}
	p.before, p.after = &before, &after
	applied, err := b.apply()
	if applied {
		p.state = after
		return true, nil
	}
	return p.settle(ctx, err != nil)
}

// place gives the posts their places, and the state after them.
func (p *posting) place() state {
	after := p.state
	if after.version == 0 {
		after.first = 1
	}
	after.term = p.term
	for _, o := range p.posts {
		o.Prev = after.tail.Seq
		o.Seq = max(o.Prev, uint64(p.log.epoch)<<32) + 1
		after.tail.Seq = o.Seq
		after.size += uint64(len(o.Payload)) + 1
	}
	// A segment's size in entries is not told by its seqs, which skip where an epoch begins: each counts for a share of the bytes.
	share := uint64(len(p.posts)) * uint64(p.log.options.SegmentBytes) / uint64(p.log.options.SegmentEntries)
	after.size += share
	after.sealed = after.size >= uint64(p.log.options.SegmentBytes)
	return after
}

// settle finds out whether what was tried was applied, as forming.settle does.
func (p *posting) settle(ctx context.Context, serial bool) (done bool, err error) {
	stamp, err := p.log.stampAt(ctx, p.key, p.before.segment, p.posts[0].Seq, serial)
	if err != nil {
		return false, err
	}
	if stamp == p.stamp {
		p.state = *p.after
		return true, nil
	}
	p.state, p.fresh, p.before, p.after = state{}, false, nil, nil
	return false, nil
}
