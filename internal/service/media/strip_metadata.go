package media

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// Image files contain metadata: place, time, camera, owner, a thumbnail from before the image was cropped, and data after the end of the
// image. All of it is stripped, segment by segment. The encoded image is not changed.

var errBadImage = errs.New(errs.Invalid, "bad_image", "this image is damaged, or its format is not that of its first bytes; repair it, or send it in an archive")

// maxPieces bounds the memory for a file in which kept and stripped segments alternate.
const maxPieces = 10_000

// piece of the stripped file: a range of the original file, or replacement bytes.
type piece struct {
	from, to int64
	data     []byte
}

// metadataStripper reads a file once and records which pieces are kept.
type metadataStripper struct {
	r        *bufio.Reader
	offset   int64
	pieces   []piece
	size     int64 // total of the pieces
	replaced bool  // some bytes were replaced
	frames   int   // of an animation
	scans    int   // of a JPEG
	rotated  bool  // shown with width and height exchanged
}

// strippers by image format.
var strippers = map[string]func(*metadataStripper) error{"image/jpeg": (*metadataStripper).stripJPEG, "image/png": (*metadataStripper).stripPNG, "image/gif": (*metadataStripper).stripGIF, "image/webp": (*metadataStripper).stripWebP}

// stripMetadata finds the pieces to keep of an image in one of the formats in strippers.
func stripMetadata(r io.Reader, mime string) (*metadataStripper, error) {
	c := &metadataStripper{r: bufio.NewReaderSize(r, 64<<10)}
	err := strippers[mime](c)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errBadImage
	}
	return c, err
}

// changed reports whether the stripped file differs from the original, which has size bytes.
func (c *metadataStripper) changed(size int64) bool { return c.replaced || c.size != size }

// read returns the next n bytes, for small n.
func (c *metadataStripper) read(n int) ([]byte, error) {
	b := make([]byte, n)
	k, err := io.ReadFull(c.r, b)
	c.offset += int64(k)
	return b, err
}

func (c *metadataStripper) byte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.offset++
	}
	return b, err
}

// skip advances n bytes, for any n.
func (c *metadataStripper) skip(n int64) error {
	for n > 0 {
		k, err := c.r.Discard(int(min(n, 1<<20)))
		c.offset += int64(k)
		n -= int64(k)
		if err != nil {
			return err
		}
	}
	return nil
}

// keep keeps the bytes between two offsets.
func (c *metadataStripper) keep(from, to int64) error {
	if from == to {
		return nil
	}
	c.size += to - from
	if last := len(c.pieces) - 1; last >= 0 && c.pieces[last].data == nil && c.pieces[last].to == from {
		c.pieces[last].to = to
		return nil
	}
	return c.add(piece{from: from, to: to})
}

// replace adds bytes that replace the original ones.
func (c *metadataStripper) replace(data []byte) error {
	c.size += int64(len(data))
	return c.add(piece{data: data})
}

func (c *metadataStripper) add(p piece) error {
	if len(c.pieces) >= maxPieces {
		return errBadImage
	}
	c.pieces = append(c.pieces, p)
	return nil
}

// strippedFile reads the kept pieces of a file.
type strippedFile struct {
	file    io.ReadSeeker
	pieces  []piece
	current io.Reader // of the first piece
}

func (f *strippedFile) Read(b []byte) (int, error) {
	for len(f.pieces) > 0 {
		if f.current == nil {
			p := f.pieces[0]
			f.current = bytes.NewReader(p.data)
			if p.data == nil {
				if _, err := f.file.Seek(p.from, io.SeekStart); err != nil {
					return 0, err
				}
				f.current = io.LimitReader(f.file, p.to-p.from)
			}
		}
		n, err := f.current.Read(b)
		if errors.Is(err, io.EOF) {
			f.current, f.pieces, err = nil, f.pieces[1:], nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.EOF
}
