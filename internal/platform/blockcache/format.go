package blockcache

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

// A file of a block is its header and its bytes. Numbers are big-endian; docs/formats/blockcache.md has the table.
const (
	magic      = "RIALTOB1"
	headerSize = 8 + 8 + 8 + 4 + 16 + 16 + 4*chunks + 4
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errDamaged = errors.New("the block is damaged")
)

// sums are the checksums of the chunks of a block.
type sums [chunks]uint32

func sumsOf(data []byte) (s sums) {
	for i := 0; i*chunkSize < len(data); i++ {
		s[i] = crc32.Checksum(data[i*chunkSize:min(len(data), (i+1)*chunkSize)], castagnoli)
	}
	return s
}

// header of a block.
func header(id blockID, s sums) []byte {
	b := make([]byte, 0, headerSize)
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint64(b, uint64(id.file.size))
	b = binary.BigEndian.AppendUint64(b, uint64(id.number))
	b = binary.BigEndian.AppendUint32(b, uint32(id.length()))
	b = append(b, id.file.group[:]...)
	b = append(b, id.file.name[:]...)
	for _, sum := range s {
		b = binary.BigEndian.AppendUint32(b, sum)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readHeader reads the checksums of a block, and fails unless it is the one that is expected.
func readHeader(r io.ReaderAt, id blockID) (s sums, err error) {
	var b [headerSize]byte
	if _, err := r.ReadAt(b[:], 0); err != nil {
		return s, fmt.Errorf("%w: %w", errDamaged, err)
	}
	const at = headerSize - 4 - 4*chunks
	for i := range s {
		s[i] = binary.BigEndian.Uint32(b[at+4*i:])
	}
	if string(header(id, s)) != string(b[:]) {
		return s, errDamaged
	}
	return s, nil
}

// path of a block's file in the folder.
func (b blockID) path() string {
	g := hex.EncodeToString(b.file.group[:])
	return g[:2] + "/" + g + "-" + hex.EncodeToString(b.file.name[:]) + "-" + strconv.FormatInt(b.number, 10) + "-" + strconv.FormatInt(b.file.size, 10)
}

// parsePath reads the name of a block's file. It is false for all other names.
func parsePath(folder, name string) (id blockID, ok bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 4 {
		return id, false
	}
	group, gerr := hex.DecodeString(parts[0])
	file, ferr := hex.DecodeString(parts[1])
	number, nerr := strconv.ParseInt(parts[2], 10, 64)
	size, serr := strconv.ParseInt(parts[3], 10, 64)
	if gerr != nil || ferr != nil || nerr != nil || serr != nil || len(group) != 16 || len(file) != 16 || number < 0 || size <= 0 || number > (size-1)/BlockSize {
		return id, false
	}
	id = blockID{fileID{hash(group), hash(file), size}, number}
	return id, id.path() == folder+"/"+name // no other spelling
}
