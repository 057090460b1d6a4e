package feed

import (
	"reflect"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
)

// A stored entry of a window is refused, or read as it would be stored again.
func FuzzEntries(f *testing.F) {
	f.Add((&base{changes: 3, from: 7, floor: 2, refs: []ref{{900, 5}, {300, 6}}}).append(nil)[1:])
	f.Add(ref{900, 5}.appendPush(nil)[1:])
	f.Add([]byte("\x01\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01")) // below zero
	f.Fuzz(func(t *testing.T, b []byte) {
		if of, err := decodeBase(b); err == nil {
			again, err := decodeBase((&of).append(nil)[1:])
			if err != nil || !reflect.DeepEqual(again, of) || 2*len(of.refs) > len(b) {
				t.Errorf("%x was read as %+v, and again as %+v, %v", b, of, again, err)
			}
			for i, r := range of.refs {
				if i > 0 && r.post > of.refs[i-1].post {
					t.Errorf("%x was read as %+v, which does not descend", b, of)
				}
			}
		}
		if r, err := decodePush(b); err == nil {
			if again, err := decodePush(ref{r.post, id.User(r.author)}.appendPush(nil)[1:]); err != nil || again != r {
				t.Errorf("%x was read as %+v, and again as %+v, %v", b, r, again, err)
			}
		}
	})
}
