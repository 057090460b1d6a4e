package cassandralog

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// batchBuilder stores a batch of appends to one conversation.
type batchBuilder struct {
	log *Log
	key timeline.Key
	// unresolved are the appends without a result, in order.
	unresolved []*timeline.AppendRequest
	// followers have the token of an earlier append of this batch and get its result.
	followers map[*timeline.AppendRequest][]*timeline.AppendRequest
	// state is the expected state of the newest segment. fresh: it was read for this batch.
	state state
	fresh bool
	// searchedBelow: the tokens were looked up in all segments below this one.
	searchedBelow uint64
	// stamp of the entries. It is even; entries that need fan-out have stamp+1. intent is the fan-out record that names it, or nil.
	stamp  uint64
	intent *intent
	// fanoutEntries are the stored entries that need fan-out. stampUsed: stored entries have the stamp.
	fanoutEntries []timeline.CommittedEntry
	stampUsed     bool
	// attempt has an unknown outcome. It is nil if there is none.
	attempt *attempt
}

// attempt is one conditional batch.
type attempt struct {
	accepted, refused []*timeline.AppendRequest
	before, after     state
}

func newBatchBuilder(l *Log, k timeline.Key, batch []*timeline.AppendRequest) *batchBuilder {
	f := &batchBuilder{log: l, key: k, followers: map[*timeline.AppendRequest][]*timeline.AppendRequest{}, state: l.cache.state(k), stamp: newStamp()}
	first := map[timeline.Token]*timeline.AppendRequest{}
	for _, a := range batch {
		t := a.Token.Identity()
		if !a.Token.IsZero() && first[t] != nil {
			f.followers[first[t]] = append(f.followers[first[t]], a)
			continue
		}
		first[t] = a
		f.unresolved = append(f.unresolved, a)
	}
	return f
}

func newStamp() uint64 { return rand.Uint64() >> 1 &^ 1 }

// completeFollowers gives followers the result or error of the append that they follow.
func (f *batchBuilder) completeFollowers() {
	for a, others := range f.followers {
		for _, o := range others {
			o.Seq, o.Counted, o.Err = a.Seq, a.Counted, a.Err
			if o.Err == nil {
				o.Duplicate, o.StoredPayload = true, a.StoredPayload
				if !a.Duplicate {
					o.StoredPayload = a.Payload
				}
			}
		}
	}
}

// store gets a result for every append, or fails when the context ends. It drops the cached state of the conversation after an unknown
// outcome.
func (f *batchBuilder) store(ctx context.Context) error {
	var last error
	for retry := backoff.New(retryFirst, retryMax); len(f.unresolved) > 0; {
		err := f.step(ctx)
		if err == nil {
			retry.Reset()
			continue
		}
		last = err
		f.log.options.Logger.Debug("an append is retried", "conversation", f.key.ID, "error", err)
		f.state, f.fresh = state{}, false
		if errors.Is(err, timeline.ErrMoving) {
			f.log.cache.setState(f.key, state{})
			if f.attempt == nil {
				return timeline.ErrMoving
			}
			return unknownOutcome(err) // it may have been stored before the log was frozen
		}
		if retry.Wait(ctx) != nil {
			f.log.cache.setState(f.key, state{})
			return errors.Join(last, ctx.Err())
		}
	}
	f.log.cache.setState(f.key, f.state)
	return nil
}

// step is one attempt. Without an error it has made progress: an append has a result, or the state is newer.
func (f *batchBuilder) step(ctx context.Context) error {
	if f.attempt != nil {
		return f.resolveAttempt(ctx, true)
	}
	if f.state.version == 0 && !f.fresh {
		if err := f.refresh(ctx); err != nil {
			return err
		}
	}
	if f.state.sealed {
		next, err := f.log.nextSegment(ctx, f.key, f.state)
		if err != nil {
			return err
		}
		f.state, f.fresh = next, true
		return nil
	}
	if f.intent != nil && (f.intent.ref.segment != f.state.segment || f.intent.version != f.state.version) {
		// The segment was changed by a batch that may have a later record, which would break the order of records, or by a void.
		f.abandon(ctx)
	}
	if f.searchedBelow < f.state.segment {
		if err := f.findTokens(ctx, func(a *timeline.AppendRequest) (uint64, error) {
			return f.log.tokenBefore(ctx, f.key, f.state.segment, &a.Token)
		}, f.unresolved); err != nil {
			return err
		}
		f.searchedBelow = f.state.segment
	}
	accepted, refused := f.checkAccess()
	if len(refused) > 0 {
		// A stored token is a duplicate even if the access version has changed since.
		before := len(f.unresolved)
		if err := f.findTokens(ctx, func(a *timeline.AppendRequest) (uint64, error) {
			return f.log.tokenIn(ctx, f.key, f.state.segment, tokenBytes(&a.Token), false)
		}, refused); err != nil {
			return err
		}
		if len(f.unresolved) < before {
			return nil
		}
	}
	if len(accepted) == 0 {
		if len(refused) > 0 && !f.fresh { // the cached state may be stale
			return f.refresh(ctx)
		}
		f.refuse(refused)
		return nil
	}
	if err := f.prepare(ctx, accepted); err != nil {
		return err
	}
	return f.execute(ctx, accepted, refused)
}

