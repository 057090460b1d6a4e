package serverevent

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// cursor is a place in the streams of a share of a consumer.
type cursor struct {
	generation    uint64
	share, shares uint64
	positions     map[timeline.Key]uint64
}

var (
	errCursor = errs.New(errs.Invalid, "bad_cursor", "this cursor belongs to another consumer, share or number of shares; pull without a cursor")
	errShare  = errs.New(errs.Invalid, "bad_share", "shares is 1 to 64, and share below it, from 0")
)

// streamsOf returns the streams of a share of a consumer.
func streamsOf(c *consumer, share, shares uint64) (keys []timeline.Key) {
	for i, k := range c.streams() {
		if uint64(i)%shares == share {
			keys = append(keys, k)
		}
	}
	return keys
}

// encode returns the cursor's text, which is valid for one consumer.
func (s *Service) encode(c *consumer, at *cursor) string {
	b := binary.AppendUvarint(nil, at.generation)
	b = binary.AppendUvarint(b, at.share)
	b = binary.AppendUvarint(b, at.shares)
	for _, k := range streamsOf(c, at.share, at.shares) {
		b = binary.AppendUvarint(b, at.positions[k]>>32)
		b = binary.AppendUvarint(b, at.positions[k]&(1<<32-1))
	}
	return s.seal.Seal(b, []byte(c.name))
}

// decode reads a cursor of a consumer.
func (s *Service) decode(c *consumer, text string) (*cursor, error) {
	b, ok := s.seal.Open(text, []byte(c.name))
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			ok = false
			return 0
		}
		b = b[n:]
		return v
	}
	at := &cursor{generation: next(), share: next(), shares: next(), positions: map[timeline.Key]uint64{}}
	if !ok || at.shares == 0 || at.share >= at.shares {
		return nil, errCursor
	}
	for _, k := range streamsOf(c, at.share, at.shares) {
		at.positions[k] = next() << 32
		at.positions[k] |= next()
	}
	if !ok || len(b) > 0 {
		return nil, errCursor
	}
	return at, nil
}
