package indexsegment

import (
	"encoding/binary"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"
)

// A list of documents is in the smallest of three forms.
const (
	gapsForm   = 0 // for each document, how many are between it and the one before
	runsForm   = 1 // for each run of documents, how many are between it and the one before, and its length less 1
	bitmapForm = 2 // a bit for each document up to the last one, the lowest of a byte first
	formBits   = 2
)

// denseFrom is how many bits a bitmap has that becomes a set as a whole, and not document by document.
const denseFrom = 1 << 14

func uvarintLen(v uint32) int { return (bits.Len32(v|1) + 6) / 7 }

// appendDocuments appends a list of documents, which are in their order, and returns its form.
func appendDocuments(to []byte, documents []uint32) (_ []byte, form int) {
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
		return to, bitmapForm
	case gaps <= runs:
		end = 0
		for _, d := range documents {
			to, end = binary.AppendUvarint(to, uint64(d-end)), d+1
		}
		return to, gapsForm
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
	return to, runsForm
}

// visitRuns calls a function with the runs of a list that is in the form of gaps or of runs, of a segment with a number of documents. A run ends before its second number.
func visitRuns(list []byte, form int, count uint32, visit func(from, end uint32)) error {
	in := input{rest: list}
	for end := uint64(0); len(in.rest) > 0; {
		from := end + in.uvarint(uint64(count))
		end = from + 1
		if form == runsForm {
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

// checkBitmap checks that a bitmap has no documents that a segment has not.
func checkBitmap(list []byte, count uint32) error {
	if n := len(list); n > 0 && uint64(n-1)*8+uint64(bits.Len8(list[n-1])) > uint64(count) {
		return damaged("a bitmap has more than %d documents", count)
	}
	return nil
}

// readDocuments appends the documents of a list to a slice.
func readDocuments(to []uint32, list []byte, form int, count uint32) ([]uint32, error) {
	switch form {
	case gapsForm, runsForm:
		err := visitRuns(list, form, count, func(from, end uint32) {
			for ; from < end; from++ {
				to = append(to, from)
			}
		})
		return to, err
	case bitmapForm:
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
	return to, damaged("a list has the form %d", form)
}

// addDocuments adds the documents of a list to a set.
func addDocuments(to *roaring.Bitmap, list []byte, form int, count uint32) error {
	switch {
	case form == runsForm:
		return visitRuns(list, form, count, func(from, end uint32) { to.AddRange(uint64(from), uint64(end)) })
	case form == bitmapForm && 8*len(list) >= denseFrom:
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
	documents, err := readDocuments(few[:0], list, form, count)
	to.AddMany(documents)
	return err
}
