package bench

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// videoConfig has the flags of rialto bench video.
type videoConfig struct {
	url, size, codec             string
	files, atOnce, seconds, rate int
	patience                     time.Duration
	json                         bool
}

// encoders of the files, by --codec.
var videoEncoders = map[string][]string{
	"h264":  {"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60", "-b:v", "2M", "-maxrate", "2M", "-bufsize", "4M", "-c:a", "aac"},
	"vp9":   {"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "2M", "-c:a", "libopus"},
	"mpeg4": {"-c:v", "mpeg4", "-b:v", "2M", "-c:a", "aac"},
}

func (c *videoConfig) parse(args []string, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto bench video", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&c.url, "url", "http://127.0.0.1:7070", "the deployment's `URL`")
	fs.IntVar(&c.files, "files", 5, "`number` of files that are uploaded")
	fs.IntVar(&c.atOnce, "at-once", 1, "`number` of files that are uploaded and processed at the same time")
	fs.IntVar(&c.seconds, "seconds", 60, "length of each")
	fs.IntVar(&c.rate, "rate", 30, "frames a second")
	fs.StringVar(&c.size, "size", "1920x1080", "`pixels` of each")
	fs.StringVar(&c.codec, "codec", "h264", "`codec`: h264, which is copied, vp9 or mpeg4, which are encoded")
	fs.DurationVar(&c.patience, "patience", time.Hour, "how long a video may take")
	fs.BoolVar(&c.json, "json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code, false
	}
	switch err := checkURLs(c.url); {
	case fs.NArg() > 0:
		fmt.Fprintf(errOut, "rialto bench video: unexpected argument %q\n", fs.Arg(0))
	case err != nil:
		fmt.Fprintf(errOut, "--url: %v\n", err)
	case c.files < 1 || c.atOnce < 1 || c.seconds < 1 || c.rate < 1 || c.patience <= 0:
		fmt.Fprintln(errOut, "--files, --at-once, --seconds and --rate must be at least 1, and --patience positive")
	case videoEncoders[c.codec] == nil:
		fmt.Fprintln(errOut, "--codec is h264, vp9 or mpeg4")
	default:
		return 0, true
	}
	return 2, false
}

// videoResult of a run. Times are from the last byte of an upload on.
type videoResult struct {
	Files            int     `json:"files"`
	FirstPlayableP50 float64 `json:"first_playable_p50_ms"`
	FirstPlayableMax float64 `json:"first_playable_max_ms"`
	AllRenditionsP50 float64 `json:"all_renditions_p50_ms"`
	// FramesLost, and TimestampGaps between frames, of all renditions.
	FramesLost    int     `json:"frames_lost"`
	TimestampGaps int     `json:"timestamp_gaps"`
	UploadMBPerS  float64 `json:"upload_mb_per_s"`
	Failed        int     `json:"failed"`
	Seconds       float64 `json:"seconds"`
}

func (r *videoResult) passed() bool { return r.Failed+r.FramesLost+r.TimestampGaps == 0 }

func (r *videoResult) print(out io.Writer) {
	fmt.Fprintf(out, "playable      p50 %.0f ms, at most %.0f ms after the last byte; all renditions p50 %.0f ms\n", r.FirstPlayableP50, r.FirstPlayableMax, r.AllRenditionsP50)
	fmt.Fprintf(out, "uploads       %.1f MB/s\n", r.UploadMBPerS)
	fmt.Fprintf(out, "checked       %d files: frames lost %d, gaps %d, failed %d\n", r.Files, r.FramesLost, r.TimestampGaps, r.Failed)
}

func videoMain(args []string, out, errOut io.Writer) int {
	var c videoConfig
	if code, ok := c.parse(args, errOut); !ok {
		return code
	}
	l := &videoLoad{config: c, printer: progress.New(errOut)}
	r, err := l.run(context.Background())
	code := report(out, errOut, r, err, c.json, func() { r.print(out) })
	if err == nil && !r.passed() {
		code = 1
	}
	return code
}

// videoLoad is one run.
type videoLoad struct {
	config  videoConfig
	printer *progress.Printer
	client  *rialto.Client
	dir     string
	file    []byte

	mu              sync.Mutex // guards the fields below
	playable, ready []float64
	uploaded        time.Duration
	result          videoResult
}

func (l *videoLoad) run(ctx context.Context) (_ *videoResult, err error) {
	if l.dir, err = os.MkdirTemp("", "rialto-bench-video-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(l.dir)) }()
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := each(ctx, l.config.files, l.config.atOnce, l.one); err != nil {
		return nil, err
	}
	l.result.Files, l.result.Seconds = l.config.files, time.Since(began).Seconds()
	l.result.UploadMBPerS = float64(len(l.file)) * float64(l.config.files) / 1e6 / max(l.uploaded.Seconds(), 1e-9)
	slices.Sort(l.playable)
	slices.Sort(l.ready)
	if n := len(l.playable); n > 0 {
		l.result.FirstPlayableP50, l.result.FirstPlayableMax = l.playable[n/2], l.playable[n-1]
	}
	if n := len(l.ready); n > 0 {
		l.result.AllRenditionsP50 = l.ready[n/2]
	}
	return &l.result, nil
}

// prepare makes the file and the user.
func (l *videoLoad) prepare(ctx context.Context) (err error) {
	c := l.config
	l.printer.Say("making a file of %d s", c.seconds)
	path := filepath.Join(l.dir, "movie.mkv")
	args := slices.Concat([]string{"-hide_banner", "-loglevel", "error", "-f", "lavfi", "-i", fmt.Sprintf("testsrc2=size=%s:rate=%d", c.size, c.rate), "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", strconv.Itoa(c.seconds)},
		videoEncoders[c.codec], []string{path})
	if out, err := exec.CommandContext(ctx, "ffmpeg", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ffmpeg makes no file: %w: %s", err, out)
	}
	if l.file, err = os.ReadFile(path); err != nil {
		return err
	}
	if l.client, err = rialto.New(rialto.Config{URL: c.url, HTTP: &http.Client{}}); err != nil {
		return err
	}
	return l.client.Register(ctx, "bench"+strings.ToLower(rand.Text()[:10]), rand.Text(), "Bench")
}

// one uploads a file, waits until it can be played and until it is complete, and checks all frames.
func (l *videoLoad) one(ctx context.Context, _ int) error {
	ctx, cancel := context.WithTimeout(ctx, l.config.patience)
	defer cancel()
	upload, last, err := l.upload(ctx)
	if err != nil {
		return err
	}
	v, err := l.client.Video().CreateVideo(ctx, connect.NewRequest(&videov1.CreateVideoRequest{Upload: upload}))
	if err != nil {
		return err
	}
	began, ended, done := time.Duration(0), time.Duration(0), (*videov1.Video)(nil)
	for done == nil {
		r, err := l.client.Video().GetVideo(ctx, connect.NewRequest(&videov1.GetVideoRequest{Video: v.Msg.Id}))
		if err != nil {
			return err
		}
		if began == 0 && r.Msg.Playback != nil {
			if err := l.playFirst(ctx, r.Msg); err != nil {
				return err
			}
			began = time.Since(last)
		}
		if r.Msg.State >= videov1.VideoState_VIDEO_STATE_READY {
			done, ended = r.Msg, time.Since(last)
			break
		}
		pause := 20 * time.Millisecond
		if began > 0 { // it lasts, and the server's time for the answers would be measured with that for the video
			pause = 250 * time.Millisecond
		}
		if err := backoff.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if done.State != videov1.VideoState_VIDEO_STATE_READY {
		l.result.Failed++
		l.printer.Say("a video failed: %s", done.Failure.GetMessage())
		return nil
	}
	l.playable, l.ready = append(l.playable, float64(began.Microseconds())/1000), append(l.ready, float64(ended.Microseconds())/1000)
	for _, rendition := range done.Renditions {
		if rendition.OnDemand {
			continue
		}
		lost, gaps, err := l.check(ctx, done, rendition.Name)
		if err != nil {
			return err
		}
		l.result.FramesLost += lost
		l.result.TimestampGaps += gaps
	}
	_, err = l.client.Video().DeleteVideo(ctx, connect.NewRequest(&videov1.DeleteVideoRequest{Video: done.Id}))
	return err
}

// upload uploads the file, and returns when the last byte was sent.
func (l *videoLoad) upload(ctx context.Context) (n uint64, last time.Time, err error) {
	r, err := l.client.Media().CreateUpload(ctx, connect.NewRequest(&chatv1.CreateUploadRequest{Name: "movie.mkv", Size: uint64(len(l.file))}))
	if err != nil {
		return 0, last, err
	}
	began := time.Now()
	put, err := http.NewRequestWithContext(ctx, http.MethodPut, l.address(r.Msg.Url), bytes.NewReader(l.file))
	if err != nil {
		return 0, last, err
	}
	answer, err := http.DefaultClient.Do(put)
	if err != nil {
		return 0, last, err
	}
	if err := answer.Body.Close(); err != nil {
		return 0, last, err
	}
	if answer.StatusCode != http.StatusNoContent {
		return 0, last, fmt.Errorf("an upload is answered with %s", answer.Status)
	}
	last = time.Now()
	l.mu.Lock()
	l.uploaded += last.Sub(began)
	l.mu.Unlock()
	_, err = l.client.Media().CompleteUpload(ctx, connect.NewRequest(&chatv1.CompleteUploadRequest{Upload: r.Msg.Upload}))
	return r.Msg.Upload, last, err
}

func (l *videoLoad) address(url string) string {
	if strings.HasPrefix(url, "/") {
		return l.config.url + url
	}
	return url
}

func (l *videoLoad) fetch(ctx context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is answered with %s", url, answer.Status)
	}
	return b, err
}

// playFirst reads what a player needs to show the first frame.
func (l *videoLoad) playFirst(ctx context.Context, v *videov1.Video) error {
	master := l.address(v.Playback.HlsUrl)
	text, err := l.fetch(ctx, master)
	if err != nil {
		return err
	}
	base := master[:strings.LastIndexByte(master, '/')+1]
	for line := range strings.Lines(string(text)) {
		if name, is := strings.CutSuffix(strings.TrimSpace(line), ".m3u8"); is {
			for _, file := range []string{name + ".m3u8", name + "/init.mp4", name + "/0.m4s"} {
				if _, err := l.fetch(ctx, base+file); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return errors.New("a master playlist names no rendition")
}

// check reads all of a rendition, and counts the frames that are missing, and gaps between frames.
func (l *videoLoad) check(ctx context.Context, v *videov1.Video, rendition string) (lost, gaps int, err error) {
	master := l.address(v.Playback.HlsUrl)
	base := master[:strings.LastIndexByte(master, '/')+1]
	list, err := l.fetch(ctx, base+rendition+".m3u8")
	if err != nil {
		return 0, 0, err
	}
	file, err := l.fetch(ctx, base+rendition+"/init.mp4")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ".m4s") {
			segment, err := l.fetch(ctx, base+line)
			if err != nil {
				return 0, 0, err
			}
			file = append(file, segment...)
		}
	}
	path := filepath.Join(l.dir, "played.mp4")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return 0, 0, err
	}
	out, err := exec.CommandContext(ctx, "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path).Output()
	if err != nil {
		return 0, 0, fmt.Errorf("ffprobe: %w", err)
	}
	var times []float64
	for line := range strings.Lines(string(out)) {
		if at, err := strconv.ParseFloat(strings.Trim(line, ",\n"), 64); err == nil {
			times = append(times, at)
		}
	}
	slices.SortFunc(times, cmp.Compare[float64])
	for i := 1; i < len(times); i++ {
		if step := (times[i] - times[i-1]) * float64(l.config.rate); step < 0.5 || step > 1.5 {
			gaps++
		}
	}
	return max(0, l.config.seconds*l.config.rate-len(times)), gaps, nil
}
