package pebblelog

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"pgregory.net/rapid"
)

// Rows are sorted by their keys, whatever their lengths: a key may be a prefix of another, and zeros count.
func TestRowsAreSortedByKey(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 20), 0, 40, func(k []byte) string { return string(k) }).Draw(r, "keys")
		var rows rowBuffer
		for _, k := range keys {
			rows.set(string(k), k)
		}
		rows.sort()
		slices.SortFunc(keys, bytes.Compare)
		for i, row := range rows.rows {
			if got := rows.arena[row.key:row.value]; !bytes.Equal(got, keys[i]) || !bytes.Equal(rows.arena[row.value:row.end], keys[i]) {
				r.Fatalf("row %d is %x, want %x", i, got, keys[i])
			}
		}
	})
}

// BenchmarkSort measures the sorting of a batch's rows: of entries, tokens, tails and authors of 100 conversations.
func BenchmarkSort(b *testing.B) {
	for _, each := range []int{1, 16} {
		b.Run(fmt.Sprintf("entries=%d", each), func(b *testing.B) {
			var rows rowBuffer
			for b.Loop() {
				rows.reset()
				for i := range uint64(100) {
					k := timeline.Key{Kind: timeline.Conversation, ID: i*0x9e3779b97f4a7c15>>8 | 1}
					for seq := range uint64(each) {
						rows.set(string(entryKey(nil, k, seq+1000)), nil)
						rows.set(string(tokenKey(nil, &timeline.Token{Sender: k.ID + 5, Device: 77, Counter: seq + 1000}, k)), nil)
					}
					rows.set(string(authorKey(nil, k, k.ID+5)), nil)
					rows.set(string(timelineKey(nil, rowTail, k)), nil)
				}
				rows.sort()
			}
		})
	}
}
