package video_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/pipeline"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
	"github.com/rialto-im/rialto/internal/service/video"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// loadPipeline loads a pipeline from a text.
func loadPipeline(t *testing.T, text string) *pipeline.Pipeline {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	p, err := pipeline.Load(path)
	must(t, err)
	return p
}

// openPipeline starts a node with a pipeline.
func openPipeline(t *testing.T, text string) *fixture {
	t.Helper()
	f := openStopped(t)
	f.deps.Node = "node-1"
	f.setPipeline(loadPipeline(t, text))
	f.start(nil)
	t.Cleanup(func() { f.stop() })
	return f
}

// setPipeline gives a node that is stopped a pipeline.
func (f *fixture) setPipeline(p *pipeline.Pipeline) {
	f.t.Helper()
	f.deps.Pipeline = p
	var heights []int
	for _, r := range p.Renditions {
		heights = append(heights, r.Height)
	}
	f.deps.Transcoder = transcodetest.Open(f.t, transcode.Config{Ladder: transcodetest.Ladder(heights...)})
}

// stagesOf returns the graph of a video by names.
func (f *fixture) stagesOf(n uint64) map[string]*operationv1.VideoStage {
	f.t.Helper()
	g, err := f.Pipeline(f.t.Context(), n)
	must(f.t, err)
	found := map[string]*operationv1.VideoStage{}
	for _, st := range g.Stages {
		for _, input := range st.Inputs {
			if found[input] == nil {
				f.t.Errorf("the stage %s comes before its input %s", st.Name, input)
			}
		}
		found[st.Name] = st
	}
	return found
}

const stagesText = `
renditions: [{height: 48}, {height: 90}]
thumbnails: 2
stages:
  - name: last
    command: [sh, -c, "cat /in/probe/frames.txt /in/probe/audio.txt > all.txt"]
    inputs: [probe]
    outputs: [{file: all.txt, type: text/plain}]
  - name: probe
    command:
      - sh
      - -c
      - |
        set -e
        for f in source 90p.mp4 audio.mp4 thumbnail.jpg storyboard.jpg; do test -s /in/$f; done
        ffprobe -v error -count_frames -select_streams v -show_entries stream=nb_read_frames,height -of csv=p=0 /in/90p.mp4 > frames.txt
        ffprobe -v error -show_entries stream=codec_name -of csv=p=0 /in/audio.mp4 > audio.txt
    inputs: [source, 90p, audio, thumbnail, storyboard]
    outputs: [{file: frames.txt, type: text/plain}, {file: audio.txt, type: text/plain}]
  - name: broken
    command: [sh, -c, "echo cannot >&2; exit 3"]
    inputs: [source]
    outputs: [{file: a.txt, type: text/plain}]
    attempts: 2
    optional: true
  - name: after-broken
    command: ["true"]
    inputs: [broken/a.txt]
    outputs: [{file: b.txt, type: text/plain}]
    optional: true
`

