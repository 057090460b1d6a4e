package inbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/sync/errgroup"
)

// Bounds of what a page of deliveries reads.
const (
	deliveryStep       = 50     // members that are examined together
	maxDeliveryEntries = 50_000 // entries of streams; a page ends with the step that exceeds it
	maxScannedEntries  = 512    // entries of one stream behind, and before, a position
	smallestScan       = 16     // entries of the first read: most devices are up to date
)

// maxFanoutDelay is how long a message may take to come into the streams of its receivers. Of a younger one it is checked that it did.
const maxFanoutDelay = 10 * time.Minute

// sentEntry is a message whose deliveries are listed.
type sentEntry struct {
	by           id.User
	conversation id.Conversation
	seq          uint64
	ms           int64
}

// ListDeliveries returns to a message's sender the users who have received it, or those who have not, by user id. In a one-to-one
// conversation it also returns the types of the other user's devices. It fails with large_group in a large group, whose messages are not in streams.
//
// It shows no more than presence and read receipts do: in a group, a member whose presence the sender may not see, or who hides read receipts,
// counts as one who has not received the message, unless the member shows to have read it.
func (s *Service) ListDeliveries(ctx context.Context, u id.User, q *chatv1.ListDeliveriesRequest) (*chatv1.ListDeliveriesResponse, error) {
	c := id.Conversation(q.Conversation)
	after, err := parsePage(q.Page)
	if err != nil {
		return nil, err
	}
	sent, err := s.sentMessage(ctx, u, c, q.Seq)
	if err != nil {
		return nil, err
	}
	m := sentEntry{u, c, q.Seq, sent.Ms()}
	in, err := s.deps.Conversations.MembershipsIn(ctx, u, []id.Conversation{c})
	if err != nil {
		return nil, err
	}
	if len(in) == 1 && in[0].Large {
		return nil, errs.New(errs.Invalid, "large_group", "in large groups it is not known who has received a message; list its readers")
	}
	peer, blocked, err := s.deps.Conversations.Peer(ctx, u, c)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListDeliveriesResponse{}
	if peer != 0 && !blocked {
		if out.Devices, err = s.deviceDeliveries(ctx, m, peer); err != nil {
			return nil, err
		}
	}
	var read atomic.Int64 // entries of streams
	l := audienceList{by: u, conversation: c, seq: q.Seq, after: after, limit: outputlimit.PageSize(q.Limit), step: deliveryStep, steps: maxExaminedMembers / deliveryStep,
		exhausted: func() bool { return read.Load() >= maxDeliveryEntries }}
	out.Users, out.Next, err = s.listAudience(ctx, l, func(members []id.User) (map[id.User]bool, error) {
		delivered := map[id.User]bool{}
		var err error
		switch {
		case blocked:
		case peer != 0:
			delivered[peer], err = s.isDelivered(ctx, m, peer)
		default:
			delivered, err = s.showAsDelivered(ctx, m, members, &read)
		}
		listed := make(map[id.User]bool, len(members))
		for _, u := range members {
			listed[u] = delivered[u] != q.Undelivered
		}
		return listed, err
	})
	return out, err
}

// isDelivered reports whether the other user of a one-to-one conversation has received a message, as the user's marks say, which the sender gets.
func (s *Service) isDelivered(ctx context.Context, m sentEntry, peer id.User) (bool, error) {
	cursors, err := s.memberCursors(ctx, m.conversation, []id.User{peer}, m.seq)
	return cursors[peer].delivered >= m.seq, err
}

