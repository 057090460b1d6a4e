package video

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/platform/transcode"
)

// segment of a track: a part of the file of a task.
type segment struct{ offset, size, start, duration int64 }

// encodeSegments returns sizes and durations as pairs of varints. The segments follow each other in the file, and in time.
func encodeSegments(list []transcode.Segment) ([]byte, error) {
	var b []byte
	for i, s := range list {
		if i > 0 && (s.Offset != list[i-1].Offset+list[i-1].Size || s.Start != list[i-1].Start+list[i-1].Duration) || i == 0 && s.Offset != 0 {
			return nil, fmt.Errorf("segment %d does not follow the one before: %+v", i, s)
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(s.Size)), uint64(s.Duration))
	}
	return b, nil
}

var errSegments = errors.New("the stored segments of a video are not valid")

// segmentsOf returns the segments of a task's file.
func segmentsOf(t *task) (list []segment, err error) {
	at := segment{start: t.start}
	for b := t.segments; len(b) > 0; {
		size, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errSegments
		}
		duration, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return nil, errSegments
		}
		b = b[n+m:]
		at.offset, at.start = at.offset+at.size, at.start+at.duration
		at.size, at.duration = int64(size), int64(duration)
		list = append(list, at)
	}
	return list, nil
}

// encodeStoryboard returns the columns, the number of frames and the interval in milliseconds of a storyboard, as varints; of another image, nothing.
func encodeStoryboard(b *transcode.Storyboard) []byte {
	if b.Count == 0 {
		return []byte{}
	}
	list := binary.AppendUvarint(nil, uint64(b.Columns))
	list = binary.AppendUvarint(list, uint64(b.Count))
	return binary.AppendUvarint(list, uint64(b.Interval.Milliseconds()))
}

// storyboardOf decodes encodeStoryboard.
func storyboardOf(t *task) (b transcode.Storyboard, err error) {
	var values [3]uint64
	rest := t.segments
	for i := range values {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return b, errSegments
		}
		values[i], rest = v, rest[n:]
	}
	return transcode.Storyboard{TileWidth: int(t.width), TileHeight: int(t.height), Columns: int(values[0]), Count: int(values[1]), Interval: time.Duration(values[2]) * time.Millisecond}, nil
}

// encodeSizes returns the sizes of the files of a stage as varints.
func encodeSizes(list []int64) []byte {
	b := []byte{}
	for _, size := range list {
		b = binary.AppendUvarint(b, uint64(size))
	}
	return b
}

// sizesOf decodes encodeSizes.
func sizesOf(t *task) (list []int64, err error) {
	for b := t.segments; len(b) > 0; {
		size, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errSegments
		}
		b = b[n:]
		list = append(list, int64(size))
	}
	return list, nil
}