func (f *batchBuilder) refresh(ctx context.Context) (err error) {
	f.state, err = f.log.newestSegment(ctx, f.key)
	f.fresh = err == nil
	return err
}

// checkAccess splits the appends by whether they would find the expected access version.
func (f *batchBuilder) checkAccess() (accepted, refused []*timeline.AppendRequest) {
	seq, access := f.state.tail.Seq, f.state.tail.Access
	for _, a := range f.unresolved {
		if a.CheckAccess && a.ExpectedAccess != access {
			refused = append(refused, a)
			continue
		}
		seq++
		if a.SetAccess {
			access = seq
		}
		accepted = append(accepted, a)
	}
	return accepted, refused
}

func (f *batchBuilder) refuse(refused []*timeline.AppendRequest) {
	for _, a := range refused {
		a.Err = timeline.ErrStale
	}
	f.resolve(refused)
}

// resolve removes appends that have a result from the unresolved ones.
func (f *batchBuilder) resolve(done []*timeline.AppendRequest) {
	f.unresolved = slices.DeleteFunc(f.unresolved, func(a *timeline.AppendRequest) bool { return slices.Contains(done, a) })
}

// findTokens looks up tokens and resolves the appends whose token is stored.
func (f *batchBuilder) findTokens(ctx context.Context, find func(*timeline.AppendRequest) (uint64, error), among []*timeline.AppendRequest) error {
	found := make([]bool, len(among))
	err := parallel(len(among), func(i int) error {
		a := among[i]
		if a.Token.IsZero() {
			return nil
		}
		seq, err := find(a)
		if err != nil || seq == 0 {
			return err
		}
		entries, err := f.log.Get(ctx, []timeline.Ref{{Key: f.key, From: seq, To: seq}})
		if err != nil {
			return err
		}
		a.Seq, a.Duplicate, found[i] = seq, true, true
		if len(entries) > 0 {
			a.Counted, a.StoredPayload = entries[0].Counted, append([]byte{}, entries[0].Payload...) // never nil, which would mean that it has expired
		}
		return nil
	})
	var done []*timeline.AppendRequest
	for i, a := range among {
		if found[i] {
			done = append(done, a)
		}
	}
	f.resolve(done)
	return err
}

// prepare writes what must exist before the entries: the registration of the conversation, the devices' counters, and the intent.
func (f *batchBuilder) prepare(ctx context.Context, accepted []*timeline.AppendRequest) error {
	if f.state.version == 0 {
		if err := f.log.registerKey(ctx, f.key); err != nil {
			return err
		}
	}
	carry := f.intent == nil && slices.ContainsFunc(accepted, func(a *timeline.AppendRequest) bool { return a.NeedsFanout })
	if !carry {
		return f.log.putDevices(ctx, accepted)
	}
	claim := newIntent(f.log.recordWriters[f.key.Partition()], ref{f.key, f.state.segment, f.state.tail.Seq, f.stamp}, f.state.version)
	return parallel(2, func(i int) error {
		if i == 0 {
			return f.log.putDevices(ctx, accepted)
		}
		err := claim.write(ctx)
		if err == nil {
			f.intent = claim
		}
		return err
	})
}

