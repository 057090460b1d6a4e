package cassandralog

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/timeline"
)

// forming is a batch of one conversation on its way into the store.
type forming struct {
	log *Log
	key timeline.Key
	// open are the appends without a result, in order.
	open []*timeline.Append
	// followers have the token of another one of this batch, and get its result.
	followers map[*timeline.Append][]*timeline.Append
	// state of the newest segment as this batch sees it; fresh: it was read for this batch.
	state state
	fresh bool
	// searched: tokens were looked for in all segments below this one.
	searched uint64
	// stamp of the entries, even: theirs is one more where they are carried. claim is the record that names it, nil for none.
	stamp uint64
	claim *claim
	// carried are the entries that the claim's record names; used: entries have the stamp.
	carried []timeline.Committed
	used    bool
	// attempt whose outcome is not known yet, nil for none.
	attempt *attempt
}

// attempt is one conditional batch.
type attempt struct {
	accepted, refused []*timeline.Append
	before, after     state
}

func newForming(l *Log, k timeline.Key, batch []*timeline.Append) *forming {
	f := &forming{log: l, key: k, followers: map[*timeline.Append][]*timeline.Append{}, state: l.cache.state(k), stamp: newStamp()}
	first := map[timeline.Token]*timeline.Append{}
	for _, a := range batch {
		t := a.Token
		if t.Counter == 0 {
			t.Sender, t.Device = 0, 0
		} else {
			t.Sum = [16]byte{}
		}
		if !a.Token.IsZero() && first[t] != nil {
			f.followers[first[t]] = append(f.followers[first[t]], a)
			continue
		}
		first[t] = a
		f.open = append(f.open, a)
	}
	return f
}

func newStamp() uint64 { return rand.Uint64() >> 1 &^ 1 }

// follow gives followers the result of the one that they follow. Where that was refused, so are they.
func (f *forming) follow() {
	for a, others := range f.followers {
		for _, o := range others {
			o.Seq, o.Counted, o.Err = a.Seq, a.Counted, a.Err
			if o.Err == nil {
				o.Duplicate, o.Stored = true, a.Stored
				if !a.Duplicate {
					o.Stored = a.Payload
				}
			}
		}
	}
}

// store gives every open append a result, or gives up with an error when the context ends. It forgets what it knows of the
// conversation where it does not know any more.
func (f *forming) store(ctx context.Context) error {
	var last error
	for wait := 2 * time.Millisecond; len(f.open) > 0; wait = min(2*wait, 500*time.Millisecond) {
		err := f.step(ctx)
		if err == nil {
			wait = time.Millisecond
			continue
		}
		last = err
		f.log.options.Logger.Debug("an append is tried again", "conversation", f.key.ID, "error", err)
		f.state, f.fresh = state{}, false
		if pause(ctx, rand.N(wait)+wait/2) != nil {
			f.log.cache.setState(f.key, state{})
			return errors.Join(last, ctx.Err())
		}
	}
	f.log.cache.setState(f.key, f.state)
	return nil
}

// step is one try. Without an error, something is decided or better known than before.
func (f *forming) step(ctx context.Context) error {
	if f.attempt != nil {
		return f.settle(ctx, true)
	}
	if f.state.version == 0 && !f.fresh {
		if err := f.refresh(ctx); err != nil {
			return err
		}
	}
	if f.state.sealed {
		next, err := f.log.roll(ctx, f.key, f.state)
		if err != nil {
			return err
		}
		f.state, f.fresh = next, true
		return nil
	}
	if f.claim != nil && (f.claim.ref.segment != f.state.segment || f.claim.version != f.state.version) {
		// Whatever changed the segment may be a batch with a later record: records would be out of order. Or the record was given up.
		f.abandon(ctx)
	}
	if f.searched < f.state.segment {
		if err := f.search(ctx, func(a *timeline.Append) (uint64, error) {
			return f.log.tokenBefore(ctx, f.key, f.state.segment, &a.Token)
		}, f.open); err != nil {
			return err
		}
		f.searched = f.state.segment
	}
	accepted, refused := f.admit()
	if len(refused) > 0 {
		// A token that is stored is answered whatever has changed since.
		before := len(f.open)
		if err := f.search(ctx, func(a *timeline.Append) (uint64, error) {
			return f.log.tokenIn(ctx, f.key, f.state.segment, tokenBytes(&a.Token), false)
		}, refused); err != nil {
			return err
		}
		if len(f.open) < before {
			return nil
		}
	}
	if len(accepted) == 0 {
		if len(refused) > 0 && !f.fresh { // by what this log remembers; others may have appended
			return f.refresh(ctx)
		}
		f.refuse(refused)
		return nil
	}
	if err := f.prepare(ctx, accepted); err != nil {
		return err
	}
	return f.try(ctx, accepted, refused)
}

func (f *forming) refresh(ctx context.Context) (err error) {
	f.state, err = f.log.newest(ctx, f.key)
	f.fresh = err == nil
	return err
}

