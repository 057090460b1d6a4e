package blevesearch_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// chineseWord returns word n of 40,000: the 50 most frequent have one character, nine tenths of the others two, and the rest three or four. Of 3,000 characters, some are in more words than others.
func chineseWord(n uint64) string {
	n %= 40_000
	if n < 50 {
		return string(rune(0x4e00 + n))
	}
	random := rand.New(rand.NewPCG(n, 1))
	length := 2
	if random.IntN(10) == 0 {
		length = 3 + random.IntN(2)
	}
	var b strings.Builder
	for range length {
		x := random.Float64()
		b.WriteRune(rune(0x4e00 + uint64(3000*x*x)))
	}
	return b.String()
}

// BenchmarkSize measures how many bytes an index has for each byte of text: of the present segments after the last batch, and once all are one. Every fourth message is in Chinese, of characters that follow each other
// at random, or of words; or none is. An iteration is an index of RIALTO_SEARCH_MESSAGES messages.
func BenchmarkSize(b *testing.B) {
	for name, chinese := range map[string]func(n uint64) string{"random characters": nil, "words": chineseWord, "no Chinese": func(n uint64) string { return word(n) + " " }} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				t := newTexts()
				if chinese != nil {
					t.chinese = chinese
				}
				merged := size(b, t, benchMessages(b), func(perByte float64) { b.ReportMetric(perByte, "bytes/byte") })
				b.ReportMetric(merged, "bytes/byte-merged")
			}
		})
	}
}
