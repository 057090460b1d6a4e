package blevesearch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// verify compares the files of an index with their checksums, which the engine stores and does not check.
func verify(engine *scorch.Scorch) (err error) {
	reader, err := engine.Reader()
	if err != nil {
		return err
	}
	defer reader.Close() //nolint:errcheck // it only counts references
	for _, part := range reader.(*scorch.IndexSnapshot).Segments() {
		if file, ok := part.Segment().(segment.PersistedSegment); ok {
			if err := verifyFile(file.Path()); err != nil {
				return err
			}
		}
	}
	return nil
}

// sumLen is the length of the checksum at the end of a file.
const sumLen = 4

func verifyFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, file, info.Size()-sumLen); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var stored [sumLen]byte
	if _, err := io.ReadFull(file, stored[:]); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if binary.BigEndian.Uint32(stored[:]) != sum.Sum32() {
		return fmt.Errorf("%s does not have its checksum", path)
	}
	return nil
}
