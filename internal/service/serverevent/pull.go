package serverevent

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

const (
	defaultPull = 100
	maxPull     = 500
	pullBytes   = 1 << 20
	// pullScan bounds the entries that one pull reads, most of which the filter may leave out.
	pullScan  = 4096
	maxWaitMs = 25_000
)

var errPull = errs.New(errs.Invalid, "bad_limit", "limit is at most 500, and wait_ms at most 25,000")

// Pull returns the events after a cursor, or after the confirmed position.
func (s *Service) Pull(ctx context.Context, by id.Caller, r *eventv1.PullEventsRequest) (*eventv1.PullEventsResponse, error) {
	if s.config.Off {
		return nil, errOff
	}
	if r.Limit > maxPull || r.WaitMs > maxWaitMs {
		return nil, errPull
	}
	if r.Shares > timeline.Partitions || r.Share >= max(r.Shares, 1) {
		return nil, errShare
	}
	c, err := s.consumerOf(ctx, by, r.Consumer)
	if err != nil {
		return nil, err
	}
	if c.url != "" {
		return nil, errs.New(errs.Conflict, "has_webhook", "the events of this consumer are posted to its webhook; create another consumer to pull them")
	}
	at, err := s.startOf(ctx, c, r)
	if err != nil {
		return nil, err
	}
	var one *waiter
	if r.WaitMs > 0 { // it is added before the streams are read
		var done func()
		if one, done, err = s.waiters.add(c.bot); err != nil {
			return nil, err
		}
		defer done()
	}
	within, cancel := context.WithTimeout(ctx, time.Duration(r.WaitMs)*time.Millisecond)
	defer cancel()
	for {
		res, err := s.pullOnce(ctx, c, at, int(cmp.Or(r.Limit, defaultPull)))
		if err != nil || len(res.Events) > 0 || res.More || res.Gap || r.WaitMs == 0 || !one.wait(within) {
			return res, err
		}
	}
}

// startOf returns where a pull begins.
func (s *Service) startOf(ctx context.Context, c *consumer, r *eventv1.PullEventsRequest) (*cursor, error) {
	if r.Cursor != "" {
		at, err := s.decode(c, r.Cursor)
		switch {
		case err != nil:
			return nil, err
		case at.generation != c.generation:
			return nil, errMoved
		case at.share != uint64(r.Share) || at.shares != uint64(max(r.Shares, 1)):
			return nil, errCursor
		}
		return at, nil
	}
	at := &cursor{generation: c.generation, share: uint64(r.Share), shares: uint64(max(r.Shares, 1)), positions: map[timeline.Key]uint64{}}
	confirmed, err := s.positions(ctx, c.name)
	for _, k := range streamsOf(c, at.share, at.shares) {
		at.positions[k] = confirmed[k]
	}
	return at, err
}

// pullOnce reads what there is after a cursor, and moves it there.
func (s *Service) pullOnce(ctx context.Context, c *consumer, at *cursor, limit int) (*eventv1.PullEventsResponse, error) {
	keys := streamsOf(c, at.share, at.shares)
	tails, err := s.tails(ctx, keys)
	if err != nil {
		return nil, err
	}
	res := &eventv1.PullEventsResponse{}
	next := &cursor{generation: at.generation, share: at.share, shares: at.shares, positions: maps.Clone(at.positions)}
	left := bounds{events: limit, bytes: pullBytes, scan: pullScan}
	from := 0
	if len(keys) > 0 {
		from = int(s.nowMs() % int64(len(keys))) // no stream is always the last
	}
	for i := range keys {
		k := keys[(from+i)%len(keys)]
		if tails[k] <= next.positions[k] {
			continue
		}
		if left.events == 0 || left.bytes <= 0 || left.scan == 0 {
			res.More = true
			break
		}
		b, err := s.readStream(ctx, c, k, next.positions[k], left)
		if err != nil {
			return nil, err
		}
		res.Events, res.Gap = append(res.Events, b.events...), res.Gap || b.gap
		res.More = res.More || !b.end && b.position < tails[k]
		left.events, left.bytes, left.scan = left.events-len(b.events), left.bytes-b.bytes, left.scan-b.scanned
		next.positions[k] = b.position
	}
	*at = *next
	res.Cursor = s.encode(c, next)
	return res, nil
}

// Confirm moves a consumer's position forward to a cursor.
func (s *Service) Confirm(ctx context.Context, by id.Caller, r *eventv1.ConfirmEventsRequest) error {
	c, err := s.consumerOf(ctx, by, r.Consumer)
	if err != nil {
		return err
	}
	at, err := s.decode(c, r.Cursor)
	if err != nil {
		return err
	}
	return s.confirm(ctx, c.name, at.generation, at.positions, nil)
}

// Seek moves a consumer to another position.
func (s *Service) Seek(ctx context.Context, by id.Caller, r *eventv1.SeekEventsRequest) error {
	c, err := s.consumerOf(ctx, by, r.Consumer)
	if err != nil {
		return err
	}
	positions := map[timeline.Key]uint64{}
	switch to := r.To.(type) {
	case *eventv1.SeekEventsRequest_Start:
		for _, k := range c.streams() {
			positions[k] = 0
		}
	case *eventv1.SeekEventsRequest_End:
		positions, err = s.tails(ctx, c.streams())
	case *eventv1.SeekEventsRequest_Cursor:
		var at *cursor
		if at, err = s.decode(c, to.Cursor); err == nil {
			positions = at.positions
		}
	case *eventv1.SeekEventsRequest_TimeMs:
		for _, k := range c.streams() {
			if positions[k], err = s.positionAt(ctx, k, to.TimeMs); err != nil {
				break
			}
		}
	default:
		err = errs.New(errs.Invalid, "bad_seek", "give start, end, a cursor or a time")
	}
	if err != nil {
		return err
	}
	if err := s.move(ctx, c.name, positions); err != nil {
		return err
	}
	s.deliverer.reload()
	return nil
}

// positionAt returns the position before the first entry of a stream that was stored at or after a time.
func (s *Service) positionAt(ctx context.Context, stream timeline.Key, ms int64) (uint64, error) {
	tail, err := s.deps.Log.Tail(ctx, stream)
	if err != nil {
		return 0, err
	}
	low, high := tail.FirstSeq-min(tail.FirstSeq, 1), tail.Seq // the entry after low may be too old; those after high are not
	for low < high {
		middle := low + (high-low)/2
		entries, err := s.deps.Log.Read(ctx, stream, middle, 1)
		if err != nil {
			return 0, err
		}
		old := false
		if len(entries) > 0 {
			at, err := s.timeOf(ctx, &entries[0])
			if err != nil {
				return 0, err
			}
			old = at < ms
		}
		if old {
			low = entries[0].Seq
		} else {
			high = middle
		}
	}
	return low, nil
}

// timeOf returns when the message of a stream entry was stored. For one that has expired, it is the time of the next that has not; 0 if there is none.
func (s *Service) timeOf(ctx context.Context, e *timeline.Entry) (int64, error) {
	c, seq, _, err := message.DecodeInbox(e.Payload)
	if err != nil {
		return 0, errors.Join(timeline.ErrCorrupt, err)
	}
	if seq == 0 {
		return 0, nil
	}
	found, err := s.deps.Log.Read(ctx, timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, seq-1, 1)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return message.StoredMs(found[0].Payload), nil
}
