package otlp

import (
	"fmt"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// FuzzAnswers: what a collector says of rejected spans is read as it wrote it, whatever else is in the answer, and anything else is bounded.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte{}, uint64(0), []byte{})
	f.Add([]byte("<html>"), uint64(7), []byte("too\nlong"))
	f.Add(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.BytesType), 1<<63), uint64(math.MaxUint64), []byte("\xff\x00"))
	f.Add(protowire.AppendTag(protowire.AppendTag(nil, 9, protowire.StartGroupType), 9, protowire.EndGroupType), uint64(1), []byte("a"))
	f.Fuzz(func(t *testing.T, answer []byte, spans uint64, reason []byte) {
		if got := rejectedOf(answer); got.Spans < 0 || got.Spans > 1<<30 || len(got.Reason) > 12*maxReason {
			t.Errorf("the answer %q is read as %+v, which is out of bounds", answer, got)
		}
		partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), spans)
		partial = protowire.AppendBytes(protowire.AppendTag(partial, 2, protowire.BytesType), reason)
		good := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
		if got := rejectedOf(append(good, answer...)); len(answer) == 0 && (got.Spans != int(min(spans, 1<<30)) || got.Reason != fmt.Sprintf("%.*q", maxReason, reason)) {
			t.Errorf("%d and %q became %+v", spans, reason, got)
		}
	})
}
