package video

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/pipeline"
	"github.com/rialto-im/rialto/internal/platform/transcode"
)

// Stages of the operator's own are tasks whose jobs are inserted when their inputs are complete. A video keeps the stages as they were when it was inspected, so that a
// change of the pipeline's file, or a node with another one, does not change what its tasks mean.

func isStage(track string) bool { return strings.HasPrefix(track, stagePrefix) }

// stageOf returns the stage of a track; nil: it has none.
func (v *video) stageOf(track string) *pipeline.Stage {
	name, ok := strings.CutPrefix(track, stagePrefix)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(v.stages, func(s pipeline.Stage) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &v.stages[i]
}

// attemptsOf is how often a task may fail.
func (v *video) attemptsOf(t *task) int {
	if stage := v.stageOf(t.track); stage != nil {
		return stage.Attempts
	}
	return maxFailures
}

// stagesFor returns the stages that are run for a source: those that need its sound only if it has some.
func stagesFor(p *pipeline.Pipeline, source *transcode.Source) (list []pipeline.Stage) {
	for _, stage := range p.Stages {
		possible := true
		for _, input := range stage.Inputs {
			name, _ := pipeline.SplitInput(input)
			switch {
			case input == pipeline.Audio && source.Audio == nil,
				pipeline.IsOfStage(input) && !slices.ContainsFunc(list, func(s pipeline.Stage) bool { return s.Name == name }):
				possible = false
			}
		}
		if possible {
			list = append(list, stage)
		}
	}
	return list
}

// trackOf returns the track that an input of a stage is made of; empty: the source. A rendition is the largest one that is not larger, or else the smallest: none on demand, since no stage may
// need those.
func (v *video) trackOf(input string) string {
	switch {
	case input == pipeline.Source:
		return ""
	case input == pipeline.Audio:
		return trackAudio
	case input == pipeline.Thumbnail:
		return trackPoster
	case input == pipeline.Storyboard:
		return trackStoryboard
	case pipeline.IsOfStage(input):
		name, _ := pipeline.SplitInput(input)
		return stagePrefix + name
	}
	found := v.renditions[0].Name
	for _, r := range v.renditions {
		if min(r.Width, r.Height) <= pipeline.Height(input) {
			found = r.Name
		}
	}
	return found
}

// waiter is a track whose task waits for the results of others.
type waiter struct {
	track  string
	inputs []string // tracks; empty: the source
}

// task of a waiter, which has no job yet.
func (w waiter) task() *task {
	t := &task{track: w.track}
	if w.track == trackStoryboard {
		t.chunk = ofRendition
	}
	return t
}

// waiting returns the tracks whose tasks wait for others, each behind those that it needs.
func (v *video) waiting() (list []waiter) {
	if v.source != nil && !v.renditions[0].Copied {
		list = append(list, waiter{trackStoryboard, []string{v.renditions[0].Name}})
	}
	for i := range v.stages {
		w := waiter{track: stagePrefix + v.stages[i].Name}
		for _, input := range v.stages[i].Inputs {
			w.inputs = append(w.inputs, v.trackOf(input))
		}
		list = append(list, w)
	}
	return list
}

// waits reports whether a task gets its job when the results are there that it needs.
func waits(t *task) bool {
	return isStage(t.track) || t.track == trackStoryboard && t.chunk == ofRendition
}

// isAwaited reports whether another task waits for the results of a track.
func (v *video) isAwaited(track string) bool {
	return slices.ContainsFunc(v.waiting(), func(w waiter) bool { return slices.Contains(w.inputs, track) })
}

// stageFailure is the error of a video whose stage has failed, for its owner.
func stageFailure(stage *pipeline.Stage, cause error) error {
	if errs.Is(cause, errs.Unavailable) { // not the fault of the command
		return cause
	}
	return errs.Wrap(errs.Unavailable, "stage_failed", fmt.Sprintf("the stage %s of this server's pipeline failed for this video; try again later, and tell the operator if it fails again", stage.Name), cause)
}

// trackState is how far the tasks of a track are.
type trackState struct {
	open   int64 // tasks without a result
	stored int64 // the least one
	job    int64
}

// startStages inserts the jobs of stages, and of the storyboard, whose inputs are complete, and leaves out those that need one which was left out. It returns how many tasks of the video remain.
// It must run in the transaction that ended a task, after countDown: so of two tasks that end at the same time, the later one sees the other.
func (s *Service) startStages(ctx context.Context, tx *sql.Tx, v *video, remaining int64) (int64, error) {
	waiting := v.waiting()
	if len(waiting) == 0 {
		return remaining, nil
	}
	states, err := trackStates(ctx, tx, v.id)
	if err != nil {
		return 0, err
	}
	for _, w := range waiting {
		if st := states[w.track]; st == nil || st.job != 0 || st.stored != 0 {
			continue
		}
		ready, leaveOut := true, false
		for _, input := range w.inputs {
			if of := states[input]; of != nil {
				ready = ready && of.open == 0
				leaveOut = leaveOut || of.stored == skipped
			}
		}
		switch {
		case leaveOut:
			if _, err := tx.ExecContext(ctx, `UPDATE video_tasks SET stored = $3, error = $4 WHERE video = $1 AND track = $2`, int64(v.id), w.track, skipped, "a stage that it needs was left out"); err != nil {
				return 0, err
			}
			if remaining, err = countDown(ctx, tx, v); err != nil {
				return 0, err
			}
			states[w.track].open, states[w.track].stored = 0, skipped
		case ready:
			t := w.task()
			if err := s.insertJob(ctx, tx, v, v.run, t); err != nil {
				return 0, err
			}
			if _, err := tx.ExecContext(ctx, `UPDATE video_tasks SET job = $3 WHERE video = $1 AND track = $2`, int64(v.id), w.track, t.job); err != nil {
				return 0, err
			}
		}
	}
	return remaining, nil
}

// trackStates returns how far each track of a video is.
func trackStates(ctx context.Context, tx *sql.Tx, n uint64) (map[string]*trackState, error) {
	states := map[string]*trackState{}
	rows, err := tx.QueryContext(ctx, `SELECT track, COUNT(*) FILTER (WHERE stored = 0), MIN(stored), MAX(job) FROM video_tasks WHERE video = $1 GROUP BY track`, int64(n))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var track string
		st := &trackState{}
		err := rows.Scan(&track, &st.open, &st.stored, &st.job)
		states[track] = st
		return err
	})
	return states, err
}

