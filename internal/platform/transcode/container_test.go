package transcode_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/transcode"
)

// box is one of an MP4 file.
func box(kind string, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(content)+8)), []byte(kind), content)
}

// trak is a track: a picture of a size, whose data are in the file if flags has 1.
func trak(codec string, width, height uint16, flags byte) []byte {
	entry := make([]byte, 78)
	binary.BigEndian.PutUint16(entry[24:], width)
	binary.BigEndian.PutUint16(entry[26:], height)
	count := []byte{0, 0, 0, 0, 0, 0, 0, 1}
	return box("trak", box("mdia", box("hdlr", make([]byte, 8), []byte("vide")), box("minf",
		box("dinf", box("dref", count, box("url ", []byte{0, 0, 0, flags}))),
		box("stbl", box("stsd", count, box(codec, entry))))))
}

func movie(parts ...[]byte) []byte {
	return slices.Concat(box("ftyp", []byte("isom0000isom")), box("moov", parts...), box("mdat", make([]byte, 64)))
}

// element is one of a Matroska file, with a size of one byte.
func element(name string, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	if len(content) > 126 {
		return slices.Concat([]byte(name), []byte{0x40 | byte(len(content)>>8), byte(len(content))}, content)
	}
	return slices.Concat([]byte(name), []byte{0x80 | byte(len(content))}, content)
}

func matroska(docType string, tracks ...[]byte) []byte {
	return slices.Concat(element("\x1a\x45\xdf\xa3", element("\x42\x82", []byte(docType))),
		element("\x18\x53\x80\x67", element("\x16\x54\xae\x6b", tracks...), element("\x1f\x43\xb6\x75", make([]byte, 20))))
}

func pictureEntry(width, height uint16) []byte {
	return element("\xae", element("\x83", []byte{1}), element("\xe0", element("\xb0", binary.BigEndian.AppendUint16(nil, width)), element("\xba", binary.BigEndian.AppendUint16(nil, height))))
}

// samples are files, and why each is refused; empty: it is accepted.
func samples() map[string]struct {
	file []byte
	want string
} {
	type sample = struct {
		file []byte
		want string
	}
	good, goodMatroska := movie(trak("avc1", 160, 90, 1)), matroska("webm", pictureEntry(160, 90))
	huge := slices.Clone(good)
	binary.BigEndian.PutUint32(huge[20:], 1<<31)
	return map[string]sample{
		"mp4":                        {good, ""},
		"matroska":                   {goodMatroska, ""},
		"empty":                      {nil, "not_a_video"},
		"a text":                     {[]byte(strings.Repeat("hello ", 20)), "not_a_video"},
		"a playlist":                 {[]byte("#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n" + strings.Repeat("#\n", 20)), "not_a_video"},
		"a list of files":            {[]byte("ffconcat version 1.0\nfile /etc/passwd\n" + strings.Repeat(" ", 20)), "not_a_video"},
		"truncated mp4":              {good[:len(good)-1], "video_damaged"},
		"mp4 without moov":           {slices.Concat(box("ftyp", make([]byte, 12)), box("mdat", make([]byte, 64))), "video_damaged"},
		"mp4 without data":           {slices.Concat(box("ftyp", make([]byte, 12)), box("moov", trak("avc1", 160, 90, 1))), "video_damaged"},
		"a box beyond the file":      {huge, "video_damaged"},
		"data in another file":       {movie(trak("avc1", 160, 90, 0)), "not_a_video"},
		"an encrypted picture":       {movie(trak("encv", 160, 90, 1)), "video_codec"},
		"a picture that is too wide": {movie(trak("avc1", 16384, 90, 1)), "video_limits"},
		"a picture that is too big":  {movie(trak("hvc1", 8000, 8000, 1)), "video_limits"},
		"17 tracks":                  {movie(slices.Repeat([][]byte{trak("avc1", 160, 90, 1)}, 17)...), "video_limits"},
		"16 tracks":                  {movie(slices.Repeat([][]byte{trak("avc1", 160, 90, 1)}, 16)...), ""},
		"many boxes":                 {slices.Concat(good, slices.Repeat(box("free"), 5000)), "video_limits"},
		"no picture":                 {movie(box("trak", box("mdia", box("hdlr", make([]byte, 8), []byte("soun"))))), "not_a_video"},
		"another document":           {matroska("other", pictureEntry(160, 90)), "not_a_video"},
		"truncated matroska":         {goodMatroska[:len(goodMatroska)-1], "video_damaged"},
		"matroska too wide":          {matroska("matroska", pictureEntry(16384, 90)), "video_limits"},
		"matroska of 17 tracks":      {matroska("matroska", slices.Repeat([][]byte{pictureEntry(160, 90)}, 17)...), "video_limits"},
		"matroska without tracks":    {matroska("matroska"), "not_a_video"},
	}
}