// TestStages: stages of the operator run when their inputs are complete, their files are served with the video, and are deleted with it. A video is published without an
// optional stage that fails, and without those that need it.
func TestStages(t *testing.T) {
	f := openPipeline(t, stagesText)
	v := f.await(f.create(f.movie("2")).Id, videov1.VideoState_VIDEO_STATE_READY)
	got := map[string]string{}
	for _, file := range v.Files {
		got[file.Stage+"/"+file.Name] = file.Type + " " + f.fetchOK(file.Url)
		if w := f.fetch(file.Url); w.Header().Get("Content-Type") != "text/plain" || w.Header().Get("X-Content-Type-Options") != "nosniff" || int(file.Size) != w.Body.Len() {
			t.Errorf("%v is answered with %v", file, w.Header())
		}
	}
	if len(got) != 3 || got["probe/frames.txt"] != "text/plain 90,20\n" || got["probe/audio.txt"] != "text/plain aac\n" || got["last/all.txt"] != "text/plain 90,20\naac\n" {
		t.Errorf("the files are %q", got)
	}
	if len(v.Posters) != 2 {
		t.Errorf("the posters are %v", v.Posters)
	}
	base := strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
	for name, want := range map[string]int{"stage/broken/a.txt": 404, "stage/probe/audio.txt/x": 404, "stage/probe": 404, "stage/none/a": 404} {
		if got := f.fetch(base + name); got.Code != want {
			t.Errorf("%s is answered with %d", name, got.Code)
		}
	}
	stages := f.stagesOf(v.Id)
	for name, want := range map[string]operationv1.VideoStageState{"inspect": operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE, "48p": operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE, "90p": operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE,
		"audio": operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE, "thumbnails": operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE, "storyboard": operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE, "probe": operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE,
		"last": operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE, "publish": operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE, "broken": operationv1.VideoStageState_VIDEO_STAGE_STATE_SKIPPED, "after-broken": operationv1.VideoStageState_VIDEO_STAGE_STATE_SKIPPED} {
		st := stages[name]
		if st == nil || st.State != want {
			t.Errorf("the stage %s is %v, want %v", name, st, want)
			continue
		}
		ran := name != "publish" && name != "after-broken"
		if ran != slices.Equal(st.Nodes, []string{"node-1"}) || ran != (st.StartedMs > 0) || ran != (st.Attempts > 0) || st.EndedMs < st.StartedMs || st.Done != st.Tasks != (want == operationv1.VideoStageState_VIDEO_STAGE_STATE_SKIPPED) {
			t.Errorf("the stage is %v", st)
		}
	}
	if len(stages) != 11 || stages["broken"].Attempts != 2 || !strings.Contains(stages["broken"].Error, "cannot") || !slices.Equal(stages["last"].Inputs, []string{"probe"}) || !stages["last"].Custom || stages["thumbnails"].Tasks != 2 ||
		!slices.Equal(stages["probe"].Inputs, []string{"inspect", "90p", "audio", "thumbnails", "storyboard"}) || len(stages["publish"].Inputs) != 9 {
		t.Errorf("the stages are %v", stages)
	}
	for _, s := range v.Steps {
		if s.Done != s.Total || s.Total == 0 {
			t.Errorf("a step is not done: %v", s)
		}
	}
	f.checkTemporary()
	must(t, f.DeleteVideo(t.Context(), alice, v.Id))
	must(t, f.Sweep(t.Context()))
	if keys := f.stored(); len(keys) > 0 {
		t.Errorf("of a deleted video there is %q", keys)
	}
	if _, err := f.Pipeline(t.Context(), v.Id); reason(err) != "no_video" {
		t.Errorf("the graph of a deleted video is answered with %v", err)
	}
}

// silentStage is a pipeline with one size and one stage. %s is its command.
const silentStage = `
renditions: [{height: 48}]
thumbnails: 1
storyboard: false
stages:
  - name: size
    command: [sh, -c, "%s"]
    inputs: [48p, thumbnail]
    outputs: [{file: size.txt, type: text/plain, max_bytes: 100}]
    attempts: 1
`

