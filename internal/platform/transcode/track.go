package transcode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Track is a fragmented file with one stream: a header, and segments, which are parts of the file.
type Track struct {
	// Path of the file, whose segments begin at Begin and have Size bytes together.
	Path        string
	Begin, Size int64
	// Init is the header (ftyp and moov). It is the same for all chunks of a rendition.
	Init []byte
	// Timescale is how many ticks a second has.
	Timescale int64
	Segments  []Segment
	// Codecs is the name of the stream's codec for players, such as avc1.64001f.
	Codecs string

	file *os.File // while it is checked
	// parameters are the sequence parameter sets of the header.
	parameters [][]byte
}

// Segment is a moof and its mdat.
type Segment struct {
	// Offset and Size in the file, from its Begin on.
	Offset, Size int64
	// Start and Duration in ticks.
	Start, Duration int64

	fragment fragment
}

// fragment is what a moof says.
type fragment struct {
	decodeTimeAt int64 // where tfdt has the decode time, in the file
	sequenceAt   int64 // where mfhd has the sequence number
	dataAt       int64 // of the first sample
	decodeTime   int64
	samples      []sample
}

type sample struct {
	duration, size, offset int64
	sync                   bool
}

const (
	maxSamples = 1 << 16 // of a segment
	maxInit    = 64 << 10
	maxMoof    = 4 << 20
)

var errOutput = errors.New("ffmpeg wrote a file that is not as expected")

func unexpected(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errOutput, fmt.Sprintf(format, args...))
}

// openTrack reads a file that ffmpeg wrote. check verifies it, and sets its times.
func openTrack(path string, check func(*Track) error) (_ *Track, err error) {
	t := &Track{Path: path}
	if t.file, err = OpenOutput(path, os.O_RDWR); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.file.Close()) }()
	info, err := t.file.Stat()
	if err != nil {
		return nil, err
	}
	w := &window{r: t.file, size: info.Size(), seen: -1 << 30}
	var moof *Segment
	err = w.boxes(0, w.size, func(b box) error {
		head := b.begin - 8
		switch b.kind {
		case "moov":
			if b.end > maxInit || t.Init != nil {
				return unexpected("the header has %d bytes", b.end)
			}
			t.Init = make([]byte, b.end)
			_, err := t.file.ReadAt(t.Init, 0)
			return errors.Join(err, t.readHeader(w, b))
		case "moof":
			if t.Init == nil || moof != nil || b.end-b.begin > maxMoof {
				return unexpected("a moof follows what it must not")
			}
			moof = &Segment{Offset: head - int64(len(t.Init)), Size: b.end - head}
			return moof.fragment.read(w, t.file, b)
		case "mdat":
			if moof == nil {
				return unexpected("a mdat has no moof")
			}
			moof.Size = b.end - moof.Offset - int64(len(t.Init))
			moof.fragment.dataAt = b.begin
			t.Segments = append(t.Segments, *moof)
			moof = nil
		}
		return nil
	})
	if err == nil && len(t.Segments) == 0 {
		return nil, damaged("nothing of it could be decoded")
	}
	if err == nil && (moof != nil || len(t.Segments) == 0 || t.Timescale == 0 || t.Codecs == "") {
		err = unexpected("it has %d segments, the timescale %d and the codec %q", len(t.Segments), t.Timescale, t.Codecs)
	}
	if err == nil {
		err = check(t)
	}
	if err == nil {
		err = t.writeTimes()
	}
	t.Begin = int64(len(t.Init))
	t.keep(0, len(t.Segments))
	return t, err
}

// keep leaves out the segments before one, and those from another one on.
func (t *Track) keep(from, to int) {
	t.Segments = t.Segments[:to]
	if from >= to {
		t.Segments, t.Size = nil, 0
		return
	}
	t.Segments = t.Segments[from:]
	first := t.Segments[0].Offset
	t.Begin += first
	for i := range t.Segments {
		t.Segments[i].Offset -= first
	}
	last := t.Segments[len(t.Segments)-1]
	t.Size = last.Offset + last.Size
}

