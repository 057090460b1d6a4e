package media

import "encoding/binary"

// Chunks of WebP that are kept, and the flags of the others in VP8X.
var keptWebP = map[string]bool{"VP8 ": true, "VP8L": true, "VP8X": true, "ICCP": true, "ANIM": true, "ANMF": true, "ALPH": true}

const flagsDropped = 0x08 | 0x04 // Exif, XMP

func (c *cutter) webp() error {
	head, err := c.read(12)
	if err != nil {
		return err
	}
	if string(head[:4]) != "RIFF" || string(head[8:]) != "WEBP" {
		return errBadImage
	}
	end := 8 + int64(binary.LittleEndian.Uint32(head[4:]))
	if err := c.put(head); err != nil {
		return err
	}
	for c.at < end {
		from := c.at
		b, err := c.read(8)
		if err != nil {
			return err
		}
		n, name := int64(binary.LittleEndian.Uint32(b[4:])), string(b[:4])
		if c.at+n > end {
			return errBadImage
		}
		if c.at+n < end { // the last one's may be missing
			n += n & 1
		}
		if name == "VP8X" {
			if err := c.extended(b, n); err != nil {
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
			if err := c.keep(from, c.at); err != nil {
				return err
			}
		}
	}
	binary.LittleEndian.PutUint32(head[4:], uint32(c.size-8))
	return nil
}

// extended keeps the chunk that says what others there are, without those that are dropped.
func (c *cutter) extended(head []byte, n int64) error {
	if n < 10 || n > 100 {
		return errBadImage
	}
	b, err := c.read(int(n))
	if err != nil {
		return err
	}
	c.replaced = c.replaced || b[0]&flagsDropped != 0
	b[0] &^= flagsDropped
	return c.put(append(head, b...))
}
