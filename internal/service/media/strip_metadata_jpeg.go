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

// stripJPEG keeps the data for decoding, the color profile, and the orientation from Exif. It drops the bytes after the end of the
// image: phones append larger pictures and videos, each with its own Exif.
func (c *metadataStripper) stripJPEG() error {
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
	scan, oriented := int64(-1), false // the start of the scan data that is being skipped
	for {
		marker, from, err := c.nextMarker()
		if scan >= 0 {
			if errors.Is(err, io.EOF) { // truncated; decoders show the part before
				return c.keep(scan, c.offset)
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
			return c.keep(from, c.offset)
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
			if oriented, err = c.replaceExif(n); err != nil {
				return err
			}
			continue
		}
		kept, err := c.keepsSegment(marker, n)
		if err == nil {
			err = c.skip(n)
		}
		if err == nil && kept {
			err = c.keep(from, c.offset)
		}
		if err != nil {
			return err
		}
		if marker == markScan {
			scan = c.offset
			c.scans++
		}
	}
}

// nextMarker advances to the next marker that is not part of a scan's data.
func (c *metadataStripper) nextMarker() (marker byte, from int64, err error) {
	for {
		for {
			skipped, err := c.r.ReadSlice(0xff)
			c.offset += int64(len(skipped))
			if err == nil {
				break
			}
			if !isBufferFull(err) {
				return 0, 0, err
			}
		}
		for marker = 0xff; marker == 0xff && err == nil; { // a marker may have fill bytes before it
			marker, err = c.byte()
		}
		if err != nil {
			return 0, 0, err
		}
		if marker > 1 && (marker < 0xd0 || marker > 0xd7) {
			return marker, c.offset - 2, nil
		}
	}
}

// keepsSegment reports whether the next segment, of n bytes, is kept.
func (c *metadataStripper) keepsSegment(marker byte, n int64) (bool, error) {
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

// replaceExif replaces Exif by one that contains only the orientation.
func (c *metadataStripper) replaceExif(n int64) (oriented bool, err error) {
	b, err := c.read(int(n))
	if err != nil {
		return false, err
	}
	tiff, ok := bytes.CutPrefix(b, []byte("Exif\x00\x00"))
	if !ok {
		return false, nil
	}
	orientation := orientation(tiff)
	if orientation < 2 || orientation > 8 { // 1: not rotated
		return false, nil
	}
	c.rotated = orientation >= 5
	little := "\xff\xe1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(rune(orientation)) + "\x00\x00\x00\x00\x00\x00"
	c.replaced = c.replaced || string(b) != little[4:]
	return true, c.replace([]byte(little))
}

// orientation returns the orientation in a TIFF, 0 if it has none.
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
