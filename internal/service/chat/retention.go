package chat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Retention is how many seconds messages are kept. Reads apply it immediately: no answer has an older message. The job in expire.go deletes
// older messages. Control entries stay in the log, since they define who may read; those before the oldest retained message are hidden.

const (
	minRetention     = 60 // seconds, that a conversation can have
	daySeconds       = 24 * 60 * 60
	maxRetentionDays = 36_500
	maxRetention     = maxRetentionDays * daySeconds
)

// parseRetention returns the seconds of a setting; 0 is forever.
func parseRetention(text string) (seconds uint32, err error) {
	switch text {
	case "", "forever":
		return 0, nil
	case "company":
		return 180 * daySeconds, nil
	case "private":
		return 7 * daySeconds, nil
	}
	if seconds, ok := parseDays(text); ok {
		return seconds, nil
	}
	return 0, fmt.Errorf("chat.retention is forever, company (180 days), private (7 days) or a number of days as 90d, of 1 to %d, not %q", maxRetentionDays, text)
}

// parseDays returns the seconds of a number of days, such as 90d.
func parseDays(text string) (seconds uint32, ok bool) {
	n, ok := strings.CutSuffix(text, "d")
	if !ok {
		return 0, false
	}
	days, err := strconv.ParseUint(n, 10, 32)
	if err != nil || days < 1 || days > maxRetentionDays {
		return 0, false
	}
	return uint32(days * daySeconds), true
}

// ColdAge returns the age of ColdAfter; 0 is never.
func (c Config) ColdAge() (time.Duration, error) {
	if c.ColdAfter == "" || c.ColdAfter == "never" {
		return 0, nil
	}
	seconds, ok := parseDays(c.ColdAfter)
	if !ok {
		return 0, fmt.Errorf("chat.cold_after is never, or a number of days as 90d, of 1 to %d, not %q", maxRetentionDays, c.ColdAfter)
	}
	return time.Duration(seconds) * time.Second, nil
}

// initRetention reads the retention of the deployment, and whether any conversation has its own.
func (s *Service) initRetention(ctx context.Context) (err error) {
	if s.retention, err = parseRetention(s.config.Retention); err != nil {
		return err
	}
	return s.detectCustomRetention(ctx)
}

