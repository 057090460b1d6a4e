package indexprocess

import (
	"bytes"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// A frame is refused, or read, whatever it has: nothing is allocated for what does not come, and a call that cannot be read is an error.
func FuzzFrames(f *testing.F) {
	for _, of := range []struct {
		kind  frameKind
		value any
	}{{searchFrame, &searchindex.Query{}}, {applyFrame, &searchindex.Batch{}}, {checkpointsFrame, []string{"messages"}}, {missingFrame, []searchindex.Document{{}}}, {cancelFrame, nil}, {readyFrame, nil}} {
		b, err := encodeFrame(of.kind, 7, of.value)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > headerLen && b[0] > 0 {
			b[0], b[1] = 0, 0 // a frame of megabytes only costs time
		}
		got, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		if len(got.payload) != len(b)-headerLen-startLen && len(got.payload) > len(b) {
			t.Errorf("a payload of %d bytes in %d", len(got.payload), len(b))
		}
		s := &server{}
		run, err := s.decode(got)
		if known := got.kind == applyFrame || got.kind == searchFrame || got.kind == checkpointsFrame || got.kind == missingFrame; !known && err == nil {
			t.Errorf("a call of the kind %d was read: %T", got.kind, run)
		}
	})
}
