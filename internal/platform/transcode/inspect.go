package transcode

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// Source is what is known of a file. It is stored, so fields are only added.
type Source struct {
	Format Format `json:"format"`
	Codec  string `json:"codec"`
	// Stream is the index of the picture's stream.
	Stream int `json:"stream"`
	// Width and Height of the picture as it is shown: rotated, with square pixels.
	Width  int  `json:"width"`
	Height int  `json:"height"`
	Turned bool `json:"turned,omitempty"` // the picture is rotated, or its pixels are not square
	// Rate of the frames that are made. Constant: those of the file have it as well.
	Rate     Rate `json:"rate"`
	Constant bool `json:"constant,omitempty"`
	// Start is when the picture begins after the file does, and Lead how long it begins before what has the first time in the file.
	Start time.Duration `json:"start"`
	Lead  time.Duration `json:"lead,omitempty"`
	// Counted is the rate of the frames at the beginning for which the file has no times; 0/0: there are none.
	Counted Rate `json:"counted,omitzero"`
	// Frames that are made, and how long they are.
	Frames     int           `json:"frames"`
	Duration   time.Duration `json:"duration"`
	Interlaced bool          `json:"interlaced,omitempty"`
	// Packets of the picture that are shown.
	Packets int `json:"packets"`
	// PixelFormat of ffmpeg.
	PixelFormat string `json:"pixel_format"`
	// HDR is how zscale reads the picture of an HDR video, which is made SDR; empty: it stays as it is.
	HDR string `json:"hdr,omitempty"`
	// LongestGroup is the longest time between two key frames.
	LongestGroup time.Duration `json:"longest_group"`
	// Bits per second of the picture's stream.
	Bits int64 `json:"bits"`
	// Audio is the sound; nil: there is none.
	Audio *Audio `json:"audio,omitempty"`
	// Chunks that the video is encoded in.
	Chunks []Chunk `json:"chunks"`
}

// Audio is the sound of a file.
type Audio struct {
	Codec    string `json:"codec"`
	Profile  string `json:"profile,omitempty"`
	Stream   int    `json:"stream"`
	Rate     int    `json:"rate"`
	Channels int    `json:"channels"`
}

// Rate is a number of frames per second.
type Rate struct {
	Num int64 `json:"num"`
	Den int64 `json:"den"`
}

func (r Rate) float() float64 { return float64(r.Num) / float64(r.Den) }

// Chunk is a part of a video that is encoded at once: some frames, from a first one on. Seek is the time in the file of the frame that is shown at the first one.
type Chunk struct {
	First  int           `json:"first"`
	Frames int           `json:"frames"`
	Seek   time.Duration `json:"seek"`
	// FromStart: the file is read from its beginning, since there is no key frame with a time before.
	FromStart bool `json:"from_start,omitempty"`
}

const (
	inspectTimeout = 2 * time.Minute
	maxRate        = 60.0
	maxFrames      = 12 * 3600 * 60
	maxSourceRate  = 1000.0
	maxReordered   = 16  // frames that may be stored before one that is shown before them
	minSourceRate  = 0.1 // of videos longer than a minute: each part of them is encoded, whatever the file has
)

// probed is what ffprobe prints.
type probed struct {
	Streams []probedStream `json:"streams"`
	Format  struct {
		Start string `json:"start_time"`
	} `json:"format"`
}

