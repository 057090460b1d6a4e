package video

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/transcode"
)

// Queue of the jobs.
const Queue = "video"

// taskJob is the job of a task.
type taskJob struct {
	Video uint64 `json:"video"`
	Run   int64  `json:"run"`
	Track string `json:"track"`
	First int64  `json:"first"`
}

// Kind of the job.
func (taskJob) Kind() string { return "video_task" }

// Processes reports whether this node processes videos.
func (s *Service) Processes() bool { return s.deps.Transcoder != nil }

// Concurrency is how many jobs of the queue a node runs at the same time.
func (s *Service) Concurrency() int { return s.config.Workers }

// AddWorkers adds the workers of the queue, on a node that Processes.
func (s *Service) AddWorkers(w *job.Workers) {
	job.Add(w, func(ctx context.Context, j job.Job[taskJob]) error { return s.attempt(ctx, j.Args, j.Failures) })
}

// priorityOf returns what is done first: what playback waits for, and then the smallest rendition.
func priorityOf(v *video, t *task) job.Priority {
	smallest := len(v.renditions) > 0 && v.renditions[0].Name == t.track
	switch {
	case t.track == trackInspect, t.track == trackAudio && t.first == 0, smallest && t.first == 0, v.isCopied(t.track):
		return job.High
	case smallest, t.track == trackPoster && t.first == 0:
		return job.Normal
	}
	return job.Low
}

func (v *video) isCopied(track string) bool {
	r := v.rendition(track)
	return r != nil && r.Copied
}

func (v *video) rendition(track string) *rendition {
	for i := range v.renditions {
		if v.renditions[i].Name == track {
			return &v.renditions[i]
		}
	}
	return nil
}

// insertJob inserts the job of a task.
func (s *Service) insertJob(ctx context.Context, tx *sql.Tx, v *video, run int64, t *task) (int64, error) {
	done, err := s.deps.Jobs.InsertTx(ctx, tx, taskJob{Video: v.id, Run: run, Track: t.track, First: t.first},
		job.Options{Queue: Queue, Priority: priorityOf(v, t), MaxFailures: v.attemptsOf(t), Timeout: taskTimeout})
	return done.ID, err
}

// addTask stores a task of a video and its job.
func (s *Service) addTask(ctx context.Context, tx *sql.Tx, n uint64, run int64, t *task) error {
	return s.addTaskOf(ctx, tx, &video{id: n}, run, t)
}

// addTaskOf is addTask for a video whose plan is known. The task of a stage waits for its inputs (startStages).
func (s *Service) addTaskOf(ctx context.Context, tx *sql.Tx, v *video, run int64, t *task) (err error) {
	var number int64
	if !isStage(t.track) {
		if number, err = s.insertJob(ctx, tx, v, run, t); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO video_tasks (video, track, first, chunk, job, weight, segments, at_ms, attempts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		int64(v.id), t.track, t.first, t.chunk, number, t.weight, []byte{}, t.atMs, t.attempts)
	return err
}

// attempt does a task, unless it is done, or the video has ended meanwhile.
func (s *Service) attempt(ctx context.Context, j taskJob, failures int) error {
	v, t, attempt, err := s.begin(ctx, j)
	if err != nil || t == nil {
		return err
	}
	err = s.do(ctx, v, t, attempt)
	if err == nil || ctx.Err() != nil || errors.Is(err, errInterrupted) {
		return err
	}
	if nerr := s.noteFailure(ctx, v, t, attempt, err); nerr != nil {
		return errors.Join(err, nerr)
	}
	refused := transcode.IsRefusal(err)
	if !refused && failures+1 < v.attemptsOf(t) {
		return err
	}
	if ferr := s.giveUpTask(ctx, v, t, err, !refused); ferr != nil {
		return errors.Join(err, ferr)
	}
	return job.Discard(err)
}

// noteFailure stores the error of an attempt, for operators.
func (s *Service) noteFailure(ctx context.Context, v *video, t *task, attempt int64, failure error) error {
	const longest = 1000 // bytes
	text := strings.ReplaceAll(strings.ToValidUTF8(failure.Error(), "?"), "\x00", "?")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest/2], "") + " … " + strings.ToValidUTF8(text[len(text)-longest/2:], "")
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		now := s.nowMs()
		_, err := tx.ExecContext(ctx, `UPDATE video_tasks SET error = $5, ended_ms = $6, spent_ms = spent_ms + $7 WHERE video = $1 AND track = $2 AND first = $3 AND attempts = $4 AND stored = 0`,
			int64(v.id), t.track, t.first, attempt, text, now, max(0, now-t.begunMs))
		return err
	})
}

