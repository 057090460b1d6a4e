package transcode

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// box of an ISO base media file.
type box struct {
	kind       string
	begin, end int64 // of its content
}

// isBoxStart reports whether a file begins with a box that files of this kind begin with.
func isBoxStart(head []byte) bool {
	switch string(head[4:8]) {
	case "ftyp", "moov", "wide", "free", "skip", "mdat", "styp":
		return true
	}
	return false
}

// boxes calls each for the boxes between two offsets.
func (w *window) boxes(begin, end int64, each func(box) error) error {
	for begin < end {
		if err := w.count(); err != nil {
			return err
		}
		if end-begin < 8 {
			return nil // some writers end lists with zeros
		}
		head, err := w.at(begin, 8)
		if err != nil {
			return err
		}
		b := box{kind: string(head[4:8]), begin: begin + 8}
		switch size := int64(binary.BigEndian.Uint32(head)); size {
		case 0: // to the end
			b.end = end
		case 1:
			if head, err = w.at(begin+8, 8); err != nil {
				return err
			}
			large := binary.BigEndian.Uint64(head)
			if large < 16 || large > uint64(end-begin) {
				return damaged("the box " + b.kind + " is larger than what it is in")
			}
			b.begin, b.end = begin+16, begin+int64(large)
		default:
			if size < 8 || size > end-begin {
				return damaged("the box " + b.kind + " is larger than what it is in")
			}
			b.end = begin + size
		}
		if err := each(b); err != nil {
			return err
		}
		begin = b.end
	}
	return nil
}

// checkISOBMFF checks an MP4 or QuickTime file.
func checkISOBMFF(w *window) error {
	var moov, picture, data bool
	tracks := 0
	err := w.boxes(0, w.size, func(b box) error {
		switch b.kind {
		case "mdat", "moof":
			data = true
		case "moov":
			moov = true
			return w.boxes(b.begin, b.end, func(b box) error {
				switch b.kind {
				case "trak":
					if tracks++; tracks > maxTracks {
						return errTracks
					}
					is, err := w.track(b)
					picture = picture || is
					return err
				case "rmra": // a movie that is only a reference to another
					return errNotAVideo
				}
				return nil
			})
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !moov && !data:
		return errNotAVideo
	case !moov:
		return damaged("it has no moov")
	case !data:
		return damaged("it has no mdat")
	case !picture:
		return errNoPicture
	}
	return nil
}

// track checks a track, and reports whether it is a picture.
func (w *window) track(trak box) (picture bool, err error) {
	var walk func(b box) error
	walk = func(b box) error {
		switch b.kind {
		case "mdia", "minf", "dinf", "stbl":
			return w.boxes(b.begin, b.end, walk)
		case "hdlr":
			h, err := w.at(b.begin, min(12, b.end-b.begin))
			picture = picture || len(h) == 12 && string(h[8:12]) == "vide"
			return err
		case "dref":
			return w.references(b)
		case "stsd":
			return w.descriptions(b)
		}
		return nil
	}
	return picture, w.boxes(trak.begin, trak.end, walk)
}

// references fails if a track has its data in another file.
func (w *window) references(dref box) error {
	if dref.end-dref.begin < 8 {
		return damaged("dref is too short")
	}
	return w.boxes(dref.begin+8, dref.end, func(b box) error {
		flags, err := w.at(b.begin, min(4, b.end-b.begin))
		if err == nil && (len(flags) < 4 || flags[3]&1 == 0) {
			err = errs.New(errs.Invalid, "not_a_video", "this file refers to other files; export the video with its data, and upload that")
		}
		return err
	})
}

// descriptions checks the size of the picture, and that nothing is encrypted.
func (w *window) descriptions(stsd box) error {
	if stsd.end-stsd.begin < 8 {
		return damaged("stsd is too short")
	}
	return w.boxes(stsd.begin+8, stsd.end, func(b box) error {
		switch b.kind {
		case "encv", "enca", "encs":
			return errs.New(errs.Invalid, "video_codec", "this video is encrypted; upload one that is not")
		}
		if b.end-b.begin < 28 {
			return nil
		}
		entry, err := w.at(b.begin, 28)
		if err != nil || binary.BigEndian.Uint16(entry[24:]) == 0 || b.kind == "mp4a" {
			return err
		}
		switch b.kind {
		case "avc1", "avc3", "hvc1", "hev1", "vp08", "vp09", "av01", "mp4v":
			return checkSize(int64(binary.BigEndian.Uint16(entry[24:])), int64(binary.BigEndian.Uint16(entry[26:])))
		}
		return nil
	})
}
