package media

import (
	"errors"
	"io"
)

// stripGIF keeps the images and the extensions that control their animation. It drops comments, texts and application extensions.
func (c *metadataStripper) stripGIF() error {
	b, err := c.read(13)
	if err != nil {
		return err
	}
	if string(b[:6]) != "GIF87a" && string(b[:6]) != "GIF89a" {
		return errBadImage
	}
	if err := c.skipColorTable(b[10]); err != nil {
		return err
	}
	if err := c.keep(0, c.offset); err != nil {
		return err
	}
	for {
		from, kept := c.offset, true
		kind, err := c.byte()
		if errors.Is(err, io.EOF) && c.frames > 0 {
			return nil // the trailer is missing
		}
		if err != nil {
			return err
		}
		switch kind {
		case ';':
			return c.keep(from, c.offset)
		case ',':
			c.frames++
			err = c.skipFrame()
		case '!':
			kept, err = c.skipExtension()
		default:
			return errBadImage
		}
		if err == nil && kept {
			err = c.keep(from, c.offset)
		}
		if err != nil {
			return err
		}
	}
}

// skipColorTable skips a color table if the flags announce one.
func (c *metadataStripper) skipColorTable(flags byte) error {
	if flags&0x80 == 0 {
		return nil
	}
	return c.skip(3 << (1 + flags&7))
}

func (c *metadataStripper) skipFrame() error {
	b, err := c.read(9)
	if err == nil {
		err = c.skipColorTable(b[8])
	}
	if err == nil {
		_, err = c.byte() // the code size of the data
	}
	if err != nil {
		return err
	}
	return c.skipBlocks()
}

// skipExtension skips an extension and reports whether it is kept. It keeps each frame's duration and the number of
// repetitions.
func (c *metadataStripper) skipExtension() (kept bool, err error) {
	label, err := c.byte()
	if err != nil {
		return false, err
	}
	if kept = label == 0xf9; label == 0xff {
		name, err := c.r.Peek(12)
		if err != nil {
			return false, err
		}
		kept = string(name) == "\x0bNETSCAPE2.0" || string(name) == "\x0bANIMEXTS1.0"
	}
	return kept, c.skipBlocks()
}

// skipBlocks skips data blocks up to the empty one that ends them.
func (c *metadataStripper) skipBlocks() error {
	for {
		n, err := c.byte()
		if err != nil || n == 0 {
			return err
		}
		if err := c.skip(int64(n)); err != nil {
			return err
		}
	}
}
