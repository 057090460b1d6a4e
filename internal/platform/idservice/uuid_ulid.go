package idservice

import (
	"errors"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

// Texts issues the ids that need no store: UUIDv7 and ULID. It is safe for concurrent use.
type Texts struct {
	uuids *ids.UUIDv7
	ulids *ids.ULIDs
}

// NewTexts returns new generators.
func NewTexts(c clock.Clock) *Texts { return &Texts{ids.NewUUIDv7(c.Now), ids.NewULIDs(c.Now)} }

// Next returns n ids of the scheme uuidv7 or ulid, rising.
func (t *Texts) Next(scheme string, n int) ([]string, error) {
	list := make([]string, n)
	var b []byte
	for i := range list {
		var err error
		if scheme == SchemeULID {
			var v ids.ULID
			v, err = t.ulids.Next()
			b = v.Append(b[:0])
		} else {
			var v ids.UUID
			v, err = t.uuids.Next()
			b = v.Append(b[:0])
		}
		if errors.Is(err, ids.ErrEnded) {
			return nil, errs.Wrap(errs.Unavailable, "ids_ended", "these ids ended in 2159: their time has no more bits; check the clock", err)
		}
		if err != nil {
			return nil, err
		}
		list[i] = string(b)
	}
	return list, nil
}