// refreshStages gives a video that is retried the stages of this node's pipeline, where they have the same inputs and outputs: what the operator has repaired counts.
func (s *Service) refreshStages(ctx context.Context, tx *sql.Tx, v *video) error {
	if len(v.stages) == 0 {
		return nil
	}
	for i := range v.stages {
		stage := &v.stages[i]
		current := s.deps.Pipeline.Stage(stage.Name)
		if current != nil && slices.Equal(current.Inputs, stage.Inputs) && slices.EqualFunc(current.Outputs, stage.Outputs, func(a, b pipeline.Output) bool { return a.File == b.File }) {
			*stage = *current
		}
	}
	b, err := encodeStages(v.stages)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE videos SET stages = $2 WHERE id = $1`, int64(v.id), b)
	return err
}

// doStage runs the command of a stage, and stores its files.
func (s *Service) doStage(ctx context.Context, v *video, t *task) error {
	stage := v.stageOf(t.track)
	if stage == nil {
		return job.Discard(fmt.Errorf("the video has no stage of the track %s", t.track))
	}
	dir, remove, err := s.tempDir(v)
	if err != nil {
		return err
	}
	defer remove()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := errors.Join(os.Mkdir(in, 0o700), os.Mkdir(out, 0o700)); err != nil {
		return err
	}
	files, release, err := s.stageInputs(ctx, v, stage, in)
	defer release()
	if err != nil {
		return err
	}
	if err := s.deps.Transcoder.Execute(ctx, transcode.Command{Program: stage.Command[0], Args: stage.Command[1:], Files: files, Dir: out, Timeout: stage.Timeout, Memory: stage.Memory, Disk: stage.Disk}); err != nil {
		return err
	}
	o := &output{}
	for _, want := range stage.Outputs {
		f, size, err := transcode.OpenResult(out, want.File, want.MaxBytes)
		if err != nil {
			o.close()
			return err
		}
		o.files = append(o.files, outputFile{file: f, size: size})
	}
	return s.keep(ctx, v, t, o)
}

// inside is where the command of a stage finds its inputs.
const inside = "/in/"

// stageInputs makes the inputs of a stage in a folder, and returns them as the sandbox sees them. release must be called afterwards, also after an error.
func (s *Service) stageInputs(ctx context.Context, v *video, stage *pipeline.Stage, dir string) (files []transcode.File, release func(), err error) {
	release = func() {}
	var p *progress
	if err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		p, err = load(ctx, tx, v, "")
		return err
	}); err != nil {
		return nil, release, err
	}
	add := func(name string, write func(io.Writer) error) error {
		path := filepath.Join(dir, fmt.Sprint(len(files)))
		files = append(files, transcode.File{Path: path, Inside: inside + name})
		return writeFile(path, write)
	}
	for _, input := range stage.Inputs {
		switch track := v.trackOf(input); {
		case track == "":
			var path string
			if path, release, err = s.acquireSource(ctx, v); err != nil {
				return nil, func() {}, err
			}
			files = append(files, transcode.File{Path: path, Inside: inside + pipeline.Source})
		case isStage(track):
			err = s.stageOutputs(ctx, p, input, add)
		case track == trackPoster || track == trackStoryboard:
			err = add(input+".jpg", func(w io.Writer) error { return s.copyBlob(ctx, p, p.tasks[track][0], 0, w) })
		default:
			err = add(input+".mp4", func(w io.Writer) error { return s.copyTrack(ctx, p, track, w) })
		}
		if err != nil {
			return nil, release, err
		}
	}
	return files, release, nil
}

// stageOutputs adds one output of another stage, or all of them.
func (s *Service) stageOutputs(ctx context.Context, p *progress, input string, add func(name string, write func(io.Writer) error) error) error {
	name, only := pipeline.SplitInput(input)
	for i, o := range p.stageOf(stagePrefix + name).Outputs {
		if only != "" && o.File != only {
			continue
		}
		if err := add(name+"/"+o.File, func(w io.Writer) error { return s.copyBlob(ctx, p, p.tasks[stagePrefix+name][0], int64(i), w) }); err != nil {
			return err
		}
	}
	return nil
}

// copyTrack writes a rendition, or the sound, as a fragmented MP4 file.
func (s *Service) copyTrack(ctx context.Context, p *progress, track string, w io.Writer) error {
	if _, err := w.Write(p.tracks[track].init); err != nil {
		return err
	}
	for _, t := range p.tasks[track] {
		if err := s.copyBlob(ctx, p, t, 0, w); err != nil {
			return err
		}
	}
	return nil
}

// copyBlob writes a stored file of a task.
func (s *Service) copyBlob(ctx context.Context, p *progress, t *task, number int64, w io.Writer) error {
	f, _, err := s.deps.Store.Open(ctx, blobKey(p.id, t.track, t.first+number, t.stored))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
