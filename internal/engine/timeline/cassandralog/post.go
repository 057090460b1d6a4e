package cassandralog

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Post appends to inboxes of partitions that this log has acquired, in order.
func (l *Log) Post(ctx context.Context, posts []timeline.Post) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.Timeout)
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
	for i := range held { // in ascending order, to avoid deadlocks
		if held[i] {
			l.inboxes[i].Lock()
			defer l.inboxes[i].Unlock()
		}
	}
	mine := func(p uint16, _ bool) error { return l.checkTerm(ctx, p) }
	if err := forEach(partitions, mine); err != nil {
		return err
	}
	err := forEach(byKey, func(k timeline.Key, posts []*timeline.Post) error {
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
	// An inbox that the new owner has not written yet may have accepted the post: nobody who learned of the new owner has seen it.
	return forEach(partitions, mine)
}

// checkTerm returns ErrFenced if another log has acquired a partition.
func (l *Log) checkTerm(ctx context.Context, partition uint16) error {
	term := l.terms[partition].Load()
	if term == 0 {
		return timeline.ErrFenced
	}
	now, _, _, err := l.readPartition(ctx, partition, false)
	if err != nil {
		return err
	}
	if now != term {
		l.terms[partition].CompareAndSwap(term, 0)
		return timeline.ErrFenced
	}
	return nil
}

// post appends to one inbox. The caller holds its stripe.
func (l *Log) post(ctx context.Context, k timeline.Key, posts []*timeline.Post) error {
	p := &postBatch{log: l, key: k, posts: posts, term: l.terms[k.Partition()].Load(), stamp: newStamp(), state: l.cache.state(k)}
	for retry := backoff.New(retryFirst, retryMax); ; {
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
		if errors.Is(err, timeline.ErrMoving) || retry.Wait(ctx) != nil {
			l.cache.setState(k, state{})
			return errStore(err)
		}
	}
}

// postBatch is a batch of posts to one inbox that is being stored.
type postBatch struct {
	log   *Log
	key   timeline.Key
	posts []*timeline.Post
	term  uint64
	stamp uint64
	// state is the expected state of the newest segment. fresh: it was read for this batch.
	state state
	fresh bool
	// before and after an attempt whose outcome is unknown; nil if there is none.
	before, after *state
}

// step is one attempt.
func (p *postBatch) step(ctx context.Context) (done bool, err error) {
	if p.after != nil {
		return p.resolveAttempt(ctx, true)
	}
	if p.state.version == 0 && !p.fresh {
		if p.state, err = p.log.newestSegment(ctx, p.key); err != nil {
			return false, err
		}
		p.fresh = true
		if p.state.version == 0 {
			return false, p.log.registerKey(ctx, p.key)
		}
		return false, nil
	}
	if p.state.sealed {
		p.state, err = p.log.nextSegment(ctx, p.key, p.state)
		return false, err
	}
	if p.term == 0 || p.state.term > p.term {
		return true, timeline.ErrFenced
	}
	before, after := p.state, p.assignSeqs()
	b := p.log.batch(ctx)
	p.log.updateState(b, p.key, &before, &after)
	for _, o := range p.posts {
		payload := o.Payload
		if payload == nil {
			payload = []byte{}
		}
		b.Query(insertEntry, p.log.segmentArgs(p.key, before.segment, int64(o.Seq), int64(0), int64(o.Prev), int64(p.stamp), payload)...)
	}
	p.before, p.after = &before, &after
	applied, err := b.apply()
	if applied {
		p.state = after
		return true, nil
	}
	return p.resolveAttempt(ctx, err != nil)
}

// assignSeqs assigns seqs to the posts, and returns the state after them.
func (p *postBatch) assignSeqs() state {
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
	// Seqs skip when an epoch begins, so they do not tell the number of entries in a segment. Instead each entry counts as a share of the
	// bytes.
	share := uint64(len(p.posts)) * uint64(p.log.options.SegmentBytes) / uint64(p.log.options.SegmentEntries)
	after.size += share
	after.sealed = after.size >= uint64(p.log.options.SegmentBytes)
	return after
}

// resolveAttempt determines whether the attempt was applied, like batchBuilder.resolveAttempt.
func (p *postBatch) resolveAttempt(ctx context.Context, serial bool) (done bool, err error) {
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
