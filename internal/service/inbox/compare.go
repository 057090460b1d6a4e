package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

const (
	// comparedEntries of the end of each stream are compared, and as many of each conversation that they name.
	comparedEntries = 100
	// comparedConversations of a stream are compared, those with the newest entries.
	comparedConversations = 10
	// itemsOfStream is how many items a stream counts as: reading it is that much more work than reading a row.
	itemsOfStream = 20
)

// Audience returns the members of a conversation who get an entry in their streams. If large, nobody does.
type Audience func(ctx context.Context, c id.Conversation, seq uint64) (users []id.User, large bool, err error)

// Comparison compares the ends of users' streams with the conversations that they name: between the first entry of a conversation there and the last one that
// fan-out has dispatched, no entry for the user may be missing.
func (s *Service) Comparison(audience Audience) reconciliation.Comparison {
	return streamComparison{s, audience}
}

type streamComparison struct {
	*Service
	audience Audience
}

// Name is a reconciliation.Comparison's.
func (streamComparison) Name() string { return "inboxes" }

// Compare is a reconciliation.Comparison's. A position is the last user.
func (s streamComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	at := uint64(0)
	if after != "" {
		if at, err = strconv.ParseUint(after, 10, 64); err != nil {
			return step, err
		}
	}
	most := max(1, limit/itemsOfStream)
	keys, err := s.deps.Log.Keys(ctx, timeline.Inbox, at, most)
	if err != nil {
		return step, err
	}
	for _, k := range keys {
		if k.IsEventStream() || id.User(k.ID).IsCanary() {
			step.Next = strconv.FormatUint(k.ID, 10)
			continue
		}
		missing, err := s.missing(ctx, k)
		if errors.Is(err, timeline.ErrCorrupt) {
			missing, err = nil, nil // fan-out and syncs find it, and have metrics of their own
		}
		if err != nil && step.Items > 0 { // the time of the step is over, perhaps: the next one begins here
			return step, nil
		}
		if err != nil {
			return reconciliation.Step{}, err
		}
		step.Items++
		step.Next = strconv.FormatUint(k.ID, 10)
		if missing != nil {
			step.Differences = append(step.Differences, reconciliation.Difference{Subject: "user " + id.User(k.ID).String(), Reason: reconciliation.InboxLacks, Values: missing})
		}
	}
	if len(keys) < most {
		step.Next = ""
	}
	return step, nil
}

// streamEnd is the end of a stream.
type streamEnd struct {
	seqs  map[id.Conversation][]uint64 // of its references
	order []id.Conversation            // by their last references, the newest first
}

func (s streamComparison) readEnd(ctx context.Context, k timeline.Key) (end streamEnd, err error) {
	entries, err := s.deps.Log.ReadBackward(ctx, k, 0, comparedEntries)
	if err != nil {
		return end, err
	}
	end.seqs = map[id.Conversation][]uint64{}
	for i := range entries {
		c, seq, _, err := message.DecodeInbox(entries[i].Payload)
		if err != nil {
			return end, errors.Join(timeline.ErrCorrupt, err)
		}
		if seq != 0 {
			if end.seqs[c] == nil {
				end.order = append(end.order, c)
			}
			end.seqs[c] = append(end.seqs[c], seq)
		}
	}
	return end, nil
}

// missing says which entries a stream lacks; nil if it lacks none.
func (s streamComparison) missing(ctx context.Context, k timeline.Key) (what reconciliation.Values, err error) {
	end, err := s.readEnd(ctx, k)
	if err != nil {
		return nil, err
	}
	for _, c := range end.order[:min(len(end.order), comparedConversations)] {
		lacking, err := s.lacking(ctx, id.User(k.ID), c, end.seqs[c])
		if err != nil {
			return nil, err
		}
		if len(lacking) == 0 {
			continue
		}
		// Fan-out may have posted them since the stream was read.
		now, err := s.readEnd(ctx, k)
		if err != nil {
			return nil, err
		}
		lacking = slices.DeleteFunc(lacking, func(seq uint64) bool { return slices.Contains(now.seqs[c], seq) })
		if len(lacking) > 0 && len(now.seqs[c]) > 0 && lacking[0] > slices.Min(now.seqs[c]) {
			return reconciliation.Values{"count": fmt.Sprint(len(lacking)), "conversation": fmt.Sprint(uint64(c)), "first": fmt.Sprint(lacking[0])}, nil
		}
	}
	return nil, nil
}

// lacking returns the dispatched entries of a conversation for a user that are not among those of the stream's end, after the first of these.
func (s streamComparison) lacking(ctx context.Context, u id.User, c id.Conversation, seqs []uint64) (list []uint64, err error) {
	k := timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
	tail, err := s.deps.Log.Tail(ctx, k)
	if err != nil {
		return nil, err
	}
	pending, err := timeline.FirstPendingFanout(ctx, s.deps.Log, k, tail.Seq+1)
	if err != nil {
		return nil, err
	}
	entries, err := s.deps.Log.Read(ctx, k, slices.Min(seqs), comparedEntries)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		if e.Seq >= pending {
			break
		}
		// Updates of messages are left out: some go to large groups only, and a later state of the message has all of them.
		if slices.Contains(seqs, e.Seq) || message.IsUpdate(e.Payload) || isAccessChange(e.Payload) || isForOthers(u, e.Payload) {
			continue
		}
		users, large, err := s.audience(ctx, c, e.Seq)
		if err != nil {
			return nil, err
		}
		if !large && slices.Contains(users, u) {
			list = append(list, e.Seq)
		}
	}
	return list, nil
}

// Repair is a reconciliation.Comparison's. It trims the stream but for its newest entry: devices that are behind, and new ones, read their lists and histories again, which
// have everything. Others have passed the gap, and find the messages in the history.
func (s streamComparison) Repair(ctx context.Context, subject string) error {
	number, ok := strings.CutPrefix(subject, "user ")
	u, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return fmt.Errorf("%q names no user", subject)
	}
	k := timeline.Key{Kind: timeline.Inbox, ID: u}
	if missing, err := s.missing(ctx, k); err != nil || missing == nil {
		return err
	}
	tail, err := s.deps.Log.Tail(ctx, k)
	if err != nil {
		return err
	}
	return s.deps.Log.Trim(ctx, k, tail.Seq)
}