// detectCustomRetention checks whether any conversation has its own retention. Another node may have set the first.
func (s *Service) detectCustomRetention(ctx context.Context) error {
	some := false
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM conversations WHERE retention > 0)`).Scan(&some)
	if some {
		s.customRetention.Store(true)
	}
	return err
}

// pollCustomRetention repeats detectCustomRetention until there is one, or ctx ends.
func (s *Service) pollCustomRetention(ctx context.Context) {
	tick := time.NewTicker(maxStaleness)
	defer tick.Stop()
	for !s.customRetention.Load() { // it never becomes false
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := s.detectCustomRetention(ctx); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("conversations with their own retention could not be counted", "error", err)
		}
	}
}

// retentionOf returns the seconds that a control entry sets. Entries of earlier releases have days.
func retentionOf(c *chatv1.Control) uint32 {
	if c.RetentionSeconds != 0 {
		return c.RetentionSeconds
	}
	return min(c.RetentionDays, maxRetentionDays) * daySeconds
}

// effectiveRetention returns the retention of a conversation with its own setting, or 0 for none. The deployment's setting is the
// maximum. A result of 0 is forever.
func (s *Service) effectiveRetention(own uint32) uint32 {
	if own == 0 || s.retention != 0 && own > s.retention {
		return s.retention
	}
	return own
}

// SetRetention sets how many seconds a conversation's messages are kept; 0 is the setting of the deployment.
func (s *Service) SetRetention(ctx context.Context, c id.Conversation, by id.User, seconds uint32) (uint64, error) {
	if seconds != 0 && (seconds < minRetention || seconds > maxRetention) {
		return 0, errs.New(errs.Invalid, "bad_retention", "messages are kept for 60 seconds to 36,500 days; 0 is the setting of the server")
	}
	if s.retention != 0 && seconds > s.retention {
		return 0, errs.New(errs.Invalid, "bad_retention", fmt.Sprintf("this server keeps messages for at most %d days", s.retention/daySeconds))
	}
	return s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		switch role := st.role(by); {
		case role == 0:
			return nil, errNoConversation
		case st.kind == thread:
			return nil, errs.New(errs.Invalid, "bad_retention", "a thread keeps its messages as long as its conversation does: set the retention of that")
		case st.dissolved:
			return nil, errDissolved
		case st.relation.blocked: // across a block, neither may delete the other's messages
			return nil, errBlocked
		case st.kind == group && role < roleAdmin:
			return nil, errNotAllowed
		case st.retention == seconds:
			return nil, nil
		}
		s.customRetention.Store(true)
		return &chatv1.Control{Action: chatv1.Control_ACTION_RETENTION, Actor: uint64(by), RetentionSeconds: seconds}, nil
	})
}

// retentionHorizon caches the oldest entry that has not expired. It only moves forward.
type retentionHorizon struct {
	retention uint32
	seq       uint64
	ms        int64 // of the entry at seq; 0: there is none
}

// FirstRetained returns the seq of the oldest entry that has not expired, or the seq after the tail if all have. It returns 0 if
// messages are kept forever. Entries below the log's FirstSeq have expired as well.
func (s *Service) FirstRetained(ctx context.Context, c id.Conversation) (uint64, error) {
	if s.retention == 0 && !s.customRetention.Load() {
		return 0, nil
	}
	st, err := s.boundedStaleState(ctx, c)
	if err != nil {
		return 0, err
	}
	return s.firstRetained(ctx, st)
}

func (s *Service) firstRetained(ctx context.Context, st *state) (uint64, error) {
	first := max(st.firstSeq, 1)
	if s.retention == 0 && !s.customRetention.Load() {
		return first, nil // messages are kept forever now
	}
	tail, err := s.deps.Log.Tail(ctx, logKey(st.id))
	if err != nil {
		return 0, err
	}
	first = max(first, tail.FirstSeq) // any node may have deleted entries
	retention := s.effectiveRetention(st.retention)
	if retention == 0 {
		return first, nil
	}
	cut := s.cutoff(retention)
	r := s.conversation(st.id)
	r.mu.Lock()
	h := r.horizon
	r.mu.Unlock()
	if h.retention == retention && h.seq >= first {
		if h.ms >= cut {
			return h.seq, nil
		}
		first = h.seq
	}
	before, err := s.lastSeqBefore(ctx, st.id, first, cut)
	if err != nil {
		return 0, err
	}
	h = retentionHorizon{retention: retention, seq: before + 1}
	h.ms, _, err = s.entryTimeAt(ctx, st.id, h.seq)
	if err != nil && !errors.Is(err, timeline.ErrCorrupt) { // of a corrupt entry the time is unknown, so it is looked for again next time
		return 0, err
	}
	r.mu.Lock()
	r.horizon = h
	r.mu.Unlock()
	return h.seq, nil
}

// withOwnRetention returns those of some conversations that have their own retention.
func (s *Service) withOwnRetention(ctx context.Context, list []id.Conversation) (own []id.Conversation, err error) {
	if err := s.projections.wait(ctx); err != nil {
		return nil, err
	}
	for some := range slices.Chunk(list, maxIDsPerQuery) {
		marks, args := sqldb.Placeholders(1, some, func(c id.Conversation) int64 { return int64(c) })
		found, err := s.querySeqs(ctx, `SELECT id FROM conversations WHERE id IN (`+marks+`) AND retention > 0`, args...)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			own = append(own, id.Conversation(c))
		}
	}
	return own, nil
}

// readableRange returns the seqs of a user's membership that have not expired and that the user has not cleared.
func (s *Service) readableRange(ctx context.Context, st *state, u id.User) (from, to uint64, err error) {
	m, ok, err := s.memberOf(ctx, st, u)
	if err != nil {
		return 0, 0, err
	}
	if !ok {
		return 0, 0, errNoConversation
	}
	if from, to, err = s.retainedRange(ctx, st, m); err != nil {
		return 0, 0, err
	}
	through, err := s.ClearedThrough(ctx, u, []id.Conversation{st.id})
	return max(from, through[st.id]+1), to, err
}

// retainedRange returns the seqs of a membership that have not expired.
func (s *Service) retainedRange(ctx context.Context, st *state, m member) (from, to uint64, err error) {
	switch from, to = m.readable(); {
	case st.kind == thread: // also what was said before one followed
		from, to = 1, math.MaxUint64
	case st.channel, st.ticket != 0: // also what was said before the membership, as followers do; an agent reads the whole ticket
		from = 1
	}
	first, err := s.firstRetained(ctx, st)
	return max(from, first), to, err
}

// memberRange is readableRange, in a thread from where the user began to follow.
func (s *Service) memberRange(ctx context.Context, st *state, u id.User) (from, to uint64, err error) {
	if from, to, err = s.readableRange(ctx, st, u); err == nil && st.role(u) != 0 {
		from = max(from, st.members[u].joinSeq)
	}
	return from, to, err
}

// entryTime returns the time of an entry, in milliseconds since 1970.
func entryTime(e *timeline.Entry) (int64, error) {
	var m message.Entry
	if err := m.Decode(e.Payload); err != nil {
		return 0, err
	}
	return m.ID.Ms(), nil
}

var errCorrupt = errs.Wrap(errs.Internal, "corrupt", "the conversation is corrupt; its operator must run rialto verify", timeline.ErrCorrupt)

// lastSeqBefore returns the last seq that was stored before a time, at least first-1. Entries from first on exist, unless they have just
// expired. The times of ids ascend with seqs, except after a clock stepped back.
func (s *Service) lastSeqBefore(ctx context.Context, c id.Conversation, first uint64, ms int64) (uint64, error) {
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil {
		return 0, err
	}
	lo, hi := max(first, tail.FirstSeq, 1)-1, tail.Seq // invariant: seq lo is before ms, seq hi+1 is not
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		probe := mid
		at, firstSeq, err := s.entryTimeAt(ctx, c, probe)
		if errors.Is(err, timeline.ErrCorrupt) { // entries precede ms if a later one does
			probe, at, firstSeq, err = s.timeAfter(ctx, c, mid, hi)
		}
		switch {
		case errors.Is(err, timeline.ErrCorrupt): // unknown: assume that it is not before
			hi = mid - 1
			continue
		case err != nil:
			return 0, err
		case firstSeq != 0:
			lo = min(firstSeq-1, hi)
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

// singleProbes is how many entries after a corrupt one are read one by one.
const singleProbes = 64

// timeAfter returns the first entry after a corrupt one, up to a seq, that is not corrupt, and what entryTimeAt has of it. Many corrupt entries
// are those of a segment: it steps over them, further each time, and then searches for the end of those in succession.
func (s *Service) timeAfter(ctx context.Context, c id.Conversation, corrupt, to uint64) (seq uint64, ms int64, firstSeq uint64, err error) {
	bad, err := corrupt, errCorrupt
	for bad < to && errors.Is(err, timeline.ErrCorrupt) {
		step := uint64(1)
		if passed := bad - corrupt; passed >= singleProbes {
			step = passed
		}
		seq = min(bad+step, to)
		if ms, firstSeq, err = s.entryTimeAt(ctx, c, seq); errors.Is(err, timeline.ErrCorrupt) {
			bad = seq
		}
	}
	for err == nil && bad+1 < seq {
		mid := bad + (seq-bad)/2
		at, first, midErr := s.entryTimeAt(ctx, c, mid)
		switch {
		case errors.Is(midErr, timeline.ErrCorrupt):
			bad = mid
		case midErr != nil:
			return 0, 0, 0, midErr
		default:
			seq, ms, firstSeq = mid, at, first
		}
	}
	return seq, ms, firstSeq, err
}

// entryTimeAt returns the time of an entry, or the first seq of the log if the entry is below it.
func (s *Service) entryTimeAt(ctx context.Context, c id.Conversation, seq uint64) (ms int64, firstSeq uint64, err error) {
	e, firstSeq, err := timeline.GetEntry(ctx, s.deps.Log, logKey(c), seq)
	if err != nil || firstSeq != 0 {
		return 0, firstSeq, err
	}
	if e.Seq == 0 {
		return 0, 0, errCorrupt
	}
	if ms, err = entryTime(&e); err != nil {
		err = errCorrupt
	}
	return ms, 0, err
}
