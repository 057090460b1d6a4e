package serverevent

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/rialto-im/rialto/internal/base/pagetoken"
)

// What a cursor has is refused, or read as it would be sealed again, for consumers of all streams and of a bot's.
func FuzzCursor(f *testing.F) {
	seal, err := pagetoken.New([]byte("secret"))
	if err != nil {
		f.Fatal(err)
	}
	s := &Service{seal: seal}
	consumers := []*consumer{{name: "all"}, {name: "bot", bot: 7}}
	for _, c := range consumers {
		for _, share := range []uint64{0, 3} {
			b, _ := seal.Open(s.encode(c, &cursor{generation: 2, share: share, shares: 4}), []byte(c.name))
			f.Add(b)
		}
	}
	f.Add(append([]byte{1, 0}, bytes.Repeat([]byte{0xff}, 12)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range consumers {
			at, err := s.decode(c, seal.Seal(b, []byte(c.name)))
			if err != nil {
				continue
			}
			if again, err := s.decode(c, s.encode(c, at)); err != nil || !reflect.DeepEqual(again, at) {
				t.Errorf("the cursor %x was read as %+v, and again as %+v, %v", b, at, again, err)
			}
		}
	})
}
