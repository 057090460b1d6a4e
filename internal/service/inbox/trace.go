package inbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/sync/errgroup"
)

// Trace returns what is stored about a message, of time ms, for some of its receivers, at most maxIDsPerQuery: whether their streams name it, which of their
// devices have acknowledged that, and whether they have read it. It checks no permission, and hides nothing. Streams are not read if large.
func (s *Service) Trace(ctx context.Context, c id.Conversation, seq uint64, ms int64, large bool, users []id.User) ([]*chatv1.TracedMember, error) {
	if len(users) == 0 {
		return nil, nil
	}
	cursors, err := s.memberCursors(ctx, c, users, seq)
	if err != nil {
		return nil, err
	}
	list := make([]*chatv1.TracedMember, len(users))
	for i, u := range users {
		list[i] = &chatv1.TracedMember{User: uint64(u), Delivered: cursors[u].delivered >= seq, Read: cursors[u].read >= seq}
	}
	if large {
		return list, nil
	}
	stored, err := s.devicePositions(ctx, users...)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxMemberLookups)
	for i, u := range users {
		group.Go(func() error {
			return s.traceStream(ctx, sentEntry{conversation: c, seq: seq, ms: ms}, u, stored[u].devices, list[i])
		})
	}
	return list, group.Wait()
}

// traceStream adds what a user's stream says of a message, and which devices have acknowledged it.
func (s *Service) traceStream(ctx context.Context, m sentEntry, u id.User, stored map[id.Device]message.Position, out *chatv1.TracedMember) error {
	at, absent, err := s.findInStream(ctx, m, u)
	if err != nil {
		return err
	}
	switch {
	case at != 0:
		out.InStream, out.Position = chatv1.TraceInStream_TRACE_IN_STREAM_YES, &chatv1.Position{Epoch: at.Epoch(), Seq: uint64(at)}
	case absent:
		out.InStream = chatv1.TraceInStream_TRACE_IN_STREAM_NO
	default:
		out.InStream = chatv1.TraceInStream_TRACE_IN_STREAM_NOT_SEARCHED
	}
	types, err := s.deps.DeviceTypes(ctx, u)
	if err != nil {
		return err
	}
	devices := maps.Clone(types)
	if devices == nil {
		devices = map[id.Device]string{}
	}
	for d := range stored {
		if _, ok := devices[d]; !ok {
			devices[d] = ""
		}
	}
	known := map[message.Position]bool{}
	for _, d := range slices.Sorted(maps.Keys(devices)) {
		has, ok := known[stored[d]]
		if !ok {
			if has, err = s.positionCovers(ctx, u, stored[d], at, absent, m); err != nil {
				return err
			}
			known[stored[d]] = has
		}
		if devices[d] == "" && !has || len(out.Devices) == maxDevicePositions {
			continue // what a former device lacks is of no interest
		}
		out.Devices = append(out.Devices, &chatv1.TracedDevice{Device: uint64(d), Type: devices[d], Confirmed: has})
	}
	return nil
}

// positionCovers reports whether a device at a position has a message, whose own position is at, 0 if that is not known. absent: the stream does not
// name it.
func (s *Service) positionCovers(ctx context.Context, u id.User, device, at message.Position, absent bool, m sentEntry) (bool, error) {
	if at != 0 || device == 0 {
		return device != 0 && device >= at, nil
	}
	if absent && m.ms >= s.deps.Clock.Now().Add(-maxFanoutDelay).UnixMilli() {
		return false, nil // it has not come into the stream yet
	}
	return s.positionReaches(ctx, u, device, m, new(atomic.Int64))
}

// findInStream returns the position of a message in a user's stream, if it is among the latest entries. absent: the stream does not name it. A stream
// has the entries of a conversation in order.
func (s *Service) findInStream(ctx context.Context, m sentEntry, u id.User) (at message.Position, absent bool, err error) {
	tail, err := s.Tail(ctx, u)
	if err != nil || tail == 0 {
		return 0, true, err
	}
	begin, err := s.scanStreamBackward(ctx, u, tail, func(e *timeline.Entry) bool {
		c, seq, _, err := message.DecodeInbox(e.Payload)
		if err != nil || seq == 0 || c != m.conversation || seq > m.seq {
			return true
		}
		if absent = seq < m.seq; !absent {
			at = message.Position(e.Seq)
		}
		return false
	})
	if errors.Is(err, timeline.ErrCorrupt) {
		return 0, false, nil
	}
	return at, absent || begin && at == 0, err
}
