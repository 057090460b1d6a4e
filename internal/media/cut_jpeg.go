package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// Markers of JPEG.
const (
	markStart = 0xd8
	markEnd   = 0xd9
	markScan  = 0xda
	markApp0  = 0xe0
	markApp1  = 0xe1 // Exif, XMP
	markApp2  = 0xe2
	markApp14 = 0xee
)

// jpeg keeps what a decoder needs, the colour profile, and of Exif which way up the picture is. What follows its end is dropped:
// phones put larger pictures and films there, each with its own Exif.
func (c *cutter) jpeg() error {
	b, err := c.read(2)
	if err != nil {
		return err
	}
	if b[0] != 0xff || b[1] != markStart {
		return errBadImage
	}
	if err := c.keep(0, 2); err != nil {
		return err
	}
	scan, oriented := int64(-1), false // where the picture's data began that is gone over now
	for {
		marker, from, err := c.marker()
		if scan >= 0 {
			if errors.Is(err, io.EOF) { // cut off, and still shown as far as it goes
				return c.keep(scan, c.at)
			}
			if err == nil {
				err = c.keep(scan, from)
			}
			scan = -1
		}
		if err != nil {
			return err
		}
		switch marker {
		case markEnd:
			return c.keep(from, c.at)
		case markStart:
			return errBadImage
		}
		b, err := c.read(2)
		if err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint16(b)) - 2
		if n < 0 {
			return errBadImage
		}
		if marker == markApp1 && !oriented {
			if oriented, err = c.exif(n); err != nil {
				return err
			}
			continue
		}
		kept, err := c.keepsSegment(marker, n)
		if err == nil {
			err = c.skip(n)
		}
		if err == nil && kept {
			err = c.keep(from, c.at)
		}
		if err != nil {
			return err
		}
		if marker == markScan {
			scan = c.at
		}
	}
}

// marker goes on to the next one that is not part of a scan's data.
func (c *cutter) marker() (marker byte, from int64, err error) {
	for {
		for {
			skipped, err := c.r.ReadSlice(0xff)
			c.at += int64(len(skipped))
			if err == nil {
				break
			}
			if !isLong(err) {
				return 0, 0, err
			}
		}
		for marker = 0xff; marker == 0xff && err == nil; { // a marker may begin with many
			marker, err = c.byte()
		}
		if err != nil {
			return 0, 0, err
		}
		if marker > 1 && (marker < 0xd0 || marker > 0xd7) {
			return marker, c.at - 2, nil
		}
	}
}

// keepsSegment tells whether a segment of n bytes, which come next, is kept.
func (c *cutter) keepsSegment(marker byte, n int64) (bool, error) {
	name := map[byte]string{markApp0: "JFIF\x00", markApp2: "ICC_PROFILE\x00", markApp14: "Adobe"}[marker]
	if name == "" { // frames, scans, tables
		return marker >= 0xc0 && marker < markApp0, nil
	}
	if n < int64(len(name)) {
		return false, nil
	}
	b, err := c.r.Peek(len(name))
	return string(b) == name, err
}

// exif takes Exif's place by one that says no more than which way up the picture is.
func (c *cutter) exif(n int64) (oriented bool, err error) {
	b, err := c.read(int(n))
	if err != nil {
		return false, err
	}
	tiff, ok := bytes.CutPrefix(b, []byte("Exif\x00\x00"))
	if !ok {
		return false, nil
	}
	way := orientation(tiff)
	if way < 2 || way > 8 { // 1: as it is
		return false, nil
	}
	c.turned = way >= 5
	little := "\xff\xe1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(rune(way)) + "\x00\x00\x00\x00\x00\x00"
	c.replaced = c.replaced || string(b) != little[4:]
	return true, c.put([]byte(little))
}

// orientation as a TIFF says it, 0 where it does not.
func orientation(tiff []byte) int {
	var order binary.ByteOrder = binary.BigEndian
	switch {
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
		order = binary.LittleEndian
	case !bytes.HasPrefix(tiff, []byte("MM\x00*")):
		return 0
	}
	if len(tiff) < 8 {
		return 0
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 0
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			return 0
		}
		if order.Uint16(entries) == 0x112 && order.Uint16(entries[2:]) == 3 && order.Uint32(entries[4:]) == 1 {
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[12:]
	}
	return 0
}
