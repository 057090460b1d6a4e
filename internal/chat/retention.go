package chat

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Retention is for how many days messages are kept. It holds for reading at once: what is older is in no answer. The job in
// expire.go removes it. Entries that change a conversation stay in the log, since they say who may read; with what is before the
// oldest message that is kept, they are not read any more.

const (
	mostDays = 36_500
	dayMs    = 24 * 60 * 60 * 1000
)

// parseRetention gives the days of a setting; 0 is for ever.
func parseRetention(text string) (days uint32, err error) {
	switch text {
	case "", "forever":
		return 0, nil
	case "company":
		return 180, nil
	case "private":
		return 7, nil
	}
	if n, ok := strings.CutSuffix(text, "d"); ok {
		days, err := strconv.ParseUint(n, 10, 32)
		if err == nil && days >= 1 && days <= mostDays {
			return uint32(days), nil
		}
	}
	return 0, fmt.Errorf("chat.retention is forever, company (180 days), private (7 days) or a number of days as 90d, of 1 to %d, not %q", mostDays, text)
}

// beginRetention finds what is set, for the deployment and for any conversation.
func (s *Service) beginRetention(ctx context.Context) (err error) {
	if s.days, err = parseRetention(s.config.Retention); err != nil {
		return err
	}
	return s.lookForSome(ctx)
}