// admit splits the open appends by the access version that each would find.
func (f *forming) admit() (accepted, refused []*timeline.Append) {
	seq, access := f.state.tail.Seq, f.state.tail.Access
	for _, a := range f.open {
		if a.CheckAccess && a.IfAccess != access {
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

func (f *forming) refuse(refused []*timeline.Append) {
	for _, a := range refused {
		a.Err = timeline.ErrStale
	}
	f.close(refused)
}

// close takes appends that have a result out of the open ones.
func (f *forming) close(done []*timeline.Append) {
	f.open = slices.DeleteFunc(f.open, func(a *timeline.Append) bool { return slices.Contains(done, a) })
}

// search looks for tokens, and closes the appends whose are stored.
func (f *forming) search(ctx context.Context, find func(*timeline.Append) (uint64, error), among []*timeline.Append) error {
	found := make([]bool, len(among))
	err := eachOf(len(among), func(i int) error {
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
			a.Counted, a.Stored = entries[0].Counted, append([]byte{}, entries[0].Payload...) // never nil: that would say it expired
		}
		return nil
	})
	var done []*timeline.Append
	for i, a := range among {
		if found[i] {
			done = append(done, a)
		}
	}
	f.close(done)
	return err
}

// prepare writes what must be there before the entries are: the conversation among those known, devices' counters, the record.
func (f *forming) prepare(ctx context.Context, accepted []*timeline.Append) error {
	if f.state.version == 0 {
		if err := f.log.putKnown(ctx, f.key); err != nil {
			return err
		}
	}
	carry := f.claim == nil && slices.ContainsFunc(accepted, func(a *timeline.Append) bool { return a.Carry })
	if !carry {
		return f.log.putDevices(ctx, accepted)
	}
	claim := newClaim(f.log.recorders[f.key.Partition()], ref{f.key, f.state.segment, f.state.tail.Seq, f.stamp}, f.state.version)
	return eachOf(2, func(i int) error {
		if i == 0 {
			return f.log.putDevices(ctx, accepted)
		}
		err := claim.make(ctx)
		if err == nil {
			f.claim = claim
		}
		return err
	})
}

// try appends what is accepted, in one conditional batch, and finds out what became of it.
func (f *forming) try(ctx context.Context, accepted, refused []*timeline.Append) error {
	after := f.place(accepted)
	b := f.log.batch(ctx)
	f.log.move(b, f.key, &f.state, &after)
	authors := map[uint64]*timeline.Append{}
	for _, a := range accepted {
		payload, stamp := a.Payload, f.stamp
		if payload == nil {
			payload = []byte{}
		}
		if a.Carry {
			stamp++
		}
		b.Query(insertEntry, f.log.in(f.key, f.state.segment, int64(a.Seq), int64(a.Counted), int64(a.Seq-1), int64(stamp), payload)...)
		if !a.Token.IsZero() {
			b.Query(insertToken, f.log.in(f.key, f.state.segment, tokenBytes(&a.Token), int64(a.Seq))...)
		}
		if a.Author != 0 {
			authors[a.Author] = a
		}
	}
	for author, a := range authors {
		b.Query(insertAuthor, f.log.in(f.key, f.state.segment, int64(author), int64(a.Seq), int64(a.Counted))...)
	}
	f.attempt = &attempt{accepted, refused, f.state, after}
	applied, err := b.apply()
	if applied {
		f.succeed()
		return nil
	}
	return f.settle(ctx, err != nil)
}

// place gives the accepted appends their places, and the state after them.
func (f *forming) place(accepted []*timeline.Append) state {
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
	f.log.seal(&after)
	return after
}

// seal marks a state that has reached a segment's size.
func (l *Log) seal(s *state) {
	s.sealed = s.tail.Seq-s.first+1 >= uint64(l.options.SegmentEntries) || s.size >= uint64(l.options.SegmentBytes)
}

// settle finds out whether the attempt was applied: then its first entry has its stamp. Where the outcome was not told, a serial
// read first completes what is under way, or makes sure that it never will be.
func (f *forming) settle(ctx context.Context, serial bool) error {
	a := f.attempt
	stamp, err := f.log.stampAt(ctx, f.key, a.before.segment, a.accepted[0].Seq, serial)
	if err != nil {
		return err
	}
	if stamp&^1 == f.stamp {
		f.succeed()
		return nil
	}
	// Another one changed the segment, or a token is stored already.
	f.attempt = nil
	unplace(a.accepted)
	if err := f.search(ctx, func(t *timeline.Append) (uint64, error) {
		return f.log.tokenIn(ctx, f.key, a.before.segment, tokenBytes(&t.Token), false)
	}, a.accepted); err != nil {
		return err
	}
	return f.refresh(ctx)
}

func unplace(appends []*timeline.Append) {
	for _, a := range appends {
		a.Seq, a.Counted = 0, 0
	}
}

func (f *forming) succeed() {
	for _, a := range f.attempt.accepted {
		if a.Carry {
			f.carried = append(f.carried, timeline.Committed{Key: f.key, Seq: a.Seq, Counted: a.Counted, Payload: a.Payload})
		}
	}
	f.state, f.fresh, f.used = f.attempt.after, true, true
	f.close(f.attempt.accepted)
	f.refuse(f.attempt.refused)
	f.attempt = nil
}

// abandon says that the record names nothing of this batch, so that nobody waits for it; what is still open comes under a new
// one. Where it cannot be said, who reads the record waits a moment.
func (f *forming) abandon(ctx context.Context) {
	claim := f.claim
	f.claim, f.stamp = nil, newStamp()
	if err := claim.drop(ctx); err != nil {
		f.log.options.Logger.Debug("a record without entries could not be marked", "partition", f.key.Partition(), "error", err)
	}
	claim.finish(nil)
}

// end has the record's listener told. What was given up may still be stored, also where a look found nothing: one that was sent to a
// node of the store that is held begins when that one goes on.
func (f *forming) end(ctx context.Context, err error) {
	if f.claim != nil && !f.used && err == nil {
		f.abandon(ctx)
	}
	f.claim.end(f.carried, err != nil)
}
