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
// was carried again since: reading goes on behind it. What is damaged is passed, see damage.go.
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
	if uint64(after) == tail.Seq {
		return s.appendLarge(ctx, appendPosition(b, after), u)
	}
	if after == 0 {
		long, err := s.headFor(ctx, inboxOf(u), tail, s.config.NewDevice)
		if err != nil {
			return s.resetAt(ctx, b, u, tail, after, err)
		}
		if long != 0 {
			return s.appendReset(ctx, b, u, tail)
		}
	}
	start, next, count := len(b), after, 0
	for slow := false; limit > 0 && len(b)-start < mostPage; {
		ask := min(limit, atOnce)
		if count > 0 && !slow { // as many as will fit, if they go on as they began
			each := (len(b)-start)/count + 1
			ask = min(limit, (mostPage-len(b)+start)/each+1)
			b = slices.Grow(b, min(ask*each, mostPage))
		}
		entries, err := s.deps.Log.Read(ctx, inboxOf(u), uint64(next), ask)
		if err != nil {
			return s.resetAt(ctx, b[:start], u, tail, next, err)
		}
		// An entry names the one before it. If that is above what the device has, yet was not read, it was trimmed.
		if len(entries) > 0 && entries[0].Prev > uint64(next) || len(entries) == 0 && uint64(next) < tail.Seq {
			return s.appendReset(ctx, b[:start], u, tail)
		}
		page, taken, err := s.appendEvents(ctx, b, entries, start+mostPage)
		switch {
		case errors.Is(err, errStream):
			return s.resetAt(ctx, b[:start], u, tail, next, err)
		case errors.Is(err, timeline.ErrDamaged) && count > 0: // to be read again by the next page
			return append(appendPosition(b, next), fieldMore<<3, 1), nil
		case err != nil:
			return nil, err
		}
		b, slow = page, taken < len(entries)
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
func (s *Service) appendEvents(ctx context.Context, b []byte, entries []timeline.Entry, end int) ([]byte, int, error) {
	refs := make([]timeline.Ref, 0, len(entries))
	kept := kept{}
	for i := range entries {
		c, seq, _, err := message.DecodeInbox(entries[i].Payload)
		if err != nil && i == 0 {
			return nil, 0, fmt.Errorf("%w at %d: %w", errStream, entries[i].Seq, err)
		}
		if err != nil {
			entries = entries[:i]
			break
		}
		if seq == 0 {
			continue
		}
		first, err := s.keptOf(ctx, kept, c)
		if err != nil {
			return nil, 0, err
		}
		if seq >= first.seq {
			refs = append(refs, timeline.Ref{Key: logOf(c), From: seq, To: seq})
		}
	}
	stored, err := s.storedOf(ctx, kept, refs)
	switch {
	case errors.Is(err, timeline.ErrTooMuch): // longer ones than those before
		return s.appendEvents(ctx, b, entries[:(len(entries)+3)/4], end)
	case errors.Is(err, timeline.ErrDamaged) && len(entries) > atOnce:
		return s.appendEvents(ctx, b, entries[:atOnce], end)
	case errors.Is(err, timeline.ErrDamaged) || err == nil && len(stored) != len(refs):
		stored, err = s.left(ctx, kept, refs)
		if errors.Is(err, timeline.ErrTooMuch) {
			return s.appendEvents(ctx, b, entries[:(len(entries)+3)/4], end)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	var scratch, body []byte
	for i := range entries {
		e := &entries[i]
		c, seq, event, _ := message.DecodeInbox(e.Payload)
		if seq >= max(kept[c].seq, 1) {
			m := message.Stored{Conversation: c, Seq: seq, Counted: stored[0].Counted}
			torn := m.Entry.Decode(stored[0].Payload)
			if torn != nil && stored[0].Seq != 0 {
				if err := s.pass(ctx, logOf(c), seq, errors.Join(timeline.ErrDamaged, torn)); err != nil {
					return nil, 0, err
				}
			}
			if scratch = scratch[:0]; torn != nil {
				body = message.AppendBody(body[:0], message.FieldUnreadable, m.AppendPlace(scratch))
			} else {
				scratch = m.AppendProto(scratch)
				body = message.AppendBody(body[:0], message.FieldMessage, scratch)
			}
			stored, event = stored[1:], body
		}
		b = message.AppendEventField(b, fieldEvents, message.Position(e.Seq), message.Position(e.Prev), event)
		if len(b) >= end {
			return b, i + 1, nil
		}
	}
	return b, len(entries), nil
}

// kept has the first seq that is kept, of conversations that were asked for.
type kept map[id.Conversation]first

// first that is kept; where the conversation itself is damaged, by what.
type first struct {
	seq     uint64
	damaged error
}

func (s *Service) keptOf(ctx context.Context, k kept, c id.Conversation) (first, error) {
	f, ok := k[c]
	if !ok {
		var err error
		f.seq, err = s.deps.Conversations.Kept(ctx, c)
		switch {
		case errors.Is(err, timeline.ErrDamaged):
			f = first{damaged: err}
		case err != nil && !errs.Is(err, errs.NotFound):
			return f, err
		}
		k[c] = f
	}
	return f, nil
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
