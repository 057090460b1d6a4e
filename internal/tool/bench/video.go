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
	url, reference, edge, edgeMetrics     string
	size, codec                           string
	files, atOnce, seconds, rate, viewers int
	patience                              time.Duration
	json                                  bool
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
	fs.StringVar(&c.reference, "reference", "", "`URL` of another deployment, which processes each file as well, before or after the first one by turns: the result says how much faster the first one is")
	fs.StringVar(&c.edge, "edge", "", "`URL` of an edge, from which --viewers read each video")
	fs.StringVar(&c.edgeMetrics, "edge-metrics", "", "`URL` of the metrics of the edge, on its admin listener")
	fs.IntVar(&c.viewers, "viewers", 20, "`number` of viewers who read each video from the edge, all renditions and the sound, four at a time")
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
	urls := slices.DeleteFunc([]string{c.url, c.reference, c.edge, c.edgeMetrics}, func(url string) bool { return url == "" })
	switch err := checkURLs(strings.Join(urls, ",")); {
	case fs.NArg() > 0:
		fmt.Fprintf(errOut, "rialto bench video: unexpected argument %q\n", fs.Arg(0))
	case err != nil:
		fmt.Fprintf(errOut, "--url, --reference, --edge or --edge-metrics: %v\n", err)
	case c.reference != "" && c.atOnce != 1:
		fmt.Fprintln(errOut, "--at-once is 1 with --reference: each file has the processors for itself")
	case (c.edge == "") != (c.edgeMetrics == ""):
		fmt.Fprintln(errOut, "--edge and --edge-metrics need each other")
	case c.viewers < 1 || c.files < 1 || c.atOnce < 1 || c.seconds < 1 || c.rate < 1 || c.patience <= 0:
		fmt.Fprintln(errOut, "--files, --at-once, --seconds, --rate and --viewers must be at least 1, and --patience positive")
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
	// SpeedRatio is how much faster all renditions were complete than in the reference, of the median pair; 0: there is none.
	SpeedRatio             float64 `json:"speed_ratio,omitempty"`
	ReferenceRenditionsP50 float64 `json:"reference_all_renditions_p50_ms,omitempty"`
	// EdgeHitRatio is the part of blocks that the edge had, or was fetching, and BackToOrigin its bytes from the origin for each byte to viewers; absent: there is no edge.
	EdgeHitRatio *float64 `json:"edge_hit_ratio,omitempty"`
	BackToOrigin *float64 `json:"back_to_origin_ratio,omitempty"`
	Failed       int      `json:"failed"`
	Seconds      float64  `json:"seconds"`
}

func (r *videoResult) passed() bool { return r.Failed+r.FramesLost+r.TimestampGaps == 0 }

func (r *videoResult) print(out io.Writer) {
	fmt.Fprintf(out, "playable      p50 %.0f ms, at most %.0f ms after the last byte; all renditions p50 %.0f ms\n", r.FirstPlayableP50, r.FirstPlayableMax, r.AllRenditionsP50)
	if r.SpeedRatio > 0 {
		fmt.Fprintf(out, "speed         %.2f times that of the reference, whose renditions p50 %.0f ms\n", r.SpeedRatio, r.ReferenceRenditionsP50)
	}
	if r.EdgeHitRatio != nil {
		fmt.Fprintf(out, "edge          hit ratio %.3f, %.3f bytes from the origin for each byte to viewers\n", *r.EdgeHitRatio, *r.BackToOrigin)
	}
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
	dir     string
	file    []byte
	before  edgeFigures // of the edge, before the first viewer

	mu              sync.Mutex // guards the fields below
	playable, ready []float64
	uploaded        time.Duration
	result          videoResult
}

// videoServer is a deployment that processes videos, with a user of it.
type videoServer struct {
	url    string
	client *rialto.Client
}

// processed is what became of one file. Times are in milliseconds from the last byte of the upload on.
type processed struct {
	playable, ready float64
	uploaded        time.Duration
	failed          bool
	lost, gaps      int
}