// readHeader reads the timescale and the codec.
func (t *Track) readHeader(w *window, moov box) error {
	var walk func(b box) error
	walk = func(b box) error {
		switch b.kind {
		case "trak", "mdia", "minf", "stbl":
			return w.boxes(b.begin, b.end, walk)
		case "mdhd":
			head, err := w.at(b.begin, min(24, b.end-b.begin))
			if err != nil {
				return err
			}
			at := 12 // version 0: version and flags, two times
			if head[0] == 1 {
				at = 20
			}
			if len(head) < at+4 {
				return unexpected("mdhd is too short")
			}
			t.Timescale = int64(binary.BigEndian.Uint32(head[at:]))
		case "stsd":
			return w.boxes(b.begin+8, b.end, func(b box) error { return t.readCodec(w, b) })
		}
		return nil
	}
	return w.boxes(moov.begin, moov.end, walk)
}

// readCodec reads the description of the samples.
func (t *Track) readCodec(w *window, entry box) error {
	switch entry.kind {
	case "avc1":
		const visual = 78 // bytes before the boxes
		return w.boxes(entry.begin+visual, entry.end, func(b box) error {
			if b.kind != "avcC" {
				return nil
			}
			c, err := w.at(b.begin, min(maxInit, b.end-b.begin))
			if err == nil && (len(c) < 6 || c[4]&3 != 3) {
				err = unexpected("avcC is not of lengths of 4 bytes")
			}
			if err != nil {
				return err
			}
			t.Codecs = fmt.Sprintf("avc1.%02x%02x%02x", c[1], c[2], c[3])
			for n, c := c[5]&31, c[6:]; n > 0 && len(c) >= 2; n-- {
				size := min(int(binary.BigEndian.Uint16(c)), len(c)-2)
				t.parameters, c = append(t.parameters, bytes.Clone(c[2:2+size])), c[2+size:]
			}
			return nil
		})
	case "mp4a":
		t.Codecs = "mp4a.40.2" // AAC-LC is all that is encoded or copied
		return nil
	}
	return unexpected("its samples are %s", entry.kind)
}

// read reads a moof with one track.
func (f *fragment) read(w *window, file io.ReaderAt, moof box) error {
	traf := false
	return w.boxes(moof.begin, moof.end, func(b box) error {
		switch b.kind {
		case "mfhd":
			f.sequenceAt = b.begin + 4
		case "traf":
			if traf {
				return unexpected("a moof has two tracks")
			}
			traf = true
			return f.readTraf(w, file, b)
		}
		return nil
	})
}

// Flags of tfhd and trun.
const (
	tfhdBase, tfhdDescription, tfhdDuration, tfhdSize, tfhdFlags              = 0x1, 0x2, 0x8, 0x10, 0x20
	trunData, trunFirstFlags, trunDuration, trunSize, trunFlags, trunComposit = 0x1, 0x4, 0x100, 0x200, 0x400, 0x800
	sampleIsNoSync                                                            = 0x10000
)

// defaults of the samples of a traf.
type defaults struct{ duration, size, flags uint32 }

func (f *fragment) readTraf(w *window, file io.ReaderAt, traf box) error {
	var d defaults
	return w.boxes(traf.begin, traf.end, func(b box) error {
		switch b.kind {
		case "tfhd", "trun":
			body := make([]byte, b.end-b.begin)
			if _, err := file.ReadAt(body, b.begin); err != nil {
				return err
			}
			r := &fields{b: body}
			if b.kind == "tfhd" {
				return d.read(r)
			}
			return f.readTrun(r, d)
		case "tfdt":
			body, err := w.at(b.begin, min(12, b.end-b.begin))
			if err != nil {
				return err
			}
			if len(body) < 12 || body[0] != 1 {
				return unexpected("tfdt has no 64 bits")
			}
			f.decodeTimeAt, f.decodeTime = b.begin+4, int64(binary.BigEndian.Uint64(body[4:]))
		}
		return nil
	})
}

// fields reads numbers of 32 bits.
type fields struct {
	b   []byte
	bad bool
}

func (r *fields) next() uint32 {
	if len(r.b) < 4 {
		r.bad = true
		return 0
	}
	v := binary.BigEndian.Uint32(r.b)
	r.b = r.b[4:]
	return v
}

// optional reads a number if flags have a flag, and returns otherwise what is there instead.
func (r *fields) optional(flags, flag, otherwise uint32) uint32 {
	if flags&flag == 0 {
		return otherwise
	}
	return r.next()
}

