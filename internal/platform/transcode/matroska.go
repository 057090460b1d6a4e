package transcode

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Ids of elements.
const (
	elementEBML       = 0x1A45DFA3
	elementDocType    = 0x4282
	elementSegment    = 0x18538067
	elementTracks     = 0x1654AE6B
	elementTrack      = 0xAE
	elementTrackType  = 0x83
	elementVideo      = 0xE0
	elementWidth      = 0xB0
	elementHeight     = 0xBA
	elementCluster    = 0x1F43B675
	trackTypePicture  = 1
	unknownSize       = -1
	maxElementIDBytes = 4
)

// element of a Matroska file.
type element struct {
	id         uint32
	begin, end int64 // of its content
	unknown    bool  // its size; it goes on to the end
}

// elements calls each for the elements between two offsets, until it returns false.
func (w *window) elements(begin, end int64, each func(element) (bool, error)) error {
	for begin < end {
		if err := w.count(); err != nil {
			return err
		}
		e, err := w.element(begin, end)
		if err != nil {
			return err
		}
		more, err := each(e)
		if err != nil || !more {
			return err
		}
		begin = e.end
	}
	return nil
}

// element reads the head of an element.
func (w *window) element(begin, end int64) (e element, err error) {
	head, err := w.at(begin, min(12, end-begin))
	if err != nil {
		return e, err
	}
	n := bits.LeadingZeros8(head[0]) + 1
	if n > maxElementIDBytes || n >= len(head) {
		return e, damaged("an element has no valid id")
	}
	for _, b := range head[:n] {
		e.id = e.id<<8 | uint32(b)
	}
	size, m := vint(head[n:])
	if m == 0 {
		return e, damaged("an element has no valid size")
	}
	e.begin = begin + int64(n+m)
	switch {
	case size == unknownSize:
		e.end, e.unknown = end, true
	case size > end-e.begin:
		return e, damaged("an element is larger than what it is in")
	default:
		e.end = e.begin + size
	}
	return e, nil
}

// vint decodes a size, and returns how many bytes it has; 0 if it is not valid.
func vint(b []byte) (value int64, n int) {
	n = bits.LeadingZeros8(b[0]) + 1
	if n > 8 || n > len(b) {
		return 0, 0
	}
	v, ones := uint64(b[0])&(1<<(8-n)-1), uint64(1)<<(7*n)-1
	for _, c := range b[1:n] {
		v = v<<8 | uint64(c)
	}
	if v == ones {
		return unknownSize, n
	}
	return int64(v), n
}

// unsigned reads a number.
func (w *window) unsigned(e element) (int64, error) {
	if e.end-e.begin > 8 {
		return 0, damaged("a number has more than 8 bytes")
	}
	var b [8]byte
	value, err := w.at(e.begin, e.end-e.begin)
	copy(b[8-len(value):], value)
	return int64(binary.BigEndian.Uint64(b[:]) &^ (1 << 63)), err
}

// checkMatroska checks a Matroska or WebM file.
func checkMatroska(w *window) error {
	var picture, tracks, data bool
	err := w.elements(0, w.size, func(e element) (bool, error) {
		switch e.id {
		case elementEBML:
			return true, w.docType(e)
		case elementSegment:
			return false, w.elements(e.begin, e.end, func(e element) (more bool, err error) {
				switch e.id {
				case elementTracks:
					tracks = true
					picture, err = w.tracks(e)
				case elementCluster: // the tracks come before
					data = true
					return false, nil
				}
				return !e.unknown, err
			})
		}
		return true, nil
	})
	switch {
	case err != nil:
		return err
	case !tracks:
		return damaged("it has no tracks before its data")
	case !picture:
		return errNoPicture
	case !data:
		return damaged("it has no data")
	}
	return nil
}

func (w *window) docType(head element) error {
	return w.elements(head.begin, head.end, func(e element) (bool, error) {
		if e.id != elementDocType {
			return true, nil
		}
		name, err := w.at(e.begin, min(16, e.end-e.begin))
		if name := strings.TrimRight(string(name), "\x00"); err == nil && name != "matroska" && name != "webm" {
			err = errNotAVideo
		}
		return true, err
	})
}

// tracks checks all tracks, and reports whether one of them is a picture.
func (w *window) tracks(all element) (picture bool, err error) {
	n := 0
	return picture, w.elements(all.begin, all.end, func(e element) (bool, error) {
		if e.id != elementTrack {
			return true, nil
		}
		if n++; n > maxTracks {
			return false, errTracks
		}
		is, err := w.matroskaTrack(e)
		picture = picture || is
		return true, err
	})
}

func (w *window) matroskaTrack(track element) (picture bool, err error) {
	var width, height int64
	var walk func(e element) (bool, error)
	walk = func(e element) (more bool, err error) {
		switch e.id {
		case elementTrackType:
			kind, err := w.unsigned(e)
			picture = kind == trackTypePicture
			return true, err
		case elementVideo:
			return true, w.elements(e.begin, e.end, walk)
		case elementWidth:
			width, err = w.unsigned(e)
		case elementHeight:
			height, err = w.unsigned(e)
		}
		return true, err
	}
	if err := w.elements(track.begin, track.end, walk); err != nil || !picture {
		return false, err
	}
	return true, checkSize(width, height)
}
