package inbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

const (
	pageEvents  = 500
	mostEvents  = 2000
	mostPage    = 1 << 20 // bytes after which a page ends
	mostRead    = 4 << 20 // bytes that are read at once
	fewAtOnce   = 16      // entries read at once where they may be large, and none is looked for that is far
	atOnce      = 64      // entries read at first: what a page does not take was read in vain, and entries may be large
	fieldEvents = 1       // of SyncResponse
	fieldNext   = 2
	fieldMore   = 3
	fieldReset  = 4
	fieldLarge  = 5
)

// Sync gives what came after a device's position, and acknowledges that.
func (s *Service) Sync(ctx context.Context, c id.Caller, r *chatv1.SyncRequest) (*chatv1.SyncResponse, error) {
	after := message.Position(r.GetAfter().GetSeq())
	s.Ack(c, after)
	b, err := s.AppendSync(ctx, nil, c.User, after, int(r.Limit))
	if err != nil {
		return nil, err
	}
	page := &chatv1.SyncResponse{}
	return page, proto.Unmarshal(b, page)
}

// AppendSync appends the protobuf of a SyncResponse: the events after a position (0: from the beginning), at most limit (1 to
// 2,000; 0 is 500) and about 1 MiB. Where the stream is not whole from there, or too long for a new device, it says reset and
// gives the tail. A position that the stream does not have, below its tail, is that of an event which the disk lost and which
// was carried again since: reading goes on behind it.
func (s *Service) AppendSync(ctx context.Context, b []byte, u id.User, after message.Position, limit int) ([]byte, error) {
	if limit == 0 {
		limit = pageEvents
	}
	if limit < 1 || limit > mostEvents {
		return nil, errs.New(errs.Invalid, "bad_limit", "a page of a sync has 1 to 2,000 events")
	}
	tail, err := s.deps.Log.Tail(ctx, inboxOf(u))
	if err != nil {
		return nil, err
	}
	if uint64(after) > tail.Seq {
		if after.Epoch() >= s.deps.Log.Epoch() {
			return s.appendReset(ctx, b, u, tail) // a position that this store never gave
		}
		// The disk lost the stream's end in an unclean stop. What was there is carried again, in this epoch.
		return s.appendLarge(ctx, appendPosition(b, after), u)
	}
	if after == 0 {
		long, err := s.headFor(ctx, inboxOf(u), tail, s.config.NewDevice)
		if err != nil {
			return nil, err
		}
		if long != 0 {
			return s.appendReset(ctx, b, u, tail)
		}
	}
	start, next, count := len(b), after, 0
	for limit > 0 && len(b)-start < mostPage {
		ask := min(limit, atOnce)
		if count > 0 { // as many as will fit, if they go on as they began
			each := (len(b)-start)/count + 1
			ask = min(limit, (mostPage-len(b)+start)/each+1)
			b = slices.Grow(b, min(ask*each, mostPage))
		}
		entries, err := s.deps.Log.Read(ctx, inboxOf(u), uint64(next), ask)
		if err != nil {
			return nil, err
		}
		// An entry names the one before it. If that is above what the device has, yet was not read, it was trimmed.
		if len(entries) > 0 && entries[0].Prev > uint64(next) || len(entries) == 0 && uint64(next) < tail.Seq {
			return s.appendReset(ctx, b[:start], u, tail)
		}
		var taken int
		if b, taken, err = s.appendEvents(ctx, b, u, entries, start+mostPage); err != nil {
			return nil, err
		}
		if taken > 0 {
			next = message.Position(entries[taken-1].Seq)
		}
		if len(entries) < ask && taken == len(entries) {
			break
		}
		limit -= taken
		count += taken
	}
	b = appendPosition(b, next)
	if uint64(next) < tail.Seq {
		return append(b, fieldMore<<3, 1), nil
	}
	return s.appendLarge(ctx, b, u)
}

func appendPosition(b []byte, p message.Position) []byte {
	var v []byte
	if p != 0 {
		v = binary.AppendUvarint(append(v, 1<<3), uint64(p.Epoch()))
		v = binary.AppendUvarint(append(v, 2<<3), uint64(p))
	}
	return message.AppendBody(b, fieldNext, v)
}

func (s *Service) appendReset(ctx context.Context, b []byte, u id.User, tail timeline.Tail) ([]byte, error) {
	b = append(appendPosition(b, message.Position(tail.Seq)), fieldReset<<3, 1)
	return s.appendLarge(ctx, b, u)
}

