package video

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/platform/pipeline"
	"github.com/rialto-im/rialto/internal/platform/transcode"
)

// inspect reads the file, and divides the work into tasks, in one transaction with the end of the inspection.
func (s *Service) inspect(ctx context.Context, v *video, t *task, in transcode.Input) error {
	source, err := s.deps.Transcoder.Inspect(ctx, in)
	if err != nil {
		return err
	}
	if err := s.reached("inspected", trackInspect); err != nil {
		return err
	}
	p := s.deps.Pipeline
	v.source, v.renditions = source, nil
	for _, r := range s.deps.Transcoder.Renditions(source) {
		if w := p.Watermark; w != nil {
			r.PlaceWatermark(imageName(w.Content), w.PixelWidth, w.PixelHeight, w.Corner, w.Width, w.Opacity)
		}
		v.renditions = append(v.renditions, rendition{Rendition: r})
	}
	v.renditions[len(v.renditions)-1].Copied = p.Copy && p.Watermark == nil && source.CanCopy()
	for i := range v.renditions[1:] { // there is always one to play
		r := &v.renditions[i+1]
		r.OnDemand = !r.Copied && p.IsOnDemand(min(r.Width, r.Height))
	}
	v.stages = stagesFor(p, source)
	runs := v.plan(p, s.workers())
	tasks := len(slices.Concat(runs...))
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := s.finish(ctx, tx, v, t, 1)
		if err != nil || !done {
			return err
		}
		if err := setPlan(ctx, tx, v, tasks, s.nowMs()); err != nil {
			return err
		}
		if w := p.Watermark; w != nil {
			if _, err := tx.ExecContext(ctx, `INSERT INTO video_watermarks (image, content) VALUES ($1, $2) ON CONFLICT (image) DO NOTHING`, imageName(w.Content), w.Content); err != nil {
				return err
			}
		}
		for _, run := range runs {
			if err := s.addTasksOf(ctx, tx, v, v.run, run...); err != nil {
				return err
			}
		}
		_, err = s.startStages(ctx, tx, v, int64(tasks))
		return err
	})
	if err != nil {
		return err
	}
	s.deps.Jobs.Wake()
	return s.reached("finished", trackInspect)
}

// imageName is the name of a watermark's image.
func imageName(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// plan returns the tasks after an inspection as runs, in the order in which jobs of the same priority run: chunk by chunk, the smallest rendition first.
func (v *video) plan(p *pipeline.Pipeline, workers int) (runs [][]*task) {
	add := func(tasks ...*task) {
		for _, t := range tasks {
			runs = append(runs, []*task{t})
		}
	}
	var first, others []*rendition
	for i := range v.renditions {
		switch r := &v.renditions[i]; {
		case r.Copied:
			add(&task{track: r.Name, weight: int64(v.source.Frames)})
		case r.OnDemand:
		case i == 0:
			first = append(first, r)
		default:
			others = append(others, r)
		}
	}
	add(v.soundTasks()...)
	for i := range p.Thumbnails {
		at := v.source.Duration * time.Duration(i) / time.Duration(p.Thumbnails)
		if i == 0 {
			at = min(time.Second, v.source.Duration/4)
		}
		add(&task{track: trackPoster, first: int64(i), atMs: at.Milliseconds(), weight: 1})
	}
	if p.Storyboard {
		t := &task{track: trackStoryboard, weight: int64(v.source.Frames)}
		if len(first) > 0 {
			t.chunk = ofRendition
		}
		add(t)
	}
	smallest := v.divide(first, 0)
	runs = slices.Concat(runs, smallest, v.runsOf(others, smallest, workers))
	for i := range v.stages {
		add(&task{track: stagePrefix + v.stages[i].Name, weight: int64(v.source.Frames)})
	}
	return runs
}

// soundTasks are those of the sound: of a long one that is encoded, its beginning and the rest.
func (v *video) soundTasks() []*task {
	weight := int64(v.source.Duration / time.Millisecond)
	switch {
	case v.source.Audio == nil:
		return nil
	case v.source.CanCopyAudio() || v.source.Duration < transcode.LongSound:
		return []*task{{track: trackAudio, chunk: int64(transcode.AllSound), weight: weight}}
	}
	return []*task{{track: trackAudio, chunk: int64(transcode.FirstSound), weight: weight}, {track: trackAudio, first: transcode.FirstSoundSegments, chunk: int64(transcode.RestOfSound), weight: weight}}
}

// chunkTask is the task of a chunk of a rendition.
func (v *video) chunkTask(r *rendition, chunk int) *task {
	c := v.source.Chunks[chunk]
	return &task{track: r.Name, chunk: int64(chunk), first: int64(c.First / v.source.Group()), weight: int64(c.Frames) * int64(r.Width) * int64(r.Height) / 1000}
}

// encodeInstead replaces the task that copies the picture, which cannot be copied, by those that encode it. It does nothing if the task has a result, or the video has
// ended. The first chunk has the keys of the copy: its attempts go on from that one's, so that no key is written twice.
func (s *Service) encodeInstead(ctx context.Context, v *video, t *task) error {
	r := v.rendition(t.track)
	r.Copied = false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		current, err := getVideo(ctx, tx, v.id)
		if err != nil || current.run != v.run || current.state > stateProcessing || !current.isCopied(t.track) {
			return err
		}
		var attempts int64
		err = tx.QueryRowContext(ctx, `DELETE FROM video_tasks WHERE video = $1 AND track = $2 AND first = $3 AND stored = 0 RETURNING attempts`, int64(v.id), t.track, t.first).Scan(&attempts)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := setPlan(ctx, tx, v, int(current.remaining)-1+len(v.source.Chunks), current.startedMs); err != nil {
			return err
		}
		for chunk := range v.source.Chunks {
			added := v.chunkTask(r, chunk)
			if added.first == t.first {
				added.attempts = attempts
			}
			if err := s.addTasksOf(ctx, tx, v, v.run, added); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.deps.Jobs.Wake()
	}
	return err
}
