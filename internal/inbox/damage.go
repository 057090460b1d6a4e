package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// What is damaged after it was carried must not keep those who have it from all else. A sync passes an entry of a conversation that cannot be
// read: the event says which it is, and its place is set aside, so that it is carried again when it can be read. Where the stream itself
// cannot be read it says reset, as where it was trimmed: lists and histories have all that was in it.
//
// What looks damaged need not be (a store of several nodes may show at one read what it does not show at the next), so it is believed only
// after some reads over some seconds. Until then the sync gives what is before it, or fails.

const (
	doubtTries = 3
	doubtTime  = 5 * time.Second
	// lostFor so long after a place of a timeline was believed, others of it are at once.
	lostFor = time.Minute
	// mostDoubts bounds the places that are remembered; beyond, all are forgotten.
	mostDoubts = 1000
	// asideTime that telling operators of a place may keep a sync.
	asideTime = 2 * time.Second
)

var errStream = errors.New("the stream is damaged")

// Aside keeps the places of entries that cannot be read: durably, where an operator sees them, and until they were carried again.
type Aside interface {
	// Put may be repeated.
	Put(ctx context.Context, key timeline.Key, seq uint64, why string) error
}

// spot is a place in a timeline.
type spot struct {
	key timeline.Key
	seq uint64
}

// doubts are the places that looked damaged. The caller of its methods holds Service.mu.
type doubts struct {
	at   map[spot]*doubt
	lost map[timeline.Key]time.Time // when a place was believed
}

type doubt struct {
	since time.Time
	tries int
	told  bool // the operator was
}

// of gives what is known of a place that looks damaged now, and whether that is believed.
func (d *doubts) of(s spot, now time.Time) (at *doubt, believed bool) {
	if len(d.at) >= mostDoubts || d.at == nil {
		d.at, d.lost = map[spot]*doubt{}, map[timeline.Key]time.Time{}
	}
	if at = d.at[s]; at == nil {
		at = &doubt{since: now}
		d.at[s] = at
	}
	at.tries++
	last, lost := d.lost[s.key]
	believed = at.told || lost && now.Sub(last) < lostFor || at.tries >= doubtTries && now.Sub(at.since) >= doubtTime
	if believed {
		d.lost[s.key] = now
	}
	return at, believed
}

// pass is nil where a place that cannot be read is to be passed; the operator is told of it. Otherwise it gives what keeps the sync.
func (s *Service) pass(ctx context.Context, key timeline.Key, seq uint64, err error) error {
	if !errors.Is(err, timeline.ErrDamaged) {
		return err
	}
	s.mu.Lock()
	at, believed := s.doubts.of(spot{key, seq}, s.deps.Clock.Now())
	told := at.told
	s.mu.Unlock()
	if !believed {
		return err
	}
	if told {
		return nil
	}
	if key.Kind == timeline.Inbox {
		s.deps.Logger.Error("a user's stream is damaged, and devices are told to read their lists anew: run rialto verify", "user", key.ID, "after", seq, "error", err)
	} else {
		s.deps.Logger.Error("an entry is damaged, and devices are told that it cannot be read: run rialto verify", "conversation", key.ID, "seq", seq, "error", err)
	}
	if s.deps.Aside != nil && key.Kind == timeline.Conversation {
		within, cancel := context.WithTimeout(ctx, asideTime)
		defer cancel()
		if failure := s.deps.Aside.Put(within, key, seq, err.Error()); failure != nil {
			s.deps.Logger.Warn("the place of a damaged entry is set aside later", "conversation", key.ID, "seq", seq, "error", failure)
			return nil
		}
	}
	s.mu.Lock()
	if !at.told {
		at.told = true
		s.passed++
	}
	s.mu.Unlock()
	return nil
}

// Passed is the number of places that could not be read since the start, and that syncs have passed.
func (s *Service) Passed() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passed
}

// resetAt is a reset where err says that the stream is damaged behind a position.
func (s *Service) resetAt(ctx context.Context, b []byte, u id.User, tail timeline.Tail, at message.Position, err error) ([]byte, error) {
	if errors.Is(err, errStream) {
		err = errors.Join(timeline.ErrDamaged, err)
	}
	if err := s.pass(ctx, inboxOf(u), uint64(at), err); err != nil {
		return nil, err
	}
	return s.appendReset(ctx, b, u, tail)
}

// storedOf reads entries together. It fails where a conversation of them is damaged.
func (s *Service) storedOf(ctx context.Context, k kept, refs []timeline.Ref) ([]timeline.Entry, error) {
	for _, r := range refs {
		if err := k[id.Conversation(r.Key.ID)].damaged; err != nil {
			return nil, err
		}
	}
	return s.deps.Log.GetMost(ctx, refs, mostRead)
}

// left reads entries one by one, where not all can be read, or are there: those that are not are below their logs' heads, which k then
// knows. One that cannot be read, or that an inbox refers to and no conversation has, is damage: it gives an entry with seq 0 for it, if it
// is to be passed.
func (s *Service) left(ctx context.Context, k kept, refs []timeline.Ref) (stored []timeline.Entry, err error) {
	size := 0
	var doubtful error
	for i := 0; i < len(refs); i++ {
		r := refs[i]
		c := id.Conversation(r.Key.ID)
		if r.From < k[c].seq {
			continue
		}
		e, head, err := s.one(ctx, r, k[c].damaged)
		if head != 0 {
			k[c] = first{seq: head}
			stored, size, i = nil, 0, -1 // those before it may be below as well: once more
			continue
		}
		if err != nil {
			err = s.pass(ctx, r.Key, r.From, err)
		}
		if errors.Is(err, timeline.ErrDamaged) {
			doubtful = err // all that look damaged are waited for together
		} else if err != nil {
			return nil, err
		}
		stored = append(stored, e)
		if size += len(e.Payload); size > mostRead && len(stored) > 1 {
			return nil, timeline.ErrTooMuch
		}
	}
	return stored, doubtful
}

// one reads an entry, or gives the head that it is below.
func (s *Service) one(ctx context.Context, r timeline.Ref, damaged error) (e timeline.Entry, head uint64, err error) {
	if damaged != nil {
		return e, 0, damaged
	}
	if e, head, err = timeline.One(ctx, s.deps.Log, r.Key, r.From); err == nil && head == 0 && e.Seq == 0 {
		err = errDamaged
	}
	return e, head, err
}

// ends gives the first entry that a user may read, and the newest that can be read of the last few, where one of the two is damaged; seq 0
// stands for one that cannot be read.
func (s *Service) ends(ctx context.Context, key timeline.Key, from, to uint64) ([]timeline.Entry, error) {
	first, err := s.whole(ctx, key, from)
	if err != nil {
		return nil, err
	}
	var last timeline.Entry
	for seq := to; last.Seq == 0 && seq >= max(from, 1) && to-seq < fewAtOnce; seq-- {
		if last, err = s.whole(ctx, key, seq); err != nil {
			return nil, err
		}
	}
	return []timeline.Entry{first, last}, nil
}

// whole reads an entry; seq 0 stands for one that is to be passed, or has expired.
func (s *Service) whole(ctx context.Context, key timeline.Key, seq uint64) (timeline.Entry, error) {
	e, head, err := s.one(ctx, timeline.Ref{Key: key, From: seq, To: seq}, nil)
	if err == nil && head == 0 {
		var m message.Entry
		if err = m.Decode(e.Payload); err == nil {
			return e, nil
		}
		err = errors.Join(timeline.ErrDamaged, err)
	}
	if err != nil {
		err = s.pass(ctx, key, seq, err)
	}
	return timeline.Entry{}, err
}
