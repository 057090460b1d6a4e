package inbox

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// errTrimmed says that entries after a position are not in the stream any more.
var errTrimmed = errors.New("the stream was trimmed above the position")

// scanStream calls visit with the entries of a user's stream after a position, at most maxScannedEntries, until it returns false. end: the
// stream has no more. It fails with errTrimmed if entries after the position were trimmed.
func (s *Service) scanStream(ctx context.Context, u id.User, at message.Position, visit func(e *timeline.Entry) bool) (end bool, err error) {
	for read, n := 0, smallestScan; read < maxScannedEntries; n *= 2 {
		n = min(n, maxScannedEntries-read)
		entries, err := s.deps.Log.Read(ctx, streamKey(u), uint64(at), n)
		if err != nil {
			return false, err
		}
		if read == 0 && len(entries) > 0 && entries[0].Prev > uint64(at) {
			return false, errTrimmed
		}
		for i := range entries {
			if !visit(&entries[i]) {
				return false, nil
			}
			at = message.Position(entries[i].Seq)
		}
		if len(entries) < n {
			return true, nil
		}
		read += n
	}
	return false, nil
}

// scanStreamBackward is scanStream from a position, which is included, to the beginning. begin: the stream has no earlier entries.
func (s *Service) scanStreamBackward(ctx context.Context, u id.User, at message.Position, visit func(e *timeline.Entry) bool) (begin bool, err error) {
	before := uint64(at) + 1
	for read, n := 0, smallestScan; read < maxScannedEntries; n *= 2 {
		n = min(n, maxScannedEntries-read)
		entries, err := s.deps.Log.ReadBackward(ctx, streamKey(u), before, n)
		if err != nil {
			return false, err
		}
		for i := range entries {
			if !visit(&entries[i]) {
				return false, nil
			}
			before = entries[i].Seq
		}
		if len(entries) < n {
			return true, nil
		}
		read += n
	}
	return false, nil
}
