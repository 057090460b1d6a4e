package transcode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Format is a container that ffmpeg is made to read, by the name of its demuxer.
type Format string

const (
	// ISOBMFF is MP4 and QuickTime.
	ISOBMFF Format = "mov"
	// Matroska is that, and WebM.
	Matroska Format = "matroska"
)

const (
	maxTracks    = 16
	maxBoxes     = 4096 // boxes and elements of a file that are looked at
	maxSide      = 8192 // pixels
	maxPixels    = 4096 * 2304
	windowSize   = 64 << 10
	minContainer = 32 // bytes
)

var errTracks = beyond(fmt.Sprintf("a video has at most %d tracks", maxTracks))

// Check parses a file as a container of videos, before anything else reads it. It reads few bytes, and keeps little in memory. What it accepts may still be no video.
func Check(r io.ReadSeeker, size int64) (Format, error) {
	w := &window{r: r, size: size}
	head, err := w.at(0, min(size, minContainer))
	if err != nil {
		return "", err
	}
	var format Format
	switch {
	case len(head) < minContainer:
		return "", errNotAVideo
	case bytes.HasPrefix(head, []byte{0x1A, 0x45, 0xDF, 0xA3}):
		format, err = Matroska, checkMatroska(w)
	case isBoxStart(head):
		format, err = ISOBMFF, checkISOBMFF(w)
	default:
		return "", errNotAVideo
	}
	if errors.Is(err, errOutside) {
		err = damaged("it ends within an element")
	}
	return format, err
}

// window reads parts of a file by a buffer, so that small ones next to each other are one read.
type window struct {
	r     io.ReadSeeker
	size  int64
	buf   []byte
	begin int64 // of buf in the file
	seen  int   // boxes or elements
}

// errOutside: a part of a file that is not in the file.
var errOutside = errors.New("the file ends before")

// at returns n bytes at an offset, valid until the next call; n is at most windowSize.
func (w *window) at(offset, n int64) ([]byte, error) {
	if offset < 0 || n < 0 || n > windowSize || offset > w.size-n {
		return nil, errOutside
	}
	if from := offset - w.begin; from >= 0 && from+n <= int64(len(w.buf)) {
		return w.buf[from : from+n], nil
	}
	if _, err := w.r.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	if w.buf == nil {
		w.buf = make([]byte, windowSize)
	}
	w.buf, w.begin = w.buf[:min(windowSize, w.size-offset)], offset
	if _, err := io.ReadFull(w.r, w.buf); err != nil {
		w.buf = w.buf[:0]
		return nil, err
	}
	return w.buf[:n], nil
}

// count counts a box or an element, and fails if there are too many.
func (w *window) count() error {
	if w.seen++; w.seen > maxBoxes {
		return beyond("this file has too many parts; export the video again, and upload that")
	}
	return nil
}

// checkSize fails for pictures that are too large.
func checkSize(width, height int64) error {
	if width > maxSide || height > maxSide || width*height > maxPixels {
		return beyond(fmt.Sprintf("this video has %d × %d pixels; a side has at most %d, and a picture %d", width, height, maxSide, maxPixels))
	}
	return nil
}