// giveUpTask ends a task that has failed for good: an optional stage is left out, a rendition on demand is not made, and with anything else the video has failed.
func (s *Service) giveUpTask(ctx context.Context, v *video, t *task, cause error, retriable bool) error {
	if v.isOnDemand(t.track) {
		return s.giveUpRendition(ctx, v, t.track, cause)
	}
	stage := v.stageOf(t.track)
	if stage == nil {
		return s.fail(ctx, v, cause, retriable)
	}
	if !stage.Optional {
		return s.fail(ctx, v, stageFailure(stage, cause), true)
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := s.finish(ctx, tx, v, t, skipped)
		return err
	})
	if err == nil {
		s.deps.Jobs.Wake()
		s.deps.Logger.Warn("an optional stage of a video was left out", "video", v.id, "stage", stage.Name, "error", cause)
	}
	return err
}

// errInterrupted is what a test ends an operation with.
var errInterrupted = errors.New("the process died")

// begin reads a task, and draws the number of an attempt. The task is nil if there is nothing to do.
func (s *Service) begin(ctx context.Context, j taskJob) (v *video, t *task, attempt int64, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		t = nil
		v, err = getVideo(ctx, tx, j.Video)
		if errs.Is(err, errs.NotFound) {
			return nil
		}
		if from, to := v.statesOf(j.Track); err != nil || v.run != j.Run || v.state < from || v.state > to {
			return err
		}
		if wanted, err := isWanted(ctx, tx, v, j.Track); err != nil || !wanted {
			return err
		}
		found, err := getTask(ctx, tx, j.Video, j.Track, j.First)
		if err != nil || found == nil || found.stored != 0 {
			return err
		}
		found.begunMs = s.nowMs()
		if err := tx.QueryRowContext(ctx, `UPDATE video_tasks SET attempts = attempts + 1, node = $4, begun_ms = $5, ended_ms = 0, started_ms = CASE WHEN started_ms = 0 THEN $5 ELSE started_ms END
			WHERE video = $1 AND track = $2 AND first = $3 RETURNING attempts`, int64(j.Video), j.Track, j.First, s.deps.Node, found.begunMs).Scan(&attempt); err != nil {
			return err
		}
		t = found
		return nil
	})
	return v, t, attempt, err
}

// do does a task, and stores its result.
func (s *Service) do(ctx context.Context, v *video, t *task, attempt int64) error {
	if err := s.reached("begun"); err != nil {
		return err
	}
	if isStage(t.track) {
		return s.doStage(ctx, v, t, attempt)
	}
	path, release, err := s.acquireSource(ctx, v)
	if err != nil {
		return err
	}
	defer release()
	in := transcode.Input{Path: path, Format: v.format}
	if t.track == trackInspect {
		return s.inspect(ctx, v, t, in)
	}
	dir, remove, err := s.tempDir(v)
	if err != nil {
		return err
	}
	defer remove()
	o, err := s.produce(ctx, v, t, in, dir)
	if errors.Is(err, transcode.ErrNotCopied) {
		return s.encodeInstead(ctx, v, t)
	}
	if err != nil {
		return err
	}
	defer o.close()
	return s.keep(ctx, v, t, attempt, o)
}

// acquireSource returns the path of a video's file. release must be called afterwards.
func (s *Service) acquireSource(ctx context.Context, v *video) (path string, release func(), err error) {
	return s.sources.acquire(ctx, v.upload, func(ctx context.Context) (sourceFile, error) {
		file, _, _, err := s.deps.Uploads.OpenVideo(ctx, v.owner, v.upload)
		return file, err
	})
}

