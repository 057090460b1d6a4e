package pebblelog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A manifest has blocks of chunks. Each chunk follows a header with a checksum, a length and a type, as in LevelDB's logs.
const (
	manifestBlock  = 32 << 10
	manifestHeader = 7
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkManifest reports a corrupt manifest that Pebble would read as one that ends early, or reject without naming it. The last change of a
// manifest may be incomplete after a power cut, since Pebble applies it only when it is synced. Damage anywhere else means that tables
// are unknown, and Pebble would delete them.
func checkManifest(fs vfs.FS, path string) error {
	f, err := fs.Open(path)
	if err != nil {
		return fmt.Errorf("%s, which lists the tables, is missing or cannot be read: %w", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("%s, which lists the tables, cannot be read: %w", path, err)
	}
	if len(b) == 0 {
		return fmt.Errorf("%s, which lists the tables, is empty", path)
	}
	at := 0
	for at < len(b) {
		if manifestBlock-at%manifestBlock < manifestHeader { // the rest of a block is padding
			at += manifestBlock - at%manifestBlock
			continue
		}
		end, intact := manifestChunk(b, at)
		if !intact {
			break
		}
		at = end
	}
	if at >= len(b) || at > 0 && isIncompleteEnd(b, at) {
		return nil
	}
	return fmt.Errorf("%s, which lists the tables, is damaged at byte %d of %d", path, at, len(b))
}

// manifestChunk returns the end of the chunk at an offset, and whether it is complete and matches its checksum.
func manifestChunk(b []byte, at int) (end int, intact bool) {
	if len(b)-at < manifestHeader {
		return len(b), false
	}
	header := b[at:]
	end = at + manifestHeader + int(binary.LittleEndian.Uint16(header[4:]))
	if kind := header[6]; kind < 1 || kind > 4 || end > len(b) || (end-1)/manifestBlock != at/manifestBlock {
		return end, false
	}
	sum := crc32.Checksum(b[at+6:end], castagnoli)
	return end, binary.LittleEndian.Uint32(header) == (sum>>15|sum<<17)+0xa282ead8
}

// isIncompleteEnd reports whether an unreadable part at an offset is the interrupted last write of a file: no intact chunk follows, and it
// is cut off or ends in zeros.
func isIncompleteEnd(b []byte, at int) bool {
	if end, _ := manifestChunk(b, at); end <= len(b) && len(bytes.TrimRight(b[end-min(8, end-at):end], "\x00")) > 0 && len(b)-at >= manifestHeader {
		return false
	}
	for next := at + 1; next < len(b); next++ {
		if end, intact := manifestChunk(b, next); intact && end-next > manifestHeader {
			return false
		}
	}
	return true
}
