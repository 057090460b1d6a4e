package media

import (
	"encoding/hex"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// checksum of a stored file (blob.ChecksumWriter).
type checksum struct {
	sum   string // in hex
	piece int64  // the size of its pieces
}

// checksumOfParts returns that of a file from its stored parts, in order.
func checksumOfParts(parts []storedPart, size int64) (checksum, error) {
	var sum []byte
	for _, p := range parts {
		piece, err := hex.DecodeString(p.checksum)
		if err != nil {
			return checksum{}, err
		}
		sum = blob.AddPiece(sum, piece)
	}
	return checksum{hex.EncodeToString(sum), size}, nil
}
