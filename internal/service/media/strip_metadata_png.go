package media

import (
	"bufio"
	"encoding/binary"
	"errors"
)

// isBufferFull reports whether a read failed only because the reader's buffer was full.
func isBufferFull(err error) bool { return errors.Is(err, bufio.ErrBufferFull) }

// keptChunks are the PNG chunks that affect how the image looks. All other ancillary chunks are dropped: texts, Exif, the time,
// and those of applications.
var keptChunks = map[string]bool{"IHDR": true, "PLTE": true, "IDAT": true, "IEND": true, "tRNS": true, "cHRM": true, "gAMA": true, "iCCP": true, "sBIT": true, "sRGB": true,
	"cICP": true, "mDCV": true, "cLLI": true, "bKGD": true, "hIST": true, "pHYs": true, "sPLT": true, "acTL": true, "fcTL": true, "fdAT": true}

func (c *metadataStripper) stripPNG() error {
	b, err := c.read(8)
	if err != nil {
		return err
	}
	if string(b) != "\x89PNG\r\n\x1a\n" {
		return errBadImage
	}
	if err := c.keep(0, 8); err != nil {
		return err
	}
	for {
		from := c.offset
		b, err := c.read(8)
		if err != nil {
			return err
		}
		n, name := binary.BigEndian.Uint32(b), string(b[4:])
		if n > 1<<31-1 || (from == 8) != (name == "IHDR") {
			return errBadImage
		}
		if err := c.skip(int64(n) + 4); err != nil {
			return err
		}
		switch {
		case keptChunks[name]:
			if err := c.keep(from, c.offset); err != nil {
				return err
			}
		case name[0]&0x20 == 0:
			return errBadImage // an unknown critical chunk
		}
		switch name {
		case "fcTL":
			c.frames++
		case "IEND":
			return nil
		}
	}
}