// tempDir makes a temporary folder. remove must be called afterwards.
func (s *Service) tempDir(v *video) (dir string, remove func(), err error) {
	if err := os.MkdirAll(s.deps.Dir, 0o700); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(s.deps.Dir, "task-")
	return dir, func() {
		if err := transcode.RemoveDir(dir); err != nil {
			s.deps.Logger.Warn("a temporary folder could not be removed; it is removed at the next start", "video", v.id, "error", err)
		}
	}, err
}

// output is the result of a task: its files, and what is stored of them.
type output struct {
	files  []outputFile
	track  *transcode.Track // nil: it is an image, or of a stage
	images transcode.Storyboard
}

// outputFile is a part of a file, which is open.
type outputFile struct {
	file        *os.File
	begin, size int64
}

// outputOf opens a file of ffmpeg; of a track its segments.
func outputOf(path string, track *transcode.Track) (*output, error) {
	f, err := transcode.OpenOutput(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	o := &output{track: track}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o.files = []outputFile{{file: f, size: info.Size()}}
	if track != nil {
		o.files[0].begin, o.files[0].size = track.Begin, track.Size
	}
	return o, nil
}

// close closes the files.
func (o *output) close() {
	for _, f := range o.files {
		_ = f.file.Close() // they were only read
	}
}

// produce makes the file of a task in a folder.
func (s *Service) produce(ctx context.Context, v *video, t *task, in transcode.Input, dir string) (*output, error) {
	tc := s.deps.Transcoder
	var track *transcode.Track
	var err error
	switch r := v.rendition(t.track); {
	case r != nil && r.Copied:
		track, err = tc.CopyPicture(ctx, in, v.source, dir)
	case r != nil:
		track, err = s.encode(ctx, v, r, int(t.chunk), in, dir)
	case t.track == trackAudio:
		track, err = s.sound(ctx, v, t, in, dir)
	case t.track == trackPoster:
		path, r, err := tc.Poster(ctx, in, v.source, time.Duration(t.atMs)*time.Millisecond, dir)
		if err != nil {
			return nil, err
		}
		o, err := outputOf(path, nil)
		if err == nil {
			o.images = transcode.Storyboard{TileWidth: r.Width, TileHeight: r.Height}
		}
		return o, err
	case t.track == trackStoryboard:
		b, err := tc.Storyboard(ctx, in, v.source, dir)
		if err != nil {
			return nil, err
		}
		o, err := outputOf(b.Path, nil)
		if err == nil {
			o.images = *b
		}
		return o, err
	default:
		return nil, job.Discard(fmt.Errorf("unknown track %q", t.track))
	}
	if err != nil {
		return nil, err
	}
	return outputOf(track.Path, track)
}

// encode encodes a chunk of a rendition, with its watermark.
func (s *Service) encode(ctx context.Context, v *video, r *rendition, chunk int, in transcode.Input, dir string) (*transcode.Track, error) {
	made := r.Rendition
	if made.Watermark != nil {
		image, remove, err := s.tempDir(v)
		if err != nil {
			return nil, err
		}
		defer remove()
		mark := *made.Watermark
		mark.Path = filepath.Join(image, "watermark.png")
		var content []byte
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT content FROM video_watermarks WHERE image = $1`, mark.Image).Scan(&content); err != nil {
			return nil, fmt.Errorf("the watermark %s: %w", mark.Image, err)
		}
		if err := os.WriteFile(mark.Path, content, 0o600); err != nil {
			return nil, err
		}
		made.Watermark = &mark
	}
	return s.deps.Transcoder.EncodeChunk(ctx, in, v.source, made, chunk, dir)
}

// sound copies the sound if it can be copied, and encodes it otherwise.
func (s *Service) sound(ctx context.Context, v *video, t *task, in transcode.Input, dir string) (*transcode.Track, error) {
	if v.source.CanCopyAudio() {
		track, err := s.deps.Transcoder.CopyAudio(ctx, in, v.source, dir)
		if !errors.Is(err, transcode.ErrNotCopied) {
			return track, err
		}
		s.deps.Logger.Info("the sound of a video is encoded, since it cannot be copied", "video", v.id, "error", err)
	}
	return s.deps.Transcoder.EncodeAudio(ctx, in, v.source, transcode.SoundPart(t.chunk), dir)
}
