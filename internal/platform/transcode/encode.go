package transcode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// Rendition is a size that a video is encoded in.
type Rendition struct {
	// Name, such as 720p.
	Name   string `json:"name"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	// Rate is the largest number of bits per second.
	Rate int64 `json:"rate"`
	// CRF is the quality; 0: the default.
	CRF int `json:"crf,omitempty"`
	// Preset of x264; empty: the default.
	Preset string `json:"preset,omitempty"`
	// Watermark over the picture; nil: none.
	Watermark *Watermark `json:"watermark,omitempty"`
}

// Level is a size of renditions, and how they are encoded.
type Level struct {
	// Height is the pixels of the shorter side.
	Height int
	// MaxRate is the largest number of bits per second; 0: by the size.
	MaxRate int64
	// CRF is the quality, from 1 (best) to 51; 0: the default.
	CRF int
	// Preset of x264; empty: the default.
	Preset string
}

const (
	offset       = 10 * time.Second // of all times in the files of ffmpeg: none of them is negative. Check removes it.
	crf          = 23
	preset       = "veryfast"
	bitsPerPixel = 0.09
	minBits      = 150_000
	audioRate    = 48_000
	audioBits    = 128_000
)

// Renditions that are made of a source, the smallest first. The largest has the size of the source, but no more than the largest height.
func (t *Transcoder) Renditions(s *Source) (list []Rendition) {
	short := min(s.Width, s.Height)
	ladder := t.config.Ladder
	most := min(short, ladder[len(ladder)-1].Height)
	for _, l := range ladder {
		if l.Height >= most { // the settings of the largest one are those of the level that it is nearly as high as
			return append(list, s.level(l, most))
		}
		if float64(l.Height) < 0.9*float64(most) {
			list = append(list, s.level(l, l.Height))
		}
	}
	return list
}

// level is a rendition with the settings of a level.
func (s *Source) level(l Level, short int) Rendition {
	r := s.rendition(short)
	r.Rate, r.CRF, r.Preset = cmp.Or(l.MaxRate, r.Rate), l.CRF, l.Preset
	return r
}

// rendition has a number of pixels on the shorter side. All sides are even.
func (s *Source) rendition(short int) Rendition {
	even := func(side int) int {
		scaled := float64(side) * float64(short) / float64(min(s.Width, s.Height))
		return max(2, int(scaled/2+0.5)*2)
	}
	r := Rendition{Name: strconv.Itoa(short) + "p", Width: even(s.Width), Height: even(s.Height)}
	r.Rate = max(minBits, int64(float64(r.Width*r.Height)*bitsPerPixel*min(s.Rate.float(), 45)))
	return r
}

// timescale has a whole number of ticks for each frame.
func (s *Source) timescale() (scale, ticks int64) {
	const least = 12_000
	k := (least + s.Rate.Num - 1) / s.Rate.Num
	return s.Rate.Num * k, s.Rate.Den * k
}

// ffmpeg returns a command that reads a source from a time on.
func (t *Transcoder) ffmpeg(in Input, dir string, seek time.Duration, args ...string) command {
	return t.ffmpegWith(in, dir, seek, nil, args...)
}

// ffmpegWith is ffmpeg with the arguments of a second input.
func (t *Transcoder) ffmpegWith(in Input, dir string, seek time.Duration, second []string, args ...string) command {
	list := []string{"-hide_banner", "-nostdin", "-loglevel", "error", "-y", "-copyts", "-start_at_zero", "-reinit_filter:v", "0"} // scale takes pictures whose size changes; new filters would begin again to count
	if seek > 0 {
		list = append(list, "-ss", decimal(seek))
	}
	if in.counted.Num > 0 {
		list = append(list, "-r", fmt.Sprintf("%d/%d", in.counted.Num, in.counted.Den)) // in place of all times of the file
	}
	list = append(append(list, "-threads", "1"), inputArguments(in.Format, decoders)...)
	list = append(append(list, "-i", sourceInside), second...)
	list = append(list, withoutMetadata...)
	return command{program: t.tools.ffmpeg, source: in.Path, out: dir, args: append(list, args...)}
}

// withoutMetadata are the arguments of an output which has nothing of the file but what is mapped.
var withoutMetadata = []string{"-sn", "-dn", "-map_metadata", "-1", "-map_chapters", "-1"}

func decimal(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) }

// muxArguments write a fragmented file whose times are offset.
func muxArguments(name string, flags string, more ...string) []string {
	list := append([]string{"-fflags", "+bitexact", "-use_editlist", "0", "-avoid_negative_ts", "disabled", "-output_ts_offset", decimal(offset),
		"-movflags", "+empty_moov+default_base_moof+frag_discont+negative_cts_offsets+skip_trailer" + flags}, more...)
	return append(list, "-f", "mp4", name)
}

// EncodeChunk encodes a chunk of a picture in one or more sizes, for which it is decoded once. It returns a track for each, in their order. What it makes does not depend on
// how many there are. Its files are in dir, a folder of the caller's.
func (t *Transcoder) EncodeChunk(ctx context.Context, in Input, s *Source, renditions []Rendition, chunk int, dir string) ([]*Track, error) {
	c := s.Chunks[chunk]
	scale, ticks := s.timescale()
	var mark []string
	var files []File
	if w := renditions[0].Watermark; w != nil { // the image is the same for all
		mark, files = w.input(s.Rate), []File{{Path: w.Path, Inside: watermarkInside}}
	}
	if c.FromStart {
		in.counted = s.Counted
	}
	args := []string{"-filter_complex", s.chunkFilter(c, renditions)}
	for i, r := range renditions {
		args = append(append(args, "-map", fmt.Sprintf("[out%d]", i)), s.encodePicture(c, r, scale)...)
		args = append(append(args, withoutMetadata...), muxArguments(chunkFile(i), "+frag_keyframe")...)
	}
	run := t.ffmpegWith(in, dir, max(0, c.Seek-time.Millisecond), mark, args...)
	run.files, run.timeout = files, min(time.Duration(len(renditions))*encodeTimeout, maxEncodeTimeout)
	if err := t.program(ctx, run); err != nil {
		return nil, err
	}
	var tracks []*Track
	for i := range renditions {
		track, err := openTrack(filepath.Join(dir, chunkFile(i)), func(track *Track) error {
			return track.checkPicture(c, s.Group(), scale, ticks, ticksOf(s.Start, scale))
		})
		if err != nil {
			return nil, err
		}
		tracks = append(tracks, track)
	}
	return tracks, nil
}

// chunkFile is the file of a rendition of a chunk.
func chunkFile(i int) string { return fmt.Sprintf("chunk-%d.mp4", i) }

// chunkFilter makes the frames of a chunk, of each rendition as [out0], [out1] and so on. Each is scaled from the source: from another rendition, it would be scaled twice.
func (s *Source) chunkFilter(c Chunk, renditions []Rendition) string {
	var interlaced string
	if s.Interlaced {
		interlaced = "yadif=deint=interlaced,"
	}
	first := time.Duration(float64(c.First) / s.Rate.float() * float64(time.Second))
	begin := s.Start - s.Lead
	if c.FromStart {
		begin = 0
	}
	graph := fmt.Sprintf("[0:%d]setpts=PTS-(%s)/TB,%sfps=fps=%d/%d:start_time=%s:round=near,split=%d", s.Stream, decimal(begin), interlaced, s.Rate.Num, s.Rate.Den, decimal(first), len(renditions))
	for i := range renditions {
		graph += fmt.Sprintf("[frames%d]", i)
	}
	marks := ""
	for i, r := range renditions {
		picture := fmt.Sprintf("[frames%d]scale=%d:%d:flags=bicubic,%ssetsar=1,format=yuv420p,tpad=stop=%d:stop_mode=clone", i, r.Width, r.Height, s.colours(), missingFrames(s))
		if r.Watermark == nil {
			graph += fmt.Sprintf(";%s[out%d]", picture, i)
			continue
		}
		graph += ";" + r.Watermark.filter(picture, i)
		marks += fmt.Sprintf("[image%d]", i)
	}
	if marks != "" {
		graph += fmt.Sprintf(";[1:v]split=%d%s", len(renditions), marks)
	}
	return graph
}

// encodePicture are the arguments that encode the frames of a chunk.
func (s *Source) encodePicture(c Chunk, r Rendition, scale int64) []string {
	g := strconv.Itoa(s.Group())
	return []string{"-frames:v", strconv.Itoa(c.Frames), "-fps_mode", "passthrough",
		"-c:v", "libx264", "-preset", cmp.Or(r.Preset, preset), "-profile:v", "high", "-threads", "1", "-crf", strconv.Itoa(cmp.Or(r.CRF, crf)), "-maxrate", strconv.FormatInt(r.Rate, 10), "-bufsize", strconv.FormatInt(2*r.Rate, 10),
		"-g", g, "-keyint_min", g, "-sc_threshold", "0", "-flags", "+cgop+bitexact", "-video_track_timescale", strconv.FormatInt(scale, 10)}
}

const (
	encodeTimeout    = 10 * time.Minute // for each rendition of a chunk
	maxEncodeTimeout = 25 * time.Minute
	copyTimeout      = 10 * time.Minute
	imageTimeout     = 2 * time.Minute
)

// missingFrames is how many frames at the end of a chunk may be replaced by the one before: a second of them. More are a damage.
func missingFrames(s *Source) int { return int(s.Rate.float()) + 1 }

func ticksOf(d time.Duration, scale int64) int64 {
	return int64(d.Seconds()*float64(scale) + 0.5)
}

// SoundPart is a part of the sound that is encoded at once.
type SoundPart int

// The sound of long videos is encoded in two parts, so that playback does not wait for all of it. An encoder gives the same for the beginning whatever follows, so
// the rest is what follows in an encoding of all: there is no seam.
const (
	AllSound SoundPart = iota
	FirstSound
	RestOfSound
)

const (
	// FirstSoundSegments are how many segments of sound FirstSound has, of some 2 seconds each.
	FirstSoundSegments = 15
	firstSound         = 40 * time.Second // more than these
	// LongSound is from when on sound is encoded in two parts.
	LongSound = time.Minute
)

// EncodeAudio encodes a part of the sound.
func (t *Transcoder) EncodeAudio(ctx context.Context, in Input, s *Source, part SoundPart, dir string) (*Track, error) {
	var until []string
	if part == FirstSound {
		until = []string{"-t", decimal(firstSound)}
	}
	track, err := t.audio(ctx, in, dir, append(until, s.encodeAudio()...))
	switch n := FirstSoundSegments; {
	case err != nil || part == AllSound:
		return track, err
	case len(track.Segments) <= n:
		return nil, damaged("the sound is much shorter than the picture")
	case part == FirstSound:
		track.keep(0, n)
	default:
		track.keep(n, len(track.Segments))
	}
	return track, nil
}

func (s *Source) encodeAudio() []string {
	return []string{"-map", "0:" + strconv.Itoa(s.Audio.Stream), "-vn", "-af", fmt.Sprintf("asetpts=PTS+%s/TB,aresample=%d:async=1000:first_pts=0,apad=whole_dur=%s", decimal(s.Lead), audioRate, decimal(s.Duration)), "-ac", strconv.Itoa(min(s.Audio.Channels, 2)),
		"-c:a", "aac", "-b:a", strconv.Itoa(audioBits), "-flags", "+bitexact"}
}

// CopyAudio is EncodeAudio without encoding it, if CanCopyAudio. It fails with ErrNotCopied if the stream is not as players need it.
func (t *Transcoder) CopyAudio(ctx context.Context, in Input, s *Source, dir string) (*Track, error) {
	track, err := t.audio(ctx, in, dir, []string{"-map", "0:" + strconv.Itoa(s.Audio.Stream), "-vn", "-c:a", "copy"})
	return track, notCopied(err)
}

func (t *Transcoder) audio(ctx context.Context, in Input, dir string, args []string) (*Track, error) {
	run := t.ffmpeg(in, dir, 0, append(args, muxArguments("audio.mp4", "", "-frag_duration", "2000000")...)...)
	run.timeout, run.maxFile = copyTimeout, 2<<30
	if err := t.program(ctx, run); err != nil {
		return nil, err
	}
	return openTrack(filepath.Join(dir, "audio.mp4"), func(track *Track) error { return track.checkSound() })
}

// CanCopyAudio reports whether players can play the sound as it is.
func (s *Source) CanCopyAudio() bool {
	return s.Audio != nil && s.Lead == 0 && s.Audio.Codec == "aac" && s.Audio.Profile == "LC" && s.Audio.Channels <= 2 && s.Audio.Rate >= 32_000 && s.Audio.Rate <= 48_000
}

// CanCopy reports whether players can probably play the picture as it is. CopyPicture checks the rest.
func (s *Source) CanCopy() bool {
	const maxBits, maxShort = 12_000_000, 1080
	return s.Counted.Num == 0 && s.Codec == "h264" && s.PixelFormat == "yuv420p" && s.HDR == "" && !s.Turned && !s.Interlaced && s.LongestGroup <= maxCopiedGroup && s.Bits <= maxBits && min(s.Width, s.Height) <= maxShort
}

const maxCopiedGroup = 6 * time.Second

// CopyPicture makes a rendition of the picture as it is, if CanCopy. It fails with ErrNotCopied if that cannot be played.
func (t *Transcoder) CopyPicture(ctx context.Context, in Input, s *Source, dir string) (*Track, error) {
	args := []string{"-map", "0:" + strconv.Itoa(s.Stream), "-an", "-c:v", "copy"}
	run := t.ffmpeg(in, dir, 0, append(args, muxArguments("copy.mp4", "+frag_keyframe", "-min_frag_duration", "1500000")...)...)
	run.timeout, run.maxFile = copyTimeout, 32<<30
	err := t.program(ctx, run)
	var track *Track
	if err == nil {
		track, err = openTrack(filepath.Join(dir, "copy.mp4"), func(track *Track) error { return track.checkCopy(s) })
	}
	return track, notCopied(err)
}

// notCopied adds ErrNotCopied to the error of a copy, if ffmpeg itself could not make it: the stream is not as it should be, but may still be decoded.
func notCopied(err error) error {
	var f *failure
	if errs.Is(err, errs.Unavailable) { // of a full disk
		return err
	}
	if errors.Is(err, errOutput) || IsRefusal(err) || errors.As(err, &f) && f.isOfFFmpeg() {
		return fmt.Errorf("%w: %w", ErrNotCopied, err)
	}
	return err
}

// program runs ffmpeg, which prints nothing. ffmpeg 5 ends with 0 although it could not write the end of a file, which then looks like the work of a damaged source.
func (t *Transcoder) program(ctx context.Context, c command) error {
	c.complaints = &tail{}
	_, err := t.output(ctx, c)
	var f *failure
	switch said := c.complaints.String(); {
	case ctx.Err() != nil:
	case saysDiskIsFull(said):
		return errs.StorageFull(cmp.Or(err, errors.New(said)))
	case err == nil && saysNotWritten(said):
		return &failure{filepath.Base(c.program), errNotWritten, said}
	case errors.As(err, &f) && f.code() == tooDamaged && !f.isOfSandbox():
		return damaged("most of it cannot be decoded")
	}
	return err
}

var errNotWritten = errors.New("it could not write its output")

// saysDiskIsFull reports whether a program has printed the error of a full disk, or of a used up quota.
func saysDiskIsFull(said string) bool {
	return strings.Contains(said, "No space left on device") || strings.Contains(said, "Disk quota exceeded")
}

// saysNotWritten reports whether ffmpeg has printed that it could not write the end of a file.
func saysNotWritten(said string) bool {
	return strings.Contains(said, "Error closing file") || strings.Contains(said, "Error writing trailer")
}

// Poster makes a JPEG image of the frame at a time, and returns its path, width and height.
func (t *Transcoder) Poster(ctx context.Context, in Input, s *Source, at time.Duration, dir string) (path string, r Rendition, err error) {
	r = s.rendition(min(s.Width, s.Height, posterSide))
	last := time.Duration((float64(s.Frames) - 1.5) / s.Rate.float() * float64(time.Second)) // a little before the last frame
	path, err = t.poster(ctx, in, s, max(0, min(at, last)), r, dir)
	if errors.Is(err, fs.ErrNotExist) { // what is there cannot be decoded
		if path, err = t.poster(ctx, in, s, 0, r, dir); errors.Is(err, fs.ErrNotExist) {
			err = damaged("no frame of it could be decoded")
		}
	}
	return path, r, err
}

func (t *Transcoder) poster(ctx context.Context, in Input, s *Source, at time.Duration, r Rendition, dir string) (path string, err error) {
	seek, trim := s.Start+at, ""
	if s.Counted.Num > 0 {
		in.counted, seek, trim = s.Counted, 0, "trim=start="+decimal(at)+","
	}
	run := t.ffmpeg(in, dir, seek, "-map", "0:"+strconv.Itoa(s.Stream), "-an", "-frames:v", "1", "-vf", fmt.Sprintf("%sscale=%d:%d:flags=bicubic,%ssetsar=1,format=yuvj420p", trim, r.Width, r.Height, s.colours()),
		"-c:v", "mjpeg", "-q:v", "4", "-flags", "+bitexact", "-update", "1", "-f", "image2", "poster.jpg")
	run.timeout = imageTimeout
	path = filepath.Join(dir, "poster.jpg")
	if err := t.program(ctx, run); err != nil {
		return "", err
	}
	return path, exists(path)
}

// exists fails if ffmpeg made no file, as it does without an error if there was no frame.
func exists(path string) error {
	f, err := OpenOutput(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() == 0 {
		err = fmt.Errorf("%s is empty", filepath.Base(path))
	}
	return err
}

// OpenOutput opens a file in a folder that ffmpeg wrote, once ffmpeg has ended. It refuses what is no regular file: whoever takes ffmpeg over could leave a
// link, which leads out of the sandbox, or a pipe, which never answers.
func OpenOutput(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, unexpected("%s is no regular file", filepath.Base(path))
	}
	return os.OpenFile(path, flag, 0)
}

const (
	posterSide     = 720
	tileSide       = 90 // pixels of the shorter side
	tileColumns    = 10
	maxTiles       = 100
	tileInterval   = 2 * time.Second
	decodeAllUntil = time.Minute // of longer videos, storyboards show key frames
)

// Storyboard is an image with small frames, one in each interval, in rows.
type Storyboard struct {
	Path                  string
	TileWidth, TileHeight int
	Columns, Count        int
	Interval              time.Duration
}

// StoryboardOf is Storyboard of a rendition that was encoded, as a file with all of its chunks. It is smaller, and has a key frame in each segment, so it costs much less to decode.
func (t *Transcoder) StoryboardOf(ctx context.Context, path string, s *Source, dir string) (*Storyboard, error) {
	encoded := *s
	encoded.Stream, encoded.Start, encoded.HDR = 0, 0, ""
	return t.Storyboard(ctx, Input{Path: path, Format: ISOBMFF}, &encoded, dir)
}

// Storyboard makes the storyboard of a video.
func (t *Transcoder) Storyboard(ctx context.Context, in Input, s *Source, dir string) (*Storyboard, error) {
	tile := s.rendition(min(s.Width, s.Height, tileSide))
	b := &Storyboard{Path: filepath.Join(dir, "storyboard.jpg"), TileWidth: tile.Width, TileHeight: tile.Height, Interval: max(tileInterval, (s.Duration/maxTiles).Round(time.Second)+time.Second)}
	if s.Duration <= maxTiles*tileInterval {
		b.Interval = tileInterval
	}
	b.Count = max(1, int((s.Duration+b.Interval-1)/b.Interval))
	b.Columns = min(tileColumns, b.Count)
	rows := (b.Count + b.Columns - 1) / b.Columns
	run := t.ffmpeg(in, dir, 0, "-map", "0:"+strconv.Itoa(s.Stream), "-an", "-frames:v", "1", "-vf",
		fmt.Sprintf("setpts=PTS-%s/TB,fps=fps=1000/%d:start_time=0:round=near:eof_action=pass,scale=%d:%d:flags=bicubic,%ssetsar=1,format=yuvj420p,tpad=stop=-1:stop_mode=clone,trim=end_frame=%d,tile=%dx%d",
			decimal(s.Start), b.Interval.Milliseconds(), tile.Width, tile.Height, s.colours(), b.Count, b.Columns, rows),
		"-c:v", "mjpeg", "-q:v", "6", "-flags", "+bitexact", "-update", "1", "-f", "image2", "storyboard.jpg")
	if s.Duration > decodeAllUntil {
		run.args = append([]string{"-skip_frame", "nokey"}, run.args...)
	}
	run.timeout = copyTimeout
	if err := t.program(ctx, run); err != nil {
		return nil, err
	}
	return b, exists(b.Path)
}