// execute appends the accepted entries in one conditional batch and determines the outcome.
func (f *batchBuilder) execute(ctx context.Context, accepted, refused []*timeline.AppendRequest) error {
	after := f.assignSeqs(accepted)
	b := f.log.batch(ctx)
	f.log.updateState(b, f.key, &f.state, &after)
	authors := map[uint64]*timeline.AppendRequest{}
	for _, a := range accepted {
		payload, stamp := a.Payload, f.stamp
		if payload == nil {
			payload = []byte{}
		}
		if a.NeedsFanout {
			stamp++
		}
		b.Query(insertEntry, f.log.segmentArgs(f.key, f.state.segment, int64(a.Seq), int64(a.Counted), int64(a.Seq-1), int64(stamp), payload)...)
		if !a.Token.IsZero() {
			b.Query(insertToken, f.log.segmentArgs(f.key, f.state.segment, tokenBytes(&a.Token), int64(a.Seq))...)
		}
		if a.Author != 0 {
			authors[a.Author] = a
		}
	}
	for author, a := range authors {
		b.Query(insertAuthor, f.log.segmentArgs(f.key, f.state.segment, int64(author), int64(a.Seq), int64(a.Counted))...)
	}
	f.attempt = &attempt{accepted, refused, f.state, after}
	applied, err := b.apply()
	if applied {
		f.complete()
		return nil
	}
	return f.resolveAttempt(ctx, err != nil)
}

// assignSeqs assigns seqs to the accepted appends and returns the state after them.
func (f *batchBuilder) assignSeqs(accepted []*timeline.AppendRequest) state {
	after := f.state
	if after.version == 0 {
		after.first = 1
	}
	for _, a := range accepted {
		after.tail.Seq++
		if a.Counts {
			after.tail.Counted++
		}
		if a.SetAccess {
			after.tail.Access = after.tail.Seq
		}
		after.size += uint64(len(a.Payload))
		a.Seq, a.Counted = after.tail.Seq, after.tail.Counted
	}
	f.log.sealIfFull(&after)
	return after
}

// sealIfFull seals a segment that has reached its size.
func (l *Log) sealIfFull(s *state) {
	s.sealed = s.tail.Seq-s.first+1 >= uint64(l.options.SegmentEntries) || s.size >= uint64(l.options.SegmentBytes)
}

// resolveAttempt determines whether the attempt was applied: if so, its first entry has its stamp. After an unknown outcome it reads
// serially, which completes the attempt or makes sure that it never will be applied.
func (f *batchBuilder) resolveAttempt(ctx context.Context, serial bool) error {
	a := f.attempt
	stamp, err := f.log.stampAt(ctx, f.key, a.before.segment, a.accepted[0].Seq, serial)
	if err != nil {
		return err
	}
	if stamp&^1 == f.stamp {
		f.complete()
		return nil
	}
	// Another batch changed the segment, or a token is already stored.
	f.attempt = nil
	clearSeqs(a.accepted)
	if err := f.findTokens(ctx, func(t *timeline.AppendRequest) (uint64, error) {
		return f.log.tokenIn(ctx, f.key, a.before.segment, tokenBytes(&t.Token), false)
	}, a.accepted); err != nil {
		return err
	}
	return f.refresh(ctx)
}

func clearSeqs(appends []*timeline.AppendRequest) {
	for _, a := range appends {
		a.Seq, a.Counted = 0, 0
	}
}

func (f *batchBuilder) complete() {
	for _, a := range f.attempt.accepted {
		if a.NeedsFanout {
			f.fanoutEntries = append(f.fanoutEntries, timeline.CommittedEntry{Key: f.key, Seq: a.Seq, Counted: a.Counted, Payload: a.Payload})
		}
	}
	f.state, f.fresh, f.stampUsed = f.attempt.after, true, true
	f.resolve(f.attempt.accepted)
	f.refuse(f.attempt.refused)
	f.attempt = nil
}

// abandon cancels the intent, so that no reader waits for it. Unresolved appends get a new one. If the cancellation cannot be written,
// readers of the record wait for VoidAfter.
func (f *batchBuilder) abandon(ctx context.Context) {
	claim := f.intent
	f.intent, f.stamp = nil, newStamp()
	if err := claim.cancel(ctx); err != nil {
		f.log.options.Logger.Debug("an intent could not be cancelled", "partition", f.key.Partition(), "error", err)
	}
	claim.finish(nil)
}

// finishIntent reports the intent's entries to the listener. After a failure the batch may still be stored later, even if a read found nothing: a
// suspended node of Cassandra may continue with it.
func (f *batchBuilder) finishIntent(ctx context.Context, err error) {
	if f.intent != nil && !f.stampUsed && err == nil {
		f.abandon(ctx)
	}
	f.intent.end(f.fanoutEntries, err != nil)
}