// silent is a short video without sound.
func (f *fixture) silent() []byte {
	return f.makeFile("a.mkv", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=10", "-t", "1", "-c:v", "mpeg4")
}

const measure = "wc -c < /in/48p.mp4 > size.txt"

// TestStageFails: a video whose stage fails has failed with the reason, and can be retried. The retry runs the stage as the operator has repaired it, and nothing that was done.
func TestStageFails(t *testing.T) {
	f := openPipeline(t, fmt.Sprintf(silentStage, "true"))
	v := f.await(f.create(f.silent()).Id, videov1.VideoState_VIDEO_STATE_FAILED)
	if v.Failure.Reason != "stage_failed" || !v.Failure.Retriable || !strings.Contains(v.Failure.Message, "size") {
		t.Errorf("the failure is %v", v.Failure)
	}
	stages := f.stagesOf(v.Id)
	if st := stages["size"]; st.State != operationv1.VideoStageState_VIDEO_STAGE_STATE_FAILED || !strings.Contains(st.Error, "did not write the file size.txt") || stages["publish"].State != operationv1.VideoStageState_VIDEO_STAGE_STATE_FAILED ||
		stages["48p"].State != operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE {
		t.Errorf("the stages are %v", stages)
	}
	f.stop()
	f.setPipeline(loadPipeline(t, fmt.Sprintf(silentStage, measure)))
	f.start(nil)
	_, err := f.RetryVideo(t.Context(), alice, &videov1.RetryVideoRequest{Video: v.Id})
	must(t, err)
	v = f.await(v.Id, videov1.VideoState_VIDEO_STATE_READY)
	stages = f.stagesOf(v.Id)
	if len(v.Files) != 1 || strings.TrimSpace(f.fetchOK(v.Files[0].Url)) == "0" || stages["48p"].Attempts != 1 || stages["size"].Attempts != 2 {
		t.Errorf("the files are %v, the stages %v", v.Files, stages)
	}
}

// TestStageKilled: a node that dies when the inputs of a stage are complete, or while the stage runs, leaves a video that is published with it once it runs again.
func TestStageKilled(t *testing.T) {
	f := openPipeline(t, strings.Replace(fmt.Sprintf(silentStage, measure), "attempts: 1", "attempts: 3", 1)) // a death is a failed attempt
	movie := f.silent()
	for _, c := range []struct {
		point string
		hit   int32
	}{{"finished", 3}, {"begun", 4}, {"stored", 3}} { // inspection, 48p, thumbnail, stage
		t.Run(c.point, func(t *testing.T) {
			f.stop()
			dead := make(chan struct{})
			var hits atomic.Int32
			f.start(func(at string) error {
				if at == c.point && hits.Add(1) == c.hit {
					close(dead)
				}
				select {
				case <-dead:
					return video.ErrInterrupted
				default:
					return nil
				}
			})
			v := f.create(movie)
			<-dead
			f.stop()
			f.start(nil)
			f.clock.Advance(time.Hour)
			v = f.await(v.Id, videov1.VideoState_VIDEO_STATE_READY)
			must(t, f.Sweep(t.Context()))
			if keys := f.stored(); len(v.Files) != 1 || len(keys) != 3 {
				t.Errorf("the files are %v, the keys %q", v.Files, keys)
			}
			must(t, f.DeleteVideo(t.Context(), alice, v.Id))
			must(t, f.Sweep(t.Context()))
			if keys := f.stored(); len(keys) > 0 {
				t.Errorf("of a deleted video there is %q", keys)
			}
		})
	}
}

// insertStage makes a video by rows: two chunks that are not encoded, and a stage that needs them.
func (f *fixture) insertStage(n uint64, optional bool) {
	f.t.Helper()
	stages := fmt.Sprintf(`[{"name":"x","command":["true"],"inputs":["48p"],"outputs":[{"file":"f","type":"a/b","max_bytes":1}],"attempts":1,"optional":%v}]`, optional)
	ctx := f.t.Context()
	must(f.t, f.db.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO videos (id, owner, upload, name, format, state, remaining, source, renditions, stages, created_ms) VALUES ($1, $2, $1, '', '', 1, 3, $3, $4, $5, 0)`,
			int64(n), int64(alice), []byte(`{}`), []byte(`[{"name":"48p","width":64,"height":48}]`), []byte(stages)); err != nil {
			return err
		}
		for first := range 2 {
			inserted, err := f.jobs.InsertTx(ctx, tx, work{}, job.Options{Queue: video.Queue})
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO video_tasks (video, track, first, chunk, job, weight, segments) VALUES ($1, '48p', $2, 0, $3, 1, $4)`, int64(n), first, inserted.ID, []byte{}); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO video_tasks (video, track, first, chunk, job, weight, segments) VALUES ($1, 'stage-x', 0, 0, 0, 1, $2)`, int64(n), []byte{})
		return err
	}))
}

// work is a job that no worker runs.
type work struct{}

func (work) Kind() string { return "of_a_test" }

// stageJob is the job of the stage of insertStage; 0: it waits.
func (f *fixture) stageJob(n uint64) (number int64) {
	f.t.Helper()
	must(f.t, f.db.Read().QueryRowContext(f.t.Context(), `SELECT job FROM video_tasks WHERE video = $1 AND track = 'stage-x'`, int64(n)).Scan(&number))
	return number
}

// openRows opens a node that runs no jobs.
func openRows(t *testing.T) *fixture {
	t.Helper()
	f := openStopped(t)
	var err error
	f.jobs, err = job.New(t.Context(), job.Deps{DB: f.db, Clock: f.clock, Logger: f.deps.Logger, Node: "node-1"}, job.Config{})
	must(t, err)
	f.deps.Jobs = f.jobs
	f.Service, err = video.New(t.Context(), f.deps, video.Config{})
	must(t, err)
	return f
}

// TestStageStartsOnce: of the tasks that a stage needs, the one that ends last starts it, also if all end at the same time.
func TestStageStartsOnce(t *testing.T) {
	f := openRows(t)
	for n := uint64(1); n <= 20; n++ {
		f.insertStage(n, false)
		finish := func(first int64) {
			a, err := f.AttemptAt(t.Context(), n, "48p", first)
			if err == nil {
				_, err = f.Finish(t.Context(), a)
			}
			if err != nil {
				t.Error(err)
			}
		}
		if n%2 == 0 {
			finish(1)
			if number := f.stageJob(n); number != 0 {
				t.Fatalf("the stage has the job %d before its inputs are complete", number)
			}
			finish(0)
		} else {
			var group sync.WaitGroup
			group.Go(func() { finish(0) })
			group.Go(func() { finish(1) })
			group.Wait()
		}
		if number := f.stageJob(n); number == 0 {
			t.Errorf("the stage of video %d was not started", n)
		}
	}
	list, err := f.jobs.List(t.Context(), job.Available, video.Queue, 1000)
	must(t, err)
	started := 0
	for _, j := range list {
		if j.Kind == "video_task" {
			started++
		}
	}
	if started != 20 {
		t.Errorf("there are %d jobs of 20 stages", started)
	}
}

// TestOverdue: the sweep starts a task whose inputs are complete, where the node that ended the last one did not.
func TestOverdue(t *testing.T) {
	f := openRows(t)
	f.insertStage(1, false)
	must(t, f.Sweep(t.Context()))
	if number := f.stageJob(1); number != 0 {
		t.Fatalf("the stage has the job %d before its inputs are complete", number)
	}
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, tasks := tx.ExecContext(t.Context(), `UPDATE video_tasks SET stored = 1 WHERE track = '48p'`)
		_, count := tx.ExecContext(t.Context(), `UPDATE videos SET remaining = 1`)
		return errors.Join(tasks, count)
	}))
	must(t, f.Sweep(t.Context()))
	number := f.stageJob(1)
	must(t, f.Sweep(t.Context()))
	if again := f.stageJob(1); number == 0 || again != number {
		t.Errorf("the stage has the job %d, and then %d", number, again)
	}
}

// TestStageIsGivenUp: where the node dies in each attempt at a stage, so that its job ends without a word, the sweep leaves an optional stage out, and gives the video up for another.
func TestStageIsGivenUp(t *testing.T) {
	f := openRows(t)
	for n, optional := range map[uint64]bool{1: true, 2: false} {
		f.insertStage(n, optional)
		must(t, f.Sweep(t.Context()))
		if v := f.state(n); v != 1 {
			t.Errorf("the video is in the state %d while its stage waits", v)
		}
		for first := range int64(2) {
			a, err := f.AttemptAt(t.Context(), n, "48p", first)
			must(t, err)
			_, err = f.Finish(t.Context(), a)
			must(t, err)
		}
		must(t, f.Sweep(t.Context()))
		if v := f.state(n); v != 1 {
			t.Errorf("the video is in the state %d while its stage is due", v)
		}
		_, err := f.jobs.Discard(t.Context(), f.stageJob(n), nil)
		must(t, err)
		must(t, f.Sweep(t.Context()))
		if v, want := f.state(n), map[bool]int{true: 2, false: 3}[optional]; v != want {
			t.Errorf("the video is in the state %d, want %d", v, want)
		}
	}
}

// state of a row.
func (f *fixture) state(n uint64) (state int) {
	f.t.Helper()
	must(f.t, f.db.Read().QueryRowContext(context.Background(), `SELECT state FROM videos WHERE id = $1`, int64(n)).Scan(&state))
	return state
}

// TestSilentVideo: a stage that needs sound is not run for a video without, nor are those that need it.
func TestSilentVideo(t *testing.T) {
	f := openPipeline(t, strings.Replace(fmt.Sprintf(silentStage, "exit 1"), "[48p, thumbnail]", "[audio]", 1)+`
  - name: after
    command: ["false"]
    inputs: [size, source]
    outputs: [{file: f, type: text/plain}]
`)
	v := f.await(f.create(f.silent()).Id, videov1.VideoState_VIDEO_STATE_READY)
	if stages := f.stagesOf(v.Id); len(stages) != 4 || stages["size"] != nil || stages["after"] != nil || v.Storyboard != nil || len(v.Posters) != 1 {
		t.Errorf("the stages are %v", stages)
	}
}

// TestPipelineSetting: a pipeline that is not valid is a fault of the configuration, which names the line.
func TestPipelineSetting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	must(t, os.WriteFile(path, []byte("thumbnails: 3\nrenditions:\n  - height: 1\n"), 0o600))
	if err := (video.Config{Pipeline: path}).Check(); err == nil || !strings.Contains(err.Error(), "video.pipeline: "+path+": line 3: ") {
		t.Errorf("the fault is %v", err)
	}
}

// TestDocumentedStages: the stages in the documentation make what it says.
func TestDocumentedStages(t *testing.T) {
	b, err := os.ReadFile("../../../docs/operating/video.md")
	must(t, err)
	_, text, found := strings.Cut(string(b), "```yaml\nstages:\n")
	text, _, ended := strings.Cut(text, "```")
	if !found || !ended {
		t.Fatal("the documentation has no stages")
	}
	f := openPipeline(t, "renditions: [{height: 48}]\nthumbnails: 1\nstoryboard: false\nstages:\n"+text)
	v := f.await(f.create(f.movie("2")).Id, videov1.VideoState_VIDEO_STATE_READY)
	if len(v.Files) != 2 || !strings.HasPrefix(f.fetchOK(v.Files[0].Url), "\xff\xd8") || !strings.Contains(f.fetchOK(v.Files[1].Url), "LUFS") {
		t.Errorf("the files are %v, the stages %v", v.Files, f.stagesOf(v.Id))
	}
}

// TestWatermarked: with a watermark, a picture that could be copied is encoded with it. The image is kept with the videos, so that the file may change.
func TestWatermarked(t *testing.T) {
	dir := t.TempDir()
	var mark bytes.Buffer
	must(t, png.Encode(&mark, image.NewGray(image.Rect(0, 0, 16, 16))))
	must(t, os.WriteFile(filepath.Join(dir, "logo.png"), mark.Bytes(), 0o600))
	f := openPipeline(t, "renditions: [{height: 90}]\nthumbnails: 1\nstoryboard: false\nwatermark: {image: "+filepath.Join(dir, "logo.png")+", corner: top-left}\n")
	must(t, os.Remove(filepath.Join(dir, "logo.png")))
	v := f.await(f.create(f.makeFile("a.mp4", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-t", "1", "-pix_fmt", "yuv420p", "-c:v", "libx264")).Id, videov1.VideoState_VIDEO_STATE_READY)
	if len(v.Renditions) != 1 || v.Renditions[0].Copied {
		t.Errorf("the renditions are %v", v.Renditions)
	}
	var content []byte
	must(t, f.db.Read().QueryRowContext(t.Context(), `SELECT content FROM video_watermarks`).Scan(&content))
	if !bytes.Equal(content, mark.Bytes()) {
		t.Errorf("the image has %d bytes", len(content))
	}
	if n := f.frames(strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8") + "90p.m3u8"); n != 10 {
		t.Errorf("%d frames of 10 are played", n)
	}
}