type probedStream struct {
	Index       int    `json:"index"`
	Type        string `json:"codec_type"`
	Codec       string `json:"codec_name"`
	Profile     string `json:"profile"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	PixelFormat string `json:"pix_fmt"`
	Aspect      string `json:"sample_aspect_ratio"`
	Transfer    string `json:"color_transfer"`
	Primaries   string `json:"color_primaries"`
	Space       string `json:"color_space"`
	Average     string `json:"avg_frame_rate"`
	Real        string `json:"r_frame_rate"`
	TimeBase    string `json:"time_base"`
	FieldOrder  string `json:"field_order"`
	Rate        string `json:"sample_rate"`
	Channels    int    `json:"channels"`
	Disposition struct {
		Attached int `json:"attached_pic"`
	} `json:"disposition"`
	SideData []struct {
		Rotation float64 `json:"rotation"`
	} `json:"side_data_list"`
}

// Inspect reads all of a file that Check has accepted, without decoding it, and divides it into chunks.
func (t *Transcoder) Inspect(ctx context.Context, in Input) (*Source, error) {
	if err := t.checkEncoders(ctx); err != nil {
		return nil, err
	}
	args := append([]string{"-v", "error"}, inputArguments(in.Format, decoders+inert)...)
	text, err := t.output(ctx, command{program: t.tools.ffprobe, source: in.Path, timeout: inspectTimeout, args: append(args,
		"-show_entries", "format=start_time:stream=index,codec_type,codec_name,profile,width,height,pix_fmt,sample_aspect_ratio,color_transfer,color_primaries,color_space,avg_frame_rate,r_frame_rate,time_base,field_order,sample_rate,channels:"+
			"stream_disposition=attached_pic:stream_side_data=rotation", "-of", "json", sourceInside)})
	if err != nil {
		return nil, unreadable(err)
	}
	var p probed
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("the output of ffprobe: %w", err)
	}
	s, stream, err := p.source(in.Format)
	if err != nil {
		return nil, err
	}
	if hdr := hdrInput(stream); hdr != "" {
		can, err := t.canConvert(ctx)
		if err != nil {
			return nil, err
		}
		if can {
			s.HDR = hdr
		}
	}
	list, err := t.packets(ctx, in, stream)
	if err != nil {
		return nil, unreadable(err)
	}
	begin, err := strconv.ParseFloat(p.Format.Start, 64)
	if err != nil {
		begin = list.pts[0]
	}
	if err := s.setTimes(stream, list, begin); err != nil {
		return nil, err
	}
	if s.Duration > t.config.MaxDuration {
		return nil, beyond(fmt.Sprintf("this video is %v long; the limit is %v", s.Duration.Round(time.Second), t.config.MaxDuration))
	}
	s.divide(list, begin)
	return s, nil
}

// unreadable is the error of a file that ffprobe cannot read: it ends with 1. Other errors stay, and are retried: an end of the context, a program that was killed or
// could not be started.
func unreadable(err error) error {
	var f *failure
	if !errors.As(err, &f) || f.code() != 1 || f.isOfSandbox() {
		return err
	}
	if strings.Contains(f.stderr, "not on whitelist") {
		return errs.Wrap(errs.Invalid, "video_codec", errCodec, err)
	}
	return damaged(f.Error())
}

// source returns what is known from the heads of the streams: of the first picture, and the first sound.
func (p *probed) source(format Format) (*Source, *probedStream, error) {
	s := &Source{Format: format}
	var picture *probedStream
	for i := range p.Streams {
		switch stream := &p.Streams[i]; {
		case stream.Type == "video" && stream.Disposition.Attached == 0 && (picture == nil || stream.isBetterThan(picture)):
			picture = stream
		case stream.Type == "audio" && s.Audio == nil && stream.Channels > 0 && isDecodable(stream.Codec):
			rate, err := strconv.Atoi(stream.Rate)
			if err != nil {
				return nil, nil, damaged("the sound has the rate " + stream.Rate)
			}
			s.Audio = &Audio{Codec: stream.Codec, Profile: stream.Profile, Stream: stream.Index, Rate: rate, Channels: stream.Channels}
		}
	}
	if picture == nil {
		return nil, nil, errNoPicture
	}
	if !isDecodable(picture.Codec) {
		return nil, nil, errs.New(errs.Invalid, "video_codec", errCodec)
	}
	if picture.Width <= 0 || picture.Height <= 0 {
		return nil, nil, damaged("the picture has no size")
	}
	if err := checkSize(int64(picture.Width), int64(picture.Height)); err != nil {
		return nil, nil, err
	}
	s.Codec, s.Stream, s.PixelFormat, s.Width, s.Height = picture.Codec, picture.Index, picture.PixelFormat, picture.Width, picture.Height
	s.Interlaced = slices.Contains([]string{"tt", "bb", "tb", "bt"}, picture.FieldOrder)
	if aspect := parseRate(strings.Replace(picture.Aspect, ":", "/", 1)); aspect.Num != aspect.Den && aspect.Den != 0 && aspect.Num != 0 {
		s.Width, s.Turned = int(math.Round(float64(s.Width)*min(max(aspect.float(), 0.25), 4))), true
	}
	for _, d := range picture.SideData {
		if turn := int(math.Round(d.Rotation/90)) % 4; turn != 0 {
			s.Turned = true
			if turn%2 != 0 {
				s.Width, s.Height = s.Height, s.Width
			}
		}
	}
	return s, picture, checkSize(int64(s.Width), int64(s.Height)) // as it is shown
}

// isBetterThan reports whether a later picture is the one to show: the first one is of a kind that cannot be converted, or may be a cover that the file does not call so.
func (p *probedStream) isBetterThan(first *probedStream) bool {
	const stills = "mjpeg"
	return isDecodable(p.Codec) && p.Codec != stills && (!isDecodable(first.Codec) || first.Codec == stills)
}

const errCodec = "videos of this kind cannot be converted; upload H.264, H.265, VP8, VP9, AV1, MPEG-4 or ProRes"

func isDecodable(codec string) bool {
	return slices.Contains(strings.Split(decoders, ","), codec)
}

// parseRate parses a fraction, such as 30000/1001; 0/0 if it is none.
func parseRate(text string) Rate {
	num, den, _ := strings.Cut(text, "/")
	n, nerr := strconv.ParseInt(num, 10, 32)
	d, derr := strconv.ParseInt(den, 10, 32)
	if nerr != nil || derr != nil || n < 0 || d <= 0 {
		return Rate{}
	}
	return Rate{n, d}
}

// packets are those of a picture: when they are shown, in that order, and when the key frames are.
type packets struct {
	pts, keys []float64
	bytes     int64
	// untimed are how many packets of frames before the first with a time have none, as those of Matroska whose time is negative, and untimedKeys which of them are key frames.
	untimed     int
	untimedKeys []int
	// seekable is the time of the first key frame with a time.
	seekable float64
	counted  Rate
}

// packets reads the heads of all packets of a picture.
func (t *Transcoder) packets(ctx context.Context, in Input, stream *probedStream) (*packets, error) {
	base := parseRate(stream.TimeBase)
	if base.Num == 0 {
		return nil, damaged("the picture has no time base")
	}
	list := &packets{}
	args := append([]string{"-v", "error"}, inputArguments(in.Format, decoders+inert)...)
	args = append(args, "-select_streams", strconv.Itoa(stream.Index), "-show_entries", "packet=pts,size,flags", "-of", "csv=p=0", sourceInside)
	err := t.run(ctx, command{program: t.tools.ffprobe, source: in.Path, timeout: inspectTimeout, args: args}, func(r io.Reader) error {
		lines := bufio.NewScanner(io.LimitReader(r, maxFrames*64))
		for lines.Scan() {
			if err := list.add(lines.Text(), base); err != nil {
				return err
			}
		}
		return lines.Err()
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(list.pts)
	slices.Sort(list.keys)
	list.count(stream)
	if len(list.pts) == 0 {
		return nil, damaged("the picture has no frames")
	}
	if len(list.keys) == 0 {
		return nil, damaged("the picture has no key frame")
	}
	return list, nil
}

// count gives times to the packets that have none, before the others, at the rate of those.
func (l *packets) count(stream *probedStream) {
	if l.untimed == 0 {
		return
	}
	first, rates := 0.0, []Rate{parseRate(stream.Real), parseRate(stream.Average)}
	if n := len(l.pts); n > 0 {
		first = l.pts[0]
		if last := l.pts[n-1]; last > first {
			rates = append(rates, Rate{int64(math.Round(float64(n-1) / (last - first) * 1000)), 1000})
		}
	}
	for _, r := range rates {
		if l.counted = r; r.Num > 0 && r.float() <= maxSourceRate && r.float() >= minSourceRate && isConstant(l.pts, r) {
			break
		}
	}
	l.seekable = math.Inf(1)
	if len(l.keys) > 0 {
		l.seekable = l.keys[0]
	}
	if l.counted.Num == 0 {
		return
	}
	at := func(i int) float64 { return first - float64(l.untimed-i)/l.counted.float() }
	var pts, keys []float64
	for i := range l.untimed {
		pts = append(pts, at(i))
	}
	for _, i := range l.untimedKeys {
		keys = append(keys, at(i))
	}
	l.pts, l.keys = append(pts, l.pts...), append(keys, l.keys...)
}

// add adds a packet: its time, its size and its flags.
func (l *packets) add(line string, base Rate) error {
	if len(l.pts)+l.untimed >= maxFrames {
		return beyond(fmt.Sprintf("a video has at most %d frames", maxFrames))
	}
	fields := strings.Split(strings.TrimRight(line, ","), ",")
	if len(fields) < 3 {
		return nil // of side data
	}
	size, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return nil
	}
	l.bytes += size
	pts, err := strconv.ParseInt(fields[0], 10, 64)
	if strings.Contains(fields[2], "D") { // not shown
		return nil
	}
	isKey := strings.HasPrefix(fields[2], "K")
	if err != nil {
		if len(l.pts) < maxReordered {
			if isKey {
				l.untimedKeys = append(l.untimedKeys, l.untimed)
			}
			l.untimed++
		}
		return nil
	}
	at := float64(pts) * base.float()
	l.pts = append(l.pts, at)
	if isKey {
		l.keys = append(l.keys, at)
	}
	return nil
}

// setTimes finds the rate, and counts the frames. begin is when the file begins.
func (s *Source) setTimes(stream *probedStream, l *packets, begin float64) error {
	first, last := l.pts[0], l.pts[len(l.pts)-1]
	s.Packets, s.Counted = len(l.pts), l.counted
	if first-begin > 3600 || begin > first+1 && l.counted.Num == 0 {
		return damaged("the picture begins long after the file")
	}
	s.Start = seconds(max(first-begin, 0))
	if l.counted.Num > 0 {
		s.Lead = seconds(max(begin-first, 0))
	}
	average := maxRate
	if last > first {
		average = float64(len(l.pts)-1) / (last - first)
	}
	for _, r := range []Rate{parseRate(stream.Real), parseRate(stream.Average)} {
		if r.Num > 0 && r.float() <= maxRate+0.01 && r.float() >= 1 && isConstant(l.pts, r) {
			s.Rate, s.Constant = r, true
			break
		}
	}
	if !s.Constant {
		s.Rate = Rate{30, 1}
		if average > 32 {
			s.Rate = Rate{60, 1}
		}
	}
	if last-first > 60 && average < minSourceRate {
		return beyond("this video has less than one picture in ten seconds")
	}
	if average > maxSourceRate {
		return beyond("this video has too many frames per second")
	}
	frames := math.Round((last-first)*s.Rate.float()) + 1
	if frames > maxFrames {
		return beyond("this video is too long")
	}
	s.Frames = int(frames)
	s.Duration = seconds(frames / s.Rate.float())
	s.Bits = int64(float64(l.bytes*8) / s.Duration.Seconds())
	previous := l.keys[0]
	for _, key := range append(l.keys, last) {
		s.LongestGroup = max(s.LongestGroup, seconds(key-previous))
		previous = key
	}
	return nil
}

// isConstant reports whether frames lie on the grid of a rate, each alone.
func isConstant(pts []float64, r Rate) bool {
	for i, at := range pts {
		if math.Abs((at-pts[0])*r.float()-float64(i)) > 0.25 {
			return false
		}
	}
	return true
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

// divide divides the frames into chunks. The first is one segment long, so that playback begins soon.
func (s *Source) divide(l *packets, begin float64) {
	g := s.Group()
	n, i := g, 0
	for first := 0; first < s.Frames; first += n {
		if first > 0 {
			n = g * max(1, int(math.Round(chunkSeconds/(float64(g)/s.Rate.float()))))
		}
		if first == g { // the second one makes up for the first
			n = max(g, n-g)
		}
		c := Chunk{First: first, Frames: min(n, s.Frames-first)}
		at := l.pts[0] + float64(first)/s.Rate.float()
		for i+1 < len(l.pts) && l.pts[i+1] <= at+0.5/s.Rate.float() {
			i++
		}
		c.Seek = seconds(l.pts[i] - begin)
		if s.Counted.Num > 0 && l.pts[i] <= l.seekable { // it is sought a little before
			c.Seek, c.FromStart = 0, true
		}
		s.Chunks = append(s.Chunks, c)
	}
}

const (
	segmentSeconds = 2.0
	chunkSeconds   = 10.0
)

// Group is how many frames a segment has.
func (s *Source) Group() int { return max(1, int(math.Round(segmentSeconds*s.Rate.float()))) }
