package blevesearch_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
)

// Words that are packed are read again as they were, of whatever letters; and bytes that were not written by this package end somewhere.
func TestPackedWords(t *testing.T) {
	unpack := func(packed []byte) (words []string) {
		blevesearch.VisitWords(packed, func(word []byte) { words = append(words, string(word)) })
		return words
	}
	alphabet := strings.Split("e t a o i n s r h l d c u m f p g w y b v k j x q z 0 1 2 3 4 5 6 7 8 9 é ж ع क 𝛂 ', ' ", " ")
	random := rand.New(rand.NewPCG(10, 10))
	for range 2000 {
		words := make([]string, random.IntN(6))
		for i := range words {
			for range 1 + random.IntN(40) {
				words[i] += alphabet[random.IntN(len(alphabet))]
			}
			if words[i] == "" {
				words[i] = "e"
			}
		}
		if got := unpack(blevesearch.PackWords(words)); !slices.Equal(got, words) {
			t.Fatalf("packed %q, read %q", words, got)
		}
		noise := make([]byte, random.IntN(20))
		for i := range noise {
			noise[i] = byte(random.IntN(256))
		}
		unpack(noise)
	}
	words := strings.Fields("the longer a text in latin script is the smaller a part of it are the bytes of its packed words")
	if n := len(blevesearch.PackWords(words)); n > 50 {
		t.Errorf("%d bytes for %d words", n, len(words))
	}
}

// Documents of all numbers have ids of their own, in the order of the numbers, which are read again.
func TestPackedIDs(t *testing.T) {
	before := ""
	for _, kind := range []searchindex.Kind{1, 2} {
		for _, parent := range []uint64{0, 1, 127, 128, 1 << 62, math.MaxUint64} {
			for _, number := range []uint64{0, 1, 128, 255, 256, 1 << 20, math.MaxUint64} {
				id := searchindex.ID{Kind: kind, Parent: parent, Number: number}
				packed := blevesearch.PackID(id)
				if got, ok := blevesearch.UnpackID([]byte(packed)); !ok || got != id || packed <= before {
					t.Errorf("%v is packed as %x after %x, and read as %v (%v)", id, packed, before, got, ok)
				}
				before = packed
				for n := range packed {
					if got, ok := blevesearch.UnpackID([]byte(packed[:n])); ok {
						t.Errorf("%d of %d bytes of %v are read as %v", n, len(packed), id, got)
					}
				}
				if _, ok := blevesearch.UnpackID([]byte(packed + "x")); ok {
					t.Errorf("%v with a further byte is read", id)
				}
			}
		}
	}
}

// size returns how many bytes an index has for each byte of text once all of it is one segment. Before that it calls present, unless that is nil, with the bytes of the segments after the last batch.
func size(t testing.TB, tx *texts, messages int, present func(perByte float64)) (merged float64) {
	t.Helper()
	index := open(t, t.TempDir())
	bytes := 0
	for from := 0; from < messages; from += benchBatch {
		batch := tx.batch(from, benchBatch)
		for i := range batch.Put {
			bytes += len(batch.Put[i].Text)
		}
		if err := index.Apply(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	if present != nil {
		present(float64(index.SegmentBytes()) / float64(bytes))
	}
	if err := index.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	merged = float64(index.SegmentBytes()) / float64(bytes)
	if err := index.Close(); err != nil {
		t.Fatal(err)
	}
	return merged
}

// The index stays within a bound: a field that is stored in a larger form shows here.
func TestSize(t *testing.T) {
	if merged := size(t, newTexts(), 3000, nil); merged > 1.30 {
		t.Errorf("%.3f bytes for each byte of text", merged)
	}
}