func (l *videoLoad) run(ctx context.Context) (_ *videoResult, err error) {
	if l.dir, err = os.MkdirTemp("", "rialto-bench-video-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(l.dir)) }()
	if err := l.makeFile(ctx); err != nil {
		return nil, err
	}
	server, err := newVideoServer(ctx, l.config.url)
	if err != nil {
		return nil, err
	}
	if l.config.edge != "" {
		if l.before, err = readEdge(ctx, l.config.edgeMetrics); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	if l.config.reference != "" {
		err = l.compare(ctx, server)
	} else {
		err = each(ctx, l.config.files, l.config.atOnce, func(ctx context.Context, _ int) error {
			_, err := l.measure(ctx, server)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	l.result.Files, l.result.Seconds = l.config.files, time.Since(began).Seconds()
	l.result.UploadMBPerS = float64(len(l.file)) * float64(l.config.files) / 1e6 / max(l.uploaded.Seconds(), 1e-9)
	slices.Sort(l.playable)
	if n := len(l.playable); n > 0 {
		l.result.FirstPlayableP50, l.result.FirstPlayableMax = median(l.playable), l.playable[n-1]
	}
	l.result.AllRenditionsP50 = median(l.ready)
	return &l.result, nil
}

// median of some figures; 0: there are none.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// makeFile makes the file.
func (l *videoLoad) makeFile(ctx context.Context) (err error) {
	c := l.config
	l.printer.Say("making a file of %d s", c.seconds)
	path := filepath.Join(l.dir, "movie.mkv")
	args := slices.Concat([]string{"-hide_banner", "-loglevel", "error", "-f", "lavfi", "-i", fmt.Sprintf("testsrc2=size=%s:rate=%d", c.size, c.rate), "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", strconv.Itoa(c.seconds)},
		videoEncoders[c.codec], []string{path})
	if out, err := exec.CommandContext(ctx, "ffmpeg", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ffmpeg makes no file: %w: %s", err, out)
	}
	l.file, err = os.ReadFile(path)
	return err
}

// newVideoServer registers a user of a deployment.
func newVideoServer(ctx context.Context, url string) (*videoServer, error) {
	client, err := rialto.New(rialto.Config{URL: url, HTTP: &http.Client{}})
	if err != nil {
		return nil, err
	}
	return &videoServer{url: url, client: client}, client.Register(ctx, "bench"+strings.ToLower(rand.Text()[:10]), rand.Text(), "Bench")
}

// measure has a file processed, and adds what became of it to the result.
func (l *videoLoad) measure(ctx context.Context, s *videoServer) (*processed, error) {
	p, err := l.process(ctx, s)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uploaded += p.uploaded
	l.count(p)
	if !p.failed {
		l.playable, l.ready = append(l.playable, p.playable), append(l.ready, p.ready)
	}
	return p, nil
}

// count adds faults to the result.
func (l *videoLoad) count(p *processed) {
	l.result.FramesLost += p.lost
	l.result.TimestampGaps += p.gaps
	if p.failed {
		l.result.Failed++
	}
}

// compare has each file processed by the reference as well, and computes how much faster the server is.
func (l *videoLoad) compare(ctx context.Context, server *videoServer) error {
	reference, err := newVideoServer(ctx, l.config.reference)
	if err != nil {
		return err
	}
	var ratios, ready []float64
	for n := range l.config.files {
		var p, of *processed
		first := func() (err error) { p, err = l.measure(ctx, server); return err }
		second := func() (err error) { of, err = l.process(ctx, reference); return err }
		if n%2 == 1 {
			first, second = second, first
		}
		if err := first(); err != nil {
			return err
		}
		if err := second(); err != nil {
			return err
		}
		l.count(of)
		if !p.failed && !of.failed {
			ratios, ready = append(ratios, of.ready/p.ready), append(ready, of.ready)
			l.printer.Say("all renditions after %.1f s; in the reference after %.1f s", p.ready/1000, of.ready/1000)
		}
	}
	l.result.SpeedRatio, l.result.ReferenceRenditionsP50 = median(ratios), median(ready)
	return nil
}

// process uploads a file, waits until it can be played and until it is complete, and checks all frames.
func (l *videoLoad) process(ctx context.Context, s *videoServer) (*processed, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.patience)
	defer cancel()
	p := &processed{}
	upload, last, err := l.upload(ctx, s, p)
	if err != nil {
		return nil, err
	}
	v, err := s.client.Video().CreateVideo(ctx, connect.NewRequest(&videov1.CreateVideoRequest{Upload: upload}))
	if err != nil {
		return nil, err
	}
	done, err := s.await(ctx, v.Msg.Id, last, p)
	if err != nil {
		return nil, err
	}
	if done.State != videov1.VideoState_VIDEO_STATE_READY {
		p.failed = true
		l.printer.Say("a video failed: %s", done.Failure.GetMessage())
		return p, nil
	}
	for _, rendition := range done.Renditions {
		if rendition.OnDemand {
			continue
		}
		lost, gaps, err := l.check(ctx, s, done, rendition.Name)
		if err != nil {
			return nil, err
		}
		p.lost += lost
		p.gaps += gaps
	}
	if l.config.edge != "" && s.url == l.config.url {
		if err := l.watch(ctx, done); err != nil {
			return nil, err
		}
	}
	_, err = s.client.Video().DeleteVideo(ctx, connect.NewRequest(&videov1.DeleteVideoRequest{Video: done.Id}))
	return p, err
}

// await waits until a video has ended, and measures it.
func (s *videoServer) await(ctx context.Context, n uint64, last time.Time, p *processed) (*videov1.Video, error) {
	for {
		r, err := s.client.Video().GetVideo(ctx, connect.NewRequest(&videov1.GetVideoRequest{Video: n}))
		if err != nil {
			return nil, err
		}
		if p.playable == 0 && r.Msg.Playback != nil {
			if err := s.playFirst(ctx, r.Msg); err != nil {
				return nil, err
			}
			p.playable = millisecondsSince(last)
		}
		if r.Msg.State >= videov1.VideoState_VIDEO_STATE_READY {
			p.ready = millisecondsSince(last)
			return r.Msg, nil
		}
		pause := 20 * time.Millisecond
		if p.playable > 0 { // it lasts, and the server's time for the answers would be measured with that for the video
			pause = 250 * time.Millisecond
		}
		if err := backoff.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func millisecondsSince(at time.Time) float64 { return float64(time.Since(at).Microseconds()) / 1000 }

// upload uploads the file, and returns when the last byte was sent.
func (l *videoLoad) upload(ctx context.Context, s *videoServer, p *processed) (n uint64, last time.Time, err error) {
	r, err := s.client.Media().CreateUpload(ctx, connect.NewRequest(&chatv1.CreateUploadRequest{Name: "movie.mkv", Size: uint64(len(l.file))}))
	if err != nil {
		return 0, last, err
	}
	began := time.Now()
	put, err := http.NewRequestWithContext(ctx, http.MethodPut, s.address(r.Msg.Url), bytes.NewReader(l.file))
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
	p.uploaded = last.Sub(began)
	_, err = s.client.Media().CompleteUpload(ctx, connect.NewRequest(&chatv1.CompleteUploadRequest{Upload: r.Msg.Upload}))
	return r.Msg.Upload, last, err
}

func (s *videoServer) address(url string) string {
	if strings.HasPrefix(url, "/") {
		return s.url + url
	}
	return url
}

func fetch(ctx context.Context, url string) ([]byte, error) {
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
func (s *videoServer) playFirst(ctx context.Context, v *videov1.Video) error {
	master := s.address(v.Playback.HlsUrl)
	text, err := fetch(ctx, master)
	if err != nil {
		return err
	}
	base := master[:strings.LastIndexByte(master, '/')+1]
	for line := range strings.Lines(string(text)) {
		if name, is := strings.CutSuffix(strings.TrimSpace(line), ".m3u8"); is {
			for _, file := range []string{name + ".m3u8", name + "/init.mp4", name + "/0.m4s"} {
				if _, err := fetch(ctx, base+file); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return errors.New("a master playlist names no rendition")
}

// check reads all of a rendition, and counts the frames that are missing, and gaps between frames.
func (l *videoLoad) check(ctx context.Context, s *videoServer, v *videov1.Video, rendition string) (lost, gaps int, err error) {
	master := s.address(v.Playback.HlsUrl)
	base := master[:strings.LastIndexByte(master, '/')+1]
	list, err := fetch(ctx, base+rendition+".m3u8")
	if err != nil {
		return 0, 0, err
	}
	file, err := fetch(ctx, base+rendition+"/init.mp4")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ".m4s") {
			segment, err := fetch(ctx, base+line)
			if err != nil {
				return 0, 0, err
			}
			file = append(file, segment...)
		}
	}
	path := filepath.Join(l.dir, fmt.Sprintf("%d-%s.mp4", v.Id, rendition)) // several are checked at once
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return 0, 0, err
	}
	out, err := exec.CommandContext(ctx, "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path).Output()
	if err = errors.Join(err, os.Remove(path)); err != nil {
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