// lookForSome finds whether any conversation has a retention of its own: another node may have set the first.
func (s *Service) lookForSome(ctx context.Context) error {
	some := false
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM conversations WHERE retention > 0)`).Scan(&some)
	if some {
		s.some.Store(true)
	}
	return err
}

// lookAgain whether another node has set the first retention, until ctx ends.
func (s *Service) lookAgain(ctx context.Context) {
	tick := time.NewTicker(recentFor)
	defer tick.Stop()
	for !s.some.Load() { // it stays so
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := s.lookForSome(ctx); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("whether any conversation has a retention of its own is not known", "error", err)
		}
	}
}

// keptDays of a conversation that has its own setting, or 0. The deployment's is the longest. 0 is for ever.
func (s *Service) keptDays(own uint32) uint32 {
	if own == 0 || s.days != 0 && own > s.days {
		return s.days
	}
	return own
}

// SetRetention sets for how many days a conversation's messages are kept; 0: as the deployment keeps them.
func (s *Service) SetRetention(ctx context.Context, c id.Conversation, by id.User, days uint32) (uint64, error) {
	if days > mostDays {
		return 0, errs.New(errs.Invalid, "bad_retention", "messages are kept for 1 to 36,500 days; 0 leaves it to the server")
	}
	if s.days != 0 && days > s.days {
		return 0, errs.New(errs.Invalid, "bad_retention", fmt.Sprintf("this server keeps messages for at most %d days", s.days))
	}
	return s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		switch role := st.role(by); {
		case role == 0:
			return nil, errNoConversation
		case st.dissolved:
			return nil, errDissolved
		case st.blocked: // of two who are kept apart, neither takes the other's messages away
			return nil, errBlocked
		case st.kind == group && role < roleAdmin:
			return nil, errNotAllowed
		case st.retention == days:
			return nil, nil
		}
		s.some.Store(true)
		return &chatv1.Control{Action: chatv1.Control_ACTION_RETENTION, Actor: uint64(by), RetentionDays: days}, nil
	})
}

// horizon is the oldest entry that is kept, as it was found last. Time only moves it on.
type horizon struct {
	days uint32
	seq  uint64
	ms   int64 // of the entry at seq; 0: there is none
}

// Kept gives the seq of the oldest entry that a conversation's retention leaves, the tail's next where it leaves none; 0 where
// messages are kept for ever. Below the log's Head nothing is kept either.
func (s *Service) Kept(ctx context.Context, c id.Conversation) (uint64, error) {
	if s.days == 0 && !s.some.Load() {
		return 0, nil
	}
	st, err := s.recent(ctx, c)
	if err != nil {
		return 0, err
	}
	return s.kept(ctx, st)
}

func (s *Service) kept(ctx context.Context, st *state) (uint64, error) {
	first := max(st.head, 1)
	if s.days == 0 && !s.some.Load() {
		return first, nil // nothing expires any more
	}
	tail, err := s.deps.Log.Tail(ctx, key(st.id))
	if err != nil {
		return 0, err
	}
	first = max(first, tail.Head) // any node removes
	days := s.keptDays(st.retention)
	if days == 0 {
		return first, nil
	}
	cut := s.cut(days)
	r := s.room(st.id)
	r.mu.Lock()
	h := r.horizon
	r.mu.Unlock()
	if h.days == days && h.seq >= first {
		if h.ms >= cut {
			return h.seq, nil
		}
		first = h.seq
	}
	before, err := s.seqBefore(ctx, st.id, first, cut)
	if err != nil {
		return 0, err
	}
	h = horizon{days: days, seq: before + 1}
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: key(st.id), From: h.seq, To: h.seq}})
	if err != nil {
		return 0, err
	}
	if len(entries) > 0 {
		if h.ms, err = timeOf(&entries[0]); err != nil {
			return 0, err
		}
	}
	r.mu.Lock()
	r.horizon = h
	r.mu.Unlock()
	return h.seq, nil
}

// readable gives the seqs that a user may read: those of the membership that are kept.
func (s *Service) readable(ctx context.Context, st *state, u id.User) (from, to uint64, err error) {
	from, to, ok := st.may(u)
	if !ok {
		return 0, 0, errNoConversation
	}
	first, err := s.kept(ctx, st)
	return max(from, first), to, err
}

// timeOf an entry, in milliseconds since 1970.
func timeOf(e *timeline.Entry) (int64, error) {
	var m message.Entry
	if err := m.Decode(e.Payload); err != nil {
		return 0, err
	}
	return m.ID.Ms(), nil
}

var errDamaged = errs.Wrap(errs.Internal, "damaged", "the conversation is damaged; its operator must run rialto verify", timeline.ErrDamaged)

// seqBefore gives the last seq that was stored before a time, at least first-1: the entries from first on are there, unless they
// expired just now. Ids' times rise with seqs but for a clock that stepped back.
func (s *Service) seqBefore(ctx context.Context, c id.Conversation, first uint64, ms int64) (uint64, error) {
	tail, err := s.deps.Log.Tail(ctx, key(c))
	if err != nil {
		return 0, err
	}
	lo, hi := max(first, tail.Head, 1)-1, tail.Seq // seq lo is before, hi+1 is not
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		probe := mid
		at, head, err := s.timeAt(ctx, c, probe)
		for errors.Is(err, timeline.ErrDamaged) && probe < hi && probe-mid < mostProbes { // what is before a later one is before as well
			probe++
			at, head, err = s.timeAt(ctx, c, probe)
		}
		switch {
		case errors.Is(err, timeline.ErrDamaged): // nobody knows: then it is not before
			hi = mid - 1
			continue
		case err != nil:
			return 0, err
		case head != 0:
			lo = min(head-1, hi)
			continue
		}
		if at < ms {
			lo = probe
		} else {
			hi = mid - 1
		}
	}
	return lo, nil
}

// mostProbes bounds the entries behind a damaged one that are read for one whose time is known.
const mostProbes = 64

// timeAt gives an entry's time, or the head that it is below.
func (s *Service) timeAt(ctx context.Context, c id.Conversation, seq uint64) (ms int64, head uint64, err error) {
	e, head, err := timeline.One(ctx, s.deps.Log, key(c), seq)
	if err != nil || head != 0 {
		return 0, head, err
	}
	if e.Seq == 0 {
		return 0, 0, errDamaged
	}
	if ms, err = timeOf(&e); err != nil {
		err = errDamaged
	}
	return ms, 0, err
}
