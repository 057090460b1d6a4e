package idgen

import "github.com/rialto-im/rialto/internal/clock"

// Texts makes ids that need nobody's leave: UUIDv7 and ULID. Its methods may be called from many goroutines.
type Texts struct {
	uuids *UUIDv7
	ulids *ULID
}

// NewTexts makes the generators.
func NewTexts(c clock.Clock) *Texts { return &Texts{NewUUIDv7(c), NewULID(c)} }

// Next gives n ids of the scheme uuidv7 or ulid, rising.
func (t *Texts) Next(scheme string, n int) ([]string, error) {
	list := make([]string, n)
	next, text := t.uuids.Next, UUIDText
	if scheme == SchemeULID {
		next, text = t.ulids.Next, ULIDText
	}
	var b []byte
	for i := range list {
		v, err := next()
		if err != nil {
			return nil, err
		}
		b = text(b[:0], v)
		list[i] = string(b)
	}
	return list, nil
}
