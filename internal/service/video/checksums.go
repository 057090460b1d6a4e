package video

import (
	"crypto/sha256"
	"encoding/binary"
)

// checksumPiece is the size of the pieces of which a file's checksum is made (blob.ChecksumWriter).
const checksumPiece = 5 << 20

// encodeChecksums returns the number of an attempt as a varint, and the checksums of its files. The number tells them from those that a build which stores none has left.
func encodeChecksums(attempt int64, sums [][]byte) []byte {
	b := binary.AppendUvarint(nil, uint64(attempt))
	for _, sum := range sums {
		b = append(b, sum...)
	}
	return b
}

// checksumsOf decodes encodeChecksums: nil if there are none of the attempt whose files count.
func checksumsOf(b []byte, attempt int64) (sums [][]byte) {
	of, n := binary.Uvarint(b)
	if n <= 0 || int64(of) != attempt {
		return nil
	}
	for b = b[n:]; len(b) >= sha256.Size; b = b[sha256.Size:] {
		sums = append(sums, b[:sha256.Size])
	}
	return sums
}
