package media

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/rialto-im/rialto/internal/errs"
)

// Pictures tell more than they show: where and when they were taken, by which device, whose it is, a smaller copy from before they
// were cropped, and whatever hangs behind their end. All of that is cut out of the file, part by part; what makes up the picture
// stays as it is, to the bit.

var errBadImage = errs.New(errs.Invalid, "bad_image", "this image is damaged, or is not what its first bytes say; mend it, or pack it to send it as a file")

// mostPieces bounds what is remembered of a file whose parts to keep and to drop alternate.
const mostPieces = 10_000

// piece of a file as it is kept: a run of its bytes, or others in their place.
type piece struct {
	from, to int64
	data     []byte
}

// cutter goes over a file once, and notes what is kept of it.
type cutter struct {
	r        *bufio.Reader
	at       int64
	pieces   []piece
	size     int64 // of the pieces
	replaced bool  // some are not as they were
	frames   int   // of an animation
	turned   bool  // shown with width and height exchanged
}

// cuts are the formats of pictures, and what goes over them.
var cuts = map[string]func(*cutter) error{"image/jpeg": (*cutter).jpeg, "image/png": (*cutter).png, "image/gif": (*cutter).gif, "image/webp": (*cutter).webp}

// cutImage goes over a file of a format in cuts.
func cutImage(r io.Reader, mime string) (*cutter, error) {
	c := &cutter{r: bufio.NewReaderSize(r, 64<<10)}
	err := cuts[mime](c)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errBadImage
	}
	return c, err
}

// changed tells whether less, or something else, is kept than the whole of a file of so many bytes.
func (c *cutter) changed(size int64) bool { return c.replaced || c.size != size }

// read gives the next n bytes, few.
func (c *cutter) read(n int) ([]byte, error) {
	b := make([]byte, n)
	k, err := io.ReadFull(c.r, b)
	c.at += int64(k)
	return b, err
}

func (c *cutter) byte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.at++
	}
	return b, err
}

// skip goes n bytes on, however many.
func (c *cutter) skip(n int64) error {
	for n > 0 {
		k, err := c.r.Discard(int(min(n, 1<<20)))
		c.at += int64(k)
		n -= int64(k)
		if err != nil {
			return err
		}
	}
	return nil
}

// keep keeps what lies between two places.
func (c *cutter) keep(from, to int64) error {
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

// put puts bytes in the place of others.
func (c *cutter) put(data []byte) error {
	c.size += int64(len(data))
	return c.add(piece{data: data})
}

func (c *cutter) add(p piece) error {
	if len(c.pieces) >= mostPieces {
		return errBadImage
	}
	c.pieces = append(c.pieces, p)
	return nil
}

// cutFile reads what is kept of a file.
type cutFile struct {
	file   io.ReadSeeker
	pieces []piece
	now    io.Reader // of the first piece
}

func (f *cutFile) Read(b []byte) (int, error) {
	for len(f.pieces) > 0 {
		if f.now == nil {
			p := f.pieces[0]
			f.now = bytes.NewReader(p.data)
			if p.data == nil {
				if _, err := f.file.Seek(p.from, io.SeekStart); err != nil {
					return 0, err
				}
				f.now = io.LimitReader(f.file, p.to-p.from)
			}
		}
		n, err := f.now.Read(b)
		if errors.Is(err, io.EOF) {
			f.now, f.pieces, err = nil, f.pieces[1:], nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.EOF
}