func (d *defaults) read(r *fields) error {
	flags := r.next()
	r.next() // the track
	if flags&tfhdBase != 0 {
		return unexpected("a tfhd has an absolute offset")
	}
	r.optional(flags, tfhdDescription, 0)
	d.duration = r.optional(flags, tfhdDuration, 0)
	d.size = r.optional(flags, tfhdSize, 0)
	d.flags = r.optional(flags, tfhdFlags, 0)
	if r.bad {
		return unexpected("tfhd is too short")
	}
	return nil
}

func (f *fragment) readTrun(r *fields, d defaults) error {
	flags := r.next()
	n := r.next()
	if n > maxSamples || len(f.samples) > 0 {
		return unexpected("a moof has %d samples, or two lists", n)
	}
	r.optional(flags, trunData, 0)
	first := r.optional(flags, trunFirstFlags, d.flags)
	for i := range n {
		s := sample{duration: int64(r.optional(flags, trunDuration, d.duration)), size: int64(r.optional(flags, trunSize, d.size))}
		of := r.optional(flags, trunFlags, d.flags)
		if i == 0 && flags&trunFlags == 0 {
			of = first
		}
		s.sync = of&sampleIsNoSync == 0
		s.offset = int64(int32(r.optional(flags, trunComposit, 0)))
		f.samples = append(f.samples, s)
	}
	if r.bad {
		return unexpected("trun is too short")
	}
	return nil
}

// shown returns the times at which the samples are shown, in order, and when the last one ends.
func (f *fragment) shown() (times []int64, end int64) {
	at := f.decodeTime
	for _, s := range f.samples {
		times = append(times, at+s.offset)
		at += s.duration
	}
	slices.Sort(times)
	return times, at
}

// writeTimes writes the times of the segments, and their numbers, into the file.
func (t *Track) writeTimes() error {
	for i := range t.Segments {
		f := &t.Segments[i].fragment
		if f.decodeTime < 0 || f.decodeTimeAt == 0 || f.sequenceAt == 0 {
			return unexpected("segment %d begins at %d", i, f.decodeTime)
		}
		if err := t.write(f.decodeTimeAt, binary.BigEndian.AppendUint64(nil, uint64(f.decodeTime))); err != nil {
			return err
		}
	}
	return nil
}

func (t *Track) write(at int64, b []byte) error {
	_, err := t.file.WriteAt(b, at)
	return err
}

// firstIsIDR reports whether the first sample of a segment is a picture after which none refers to one before it.
func (t *Track) firstIsIDR(s *Segment) (bool, error) {
	r := bufio.NewReader(io.NewSectionReader(t.file, s.fragment.dataAt, s.fragment.samples[0].size))
	for {
		var head [5]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return false, nil //nolint:nilerr // the end: there was none
		}
		switch head[4] & 0x1f {
		case 5:
			return true, nil
		case 1:
			return false, nil
		}
		if _, err := r.Discard(int(binary.BigEndian.Uint32(head[:])) - 1); err != nil {
			return false, unexpected("a sample has a unit that is longer than the sample")
		}
	}
}

// changesParameters reports whether a key frame of a segment has other sequence parameters than the header, such as another size of the picture. Not each player can
// play that.
func (t *Track) changesParameters(s *Segment) (bool, error) {
	const kind, isParameters, longest = 0x1f, 7, 4 << 10
	at := s.fragment.dataAt
	for _, sample := range s.fragment.samples {
		begin := at
		at += sample.size
		if !sample.sync {
			continue
		}
		r := bufio.NewReader(io.NewSectionReader(t.file, begin, sample.size))
		for {
			var size [4]byte
			if _, err := io.ReadFull(r, size[:]); err != nil {
				break // the end
			}
			unit := make([]byte, min(binary.BigEndian.Uint32(size[:]), longest))
			if _, err := io.ReadFull(r, unit); err != nil || len(unit) == 0 {
				return false, unexpected("a sample has a unit that is longer than the sample, or empty")
			}
			if unit[0]&kind == isParameters && !slices.ContainsFunc(t.parameters, func(p []byte) bool { return bytes.Equal(p, unit) }) {
				return true, nil
			}
			if _, err := r.Discard(int(binary.BigEndian.Uint32(size[:])) - len(unit)); err != nil {
				return false, unexpected("a sample has a unit that is longer than the sample")
			}
		}
	}
	return false, nil
}
