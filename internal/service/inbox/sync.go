package inbox

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	defaultPageEvents = 500
	maxPageEvents     = 2000
	maxReadBytes      = 4 << 20 // bytes that are read at once
	smallReadBatch    = 16      // entries read at once when they may be large and the wanted one is near
	readBatch         = 64      // entries of the first read: entries may be large, and those that do not fit into the page are discarded
)

// Fields of SyncResponse.
const (
	fieldEvents = 1
	fieldNext   = 2
	fieldMore   = 3
	fieldReset  = 4
	fieldLarge  = 5
)

// Sync returns the events after a device's position, and acknowledges that position.
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

// AppendSync appends the protobuf of a SyncResponse: the events after a device's position (0: from the start), at
// most limit (1 to 2,000; 0 is 500) and about 1 MiB. If the stream has a gap there, or is too long for a new device, the response says
// reset and has the position of the tail. Corrupt entries are skipped, see corruption.go.
//
// A position from before a backup was restored is answered with reset. The device goes on from the beginning of the epoch that the restore began, which
// may be above the tail.
//
// If the stream does not have a position below its tail, a disk lost the event of that position, and the event was stored again. Reading
// continues after the position.
func (s *Service) AppendSync(ctx context.Context, b []byte, u id.User, after message.Position, limit int) ([]byte, error) {
	if limit == 0 {
		limit = defaultPageEvents
	}
	if limit < 1 || limit > maxPageEvents {
		return nil, errs.New(errs.Invalid, "bad_limit", "a page of a sync has 1 to 2,000 events")
	}
	tail, err := s.deps.Log.Tail(ctx, streamKey(u))
	if err != nil {
		return nil, err
	}
	restored := message.Position(s.deps.Log.RestoredEpoch()) << 32
	if after < restored {
		known := after != 0 || tail.Seq != 0
		if !known { // the stream of who follows notices may be empty
			large, err := s.LargeGroups(ctx, []id.User{u})
			if err != nil {
				return nil, err
			}
			known = len(large[0]) > 0
		}
		if known {
			// The device may have messages that were lost when a backup was restored, whose seqs are assigned to others.
			return s.appendReset(ctx, b, u, timeline.Tail{Seq: max(tail.Seq, uint64(restored))})
		}
	}
	if uint64(after) > tail.Seq {
		if after.Epoch() >= s.deps.Log.Epoch() && after != restored { // which a reset gives
			return s.appendReset(ctx, b, u, tail) // this store never issued that position
		}
		// The disk lost the end of the stream in an unclean stop. Its events are stored again, in this epoch.
		return s.appendLargeTails(ctx, appendPosition(b, after), u)
	}
	if uint64(after) == tail.Seq {
		return s.appendLargeTails(ctx, appendPosition(b, after), u)
	}
	if after == 0 {
		tooLong, err := s.firstSeqToKeep(ctx, streamKey(u), tail, s.config.NewDeviceMaxEntries)
		if err != nil {
			return s.resetIfCorrupt(ctx, b, u, tail, after, err)
		}
		if tooLong != 0 {
			return s.appendReset(ctx, b, u, tail)
		}
	}
	return s.appendPage(ctx, b, u, tail, after, limit)
}

// appendPage appends the events after a position that is below the tail.
func (s *Service) appendPage(ctx context.Context, b []byte, u id.User, tail timeline.Tail, after message.Position, limit int) ([]byte, error) {
	start, next, count := len(b), after, 0
	for cut := false; limit > 0 && len(b)-start < outputlimit.MaxPage; {
		n := min(limit, readBatch)
		if count > 0 && !cut { // estimates how many fit, by the size of the previous ones
			each := (len(b)-start)/count + 1
			n = min(limit, (outputlimit.MaxPage-len(b)+start)/each+1)
			b = slices.Grow(b, min(n*each, outputlimit.MaxPage))
		}
		entries, err := s.deps.Log.Read(ctx, streamKey(u), uint64(next), n)
		if err != nil {
			return s.resetIfCorrupt(ctx, b[:start], u, tail, next, err)
		}
		// Each entry refers to its predecessor. If the predecessor is above the device's position and was not read, it was trimmed.
		if len(entries) > 0 && entries[0].Prev > uint64(next) || len(entries) == 0 && uint64(next) < tail.Seq {
			return s.appendReset(ctx, b[:start], u, tail)
		}
		page, appended, err := s.appendEvents(ctx, b, u, entries, start+outputlimit.MaxPage)
		switch {
		case errors.Is(err, errStreamCorrupt):
			return s.resetIfCorrupt(ctx, b[:start], u, tail, next, err)
		case errors.Is(err, timeline.ErrCorrupt) && count > 0: // the next page reads it again
			return append(appendPosition(b, next), fieldMore<<3, 1), nil
		case err != nil:
			return nil, err
		}
		b, cut = page, appended < len(entries)
		if appended > 0 {
			next = message.Position(entries[appended-1].Seq)
		}
		if len(entries) < n && appended == len(entries) {
			break
		}
		limit -= appended
		count += appended
	}
	b = appendPosition(b, next)
	if uint64(next) < tail.Seq {
		return append(b, fieldMore<<3, 1), nil
	}
	return s.appendLargeTails(ctx, b, u)
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
	return s.appendLargeTails(ctx, b, u)
}

// appendLargeTails appends the seq of the newest entry of each large group of the user.
func (s *Service) appendLargeTails(ctx context.Context, b []byte, u id.User) ([]byte, error) {
	large, err := s.LargeGroups(ctx, []id.User{u})
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
