package video

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
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

// runJob is the job of tasks of several renditions of a chunk, which one run of ffmpeg encodes. It has a kind of its own, so that nodes of releases before it leave it to others:
// they would do its first task alone.
type runJob struct {
	taskJob
	// More are the tracks of the other tasks.
	More []string `json:"more"`
}

// Kind of the job.
func (runJob) Kind() string { return "video_run" }

// Processes reports whether this node processes videos.
func (s *Service) Processes() bool { return s.deps.Transcoder != nil }

// Concurrency is how many jobs of the queue a node runs at the same time.
func (s *Service) Concurrency() int { return s.config.Workers }

// AddWorkers adds the workers of the queue, on a node that Processes.
func (s *Service) AddWorkers(w *job.Workers) {
	job.Add(w, func(ctx context.Context, j job.Job[taskJob]) error {
		return s.attempt(ctx, j.Args, []string{j.Args.Track}, j.Failures)
	})
	job.Add(w, func(ctx context.Context, j job.Job[runJob]) error {
		return s.attempt(ctx, j.Args.taskJob, append([]string{j.Args.Track}, j.Args.More...), j.Failures)
	})
}

// priorityOf returns what is done first: what playback waits for, and then the smallest rendition.
func priorityOf(v *video, t *task) job.Priority {
	smallest := len(v.renditions) > 0 && v.renditions[0].Name == t.track
	switch {
	case t.track == trackInspect, t.track == trackAudio && t.first == 0, smallest && t.first == 0, v.isCopied(t.track):
		return job.High
	case smallest, t.track == trackPoster && t.first == 0, t.track == trackStoryboard && waits(t):
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

// insertJob inserts the job of a run of tasks, and notes its number in them.
func (s *Service) insertJob(ctx context.Context, tx *sql.Tx, v *video, run int64, tasks ...*task) error {
	t := tasks[0]
	one := taskJob{Video: v.id, Run: run, Track: t.track, First: t.first}
	args := job.Args(one)
	if len(tasks) > 1 {
		of := runJob{taskJob: one}
		for _, more := range tasks[1:] {
			of.More = append(of.More, more.track)
		}
		args = of
	}
	done, err := s.deps.Jobs.InsertTx(ctx, tx, args, job.Options{Queue: Queue, Priority: priorityOf(v, t), MaxFailures: v.attemptsOf(t), Timeout: taskTimeout})
	for _, t := range tasks {
		t.job = done.ID
	}
	return err
}

// addTask stores a task of a video and its job.
func (s *Service) addTask(ctx context.Context, tx *sql.Tx, n uint64, run int64, t *task) error {
	return s.addTasksOf(ctx, tx, &video{id: n}, run, t)
}

// addTasksOf is addTask for a run of tasks of a video whose plan is known. A task that needs the results of others waits for them (startStages).
func (s *Service) addTasksOf(ctx context.Context, tx *sql.Tx, v *video, run int64, tasks ...*task) error {
	if !waits(tasks[0]) {
		if err := s.insertJob(ctx, tx, v, run, tasks...); err != nil {
			return err
		}
	}
	for _, t := range tasks {
		if _, err := tx.ExecContext(ctx, `INSERT INTO video_tasks (video, track, first, chunk, job, weight, segments, at_ms, attempts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			int64(v.id), t.track, t.first, t.chunk, t.job, t.weight, []byte{}, t.atMs, t.attempts); err != nil {
			return err
		}
	}
	return nil
}

// attempt does tasks, unless they are done, or the video has ended meanwhile. What one run could not do at once is done one by one: it may have needed too much memory or time.
func (s *Service) attempt(ctx context.Context, j taskJob, tracks []string, failures int) error {
	if wait, err := s.storageDelay(ctx, j); err != nil || wait > 0 {
		return cmp.Or(err, job.Snooze(wait))
	}
	v, tasks, err := s.begin(ctx, j, tracks)
	if isStorageFull(err) { // the database is on the full disk
		return job.Snooze(s.pause.begin(s.nowMs()))
	}
	if err != nil || len(tasks) == 0 {
		return err
	}
	runs := [][]*task{tasks}
	if failures > 0 {
		runs = slices.Collect(slices.Chunk(tasks, 1))
	}
	var again, given error
	var wait time.Duration // for storage
	for _, run := range runs {
		share(run, s.nowMs())
		err := errs.OfDisk(s.do(ctx, v, run))
		if ctx.Err() != nil || errors.Is(err, errInterrupted) {
			return err
		}
		if err == nil {
			continue
		}
		final, ferr := s.failedAttempt(ctx, v, run, err, failures)
		if isStorageFull(err) && (!final && ferr == nil || isStorageFull(ferr)) {
			wait = s.pause.begin(s.nowMs())
			continue
		}
		if err = errors.Join(err, ferr); final && ferr == nil {
			given = errors.Join(given, err)
		} else {
			again = errors.Join(again, err)
		}
	}
	switch {
	case again != nil:
		return again
	case wait > 0:
		return job.Snooze(wait)
	case given != nil:
		return job.Discard(given)
	}
	return nil
}

// failedAttempt notes that an attempt at tasks has failed, gives them up if it was the last one, and reports that. One that found a disk full is the last one only if the video has waited too long.
func (s *Service) failedAttempt(ctx context.Context, v *video, run []*task, cause error, failures int) (final bool, err error) {
	refused := transcode.IsRefusal(cause)
	final = refused || failures+1 >= v.attemptsOf(run[0])
	if isStorageFull(cause) {
		since, err := s.awaitStorage(ctx, v.id, v.run)
		if err != nil {
			return false, err
		}
		final = since > 0 && s.waitedTooLong(since)
	}
	for _, t := range run {
		if err := s.noteFailure(ctx, v, t, cause); err != nil {
			return final, err
		}
		s.addTime(v, t)
		if !final {
			continue
		}
		if err := s.giveUpTask(ctx, v, t, cause, !refused); err != nil {
			return final, err
		}
	}
	return final, nil
}

// noteFailure stores the error of an attempt, for operators.
func (s *Service) noteFailure(ctx context.Context, v *video, t *task, failure error) error {
	const longest = 1000 // bytes
	text := strings.ReplaceAll(strings.ToValidUTF8(failure.Error(), "?"), "\x00", "?")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest/2], "") + " … " + strings.ToValidUTF8(text[len(text)-longest/2:], "")
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		now := s.nowMs()
		t.tookMs = spent(t, t.attempts, now)
		done, err := tx.ExecContext(ctx, `UPDATE video_tasks SET error = $5, ended_ms = $6, spent_ms = spent_ms + $7 WHERE video = $1 AND track = $2 AND first = $3 AND attempts = $4 AND stored = 0`,
			int64(v.id), t.track, t.first, t.attempts, text, now, t.tookMs)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if n == 0 { // the task was stored before another of its run failed
			t.tookMs = 0
		}
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

// begin reads the tasks of a job, and draws the numbers of an attempt at each, which are their attempts then. There are none if there is nothing to do.
func (s *Service) begin(ctx context.Context, j taskJob, tracks []string) (v *video, tasks []*task, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		tasks = nil
		v, err = getVideo(ctx, tx, j.Video)
		if errs.Is(err, errs.NotFound) {
			return nil
		}
		if err != nil || v.run != j.Run {
			return err
		}
		for _, track := range tracks {
			t, err := s.beginTask(ctx, tx, v, track, j.First)
			if err != nil {
				return err
			}
			if t != nil {
				tasks = append(tasks, t)
			}
		}
		return nil
	})
	return v, tasks, err
}

// beginTask is begin for one task; nil: there is nothing to do.
func (s *Service) beginTask(ctx context.Context, tx *sql.Tx, v *video, track string, first int64) (*task, error) {
	if from, to := v.statesOf(track); v.state < from || v.state > to {
		return nil, nil
	}
	if pending, err := isPending(ctx, tx, v, track); err != nil || !pending {
		return nil, err
	}
	t, err := getTask(ctx, tx, v.id, track, first)
	if err != nil || t == nil || t.stored != 0 {
		return nil, err
	}
	t.begunMs = s.nowMs()
	err = tx.QueryRowContext(ctx, `UPDATE video_tasks SET attempts = attempts + 1, node = $4, begun_ms = $5, ended_ms = 0, started_ms = CASE WHEN started_ms = 0 THEN $5 ELSE started_ms END
			WHERE video = $1 AND track = $2 AND first = $3 RETURNING attempts`, int64(v.id), track, first, s.deps.Node, t.begunMs).Scan(&t.attempts)
	return t, err
}

// do does a task, or several renditions of a chunk, and stores the results.
func (s *Service) do(ctx context.Context, v *video, tasks []*task) error {
	t := tasks[0]
	if err := s.reached("begun", v.partOf(t.track)); err != nil {
		return err
	}
	switch {
	case isStage(t.track):
		return s.doStage(ctx, v, t)
	case waits(t):
		return s.doStoryboard(ctx, v, t)
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
	if r := v.rendition(t.track); r != nil && !r.Copied {
		return s.doChunk(ctx, v, tasks, in, dir)
	}
	o, err := s.produce(ctx, v, t, in, dir)
	if errors.Is(err, transcode.ErrNotCopied) {
		return s.encodeInstead(ctx, v, t)
	}
	if err != nil {
		return err
	}
	return s.keep(ctx, v, t, o)
}

// doChunk encodes renditions of a chunk, and stores each as soon as the one before is stored: one that is stored counts, whatever becomes of the others.
func (s *Service) doChunk(ctx context.Context, v *video, tasks []*task, in transcode.Input, dir string) error {
	tracks, err := s.encode(ctx, v, tasks, in, dir)
	if err != nil {
		return err
	}
	for i, track := range tracks {
		o, err := outputOf(track.Path, track)
		if err != nil {
			return err
		}
		if err := s.keep(ctx, v, tasks[i], o); err != nil {
			return err
		}
	}
	return nil
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

// size is that of all files together.
func (o *output) size() (n int64) {
	for _, f := range o.files {
		n += f.size
	}
	return n
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