// TestCheck: only whole videos of known containers, of sane sizes, without references to other files, are accepted.
func TestCheck(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			_, err := transcode.Check(bytes.NewReader(s.file), int64(len(s.file)))
			got := ""
			if err != nil {
				got = errs.Of(err).Reason
			}
			if got != s.want {
				t.Errorf("it is answered with %v, want %q", err, s.want)
			}
			if transcode.IsRefusal(err) != (s.want != "") {
				t.Errorf("IsRefusal is wrong for %v", err)
			}
		})
	}
}

// counting counts the bytes that are read.
type counting struct {
	*bytes.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// FuzzCheck: any file is accepted or refused, after a bounded number of reads, and never fails otherwise.
func FuzzCheck(f *testing.F) {
	for _, s := range samples() {
		f.Add(s.file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r := &counting{Reader: bytes.NewReader(file)}
		format, err := transcode.Check(r, int64(len(file)))
		if err != nil && !transcode.IsRefusal(err) {
			t.Errorf("it fails with %v", err)
		}
		if err == nil && format != transcode.ISOBMFF && format != transcode.Matroska {
			t.Errorf("its format is %q", format)
		}
		if r.n > 4100*64<<10 {
			t.Errorf("%d bytes were read", r.n)
		}
	})
}

// TestRefusedByInspection: what has a good container, and is damaged or no video inside, is refused, and ffmpeg never makes anything of it.
func TestRefusedByInspection(t *testing.T) {
	tc := open(t, transcode.Config{MaxDuration: 2e9})
	for name, c := range map[string]struct {
		file func() string
		want string
	}{
		"too long": {func() string {
			return makeFile(t, "a.mp4", append(picture("160x90", "5"), "-t", "3", "-c:v", "mpeg4")...)
		}, "video_limits"},
		"an unknown codec": {func() string {
			return makeFile(t, "a.mkv", append(picture("160x90", "5"), "-t", "1", "-c:v", "ffv1")...)
		}, "video_codec"},
		"no samples": {func() string {
			path := t.TempDir() + "/a.mp4"
			must(t, os.WriteFile(path, movie(trak("avc1", 160, 90, 1)), 0o600))
			return path
		}, "video_damaged"},
		"too wide as it is shown": {func() string {
			return makeFile(t, "a.mkv", append(picture("8192x90", "5"), "-t", "1", "-vf", "setsar=4/1", "-c:v", "libx264")...)
		}, "video_limits"},
	} {
		t.Run(name, func(t *testing.T) {
			_, s, err := inspect(t, tc, c.file())
			if err == nil || errs.Of(err).Reason != c.want || !transcode.IsRefusal(err) {
				t.Errorf("it is answered with %v, %+v, want %q", err, s, c.want)
			}
		})
	}
}

// TestFewPictures: a small file with very few pictures cannot ask for very many chunks.
func TestFewPictures(t *testing.T) {
	tc := open(t, transcode.Config{})
	path := makeFile(t, "a.mkv", append(picture("160x90", "1/70"), "-t", "141", "-c:v", "libx264")...)
	if _, s, err := inspect(t, tc, path); errs.Of(err).Reason != "video_limits" {
		t.Errorf("it is answered with %v, %+v", err, s)
	}
}

// TestOtherStreams: subtitles do not keep a video from being inspected.
func TestOtherStreams(t *testing.T) {
	tc := open(t, transcode.Config{})
	text := t.TempDir() + "/a.srt"
	must(t, os.WriteFile(text, []byte("1\n00:00:00,000 --> 00:00:01,000\nhello\n"), 0o600))
	_, s, err := inspect(t, tc, makeFile(t, "a.mkv", append([]string{"-i", text}, append(picture("160x90", "5"), "-map", "0", "-map", "1", "-t", "1", "-c:v", "mpeg4", "-c:s", "srt")...)...))
	must(t, err)
	if s.Codec != "mpeg4" || s.Frames != 5 {
		t.Errorf("it is %+v", s)
	}
}