// appendEvents appends entries as events until b has end bytes, and says how many it took. One whose message has expired has no
// body: the stream stays a chain.
func (s *Service) appendEvents(ctx context.Context, b []byte, u id.User, entries []timeline.Entry, end int) ([]byte, int, error) {
	refs := make([]timeline.Ref, 0, len(entries))
	kept := kept{}
	for i := range entries {
		c, seq, _, err := message.DecodeInbox(entries[i].Payload)
		if err != nil {
			return nil, 0, fmt.Errorf("inbox of %v at %d: %w", u, entries[i].Seq, err)
		}
		if seq == 0 {
			continue
		}
		first, err := s.keptOf(ctx, kept, c)
		if err != nil {
			return nil, 0, err
		}
		if seq >= first {
			refs = append(refs, timeline.Ref{Key: logOf(c), From: seq, To: seq})
		}
	}
	stored, err := s.deps.Log.GetMost(ctx, refs, mostRead)
	if errors.Is(err, timeline.ErrTooMuch) { // longer ones than those before
		return s.appendEvents(ctx, b, u, entries[:(len(entries)+3)/4], end)
	}
	if err != nil {
		return nil, 0, err
	}
	if len(stored) != len(refs) {
		if stored, err = s.left(ctx, u, kept, refs); err != nil {
			return nil, 0, err
		}
	}
	var scratch, body []byte
	for i := range entries {
		e := &entries[i]
		c, seq, event, _ := message.DecodeInbox(e.Payload)
		if seq >= max(kept[c], 1) {
			m := message.Stored{Conversation: c, Seq: seq, Counted: stored[0].Counted}
			if err := m.Entry.Decode(stored[0].Payload); err != nil {
				return nil, 0, fmt.Errorf("conversation %v at %d: %w", c, seq, err)
			}
			stored = stored[1:]
			scratch = m.AppendProto(scratch[:0])
			body = message.AppendBody(body[:0], message.FieldMessage, scratch)
			event = body
		}
		b = message.AppendEventField(b, fieldEvents, message.Position(e.Seq), message.Position(e.Prev), event)
		if len(b) >= end {
			return b, i + 1, nil
		}
	}
	return b, len(entries), nil
}

// kept has the first seq that is kept, of conversations that were asked for.
type kept map[id.Conversation]uint64

func (s *Service) keptOf(ctx context.Context, k kept, c id.Conversation) (uint64, error) {
	first, ok := k[c]
	if !ok {
		var err error
		if first, err = s.deps.Conversations.Kept(ctx, c); err != nil && !errs.Is(err, errs.NotFound) {
			return 0, err
		}
		k[c] = first
	}
	return first, nil
}

// left reads what is there of refs, where not all is: the others are below their logs' heads, which k then knows. An entry that
// an inbox refers to and no conversation has is damage.
func (s *Service) left(ctx context.Context, u id.User, k kept, refs []timeline.Ref) (stored []timeline.Entry, err error) {
	for i := 0; i < len(refs); i++ {
		r := refs[i]
		c := id.Conversation(r.Key.ID)
		if r.From < k[c] {
			continue
		}
		found, err := s.deps.Log.Get(ctx, []timeline.Ref{r})
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			stored = append(stored, found...)
			continue
		}
		tail, err := s.deps.Log.Tail(ctx, r.Key)
		if err != nil {
			return nil, err
		}
		if r.From >= tail.Head {
			s.deps.Logger.Error("an inbox refers to an entry that is not there", "user", u, "conversation", c, "seq", r.From)
			return nil, errDamaged
		}
		k[c], stored, i = tail.Head, nil, -1 // those before it may be below as well: once more
	}
	return stored, nil
}

// appendLarge appends how far each of the user's large groups has come.
func (s *Service) appendLarge(ctx context.Context, b []byte, u id.User) ([]byte, error) {
	large, err := s.Large(ctx, []id.User{u})
	if err != nil || len(large[0]) == 0 {
		return b, err
	}
	tails, err := s.LargeTails(ctx, large[0])
	if err != nil {
		return nil, err
	}
	for i, c := range large[0] {
		v := binary.AppendUvarint([]byte{1 << 3}, uint64(c))
		v = binary.AppendUvarint(append(v, 2<<3), tails[i])
		b = message.AppendBody(b, fieldLarge, v)
	}
	return b, nil
}
