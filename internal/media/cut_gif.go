package media

import (
	"errors"
	"io"
)

// gif keeps images and what says how they follow one another, and drops comments, texts and what programs add.
func (c *cutter) gif() error {
	b, err := c.read(13)
	if err != nil {
		return err
	}
	if string(b[:6]) != "GIF87a" && string(b[:6]) != "GIF89a" {
		return errBadImage
	}
	if err := c.colours(b[10]); err != nil {
		return err
	}
	if err := c.keep(0, c.at); err != nil {
		return err
	}
	for {
		from, kept := c.at, true
		kind, err := c.byte()
		if errors.Is(err, io.EOF) && c.frames > 0 {
			return nil // its end is missing
		}
		if err != nil {
			return err
		}
		switch kind {
		case ';':
			return c.keep(from, c.at)
		case ',':
			c.frames++
			err = c.frame()
		case '!':
			kept, err = c.extension()
		default:
			return errBadImage
		}
		if err == nil && kept {
			err = c.keep(from, c.at)
		}
		if err != nil {
			return err
		}
	}
}

// colours skips a table of them, where the flags say that there is one.
func (c *cutter) colours(flags byte) error {
	if flags&0x80 == 0 {
		return nil
	}
	return c.skip(3 << (1 + flags&7))
}

func (c *cutter) frame() error {
	b, err := c.read(9)
	if err == nil {
		err = c.colours(b[8])
	}
	if err == nil {
		_, err = c.byte() // how its data is packed
	}
	if err != nil {
		return err
	}
	return c.blocks()
}

// extension tells whether it is kept: how long a frame is shown, and how often all are.
func (c *cutter) extension() (kept bool, err error) {
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
	return kept, c.blocks()
}

// blocks skips data in blocks, to the empty one.
func (c *cutter) blocks() error {
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
