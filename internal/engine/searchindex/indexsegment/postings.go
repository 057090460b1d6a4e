package indexsegment

import (
	"encoding/binary"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"
)

// A postings list has the documents of a term, ascending. It is stored in the smallest of three encodings.
const (
	gapEncoding       = 0 // for each document, how many are between it and the one before
	runLengthEncoding = 1 // for each run of documents, how many are between it and the one before, and its length less 1
	bitmapEncoding    = 2 // a bit for each document up to the last one, the lowest of a byte first
	encodingBits      = 2
)

// denseFrom is the size in bits from which a bitmap is added to a set word by word. A smaller one is added document by document.
const denseFrom = 1 << 14

func uvarintLen(v uint32) int { return (bits.Len32(v|1) + 6) / 7 }

// appendDocuments appends a postings list in its smallest encoding, and returns that. The documents are ascending.
func appendDocuments(to []byte, documents []uint32) (_ []byte, encoding int) {
	gaps, runs, end := 0, 0, uint32(0)
	for i := 0; i < len(documents); {
		from := i
		for i++; i < len(documents) && documents[i] == documents[i-1]+1; i++ {
		}
		gap := uvarintLen(documents[from] - end)
		gaps += gap + i - from - 1
		runs += gap + uvarintLen(uint32(i-from-1))
		end = documents[i-1] + 1
	}
	bitmap := (int(end) + 7) / 8
	switch {
	case bitmap <= min(gaps, runs):
		at := len(to)
		to = append(to, make([]byte, bitmap)...)
		for _, d := range documents {
			to[at+int(d/8)] |= 1 << (d % 8)
		}
		return to, bitmapEncoding
	case gaps <= runs:
		end = 0
		for _, d := range documents {
			to, end = binary.AppendUvarint(to, uint64(d-end)), d+1
		}
		return to, gapEncoding
	}
	end = 0
	for i := 0; i < len(documents); {
		from := i
		for i++; i < len(documents) && documents[i] == documents[i-1]+1; i++ {
		}
		to = binary.AppendUvarint(to, uint64(documents[from]-end))
		to = binary.AppendUvarint(to, uint64(i-from-1))
		end = documents[i-1] + 1
	}
	return to, runLengthEncoding
}

// visitRuns calls a function with the runs [from, end) of a list in gapEncoding or runLengthEncoding. The segment has count documents.
func visitRuns(list []byte, encoding int, count uint32, visit func(from, end uint32)) error {
	in := input{rest: list}
	for end := uint64(0); len(in.rest) > 0; {
		from := end + in.uvarint(uint64(count))
		end = from + 1
		if encoding == runLengthEncoding {
			end += in.uvarint(uint64(count))
		}
		if in.err != nil {
			return in.err
		}
		if end > uint64(count) {
			return damaged("a list has document %d of %d", end-1, count)
		}
		visit(uint32(from), uint32(end))
	}
	return nil
}

// checkBitmap checks that a bitmap has no document beyond those of the segment.
func checkBitmap(list []byte, count uint32) error {
	if n := len(list); n > 0 && uint64(n-1)*8+uint64(bits.Len8(list[n-1])) > uint64(count) {
		return damaged("a bitmap has more than %d documents", count)
	}
	return nil
}

// readDocuments appends the documents of a list to a slice.
func readDocuments(to []uint32, list []byte, encoding int, count uint32) ([]uint32, error) {
	switch encoding {
	case gapEncoding, runLengthEncoding:
		err := visitRuns(list, encoding, count, func(from, end uint32) {
			for ; from < end; from++ {
				to = append(to, from)
			}
		})
		return to, err
	case bitmapEncoding:
		if err := checkBitmap(list, count); err != nil {
			return to, err
		}
		for i, b := range list {
			for ; b != 0; b &= b - 1 {
				to = append(to, uint32(8*i+bits.TrailingZeros8(b)))
			}
		}
		return to, nil
	}
	return to, damaged("a list has the encoding %d", encoding)
}

// addDocuments adds the documents of a list to a set.
func addDocuments(to *roaring.Bitmap, list []byte, encoding int, count uint32) error {
	switch {
	case encoding == runLengthEncoding:
		return visitRuns(list, encoding, count, func(from, end uint32) { to.AddRange(uint64(from), uint64(end)) })
	case encoding == bitmapEncoding && 8*len(list) >= denseFrom:
		if err := checkBitmap(list, count); err != nil {
			return err
		}
		words := make([]uint64, (len(list)+7)/8)
		for i := range words {
			var last [8]byte
			copy(last[:], list[8*i:])
			words[i] = binary.LittleEndian.Uint64(last[:])
		}
		to.Or(roaring.FromDense(words, false))
		return nil
	}
	var few [256]uint32
	documents, err := readDocuments(few[:0], list, encoding, count)
	to.AddMany(documents)
	return err
}