// showAsDelivered returns those of a group's members who have received a message and show it. It counts the entries of streams that it reads.
func (s *Service) showAsDelivered(ctx context.Context, m sentEntry, members []id.User, read *atomic.Int64) (map[id.User]bool, error) {
	cursors, err := s.memberCursors(ctx, m.conversation, members, m.seq)
	if err != nil {
		return nil, err
	}
	sees, err := s.deps.SeesPresence(ctx, m.by, members)
	if err != nil {
		return nil, err
	}
	stored, err := s.devicePositions(ctx, members...)
	if err != nil {
		return nil, err
	}
	shows := make([]bool, len(members))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxMemberLookups)
	for i, u := range members {
		if !sees[u] && cursors[u].read < m.seq {
			continue
		}
		group.Go(func() error {
			hides, err := s.deps.HidesRead(ctx, u)
			if err != nil || hides {
				return err
			}
			if shows[i] = cursors[u].delivered >= m.seq; shows[i] {
				return nil
			}
			shows[i], err = s.positionReaches(ctx, u, stored[u].confirmed, m, read)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	delivered := make(map[id.User]bool, len(members))
	for i, u := range members {
		delivered[u] = shows[i]
	}
	return delivered, nil
}

// deviceDeliveries returns the types of the other user's devices, and whether one device of each has a message. It returns none if the sender may
// not see the user's presence, or if the user hides read receipts.
func (s *Service) deviceDeliveries(ctx context.Context, m sentEntry, peer id.User) ([]*chatv1.DeviceDelivery, error) {
	sees, err := s.deps.SeesPresence(ctx, m.by, []id.User{peer})
	if err != nil || !sees[peer] {
		return nil, err
	}
	hides, err := s.deps.HidesRead(ctx, peer)
	if err != nil || hides {
		return nil, err
	}
	types, err := s.deps.DeviceTypes(ctx, peer)
	if err != nil {
		return nil, err
	}
	delivered, err := s.isDelivered(ctx, m, peer) // no device has what the user has not
	if err != nil {
		return nil, err
	}
	stored, err := s.devicePositions(ctx, peer)
	if err != nil {
		return nil, err
	}
	highest := map[string]message.Position{}
	for d, typ := range types {
		highest[typ] = max(highest[typ], stored[peer].devices[d])
	}
	list := make([]*chatv1.DeviceDelivery, 0, len(highest))
	for _, typ := range slices.Sorted(maps.Keys(highest)) {
		has := false
		if delivered {
			if has, err = s.positionReaches(ctx, peer, highest[typ], m, &atomic.Int64{}); err != nil {
				return nil, err
			}
		}
		list = append(list, &chatv1.DeviceDelivery{Type: typ, Delivered: has})
	}
	return list, nil
}

// positionReaches reports whether a message is at or below a position in a user's stream. A stream has the entries of a conversation in order, so
// the next one of the conversation after the position says it, or the end of the stream. If neither is near, the message is far from the
// position, and the times of the entries between say on which side.
func (s *Service) positionReaches(ctx context.Context, u id.User, at message.Position, m sentEntry, read *atomic.Int64) (bool, error) {
	if at == 0 {
		return false, nil
	}
	next, between := uint64(0), []*timeline.Entry{}
	note := func(e *timeline.Entry) bool {
		read.Add(1)
		c, seq, _, err := message.DecodeInbox(e.Payload)
		if err != nil || seq == 0 {
			return true
		}
		if c == m.conversation {
			next = seq
			return false
		}
		between = append(between, e)
		return true
	}
	end, err := s.scanStream(ctx, u, at, note)
	switch {
	case errors.Is(err, timeline.ErrCorrupt) || errors.Is(err, errTrimmed): // the device will be reset
		return false, nil
	case err != nil:
		return false, err
	case next != 0:
		return next > m.seq, nil
	case !end:
		return s.sentBefore(ctx, m, between)
	case m.ms < s.deps.Clock.Now().Add(-maxFanoutDelay).UnixMilli():
		return true, nil
	}
	between = between[:0]
	begin, err := s.scanStreamBackward(ctx, u, at, note)
	switch {
	case errors.Is(err, timeline.ErrCorrupt):
		return false, nil
	case err != nil || next != 0:
		return err == nil && next >= m.seq, err
	case begin:
		return false, nil // it is not in the stream yet
	}
	return s.sentBefore(ctx, m, between)
}

// sentBefore reports whether a message was sent before the middle one of some entries.
func (s *Service) sentBefore(ctx context.Context, m sentEntry, entries []*timeline.Entry) (bool, error) {
	if len(entries) == 0 {
		return false, nil
	}
	ms, err := s.entryTime(ctx, entries[len(entries)/2])
	if errors.Is(err, timeline.ErrCorrupt) {
		return false, nil
	}
	return m.ms < ms, err
}
