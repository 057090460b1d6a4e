package blob

import (
	"crypto/sha256"
	"hash"
)

// The checksum of a file is that of its pieces, which all but the last have the same size: of the first, it is its SHA-256; of each further one, the SHA-256 of the checksum
// of those before it and of its own SHA-256. So a file in parts gets one without being read again, and one that is read can be continued anywhere between two pieces. That of a file with
// one piece is what sha256sum prints.

// AddPiece returns the checksum of pieces, of which those before have the checksum sum, nil: there are none, and the last has this SHA-256.
func AddPiece(sum, piece []byte) []byte {
	if sum == nil {
		return piece
	}
	all := sha256.Sum256(append(sum[:len(sum):len(sum)], piece...))
	return all[:]
}

// ChecksumWriter computes the checksum of a file that is written to it.
type ChecksumWriter struct {
	piece, left int64 // bytes of a piece, and those of this one that are missing
	hash        hash.Hash
	sum         []byte // of the pieces before
}

// NewChecksumWriter returns a writer for a file with pieces of a size.
func NewChecksumWriter(piece int64) *ChecksumWriter {
	return &ChecksumWriter{piece: piece, left: piece, hash: sha256.New()}
}

// Write never fails.
func (w *ChecksumWriter) Write(b []byte) (int, error) {
	all := len(b)
	for len(b) > 0 {
		if w.left == 0 {
			w.sum, w.left = AddPiece(w.sum, w.hash.Sum(nil)), w.piece
			w.hash.Reset()
		}
		n := min(int64(len(b)), w.left)
		w.hash.Write(b[:n])
		b, w.left = b[n:], w.left-n
	}
	return all, nil
}

// Sum returns the checksum of what was written.
func (w *ChecksumWriter) Sum() []byte { return AddPiece(w.sum, w.hash.Sum(nil)) }
