package media

import "encoding/binary"

// keptWebP are the WebP chunks that are kept.
var keptWebP = map[string]bool{"VP8 ": true, "VP8L": true, "VP8X": true, "ICCP": true, "ANIM": true, "ANMF": true, "ALPH": true}

const flagsDropped = 0x08 | 0x04 // Exif, XMP

func (c *metadataStripper) stripWebP() error {
	head, err := c.read(12)
	if err != nil {
		return err
	}
	if string(head[:4]) != "RIFF" || string(head[8:]) != "WEBP" {
		return errBadImage
	}
	end := 8 + int64(binary.LittleEndian.Uint32(head[4:]))
	if err := c.replace(head); err != nil {
		return err
	}
	for c.offset < end {
		from := c.offset
		b, err := c.read(8)
		if err != nil {
			return err
		}
		n, name := int64(binary.LittleEndian.Uint32(b[4:])), string(b[:4])
		if c.offset+n > end {
			return errBadImage
		}
		if c.offset+n < end { // the padding of the last one may be missing
			n += n & 1
		}
		if name == "VP8X" {
			if err := c.replaceVP8X(b, n); err != nil {
				return err
			}
			continue
		}
		if err := c.skip(n); err != nil {
			return err
		}
		if name == "ANMF" {
			c.frames++
		}
		if keptWebP[name] {
			if err := c.keep(from, c.offset); err != nil {
				return err
			}
		}
	}
	binary.LittleEndian.PutUint32(head[4:], uint32(c.size-8))
	return nil
}

// replaceVP8X keeps the VP8X chunk, without the flags of the chunks that are dropped.
func (c *metadataStripper) replaceVP8X(head []byte, n int64) error {
	if n < 10 || n > 100 {
		return errBadImage
	}
	b, err := c.read(int(n))
	if err != nil {
		return err
	}
	c.replaced = c.replaced || b[0]&flagsDropped != 0
	b[0] &^= flagsDropped
	return c.replace(append(head, b...))
}
