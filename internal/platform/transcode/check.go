package transcode

import (
	"errors"
	"fmt"
)

// ErrNotCopied: the stream of a source cannot be played as it is, and has to be encoded.
var ErrNotCopied = errors.New("the stream cannot be copied")

// checkPicture verifies an encoded chunk: it has all frames, each at its time and for one frame's time, and segments of whole groups that begin with a key frame.
func (t *Track) checkPicture(c Chunk, group int, scale, ticks, start int64) error {
	if t.Timescale != scale {
		return unexpected("its timescale is %d and not %d", t.Timescale, scale)
	}
	total := 0
	for i := range t.Segments {
		total += len(t.Segments[i].fragment.samples)
	}
	if total < c.Frames {
		return damaged(fmt.Sprintf("the chunk from frame %d on has %d frames of %d", c.First, total, c.Frames))
	}
	t.shift(start + int64(c.First)*ticks)
	next, frames := start+int64(c.First)*ticks, 0
	for i := range t.Segments {
		s := &t.Segments[i]
		n := len(s.fragment.samples)
		if want := min(group, c.Frames-frames); n != want {
			return unexpected("segment %d has %d frames and not %d", i, n, want)
		}
		if !s.fragment.samples[0].sync {
			return unexpected("segment %d does not begin with a key frame", i)
		}
		// ffmpeg does not know how long the last frame is: that of a file, or before a gap.
		times, _ := s.fragment.shown()
		for k, at := range times {
			if at != next+int64(k)*ticks {
				return unexpected("frame %d of segment %d is at %d and not at %d", k, i, at, next+int64(k)*ticks)
			}
		}
		s.Start, s.Duration = next, int64(n)*ticks
		next += s.Duration
		frames += n
	}
	if frames != c.Frames {
		return unexpected("it has %d frames and not %d", frames, c.Frames)
	}
	return nil
}

// shift moves all segments, so that the first frame is shown at a time.
func (t *Track) shift(first int64) {
	times, _ := t.Segments[0].fragment.shown()
	by := first - times[0]
	for i := range t.Segments {
		t.Segments[i].fragment.decodeTime += by
	}
}

// checkSound verifies sound: there is no gap. The samples of an encoder's start make it begin some milliseconds late at most.
func (t *Track) checkSound() error {
	first := t.Segments[0].fragment.decodeTime - ticksOf(offset, t.Timescale)
	t.shift(max(first, 0))
	return t.checkContiguous(t.Timescale / 20)
}

// checkContiguous verifies that each segment begins where the one before ends, within a tolerance, and sets their times.
func (t *Track) checkContiguous(tolerance int64) error {
	for i := range t.Segments {
		s := &t.Segments[i]
		times, end := s.fragment.shown()
		s.Start = times[0]
		s.Duration = end - s.fragment.decodeTime
		if i == 0 {
			continue
		}
		before := &t.Segments[i-1]
		if gap := s.Start - before.Start - before.Duration; gap > tolerance || gap < -tolerance {
			return unexpected("there is a gap of %d of %d ticks before segment %d", gap, t.Timescale, i)
		}
		before.Duration = s.Start - before.Start
	}
	return nil
}

// checkCopy verifies a picture that was copied: it has all frames, segments that can be decoded alone, and no gap.
func (t *Track) checkCopy(s *Source) error {
	t.shift(ticksOf(s.Start, t.Timescale))
	frames := 0
	for i := range t.Segments {
		f := &t.Segments[i].fragment
		frames += len(f.samples)
		alone, err := t.firstIsIDR(&t.Segments[i])
		if err != nil {
			return err
		}
		changes, err := t.changesParameters(&t.Segments[i])
		if err != nil {
			return err
		}
		if !alone || !f.samples[0].sync || changes {
			return ErrNotCopied
		}
	}
	if frames != s.Packets {
		return ErrNotCopied
	}
	if err := t.checkContiguous(t.Timescale); err != nil {
		return ErrNotCopied
	}
	for _, segment := range t.Segments {
		if segment.Duration > ticksOf(2*maxCopiedGroup, t.Timescale) {
			return ErrNotCopied
		}
	}
	return nil
}
