package blevesearch

// The words of a document that examine reads are stored in a code whose lengths follow from how often letters are in texts in Latin script: frequent ones have four or five bits. Other letters have as many bytes as in UTF-8, of 14 bits
// each, which no searcher notices. The engine's own copies of words would be a third larger.

const (
	endOfWord = 0x00 // neither is in a word
	otherByte = 0xff // the byte follows in 8 bits
	longest   = 9
)

// code is how a symbol is written.
type code struct {
	bits   uint32
	length int
}

// wordCode has the codes of symbols, and what the next bits mean.
var wordCode = newWordCode()

type wordTable struct {
	codes [256]code // the length 0: as otherByte
	// symbols by the next bits, as many as the longest code has.
	symbols [1 << longest]byte
}

// newWordCode makes a canonical prefix code: the codes of a length follow each other, and those of the next length follow them.
func newWordCode() *wordTable {
	t, next, length := &wordTable{}, uint32(0), 0
	for _, group := range []struct {
		length  int
		symbols string
	}{{3, "\x00"}, {4, "etaoinsr"}, {5, "hldcumf"}, {6, "pgwybvk\xff"}, {longest, "jxqz0123456789"}} {
		next, length = next<<(group.length-length), group.length
		for i := range len(group.symbols) {
			t.codes[group.symbols[i]] = code{next, length}
			from := next << (longest - length)
			for k := range uint32(1) << (longest - length) {
				t.symbols[from+k] = group.symbols[i]
			}
			next++
		}
	}
	return t
}

// bitWriter appends bits, the highest ones of a byte first.
type bitWriter struct {
	out  []byte
	free int // bits of the last byte
}

func (w *bitWriter) write(c code) {
	for left := c.length; left > 0; {
		if w.free == 0 {
			w.out, w.free = append(w.out, 0), 8
		}
		n := min(left, w.free)
		part := c.bits >> (left - n) & (1<<n - 1)
		w.out[len(w.out)-1] |= byte(part << (w.free - n))
		left, w.free = left-n, w.free-n
	}
}

// packWords returns words in a form that visitWords reads.
func packWords(words []string) []byte {
	var w bitWriter
	for _, word := range words {
		for i := range len(word) {
			if c := wordCode.codes[word[i]]; c.length > 0 {
				w.write(c)
			} else {
				w.write(wordCode.codes[otherByte])
				w.write(code{uint32(word[i]), 8})
			}
		}
		w.write(wordCode.codes[endOfWord])
	}
	return w.out
}

// visitWords calls a function with each of the words that were packed. They are valid during the call.
func visitWords(packed []byte, visit func(word []byte)) {
	var word []byte
	var bits uint64
	have := 0
	for {
		for have <= 48 && len(packed) > 0 {
			bits, have, packed = bits<<8|uint64(packed[0]), have+8, packed[1:]
		}
		// The zero bits that fill the last byte read as ends of empty words.
		next := bits << (64 - have) >> (64 - longest)
		symbol := wordCode.symbols[next]
		length := wordCode.codes[symbol].length
		if have < length {
			return
		}
		have -= length
		switch symbol {
		case endOfWord:
			if len(word) > 0 {
				visit(word)
			}
			word = word[:0]
			continue
		case otherByte:
			if have < 8 {
				return
			}
			symbol, have = byte(bits>>(have-8)), have-8
		}
		word = append(word, symbol)
	}
}
