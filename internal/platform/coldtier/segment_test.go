package coldtier_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/coldtier"
)

// goldenSegment is a stored segment: three entries of conversation 300 from seq 7 on, in one block.
const goldenSegment = "5249414c544f4353010000002c0100000000000007000000000000000300000001000000270000001a00000095dadc1e6932669128b52ffd0400d1000000000000170000000a00000039f2e442030000000505000001055169909728b52ffd0400510000666972737474686972641119d986"

func goldenEntries() []timeline.Entry {
	return []timeline.Entry{{Seq: 7, Prev: 6, Counted: 5, Payload: []byte("first")}, {Seq: 8, Prev: 7, Counted: 5, Payload: []byte{}}, {Seq: 9, Prev: 8, Counted: 6, Payload: []byte("third")}}
}

func equal(a, b timeline.Entry) bool {
	return a.Seq == b.Seq && a.Prev == b.Prev && a.Counted == b.Counted && bytes.Equal(a.Payload, b.Payload)
}

func TestGoldenSegment(t *testing.T) {
	b, err := hex.DecodeString(goldenSegment)
	must(t, err)
	of, got, err := coldtier.ReadAll(bytes.NewReader(b))
	if err != nil || of != 300 || !slices.EqualFunc(got, goldenEntries(), equal) {
		t.Errorf("the stored segment is read as %v of %d, %v", got, of, err)
	}
}

// What is written is read again, with several blocks and with entries larger than a block.
func TestSegmentsAreReadAsWritten(t *testing.T) {
	var want []timeline.Entry
	for seq := uint64(1000); seq < 1400; seq++ {
		text := strings.Repeat(fmt.Sprint(seq), int(seq%7)*100)
		if seq == 1234 {
			text = strings.Repeat(text, 300)
		}
		want = append(want, timeline.Entry{Seq: seq, Prev: seq - 1, Counted: seq / 2, Payload: []byte(text)})
	}
	b := coldtier.EncodeSegment(5, want)
	of, got, err := coldtier.ReadAll(bytes.NewReader(b))
	if err != nil || of != 5 || !slices.EqualFunc(got, want, equal) {
		t.Errorf("%d entries of %d are read of %d, %v", len(got), len(want), of, err)
	}
	if len(b) > 100_000 {
		t.Errorf("repeated text needs %d bytes", len(b))
	}
}

// No changed byte and no cut is read as entries, and none makes the reader fail in another way.
func TestEachChangedByteIsFound(t *testing.T) {
	b := coldtier.EncodeSegment(300, goldenEntries())
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 0x40
		if _, got, err := coldtier.ReadAll(bytes.NewReader(changed)); err == nil {
			t.Errorf("with byte %d changed, %v is read", i, got)
		}
		if _, got, err := coldtier.ReadAll(bytes.NewReader(b[:i])); err == nil {
			t.Errorf("of %d bytes, %v is read", i, got)
		}
	}
}

func FuzzReadSegment(f *testing.F) {
	f.Add(coldtier.EncodeSegment(300, goldenEntries()))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _, _ = coldtier.ReadAll(bytes.NewReader(b)) })
}
