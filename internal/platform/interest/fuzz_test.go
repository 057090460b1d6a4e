package interest

import (
	"bytes"
	"testing"
)

// What another node sends is refused, or read as it would be written again.
func FuzzWire(f *testing.F) {
	f.Add(appendRequest(nil, "n2", []Key{7, 9}))
	f.Add(appendChanges(nil, []Change{{7, 5, 1, 2}, {9, 6, 3, 4}}))
	f.Add(appendAnswer(nil, true))
	f.Add([]byte{kindRequest, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'n'})
	f.Fuzz(func(t *testing.T, b []byte) {
		if node, list, err := readRequest(b); err == nil {
			again, keys, err := readRequest(appendRequest(nil, node, list))
			if err != nil || again != node || len(keys) != len(list) || 8*len(list) > len(b) {
				t.Errorf("the request %x was read as %q, %v, and again as %q, %v, %v", b, node, list, again, keys, err)
			}
		}
		if list, err := readChanges(b); err == nil && !bytes.Equal(appendChanges(nil, list), b) {
			t.Errorf("the changes %x were read as %v", b, list)
		}
		if knewAll(b) && !bytes.Equal(appendAnswer(nil, true), b) {
			t.Errorf("%x is a consenting answer", b)
		}
	})
}
